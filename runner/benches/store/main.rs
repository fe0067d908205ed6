//! Measures the store, and beside each figure the least that any program would need for it.
//!
//! `cargo xtask bench store`. Absolute figures say little about another machine, and on a busy one not
//! even about this: what counts is the ratio of the product to the bare baseline, taken in turns in
//! the same run. Each open and each measure of memory has a process of its own.

mod appends;
mod bare;
mod command;
mod letters;
mod memory;
mod part;
mod recovery;
mod report;
mod stage;

use std::process::ExitCode;

use command::Command;

/// As the program has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const USAGE: &str = "\
usage: cargo xtask bench store [--jobs N] [--rounds N] [--only PART] [--dir FOLDER] [--json FILE]

  --jobs N      jobs in the large logs; 1000000 unless given
  --rounds N    rounds of product and baseline in turns; 5 unless given
  --only PART   appends, recovery, memory or dead
  --dir FOLDER  where to write; the disk of this folder is what is measured
  --json FILE   also write the figures to a file
";

const BENCH: Command = Command {
    usage: USAGE,
    count: ("--jobs", 1_000_000),
    rounds: 5,
    parts: &[
        ("appends", appends::measure),
        ("recovery", recovery::measure),
        ("memory", memory::measure),
        ("dead", letters::measure),
    ],
};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match &words[..] {
        [first, rest @ ..] if first == part::FLAG => command::told(part::run(rest)),
        words => BENCH.run(words),
    }
}
