//! Settings: `sandhog.toml`, then the environment, then flags. Each room gets its own part.
//!
//! Knows nothing of how the rooms work inside; it only fills in their options.

mod capabilities;
mod cron;
mod difference;
mod error;
mod http;
mod item;
mod keys;
mod near;
mod origin;
mod page;
mod queue;
mod read;
mod reload;
mod traces;
mod value;
mod written;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use sandhog_model::{Backoff, KindDefaults, RetryPolicy};

use crate::{
    plugin::{Ceiling, Limits},
    processors,
};

pub use capabilities::SecretSettings;
pub use cron::{CatchUp, CronSettings, Overlap};
pub use difference::differences;
pub use error::{ConfigError, Refusal};
pub use http::{Hidden, HttpSettings, Listen};
pub use origin::{Origins, in_force};
pub use page::{page, show};
pub use queue::{QueueOrder, QueueSettings};
pub use read::{DEFAULT_FILE, FILE_VARIABLE, Overrides, load, parse, parse_cron};
pub use traces::TraceSettings;

/// Every setting, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The file it was read from, if there was one.
    pub file: Option<PathBuf>,
    /// Where each value comes from.
    pub origins: Origins,
    /// `[runner]`.
    pub runner: RunnerSettings,
    /// `[store]`.
    pub store: StoreSettings,
    /// `[dead]`.
    pub dead: DeadSettings,
    /// `[plugins]`.
    pub plugins: PluginSettings,
    /// `[limits]`.
    pub limits: LimitSettings,
    /// `[kind.NAME]`, by name.
    pub kinds: BTreeMap<String, KindSettings>,
    /// `[queues]`.
    pub order: QueueOrder,
    /// `[queue.NAME]`, by name.
    pub queues: BTreeMap<String, QueueSettings>,
    /// `[cron.NAME]`, by name.
    pub cron: BTreeMap<String, CronSettings>,
    /// `[capabilities]`.
    pub capabilities: Ceiling,
    /// `capabilities.ca_file`.
    pub ca_file: Option<PathBuf>,
    /// `[plugin.NAME]`, by name.
    pub plugin: BTreeMap<String, Ceiling>,
    /// `[secrets.NAME]`, by name.
    pub secrets: BTreeMap<String, SecretSettings>,
    /// `[http]`.
    pub http: HttpSettings,
    /// `[traces]`.
    pub traces: TraceSettings,
    /// `[log]`.
    pub log: LogSettings,
}

/// The process.
#[derive(Debug, Clone, PartialEq)]
pub struct RunnerSettings {
    /// The data directory.
    pub data: PathBuf,
    /// The plugin folder.
    pub plugins: PathBuf,
    /// Worker threads.
    pub workers: usize,
    /// Attempts a worker thread runs at a time.
    pub slots: usize,
    /// Memory that attempts which run at a time may have together, in bytes; left to the machine
    /// when not given.
    pub memory_budget: Option<u64>,
    /// How long a stop waits for running attempts.
    pub shutdown_grace: Duration,
    /// How long a handler whose job was called off may go on.
    pub cancel_grace: Duration,
    /// How long a lease holds without being renewed.
    pub lease: Duration,
}

/// When the log is synced, and its files.
#[derive(Debug, Clone, PartialEq)]
pub struct StoreSettings {
    /// What an acknowledgement waits for.
    pub durability: Durability,
    /// The time between syncs when `durability` is `interval`.
    pub interval: Duration,
    /// Size at which a segment is closed, in bytes.
    pub segment_size: u64,
    /// How long jobs that ended are kept, the dead ones aside.
    pub keep_completed: Keep,
    /// How many of them are kept.
    pub max_completed: usize,
}

/// How long something is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// For this time.
    For(Duration),
    /// Without an end.
    Forever,
}

/// Which dead letters are kept. What is `None` does not bound.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeadSettings {
    /// How long they are kept.
    pub keep: Option<Duration>,
    /// How many.
    pub max_letters: Option<u64>,
    /// How many bytes of them.
    pub max_bytes: Option<u64>,
}

/// How plugins are taken in and kept.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginSettings {
    /// Largest file, in bytes.
    pub max_file: u64,
    /// Wall time of one compilation.
    pub compile_timeout: Duration,
    /// Resident memory of one compilation, in bytes.
    pub compile_memory: u64,
    /// Native code kept, in bytes.
    pub cache_size: u64,
    /// How long native code is kept that nothing uses.
    pub cache_age: Duration,
    /// Versions of each plugin that are kept to go back to.
    pub keep_versions: usize,
    /// After how many jobs in a row that break a version it is held back; never when 0.
    pub quarantine_after: usize,
}

impl Default for PluginSettings {
    fn default() -> Self {
        Self {
            max_file: 64 << 20,
            compile_timeout: Duration::from_secs(300),
            compile_memory: 1 << 30,
            cache_size: 1 << 30,
            cache_age: Duration::from_secs(30 * 24 * 60 * 60),
            keep_versions: 5,
            quarantine_after: 10,
        }
    }
}

/// What an acknowledgement waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The sync that covers it.
    Commit,
    /// The write; a sync follows within the interval.
    Interval,
    /// The write; the system syncs when it likes.
    None,
}

/// What an attempt may use, unless its kind says otherwise. Sizes in bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitSettings {
    /// Wall time.
    pub timeout: Duration,
    /// Linear memory.
    pub memory: u64,
    /// Table elements.
    pub table_elements: u64,
    /// Largest result.
    pub result: u64,
    /// Largest payload of a job.
    pub payload: u64,
    /// Log text kept of an attempt.
    pub log: u64,
    /// Largest checkpoint.
    pub checkpoint: u64,
}

/// The operator's word on one kind; `None` leaves it to the job, the handler and the defaults.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KindSettings {
    /// The queue.
    pub queue: Option<String>,
    /// Wall time of an attempt.
    pub timeout: Option<Duration>,
    /// Linear memory of an attempt, in bytes.
    pub memory: Option<u64>,
    /// Attempts in all.
    pub max_attempts: Option<u32>,
    /// Attempts in all when failures are deterministic.
    pub trap_attempts: Option<u32>,
    /// The wait between attempts.
    pub backoff: Option<Backoff>,
    /// How long a job may go on failing.
    pub retry_for: Option<Duration>,
    /// How long after it is first due a job may still be begun.
    pub max_age: Option<Duration>,
    /// Keys and values the handler can read.
    pub config: Arc<BTreeMap<String, String>>,
}

/// The runner's own log.
#[derive(Debug, Clone, PartialEq)]
pub struct LogSettings {
    /// How a line is written.
    pub format: LogFormat,
    /// The least level that is written: `error`, `warn`, `info`, `debug` or `trace`.
    pub level: String,
}

/// How the runner writes its own log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

impl Default for Config {
    fn default() -> Self {
        let limits = Limits::default();
        Self {
            file: None,
            origins: Origins::default(),
            runner: RunnerSettings {
                data: PathBuf::from("sandhog-data"),
                plugins: PathBuf::from("plugins"),
                workers: processors::count().min(keys::MOST_WORKERS as usize),
                slots: 4,
                memory_budget: None,
                shutdown_grace: Duration::from_secs(25),
                cancel_grace: Duration::from_secs(5),
                lease: Duration::from_secs(60),
            },
            store: StoreSettings {
                durability: Durability::Commit,
                interval: Duration::from_millis(100),
                segment_size: 16 << 20,
                keep_completed: Keep::For(Duration::from_secs(24 * 60 * 60)),
                max_completed: 1_000_000,
            },
            dead: DeadSettings::default(),
            plugins: PluginSettings::default(),
            limits: LimitSettings {
                timeout: Duration::from_millis(limits.timeout_ms),
                memory: limits.memory,
                table_elements: limits.table_elements,
                result: limits.result,
                payload: sandhog_model::limits::PAYLOAD_BYTES as u64,
                log: limits.log,
                checkpoint: limits.checkpoint,
            },
            kinds: BTreeMap::new(),
            order: QueueOrder::default(),
            queues: BTreeMap::new(),
            cron: BTreeMap::new(),
            capabilities: Ceiling::default_values(),
            ca_file: None,
            plugin: BTreeMap::new(),
            secrets: BTreeMap::new(),
            http: HttpSettings::default(),
            traces: TraceSettings::default(),
            log: LogSettings {
                format: LogFormat::Text,
                level: "info".into(),
            },
        }
    }
}

impl Config {
    /// What one attempt of a kind may use.
    #[must_use]
    pub fn limits_for(&self, kind: &str) -> Limits {
        let own = self.kinds.get(kind);
        let timeout = own
            .and_then(|own| own.timeout)
            .unwrap_or(self.limits.timeout);
        Limits {
            timeout_ms: timeout.as_millis() as u64,
            memory: own.and_then(|own| own.memory).unwrap_or(self.limits.memory),
            table_elements: self.limits.table_elements,
            result: self.limits.result,
            log: self.limits.log,
            checkpoint: self.limits.checkpoint,
            ..Limits::default()
        }
    }

    /// What the operator says of a kind, for jobs that do not say it themselves. What is `None` is
    /// left to the handler.
    #[must_use]
    pub fn defaults_for(&self, kind: &str) -> KindDefaults {
        let Some(own) = self.kinds.get(kind) else {
            return KindDefaults::default();
        };
        KindDefaults {
            queue: own.queue.clone(),
            retry: RetryPolicy {
                max_attempts: own.max_attempts,
                trap_attempts: own.trap_attempts,
                backoff: own.backoff.clone(),
            },
            timeout_ms: own.timeout.map(|timeout| timeout.as_millis() as u64),
            content_type: None,
            max_age_ms: own.max_age.map(|age| age.as_millis() as u64),
            retry_for_ms: own.retry_for.map(|span| span.as_millis() as u64),
        }
    }

    /// The keys and values a kind's handler can read.
    #[must_use]
    pub fn handler_config(&self, kind: &str) -> Arc<BTreeMap<String, String>> {
        self.kinds
            .get(kind)
            .map(|own| Arc::clone(&own.config))
            .unwrap_or_default()
    }

    /// Where a runner on this data directory listens.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.runner.data.join(crate::api::SOCKET_NAME)
    }
}

#[cfg(test)]
mod tests;
