//! The `sandhog` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    sandhog::cli::main(&sandhog::app::Program)
}
