//! A bench's command line, and its parts one after the other.

use std::{path::PathBuf, process::ExitCode};

use crate::{report::Report, stage::Place};

/// What to measure.
pub(crate) struct Wanted {
    /// How many jobs, or attempts.
    pub(crate) count: usize,
    /// Rounds of product and baseline in turns.
    pub(crate) rounds: usize,
    pub(crate) dir: PathBuf,
    only: Option<String>,
    json: Option<PathBuf>,
}

/// A part of a bench.
pub(crate) type Part = fn(&Place, &Wanted, &mut Report) -> Result<(), String>;

/// A bench.
pub(crate) struct Command {
    pub(crate) usage: &'static str,
    /// The option that says how many, and how many there are without it.
    pub(crate) count: (&'static str, usize),
    /// Rounds unless told otherwise.
    pub(crate) rounds: usize,
    pub(crate) parts: &'static [(&'static str, Part)],
}

impl Command {
    /// Measure what these words ask for.
    pub(crate) fn run(&self, words: &[String]) -> ExitCode {
        match self.parse(words) {
            Ok(Some(wanted)) => told(self.measure(&wanted)),
            Ok(None) => {
                print!("{}", self.usage);
                ExitCode::SUCCESS
            }
            Err(why) => {
                eprint!("{why}\n{}", self.usage);
                ExitCode::from(2)
            }
        }
    }

    fn parse(&self, words: &[String]) -> Result<Option<Wanted>, String> {
        let (counted, count) = self.count;
        let mut wanted = Wanted {
            count,
            rounds: self.rounds,
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
                word if word == counted => wanted.count = number(word, value)?,
                "--rounds" => wanted.rounds = number(word, value)?,
                "--only" => wanted.only = Some(value.clone()),
                "--dir" => wanted.dir = PathBuf::from(value),
                "--json" => wanted.json = Some(PathBuf::from(value)),
                _ => return Err(format!("{word} is no option")),
            }
        }
        Ok(Some(wanted))
    }

    fn measure(&self, wanted: &Wanted) -> Result<(), String> {
        if let Some(only) = &wanted.only
            && !self.parts.iter().any(|(name, _)| name == only)
        {
            return Err(format!("--only {only}: there is no such part"));
        }
        let place = Place::new(&wanted.dir)?;
        let mut report = Report::new(wanted.count, wanted.rounds);
        for (name, part) in self.parts {
            if wanted.only.as_deref().is_none_or(|only| only == *name) {
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
}

/// The end of a process that did this.
pub(crate) fn told(done: Result<(), String>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn number(word: &str, value: &str) -> Result<usize, String> {
    match value.parse() {
        Ok(number) if number > 0 => Ok(number),
        Ok(_) | Err(_) => Err(format!("{word} {value}: use a number from 1")),
    }
}
