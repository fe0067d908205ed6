//! The program behind the command line.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context;

use super::{bench, init, log_report, offline, registry_options, runner, settings, trial};
use crate::{
    api::Ctx,
    cli::{
        Dumped, LogCheck, LogRecord, LogRepair, Measure, OpenError, ReadSettings, Rooms, Tryout,
    },
    config::{Config, ConfigError},
    disk::RealDisk,
    plugin::{Catalog, Checked, Halt, Plugins, Problem, Registry, RegistryOptions},
    store::{
        lock,
        wal::{self, DumpFrom},
    },
};

/// The whole program.
#[derive(Debug, Clone, Copy, Default)]
pub struct Program;

impl Rooms for Program {
    fn start(&self, config: Config, read: ReadSettings) -> anyhow::Result<ExitCode> {
        match init::is_first() {
            true => init::run(),
            false => runner::start(config, read),
        }
    }

    fn usable(&self, config: &Config) -> Result<(), ConfigError> {
        settings::usable(config)
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
        // A runner may be up on the directory.
        let options = RegistryOptions {
            owns_data: false,
            ..registry_options(config)
        };
        let registry = Registry::start(options, Halt::default())?;
        Ok((*registry.catalog()).clone())
    }

    fn check_plugins(
        &self,
        config: &Config,
        files: &[PathBuf],
    ) -> anyhow::Result<Vec<Result<Checked, Problem>>> {
        Ok(trial::check(config, files))
    }

    fn tryout(&self, config: &Config, file: &Path) -> Result<Box<dyn Tryout>, Problem> {
        trial::open(config, file)
    }

    fn measure(&self, config: &Config, file: &Path) -> Result<Box<dyn Measure>, Problem> {
        bench::open(config, file)
    }

    fn check_log(&self, config: &Config) -> anyhow::Result<LogCheck> {
        let report = wal::check(&config.runner.data)?;
        Ok(log_report::check(&config.runner.data, &report))
    }

    fn repair_log(&self, config: &Config, dry_run: bool) -> anyhow::Result<LogRepair> {
        let options = super::wal_options(config, "sandhog log repair");
        let report = wal::repair(&options, dry_run).context("nothing was repaired")?;
        Ok(log_report::repair(report))
    }

    fn dump_log(
        &self,
        config: &Config,
        wanted: &Dumped,
        each: &mut dyn FnMut(LogRecord) -> bool,
    ) -> anyhow::Result<()> {
        let mut unwritable = None;
        let from = wanted
            .from
            .map(|(segment, offset)| DumpFrom { segment, offset });
        wal::dump(&config.runner.data, wanted.log.as_deref(), from, |dumped| {
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
                ids: dumped.ids,
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
