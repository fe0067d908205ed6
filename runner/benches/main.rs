//! Measures the product, and beside each figure the least that any program would need for it.
//!
//! `cargo xtask bench`. Absolute figures say little about another machine, and on a busy one not even about this: what
//! counts is the ratio of the product to the bare baseline, taken in turns in the same run. Run by `cargo test`, each
//! part measures next to nothing, so that none of them rots.

mod command;
mod part;
mod report;
mod runner;
mod sandbox;
mod scale;
mod scheduler;
mod stage;
mod store;
mod tiny;

use std::process::ExitCode;

use command::Bench;

/// As the program has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Every bench, with what it has for `--jobs` and `--rounds` unless told otherwise.
const BENCHES: [Bench; 7] = [
    Bench {
        name: "store",
        says: "enqueues, starts, memory and dead letters; --jobs in the large logs",
        jobs: 1_000_000,
        rounds: 5,
        parts: &[
            ("appends", store::appends::measure),
            ("recovery", store::recovery::measure),
            ("memory", store::memory::measure),
            ("dead", store::letters::measure),
        ],
    },
    Bench {
        name: "sandbox",
        says: "an attempt, and a start with --plugins; --jobs attempts in a round",
        jobs: 20_000,
        rounds: 9,
        parts: &[
            ("attempts", sandbox::attempts::measure),
            ("starts", sandbox::starts::measure),
        ],
    },
    Bench {
        name: "drain",
        says: "--jobs that wait, run to their reports, durable and not",
        jobs: 200_000,
        rounds: 5,
        parts: &[
            ("durable", runner::drain::durable),
            ("loose", runner::drain::loose),
        ],
    },
    Bench {
        name: "latency",
        says: "from an enqueue to the end of its handler on an idle runner; --jobs in a round",
        jobs: 1_000,
        rounds: 5,
        parts: &[("latency", runner::latency::measure)],
    },
    Bench {
        name: "scheduler",
        says: "claim, enqueue, settle and cancel beside 1,000 to --jobs waiting jobs, without a disk",
        jobs: 1_000_000,
        rounds: 3,
        parts: &[("scheduler", scheduler::measure)],
    },
    Bench {
        name: "runaways",
        says: "a healthy queue beside --jobs that loop for ever",
        jobs: 1_000,
        rounds: 3,
        parts: &[("runaways", runner::runaways::measure)],
    },
    Bench {
        name: "scale",
        says: "start, memory, claim and enqueue beside 1,000 to --jobs waiting jobs in --queues; kinds of --plugins",
        jobs: 1_000_000,
        rounds: 3,
        parts: &[
            ("waiting", scale::measure),
            ("kinds", runner::kinds::measure),
        ],
    },
];

/// Parts that are asked for by a name of their own: the bench, and its part.
const ALIASES: [(&str, &str, &str); 2] = [
    ("recovery", "store", "recovery"),
    ("coldstart", "sandbox", "starts"),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [first, rest @ ..] = &words[..]
        && first == part::FLAG
    {
        return command::told(part::run(rest));
    }
    // The registry compiles in a child that runs this very program.
    if let Some(code) = sandbox::product::compiler(&words) {
        return code;
    }
    // Cargo says so to every bench, and not to a test.
    match words.iter().any(|word| word == "--bench") {
        true => command::run(&words),
        false => tiny::run(&words),
    }
}
