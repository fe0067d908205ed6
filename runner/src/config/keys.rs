//! Every key there is: its form, its range, the field it fills, and what it means. Reading, `config
//! show` and the page in `docs/` all go through this table.

use std::time::Duration;

use super::{
    Config, KindSettings,
    capabilities::CAPABILITY_KEYS,
    http::HTTP,
    queue::ORDER,
    reload::Reload,
    traces::TRACES,
    value::{Form, Setting, Value},
};

/// Most worker threads, and most slots of one.
pub(super) const MOST_WORKERS: u64 = 256;
pub(super) const KIB: u64 = 1 << 10;
pub(super) const MIB: u64 = 1 << 20;
pub(super) const GIB: u64 = 1 << 30;

/// A key of a table whose settings are an `S`.
pub(super) struct Key<S> {
    pub(super) name: &'static str,
    pub(super) form: Form,
    /// What it means, for the page.
    pub(super) says: &'static str,
    /// Fill the field. Refused when the field cannot hold the value.
    pub(super) set: fn(&mut S, Value) -> Result<(), String>,
    pub(super) get: fn(&S) -> Option<Value>,
}

/// A table with fixed keys.
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) says: &'static str,
    pub(super) reload: Reload,
    pub(super) keys: &'static [Key<Config>],
}

/// Tables that the operator names: `[kind.NAME]`, `[cron.NAME]`.
pub(super) struct Named<S: 'static> {
    pub(super) name: &'static str,
    pub(super) says: &'static str,
    /// The keys that every one of them must have.
    pub(super) must: &'static [&'static str],
    pub(super) reload: Reload,
    pub(super) keys: &'static [Key<S>],
}

macro_rules! key {
    ($settings:ty, $($field:ident).+, $name:literal, $form:expr, $says:literal) => {
        Key {
            name: $name,
            form: $form,
            says: $says,
            set: |settings: &mut $settings, value| Setting::take(value)
                .map(|value| settings.$($field).+ = value)
                .ok_or_else(|| "does not fit".into()),
            get: |settings: &$settings| settings.$($field).+.give(),
        }
    };
}
pub(super) use key;

mod plugins;

pub(super) const fn count(max: u64) -> Form {
    Form::Count { min: 1, max }
}

pub(super) const fn size(min: u64, max: u64) -> Form {
    Form::Size { min, max }
}

const fn span(min_ms: u64, max_s: u64) -> Form {
    Form::Span {
        min: Duration::from_millis(min_ms),
        max: Duration::from_secs(max_s),
    }
}

const HOUR: u64 = 3_600;
const YEAR: u64 = 365 * 24 * HOUR;
const ATTEMPT: Form = span(1, 24 * HOUR);
const MEMORY: Form = size(64 * KIB, 4 * GIB);

/// The tables with fixed keys, in the order of the page.
pub(super) const TABLES: &[Table] = &[
    Table {
        name: "runner",
        says: "The process: where it keeps things and how much it does at a time.",
        reload: Reload::Only(&["shutdown_grace"]),
        keys: &[
            key!(
                Config,
                runner.data,
                "data",
                Form::Path,
                "The data directory. Relative to this file. `SANDHOG_DATA` and `--data` override it."
            ),
            key!(
                Config,
                runner.plugins,
                "plugins",
                Form::Path,
                "The folder the components are dropped into. Relative to this file. `SANDHOG_PLUGINS` and `--plugins` override it."
            ),
            key!(
                Config,
                runner.workers,
                "workers",
                count(MOST_WORKERS),
                "Worker threads that run attempts. One per core when not given."
            ),
            key!(
                Config,
                runner.slots,
                "slots",
                count(MOST_WORKERS),
                "Attempts one worker thread runs at a time."
            ),
            key!(
                Config,
                runner.memory_budget,
                "memory_budget",
                size(MIB, 1024 * GIB),
                "Memory that the attempts which run at a time may have together, counted by their limits. A job for which there is no room waits, and uses no attempt; one whose limit is larger than the budget runs alone. Three quarters of the machine's memory, or of what its control group allows, when not given."
            ),
            key!(
                Config,
                runner.shutdown_grace,
                "shutdown_grace",
                span(100, HOUR),
                "How long a stop waits for running attempts before it interrupts them and puts their jobs back."
            ),
            key!(
                Config,
                runner.cancel_grace,
                "cancel_grace",
                span(1, HOUR),
                "How long a handler may go on after `sandhog job cancel` before it is stopped. `sandhog job kill` stops it at once."
            ),
            key!(
                Config,
                runner.lease,
                "lease",
                span(1_000, 24 * HOUR),
                "How long a job stays leased to a worker that no longer renews the lease."
            ),
        ],
    },
    Table {
        name: "store",
        says: "The log that keeps the jobs.",
        reload: Reload::Only(&[]),
        keys: &[
            key!(
                Config,
                store.durability,
                "durability",
                Form::OneOf(&["commit", "interval", "none"]),
                "What an acknowledgement waits for: the sync that covers it (`commit`), or only the write, with a sync every `interval`, or with none at all. With the last two, power loss may lose what was acknowledged last; a crash of the process does not."
            ),
            key!(
                Config,
                store.interval,
                "interval",
                span(1, 60),
                "The time between syncs when `durability` is `interval`."
            ),
            key!(
                Config,
                store.segment_size,
                "segment_size",
                size(64 * KIB, GIB),
                "The size at which a segment of the log is closed and the next one begun."
            ),
            key!(
                Config,
                store.keep_completed,
                "keep_completed",
                Form::Keep {
                    min: Duration::from_millis(1),
                    max: Duration::from_secs(100 * YEAR),
                },
                "How long a job that completed, was cancelled or was discarded is kept to be looked at; then it is forgotten. Dead jobs stay until somebody deletes them."
            ),
            key!(
                Config,
                store.max_completed,
                "max_completed",
                Form::Count {
                    min: 0,
                    max: 1_000_000_000,
                },
                "How many such jobs are kept at most. More of them are forgotten at once, the one that ended first before the others; one that ended within the last 10 s stays, for those who wait for its result."
            ),
        ],
    },
    Table {
        name: "dead",
        says: "Which dead letters are kept. All of them for ever, unless a key here says otherwise; what goes is the oldest, and each is told in the log and counted in `sandhog stats`.",
        reload: Reload::Only(&[]),
        keys: &[
            key!(
                Config,
                dead.keep,
                "keep",
                span(1_000, 100 * 366 * 24 * HOUR),
                "How long a letter is kept after its job died."
            ),
            key!(
                Config,
                dead.max_letters,
                "max_letters",
                count(1_000_000_000),
                "How many letters are kept, the newest."
            ),
            key!(
                Config,
                dead.max_bytes,
                "max_bytes",
                size(KIB, 1024 * GIB),
                "How many bytes of letters are kept, the newest; the newest of all stays whatever its size."
            ),
        ],
    },
    plugins::TABLE,
    ORDER,
    Table {
        name: "limits",
        says: "What one attempt may use, unless its kind says otherwise. Going over one is a failed attempt that names the key.",
        reload: Reload::AllBut(&["memory", "table_elements", "payload"]),
        keys: &[
            key!(
                Config,
                limits.timeout,
                "timeout",
                ATTEMPT,
                "Wall time of an attempt, start of the sandbox included."
            ),
            key!(
                Config,
                limits.memory,
                "memory",
                MEMORY,
                "Linear memory of an attempt, over all its memories."
            ),
            key!(
                Config,
                limits.table_elements,
                "table_elements",
                count(100_000_000),
                "Table elements of an attempt, over all its tables."
            ),
            key!(
                Config,
                limits.result,
                "result",
                size(1, 8 * MIB),
                "Largest result of a handler."
            ),
            key!(
                Config,
                limits.payload,
                "payload",
                size(1, 8 * MIB),
                "Largest payload of a job; a larger one is refused when it is enqueued."
            ),
            key!(
                Config,
                limits.log,
                "log",
                size(KIB, 2 * MIB),
                "Text of the log lines kept of one attempt; further lines are counted and left out."
            ),
            key!(
                Config,
                limits.checkpoint,
                "checkpoint",
                size(1, sandhog_model::limits::CHECKPOINT_BYTES as u64),
                "Largest checkpoint a handler may keep for its next attempt."
            ),
        ],
    },
    Table {
        name: "capabilities",
        says: "The ceiling on what plugins may be granted by the `NAME.toml` beside `NAME.wasm` ([capabilities.md](capabilities.md)). What lies over it is not granted.",
        reload: Reload::AllBut(&["ca_file"]),
        keys: CAPABILITY_KEYS,
    },
    HTTP,
    TRACES,
    Table {
        name: "log",
        says: "The runner's own log, on standard error.",
        reload: Reload::AllBut(&["format"]),
        keys: &[
            key!(
                Config,
                log.format,
                "format",
                Form::OneOf(&["text", "json"]),
                "`text` for people, `json` for programs: one object a line."
            ),
            key!(
                Config,
                log.level,
                "level",
                Form::OneOf(&["error", "warn", "info", "debug", "trace"]),
                "The least level that is written."
            ),
        ],
    },
];

/// The operator's word on kinds.
pub(super) const KIND: Named<KindSettings> = Named {
    name: "kind",
    says: "The operator's word on one kind of job. It stands above what the handler proposes and below what a job says itself.",
    reload: Reload::AllBut(&["memory"]),
    must: &[],
    keys: &[
        key!(
            KindSettings,
            queue,
            "queue",
            Form::Name,
            "The queue of its jobs."
        ),
        key!(
            KindSettings,
            timeout,
            "timeout",
            ATTEMPT,
            "Wall time of an attempt."
        ),
        key!(
            KindSettings,
            memory,
            "memory",
            MEMORY,
            "Linear memory of an attempt."
        ),
        key!(
            KindSettings,
            max_attempts,
            "max_attempts",
            count(1_000),
            "Attempts in all; the last failure puts the job into the dead letters."
        ),
        key!(
            KindSettings,
            trap_attempts,
            "trap_attempts",
            count(1_000),
            "Attempts that may fail in a way that the same input most likely repeats: traps, memory, a bad result. Other failures do not count towards it; never more than `max_attempts`."
        ),
        key!(
            KindSettings,
            backoff,
            "backoff",
            Form::Backoff,
            "The wait between attempts."
        ),
        key!(
            KindSettings,
            retry_for,
            "retry_for",
            span(1, 10 * YEAR),
            "How long a job may go on failing, from the end of its first failed attempt: one that would be tried again later than that is dead. Settled when a job is enqueued; it may say it itself (`--retry-for`)."
        ),
        key!(
            KindSettings,
            max_age,
            "max_age",
            span(1, 10 * YEAR),
            "How long after it is first due a job may still be begun: one that waits longer expires. Settled when a job is enqueued; it may say an instant itself (`--expires-in`, `--expires-at`)."
        ),
        key!(
            KindSettings,
            config,
            "config",
            Form::Pairs,
            "Keys and values the handler reads through the `config` interface."
        ),
    ],
};
