//! The program behind the command line.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context;

use super::{offline, registry_options, runner, trial};
use crate::{
    api::Ctx,
    cli::{Finding, LogCheck, LogRecord, OpenError, Rooms, Trial},
    config::Config,
    disk::RealDisk,
    plugin::{Catalog, Plugins, Problem, Registry, Tried},
    store::{
        lock,
        wal::{self, CheckReport, Verdict},
    },
};

/// The whole program.
#[derive(Debug, Clone, Copy, Default)]
pub struct Program;

impl Rooms for Program {
    fn start(&self, config: Config) -> anyhow::Result<ExitCode> {
        runner::start(&config)
    }

    fn open(&self, config: &Config) -> Result<Ctx, OpenError> {
        offline::open(config)
    }

    fn holder(&self, config: &Config) -> Option<String> {
        // Whether one lives that cannot be asked: the caller then finds nobody, which is true too.
        let holder = lock::living_holder(&RealDisk, &config.runner.data).ok()?;
        holder.map(|holder| holder.to_string())
    }

    fn catalog(&self, config: &Config) -> anyhow::Result<Catalog> {
        let registry = Registry::start(registry_options(config))?;
        Ok((*registry.catalog()).clone())
    }

    fn check_plugins(&self, _config: &Config, files: &[PathBuf]) -> anyhow::Result<Catalog> {
        Ok(trial::check(files))
    }

    fn try_run(&self, config: &Config, trial: Trial) -> Result<Tried, Problem> {
        trial::run(config, trial)
    }

    fn check_log(&self, config: &Config) -> anyhow::Result<LogCheck> {
        let report = wal::check(&config.runner.data)?;
        Ok(log_check(&config.runner.data, &report))
    }

    fn dump_log(
        &self,
        config: &Config,
        each: &mut dyn FnMut(LogRecord) -> bool,
    ) -> anyhow::Result<()> {
        let mut unwritable = None;
        wal::dump(&config.runner.data, None, |dumped| {
            let event = match serde_json::to_value(&dumped.record.event) {
                Ok(event) => event,
                Err(error) => {
                    let (file, offset) = (dumped.file.display().to_string(), dumped.offset);
                    let error = anyhow::Error::new(error);
                    unwritable = Some(
                        error.context(format!("{file} at byte {offset} cannot be shown as JSON")),
                    );
                    return ControlFlow::Break(());
                }
            };
            let more = each(LogRecord {
                file: dumped.file,
                offset: dumped.offset,
                sequence: dumped.sequence,
                id: dumped.id,
                event,
            });
            match more {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        })
        .context("the rest of the log cannot be shown")?;
        unwritable.map_or(Ok(()), Err)
    }
}

/// A check's report, as the command line shows it.
fn log_check(data: &Path, report: &CheckReport) -> LogCheck {
    let of_segments = report.segments.iter().filter_map(|segment| {
        let damage = segment.verdict == Verdict::Damaged;
        let why = segment.why.as_deref().unwrap_or("the record is not whole");
        let what = match segment.verdict {
            Verdict::Sound | Verdict::LettersDamaged => return None,
            Verdict::BeingWritten => format!("{why}: a runner is writing it now"),
            Verdict::TornTail => {
                format!("{why}: it looks unfinished, and the next start cuts it after a copy")
            }
            Verdict::Damaged => format!("{why}; {}", affected(report)),
        };
        Some(Finding {
            file: segment.file.clone(),
            offset: segment.offset.unwrap_or(0),
            what,
            damage,
        })
    });
    let of_letters = report.dead.damage.iter().map(|damage| Finding {
        file: data.join("dead").join("letters"),
        offset: damage.offset,
        what: format!(
            "a dead letter cannot be read and is left out: {}",
            damage.why
        ),
        damage: true,
    });
    LogCheck {
        segments: report.segments.len() as u64,
        records: report.records,
        bytes: report.bytes,
        dead_letters: report.dead.letters,
        findings: of_segments.chain(of_letters).collect(),
    }
}

/// What starting without the records behind the damage would lose.
fn affected(report: &CheckReport) -> String {
    let jobs = &report.affected.jobs;
    if jobs.is_empty() {
        return "no record behind it can be read".to_owned();
    }
    let shown: Vec<String> = jobs.iter().take(5).map(ToString::to_string).collect();
    let more = report.affected.more + (jobs.len() - shown.len()) as u64;
    let shown = shown.join(", ");
    match more {
        0 => format!("behind it lie records of {shown}"),
        more => format!("behind it lie records of {shown} and {more} more jobs"),
    }
}
