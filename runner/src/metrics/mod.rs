//! What is counted and measured while a runner runs, and its text for Prometheus.
//!
//! Whoever measures holds the part that is its own and pays for a few atomic operations. Knows nothing of
//! jobs but the names and numbers it is given.

mod glance;
mod history;
mod labels;
mod process;
mod table;

use std::{fmt, sync::Arc, time::Duration};

use prometheus_client::{
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::Registry,
};

pub use glance::{Glance, count};
pub use history::{History, KEPT, Past, Span, Times, Way};
pub use labels::{Names, One};
pub use table::{Form, Metric, TABLE, page};

/// The media type of the text.
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// What every name begins with.
const PREFIX: &str = "sandhog";

/// Everything.
pub struct Metrics {
    registry: Registry,
    /// What jobs come to.
    pub jobs: JobMetrics,
    /// What the log does.
    pub log: Arc<LogMetrics>,
    /// What handlers were denied.
    pub denials: Arc<Denials>,
    /// What the last day was like.
    pub history: History,
    glance: Glance,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

/// What jobs come to.
#[derive(Debug)]
pub struct JobMetrics {
    /// Queues that have a label of their own; the others are `other`.
    pub queues: Names,
    /// Kinds that have a label of their own.
    pub kinds: Names,
    /// Jobs accepted, by queue.
    pub enqueued: Family<One, Counter>,
    /// Wishes that a job which was there before stands for.
    pub kept: Counter,
    /// Jobs refused, by reason.
    pub refused: Family<One, Counter>,
    /// Attempts that ended, by kind.
    pub attempts: Family<One, Counter>,
    /// Attempts by how they ended.
    pub outcomes: Family<One, Counter>,
    /// Failed attempts by the failure's kind.
    pub failures: Family<One, Counter>,
    /// Jobs that came to an end, by the state they are in then.
    pub ended: Family<One, Counter>,
    /// From when a job was first due until its first lease, by queue.
    pub latency: Family<One, Histogram>,
    /// Time in the sandbox, by kind.
    pub duration: Family<One, Histogram>,
    /// Processor time of an attempt.
    pub cpu: Histogram,
    /// Largest linear memory of an attempt.
    pub peak_memory: Histogram,
    /// Leases that were taken back.
    pub lost: Counter,
    /// From a slot of a schedule until its job was in the log.
    pub cron_lag: Histogram,
    /// Slots that got their jobs.
    pub cron_slots: Counter,
}

/// What the log does.
#[derive(Debug)]
pub struct LogMetrics {
    sync: Histogram,
    group: Histogram,
}

impl LogMetrics {
    /// A sync of the log took this long and made so many records safe.
    pub fn synced(&self, took: Duration, records: u64) {
        self.sync.observe(took.as_secs_f64());
        self.group.observe(records as f64);
    }
}

impl Default for LogMetrics {
    fn default() -> Self {
        Self {
            sync: histogram(seconds()),
            group: histogram(counts()),
        }
    }
}

/// What handlers were denied, by capability.
#[derive(Debug)]
pub struct Denials(Family<One, Counter>);

/// Capabilities that can be denied to a handler which runs.
const CAPABILITIES: [&str; 3] = ["enqueue", "http", "signing"];

impl Default for Denials {
    fn default() -> Self {
        let counted = Family::default();
        from_zero(&counted, CAPABILITIES.map(One::capability));
        Self(counted)
    }
}

/// Have counters be there before what they count first happens: a rate of a series that is born with it
/// misses that.
pub fn from_zero(counted: &Family<One, Counter>, labels: impl IntoIterator<Item = One>) {
    for label in labels {
        drop(counted.get_or_create(&label));
    }
}

impl Denials {
    /// A handler was denied something of this capability.
    pub fn denied(&self, capability: &'static str) {
        debug_assert!(CAPABILITIES.contains(&capability), "{capability}");
        self.0.get_or_create(&One::capability(capability)).inc();
    }
}

/// Bounds of times, in seconds: 10 µs to 5 min, and 1 h.
fn seconds() -> Vec<f64> {
    let decades = [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0];
    let steps = decades
        .iter()
        .flat_map(|decade| [1.0, 2.5, 5.0].map(|step| step * decade));
    steps.chain([100.0, 300.0, 3_600.0]).collect()
}

/// Bounds of counts: powers of two to 4096.
fn counts() -> Vec<f64> {
    (0..=12).map(|power| f64::from(1 << power)).collect()
}

/// Bounds of sizes, in bytes: 64 KiB to 4 GiB.
fn bytes() -> Vec<f64> {
    (16..=32).map(|power| f64::from(power).exp2()).collect()
}

fn histogram(bounds: Vec<f64>) -> Histogram {
    Histogram::new(bounds)
}

impl Default for JobMetrics {
    fn default() -> Self {
        Self {
            queues: Names::default(),
            kinds: Names::default(),
            enqueued: Family::default(),
            kept: Counter::default(),
            refused: Family::default(),
            attempts: Family::default(),
            outcomes: Family::default(),
            failures: Family::default(),
            ended: Family::default(),
            latency: Family::new_with_constructor(|| histogram(seconds())),
            duration: Family::new_with_constructor(|| histogram(seconds())),
            cpu: histogram(seconds()),
            peak_memory: histogram(bytes()),
            lost: Counter::default(),
            cron_lag: histogram(seconds()),
            cron_slots: Counter::default(),
        }
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix(PREFIX),
            jobs: JobMetrics::default(),
            log: Arc::default(),
            denials: Arc::default(),
            history: History::default(),
            glance: Glance::default(),
        };
        table::register(&mut metrics);
        metrics
    }
}

impl Metrics {
    /// The text as it is now. `now` fills in what is looked at instead of counted.
    #[must_use]
    pub fn text(&self, now: impl FnOnce(&Glance)) -> String {
        now(&self.glance);
        self.glance.look_at_process();
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.registry);
        text
    }
}

#[cfg(test)]
mod tests;
