//! Every metric: its name, what it is, its unit and its labels. The registry and the page in `docs/` are
//! both made of this.

use std::fmt::Write as _;

use prometheus_client::registry::{Metric as Registered, Unit};

use super::Metrics;

/// A metric, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Its name without prefix, unit and `_total`.
    pub name: &'static str,
    /// Its form.
    pub form: Form,
    /// Its unit, when it has one.
    pub unit: Option<&'static str>,
    /// Its labels.
    pub labels: &'static [&'static str],
    /// What it is.
    pub says: &'static str,
}

/// The form of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// How many lay below each bound.
    Histogram,
}

const fn metric(
    name: &'static str,
    form: Form,
    unit: Option<&'static str>,
    labels: &'static [&'static str],
    says: &'static str,
) -> Metric {
    Metric {
        name,
        form,
        unit,
        labels,
        says,
    }
}

const SECONDS: Option<&str> = Some("seconds");
const BYTES: Option<&str> = Some("bytes");

use Form::{Counter, Gauge, Histogram};

/// All of them, in the order of the page.
pub const TABLE: &[Metric] = &[
    metric("jobs", Gauge, None, &["state"], "Jobs in each state."),
    metric(
        "queue_jobs",
        Gauge,
        None,
        &["queue", "state"],
        "Jobs of each queue that wait or run.",
    ),
    metric(
        "jobs_enqueued",
        Counter,
        None,
        &["queue"],
        "Jobs accepted from outside.",
    ),
    metric(
        "enqueue_kept",
        Counter,
        None,
        &[],
        "Wishes answered with a job that was there before: the same idempotency key, or a unique job that is kept.",
    ),
    metric(
        "enqueue_refusals",
        Counter,
        None,
        &["reason"],
        "Jobs refused.",
    ),
    metric(
        "jobs_ended",
        Counter,
        None,
        &["state"],
        "Jobs that attempts brought to an end.",
    ),
    metric(
        "queue_latency",
        Histogram,
        SECONDS,
        &["queue"],
        "From when a job could have begun until its first attempt did: since it was due and there, or was brought back.",
    ),
    metric("attempts", Counter, None, &["kind"], "Attempts that ended."),
    metric(
        "attempt_outcomes",
        Counter,
        None,
        &["outcome"],
        "Attempts by how they ended.",
    ),
    metric(
        "attempt_failures",
        Counter,
        None,
        &["failure"],
        "Failed attempts by the kind of failure.",
    ),
    metric(
        "attempt_duration",
        Histogram,
        SECONDS,
        &["kind"],
        "Time of an attempt in the sandbox, its making included.",
    ),
    metric(
        "attempt_cpu",
        Histogram,
        SECONDS,
        &[],
        "Processor time of an attempt, the host's calls for it included.",
    ),
    metric(
        "attempt_peak_memory",
        Histogram,
        BYTES,
        &[],
        "Largest linear memory of an attempt.",
    ),
    metric(
        "leases_lost",
        Counter,
        None,
        &[],
        "Leases that were taken back because nobody renewed them.",
    ),
    metric(
        "cron_lag",
        Histogram,
        SECONDS,
        &[],
        "From a slot of a schedule until its job was safe in the log.",
    ),
    metric(
        "cron_slots",
        Counter,
        None,
        &[],
        "Slots of schedules that were dealt with.",
    ),
    metric(
        "log_sync",
        Histogram,
        SECONDS,
        &[],
        "Time of a sync of the log.",
    ),
    metric(
        "log_sync_records",
        Histogram,
        None,
        &[],
        "Records that one sync made safe.",
    ),
    metric(
        "log_records",
        Gauge,
        None,
        &[],
        "Records appended since the start.",
    ),
    metric("log_size", Gauge, BYTES, &[], "The log on disk."),
    metric(
        "log_live",
        Gauge,
        BYTES,
        &[],
        "Bytes of the log that are needed.",
    ),
    metric("log_segments", Gauge, None, &[], "Segments of the log."),
    metric(
        "store_poisoned",
        Gauge,
        None,
        &[],
        "1 when a write or sync failed and the store takes nothing more.",
    ),
    metric("dead_letters", Gauge, None, &[], "Dead letters."),
    metric(
        "dead_letters_size",
        Gauge,
        BYTES,
        &[],
        "Their file on disk.",
    ),
    metric(
        "dead_letters_purged",
        Gauge,
        None,
        &[],
        "Letters deleted since the start because of the bounds in the settings.",
    ),
    metric(
        "denials",
        Counter,
        None,
        &["capability"],
        "Times a handler was denied something that it is not granted.",
    ),
    metric("running_attempts", Gauge, None, &[], "Attempts that run."),
    metric(
        "slots",
        Gauge,
        None,
        &[],
        "Attempts that may run at a time.",
    ),
    metric(
        "claiming",
        Gauge,
        None,
        &[],
        "1 while jobs are claimed, 0 when the workers are quiet or stopping.",
    ),
    metric(
        "memory_held",
        Gauge,
        BYTES,
        &[],
        "Memory that running attempts hold room for.",
    ),
    metric(
        "memory_budget",
        Gauge,
        BYTES,
        &[],
        "Memory there is room for.",
    ),
    metric("plugins", Gauge, None, &[], "Plugins served."),
    metric(
        "plugins_held",
        Gauge,
        None,
        &[],
        "Plugins that are held back.",
    ),
    metric(
        "plugin_problems",
        Gauge,
        None,
        &[],
        "Files of the plugin folder that cannot be used.",
    ),
    metric(
        "process_cpu",
        Gauge,
        SECONDS,
        &[],
        "Processor time of the runner since its start.",
    ),
    metric("process_resident_memory", Gauge, BYTES, &[], "Its memory."),
    metric("process_open_files", Gauge, None, &[], "Files it has open."),
    metric("process_threads", Gauge, None, &[], "Its threads."),
    metric(
        "process_start_time",
        Gauge,
        SECONDS,
        &[],
        "When it started, since 1970.",
    ),
];

pub(super) fn register(metrics: &mut Metrics) {
    let Metrics {
        registry,
        jobs,
        log,
        denials,
        glance,
        history: _,
    } = metrics;
    let mut put = |name: &str, what: &dyn Fn(&Metric, Register<'_>)| {
        let found = TABLE.iter().find(|metric| metric.name == name);
        what(found.expect("it is in the table"), Register(registry));
    };
    macro_rules! put {
        ($($name:literal: $metric:expr),* $(,)?) => {
            $(put($name, &|metric, registry| registry.put(metric, $metric.clone()));)*
        };
    }
    put!(
        "jobs": glance.jobs, "queue_jobs": glance.queue_jobs, "jobs_enqueued": jobs.enqueued,
        "enqueue_kept": jobs.kept, "enqueue_refusals": jobs.refused, "jobs_ended": jobs.ended, "queue_latency": jobs.latency,
        "attempts": jobs.attempts, "attempt_outcomes": jobs.outcomes, "attempt_failures": jobs.failures,
        "attempt_duration": jobs.duration, "attempt_cpu": jobs.cpu, "attempt_peak_memory": jobs.peak_memory,
        "leases_lost": jobs.lost, "cron_lag": jobs.cron_lag, "cron_slots": jobs.cron_slots,
        "log_sync": log.sync, "log_sync_records": log.group, "log_records": glance.records,
        "log_size": glance.log_bytes, "log_live": glance.live_bytes, "log_segments": glance.segments,
        "store_poisoned": glance.poisoned, "dead_letters": glance.dead_letters,
        "dead_letters_size": glance.dead_bytes, "dead_letters_purged": glance.purged, "denials": denials.0,
        "running_attempts": glance.running, "slots": glance.slots, "claiming": glance.claiming,
        "memory_held": glance.memory_held, "memory_budget": glance.memory_budget, "plugins": glance.plugins,
        "plugins_held": glance.held, "plugin_problems": glance.problems, "process_cpu": glance.cpu,
        "process_resident_memory": glance.resident, "process_open_files": glance.open_files,
        "process_threads": glance.threads, "process_start_time": glance.started,
    );
}

struct Register<'a>(&'a mut prometheus_client::registry::Registry);

impl Register<'_> {
    fn put(self, metric: &Metric, registered: impl Registered) {
        // The text adds the full stop.
        let says = metric.says.trim_end_matches('.');
        match metric.unit {
            Some("seconds") => {
                self.0
                    .register_with_unit(metric.name, says, Unit::Seconds, registered)
            }
            Some(_) => self
                .0
                .register_with_unit(metric.name, says, Unit::Bytes, registered),
            None => self.0.register(metric.name, says, registered),
        }
    }
}

impl Metric {
    /// Its name as it stands in the text; of a histogram, without `_bucket`, `_sum` and `_count`.
    #[must_use]
    pub fn full_name(&self) -> String {
        let unit = self.unit.map_or(String::new(), |unit| format!("_{unit}"));
        let total = if self.form == Counter { "_total" } else { "" };
        format!("{}_{}{unit}{total}", super::PREFIX, self.name)
    }
}

/// The page that documents them.
#[must_use]
pub fn page() -> String {
    let mut text = String::from(HEAD);
    for metric in TABLE {
        let form = match metric.form {
            Counter => "counter",
            Gauge => "gauge",
            Histogram => "histogram",
        };
        let labels: Vec<String> = metric
            .labels
            .iter()
            .map(|label| format!("`{label}`"))
            .collect();
        let (name, says) = (metric.full_name(), metric.says);
        let _ = writeln!(
            text,
            "| `{name}` | {form} | {} | {says} |",
            labels.join(", ")
        );
    }
    text
}

const HEAD: &str = "# Metrics

`GET /metrics` on the runner's HTTP address ([http.md](http.md)) gives them as text for Prometheus, in the OpenMetrics format. Times are
seconds, sizes are bytes, counters end in `_total`. No scrape reads more than it shows: counters are counted as things happen, and
everything else is a number at hand.

Labels are bounded. `queue` is a queue that the settings name (`[queue.NAME]`, `queues.first`), `default`, or `other` for all the rest;
`kind` is one of the first 200 kinds that ran, or `other`. What is counted by `reason`, `outcome`, `failure`, `capability` or the `state` of an end is
there from the start, at 0, so that a rate sees the first. Nothing of a payload, an id or an error's text is in a label. A rule and a
dashboard for Grafana are in [deploy](../deploy).

This page is written by the program; a test holds it equal to the code.

| metric | form | labels | what it is |
|---|---|---|---|
";
