//! The composition root: the only place that knows every room and wires them together.

mod bench;
mod http;
mod init;
mod log_report;
mod logging;
mod machine;
mod offline;
mod reload;
mod rooms;
mod runner;
mod service;
mod settings;
mod signals;
mod traces;
mod trial;

use std::{path::PathBuf, sync::Arc};

use anyhow::Context as _;
use tokio::runtime::{Builder, Runtime};

use crate::{
    config::{self, Config},
    engine::EngineOptions,
    metrics::Metrics,
    plugin::{CacheBounds, CompileLimits, Compiler, Outside, RegistryOptions, SandboxOptions},
    store::{
        LetterBounds,
        wal::{Durability, WalOptions},
    },
};

pub use bench::{AttemptEnd, AttemptWatch, Stage, Stand};
pub use rooms::Program;

/// What ended is kept so long whatever `[store]` says: who waits for a result asks again within less.
const SPARED_MS: u64 = 10_000;

/// The threads on which everything of a runner goes on but attempts and the store.
fn control_threads() -> anyhow::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("control")
        .enable_all()
        .build()
        .context("cannot start the control threads")
}

/// How the store is opened for a command.
fn wal_options(config: &Config, command: &str) -> WalOptions {
    let interval = config.store.interval.as_millis() as u64;
    WalOptions {
        durability: match config.store.durability {
            config::Durability::Commit => Durability::Commit,
            config::Durability::Interval => Durability::Interval(interval),
            config::Durability::None => Durability::None,
        },
        segment_bytes: config.store.segment_size,
        keep_ended_ms: match config.store.keep_completed {
            config::Keep::For(span) => Some(span.as_millis() as u64),
            config::Keep::Forever => None,
        },
        max_ended: Some(config.store.max_completed),
        spare_ended_ms: SPARED_MS,
        queues: Arc::new(config.queue_rules()),
        lease_ms: config.runner.lease.as_millis() as u64,
        letters: LetterBounds {
            keep_ms: config.dead.keep.map(|keep| keep.as_millis() as u64),
            max_letters: config.dead.max_letters,
            max_bytes: config.dead.max_bytes,
        },
        ..WalOptions::new(config.runner.data.clone(), command)
    }
}

/// How much runs at a time and for how long.
fn engine_options(config: &Config) -> EngineOptions {
    EngineOptions {
        workers: config.runner.workers,
        slots: config.runner.slots,
        memory_budget: machine::memory_budget(config),
        memory_ceiling: sandbox_options(config).max_memory,
        lease_ms: config.runner.lease.as_millis() as u64,
        cancel_grace: config.runner.cancel_grace,
    }
}

/// How the sandboxes of one worker thread are made.
fn sandbox_options(config: &Config) -> SandboxOptions {
    let of_kinds = config.kinds.values().filter_map(|kind| kind.memory);
    SandboxOptions {
        slots: u32::try_from(config.runner.slots).unwrap_or(u32::MAX),
        max_memory: of_kinds.fold(config.limits.memory, u64::max),
        table_elements: config.limits.table_elements,
        ..SandboxOptions::default()
    }
}

/// How the plugin folder is watched.
fn registry_options(config: &Config) -> RegistryOptions {
    RegistryOptions {
        max_file: config.plugins.max_file,
        sandbox: sandbox_options(config),
        ceilings: Arc::new(config.ceilings()),
        compiler: compiler(config),
        cache: CacheBounds {
            age: config.plugins.cache_age,
            bytes: config.plugins.cache_size,
            ..CacheBounds::default()
        },
        keep_versions: config.plugins.keep_versions,
        quarantine_after: config.plugins.quarantine_after,
        // In the data directory, out of reach of who drops plugins.
        ..RegistryOptions::new(
            config.runner.plugins.clone(),
            config.runner.data.join("code"),
            config.runner.data.join("versions"),
        )
    }
}

/// What guests reach outside of their sandboxes. Scratch directories are made in `scratch`, or where
/// the system keeps temporary files.
fn outside(config: &Config, scratch: Option<PathBuf>, metrics: &Metrics) -> Arc<Outside> {
    let denials = metrics.denials.clone();
    Outside::new(&config.ceilings(), config.ca_file.clone(), scratch, denials)
}

/// Who compiles, and within which limits.
fn compiler(config: &Config) -> Compiler {
    Compiler::child(CompileLimits {
        timeout: config.plugins.compile_timeout,
        memory: config.plugins.compile_memory,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a lease is worth to whom stands in the tests of the engine and of the store.
    #[test]
    fn leases_are_as_long_as_the_settings_say() {
        let text = "[runner]\nlease = \"7s\"\n";
        let config = config::parse("s.toml".as_ref(), text).expect("right settings");
        assert_eq!(engine_options(&config).lease_ms, 7_000);
        assert_eq!(wal_options(&config, "a test").lease_ms, 7_000);
    }
}
