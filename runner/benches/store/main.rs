//! Measures the store, and beside each figure the least that any program would need for it.
//!
//! `cargo xtask bench store`. Absolute figures say little about another machine, and on a busy one not
//! even about this: what counts is the ratio of the product to the bare baseline, taken in turns in
//! the same run. Each open and each measure of memory has a process of its own.

mod appends;
mod bare;
mod letters;
mod memory;
mod part;
mod recovery;
mod report;
mod stage;

use std::{path::PathBuf, process::ExitCode};

use report::Report;

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

/// What to measure.
struct Wanted {
    jobs: usize,
    rounds: usize,
    only: Option<String>,
    dir: PathBuf,
    json: Option<PathBuf>,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [first, rest @ ..] = &words[..]
        && first == part::FLAG
    {
        return told(part::run(rest));
    }
    match parse(&words) {
        Ok(Some(wanted)) => told(measure(&wanted)),
        Ok(None) => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprint!("{why}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn told(done: Result<(), String>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn parse(words: &[String]) -> Result<Option<Wanted>, String> {
    let mut wanted = Wanted {
        jobs: 1_000_000,
        rounds: 5,
        only: None,
        dir: PathBuf::from("."),
        json: None,
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        // Cargo says this to every bench.
        if word == "--bench" {
            continue;
        }
        if matches!(word.as_str(), "-h" | "--help") {
            return Ok(None);
        }
        let value = words
            .next()
            .ok_or_else(|| format!("{word} needs a value"))?;
        match word.as_str() {
            "--jobs" => wanted.jobs = number(word, value)?,
            "--rounds" => wanted.rounds = number(word, value)?,
            "--only" => wanted.only = Some(value.clone()),
            "--dir" => wanted.dir = PathBuf::from(value),
            "--json" => wanted.json = Some(PathBuf::from(value)),
            _ => return Err(format!("{word} is no option")),
        }
    }
    Ok(Some(wanted))
}

fn number(word: &str, value: &str) -> Result<usize, String> {
    match value.parse() {
        Ok(number) if number > 0 => Ok(number),
        Ok(_) | Err(_) => Err(format!("{word} {value}: use a number from 1")),
    }
}

fn measure(wanted: &Wanted) -> Result<(), String> {
    type Part = fn(&stage::Place, &Wanted, &mut Report) -> Result<(), String>;
    let parts: [(&str, Part); 4] = [
        ("appends", appends::measure),
        ("recovery", recovery::measure),
        ("memory", memory::measure),
        ("dead", letters::measure),
    ];
    if let Some(only) = &wanted.only
        && !parts.iter().any(|(name, _)| name == only)
    {
        return Err(format!("--only {only}: there is no such part"));
    }
    let place = stage::Place::new(&wanted.dir)?;
    let mut report = Report::new(wanted.jobs, wanted.rounds);
    for (name, part) in parts {
        if wanted.only.as_deref().is_none_or(|only| only == name) {
            eprintln!("measuring {name}");
            part(&place, wanted, &mut report)?;
        }
    }
    print!("{}", report.table());
    if let Some(path) = &wanted.json {
        std::fs::write(path, report.json())
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(())
}
