//! Measures what an attempt costs beside the least that any host would need for it, and how fast a
//! start with many plugins is.
//!
//! `cargo xtask bench sandbox`. Absolute figures say little about another machine: what counts is the
//! product beside the bare baseline, taken in turns in the same run.

mod attempts;
mod bare;
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

use std::{path::PathBuf, process::ExitCode};

use report::Report;

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

/// What to measure.
struct Wanted {
    attempts: usize,
    rounds: usize,
    only: Option<String>,
    dir: PathBuf,
    json: Option<PathBuf>,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    // The registry compiles in a child that runs this very program.
    if let Some(code) = product::compiler(&words) {
        return code;
    }
    let done = match parse(&words) {
        Ok(Some(wanted)) => measure(&wanted),
        Ok(None) => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(why) => {
            eprint!("{why}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
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
        attempts: 20_000,
        rounds: 9,
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
            "--attempts" => wanted.attempts = number(word, value)?,
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
    let parts: [(&str, Part); 3] = [
        ("attempts", attempts::measure),
        ("drain", drain::measure),
        ("starts", starts::measure),
    ];
    if let Some(only) = &wanted.only
        && !parts.iter().any(|(name, _)| name == only)
    {
        return Err(format!("--only {only}: there is no such part"));
    }
    let place = stage::Place::new(&wanted.dir)?;
    let mut report = Report::new(wanted.attempts, wanted.rounds);
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
