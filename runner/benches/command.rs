//! The command line of the benches, and their parts one after the other.

use std::{fmt::Write as _, path::PathBuf, process::ExitCode};

use serde_json::json;

use crate::{ALIASES, BENCHES, report::Report, stage::Place};

const OPTIONS: &str = "
  --jobs N      how many, as said above
  --rounds N    rounds of product and baseline in turns
  --only PART   one part of a bench
  --plugins N   plugins of a start; 50 unless given
  --queues N    queues over which jobs are spread; 1000 unless given
  --slots N     attempts a worker runs at a time where jobs are drained; 64 unless given
  --dir FOLDER  where to write; the disk of this folder is what is measured
  --json FILE   also write the figures to a file
  --plot FILE   also draw them, as SVG: how they grow, or the ratio of each round
";

/// What to measure, and how much of it.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) jobs: Option<usize>,
    pub(crate) rounds: Option<usize>,
    pub(crate) plugins: usize,
    pub(crate) queues: usize,
    pub(crate) slots: usize,
    pub(crate) only: Option<String>,
    pub(crate) dir: PathBuf,
    pub(crate) json: Option<PathBuf>,
    pub(crate) plot: Option<PathBuf>,
}

/// How much a part is to do.
#[derive(Debug)]
pub(crate) struct Size {
    /// How many jobs, or attempts.
    pub(crate) count: usize,
    /// Rounds of product and baseline in turns.
    pub(crate) rounds: usize,
    pub(crate) plugins: usize,
    pub(crate) queues: usize,
    pub(crate) slots: usize,
}

/// A part of a bench.
pub(crate) type Part = fn(&Place, &Size, &mut Report) -> Result<(), String>;

/// A bench.
pub(crate) struct Bench {
    pub(crate) name: &'static str,
    pub(crate) says: &'static str,
    /// How many unless told otherwise.
    pub(crate) jobs: usize,
    pub(crate) rounds: usize,
    pub(crate) parts: &'static [(&'static str, Part)],
}

impl Bench {
    /// Its figures.
    pub(crate) fn measure(&self, wanted: &Wanted) -> Result<Report, String> {
        if let Some(only) = &wanted.only
            && !self.parts.iter().any(|(name, _)| name == only)
        {
            let names: Vec<&str> = self.parts.iter().map(|(name, _)| *name).collect();
            let (bench, names) = (self.name, names.join(", "));
            return Err(format!("--only {only}: {bench} has the parts {names}"));
        }
        let size = Size {
            count: wanted.jobs.unwrap_or(self.jobs),
            rounds: wanted.rounds.unwrap_or(self.rounds),
            plugins: wanted.plugins,
            queues: wanted.queues,
            slots: wanted.slots,
        };
        let place = Place::new(&wanted.dir)?;
        let mut report = Report::new(self.name, size.count, size.rounds);
        for (name, part) in self.parts {
            if wanted.only.as_deref().is_none_or(|only| only == *name) {
                eprintln!("measuring {} {name}", self.name);
                part(&place, &size, &mut report)?;
            }
        }
        Ok(report)
    }
}

/// Measure what these words ask for.
pub(crate) fn run(words: &[String]) -> ExitCode {
    match parse(words) {
        Ok(Some((names, wanted))) => told(measure(&names, &wanted)),
        Ok(None) => {
            print!("{}", usage());
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprint!("{why}\n{}", usage());
            ExitCode::from(2)
        }
    }
}

fn usage() -> String {
    let mut usage = "usage: cargo xtask bench [NAME...] [OPTIONS]\n\n".to_owned();
    for Bench {
        name,
        says,
        jobs,
        rounds,
        ..
    } in &BENCHES
    {
        let _ = writeln!(usage, "  {name:<13} {says}; {jobs} jobs, {rounds} rounds");
    }
    for (name, bench, part) in ALIASES {
        let _ = writeln!(usage, "  {name:<13} {bench} --only {part}");
    }
    usage + OPTIONS
}

fn parse(words: &[String]) -> Result<Option<(Vec<String>, Wanted)>, String> {
    let mut names = Vec::new();
    let mut wanted = Wanted {
        jobs: None,
        rounds: None,
        plugins: 50,
        queues: 1_000,
        slots: 64,
        only: None,
        dir: PathBuf::from("."),
        json: None,
        plot: None,
    };
    let mut words = words.iter().filter(|word| *word != "--bench");
    while let Some(word) = words.next() {
        if matches!(word.as_str(), "-h" | "--help") {
            return Ok(None);
        }
        if !word.starts_with('-') {
            names.push(word.clone());
            continue;
        }
        let value = words
            .next()
            .ok_or_else(|| format!("{word} needs a value"))?;
        match word.as_str() {
            "--jobs" => wanted.jobs = Some(number(word, value)?),
            "--rounds" => wanted.rounds = Some(number(word, value)?),
            "--plugins" => wanted.plugins = number(word, value)?,
            "--queues" => wanted.queues = number(word, value)?,
            "--slots" => wanted.slots = number(word, value)?,
            "--only" => wanted.only = Some(value.clone()),
            "--dir" => wanted.dir = PathBuf::from(value),
            "--json" => wanted.json = Some(PathBuf::from(value)),
            "--plot" => wanted.plot = Some(PathBuf::from(value)),
            _ => return Err(format!("{word} is no option")),
        }
    }
    for name in &names {
        if !known(name) {
            return Err(format!("there is no bench {name:?}"));
        }
    }
    if names.len() != 1 && (wanted.plot.is_some() || wanted.only.is_some()) {
        return Err("--plot and --only are about one bench: name it".to_owned());
    }
    Ok(Some((names, wanted)))
}

fn known(name: &str) -> bool {
    let mut names = BENCHES.iter().map(|bench| bench.name);
    names.any(|known| known == name) || ALIASES.iter().any(|(alias, ..)| *alias == name)
}

fn number(word: &str, value: &str) -> Result<usize, String> {
    match value.parse() {
        Ok(number) if number > 0 => Ok(number),
        Ok(_) | Err(_) => Err(format!("{word} {value}: use a number from 1")),
    }
}

/// All that are named, or all there are.
fn measure(names: &[String], wanted: &Wanted) -> Result<(), String> {
    let mut shapes = Vec::new();
    for bench in &BENCHES {
        let mut wanted = wanted.clone();
        let is_named = names.iter().any(|name| name == bench.name);
        if !names.is_empty() && !is_named {
            let alias = ALIASES
                .iter()
                .find(|(alias, of, _)| *of == bench.name && names.iter().any(|name| name == alias));
            let Some((_, _, part)) = alias else { continue };
            wanted.only = Some((*part).to_owned());
        }
        let report = bench.measure(&wanted)?;
        println!("{}", report.table());
        if let Some(path) = &wanted.plot {
            written(path, &report.plot())?;
        }
        shapes.push(report.json());
    }
    match &wanted.json {
        Some(path) => written(path, &format!("{:#}\n", json!({ "benches": shapes }))),
        None => Ok(()),
    }
}

fn written(path: &std::path::Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
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
