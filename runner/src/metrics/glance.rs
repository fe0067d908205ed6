//! What is looked at when someone asks, instead of counted: each a number that is at hand.

use std::borrow::Cow;

use prometheus_client::{
    encoding::{EncodeLabel, EncodeLabelSet, LabelSetEncoder},
    metrics::{family::Family, gauge::Gauge},
};

use super::{labels::One, process};

/// A queue and a state.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct InQueue {
    queue: Cow<'static, str>,
    state: &'static str,
}

impl EncodeLabelSet for InQueue {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> Result<(), std::fmt::Error> {
        ("queue", &*self.queue).encode(encoder.encode_label())?;
        ("state", self.state).encode(encoder.encode_label())
    }
}

/// A gauge of seconds.
pub(super) type Seconds = Gauge<f64, std::sync::atomic::AtomicU64>;

/// See the table for what each means.
#[derive(Debug, Default)]
pub struct Glance {
    /// Jobs by state.
    pub jobs: Family<One, Gauge>,
    pub(super) queue_jobs: Family<InQueue, Gauge>,
    /// Letters.
    pub dead_letters: Gauge,
    /// Their bytes.
    pub dead_bytes: Gauge,
    /// Letters purged since the start.
    pub purged: Gauge,
    /// Bytes of the log.
    pub log_bytes: Gauge,
    /// Bytes of it that are needed.
    pub live_bytes: Gauge,
    /// Its segments.
    pub segments: Gauge,
    /// Records appended since the start.
    pub records: Gauge,
    /// Whether the store takes nothing more.
    pub poisoned: Gauge,
    /// Attempts that run.
    pub running: Gauge,
    /// Places for attempts.
    pub slots: Gauge,
    /// Memory that running attempts hold room for.
    pub memory_held: Gauge,
    /// Memory there is room for.
    pub memory_budget: Gauge,
    /// Plugins served.
    pub plugins: Gauge,
    /// Plugins held back.
    pub held: Gauge,
    /// Files that cannot be used.
    pub problems: Gauge,
    /// Whether jobs are claimed.
    pub claiming: Gauge,
    pub(super) cpu: Seconds,
    pub(super) resident: Gauge,
    pub(super) open_files: Gauge,
    pub(super) threads: Gauge,
    pub(super) started: Seconds,
}

/// A count as a gauge has it.
#[must_use]
pub fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Glance {
    /// Forget the jobs of queues: what is not told of next has none.
    pub fn clear_jobs(&self) {
        self.queue_jobs.clear();
        self.jobs.clear();
    }

    /// Add jobs of a queue in a state. Queues that share a label are added up.
    pub fn add_queue(&self, queue: Cow<'static, str>, state: &'static str, jobs: u64) {
        let place = InQueue { queue, state };
        self.queue_jobs.get_or_create(&place).inc_by(count(jobs));
    }

    pub(super) fn look_at_process(&self) {
        let seen = process::look();
        self.cpu.set(seen.cpu_seconds);
        self.resident.set(count(seen.resident_bytes));
        self.open_files.set(count(seen.open_files));
        self.threads.set(count(seen.threads));
        self.started.set(seen.started_at);
    }
}
