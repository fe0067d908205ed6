//! The `sandhog` command.

use std::process::ExitCode;

/// Payloads are made by callers and freed by the writer; see `docs/durability.md`, "How fast".
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    sandhog::cli::main(&sandhog::app::Program)
}
