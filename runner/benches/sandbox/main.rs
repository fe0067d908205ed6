//! Measures what an attempt costs beside the least that any host would need for it, and how fast a
//! start with many plugins is.
//!
//! `cargo xtask bench sandbox`. Absolute figures say little about another machine: what counts is the
//! product beside the bare baseline, taken in turns in the same run.

mod attempts;
mod bare;
#[path = "../store/command.rs"]
mod command;
mod drain;
mod guests;
mod product;
#[path = "../store/report.rs"]
#[expect(dead_code, reason = "the store's bench has other goals besides")]
mod report;
#[path = "../store/stage.rs"]
#[expect(dead_code, reason = "the store's bench has jobs and files of its own")]
mod stage;
mod starts;

use std::process::ExitCode;

use command::Command;

/// As the program has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const USAGE: &str = "\
usage: cargo xtask bench sandbox [--attempts N] [--rounds N] [--only PART] [--dir FOLDER] [--json FILE]

  --attempts N  attempts in a round; 20000 unless given
  --rounds N    rounds of product and baseline in turns; 9 unless given
  --only PART   attempts, drain or starts
  --dir FOLDER  where to write
  --json FILE   also write the figures to a file
";

const BENCH: Command = Command {
    usage: USAGE,
    count: ("--attempts", 20_000),
    rounds: 9,
    parts: &[
        ("attempts", attempts::measure),
        ("drain", drain::measure),
        ("starts", starts::measure),
    ],
};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    // The registry compiles in a child that runs this very program.
    product::compiler(&words).unwrap_or_else(|| BENCH.run(&words))
}
