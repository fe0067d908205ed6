//! The steps of a history.

use proptest::prelude::*;
use sandhog_model::{
    Digest, FailureKind, Job, Named, OnConflict, Outcome, QueueMode, Scope, Terms, TrapKind,
    Unique, Waiting,
};

use crate::sample::{failed, failure, output};

/// One step of a history. A job is picked by a number that counts round all known ids; some picks
/// are of an id that was never given.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    /// A new job, or one with an id that exists.
    Enqueue {
        kind: u8,
        queue: u8,
        priority: i16,
        delay: u64,
        taken: Option<usize>,
        extra: Extra,
    },
    /// A claim of the kinds in a bit set.
    Claim { kinds: u8 },
    /// A report with the job's latest token or the one before.
    Settle {
        job: usize,
        late: bool,
        outcome: Outcome,
        children: usize,
    },
    /// A checkpoint.
    Checkpoint { job: usize, late: bool },
    /// A lease lost.
    Lose { job: usize, late: bool },
    /// A change from outside.
    Amend { job: usize, wish: u8 },
    /// A wish about one of two schedules.
    Cron {
        name: u8,
        change: u8,
        overlap: u8,
        step: u64,
    },
    /// Jobs that ended, forgotten by age and number.
    Prune { age: u64, keep: usize, max: usize },
    /// A queue is told what to do.
    Steer { queue: u8, mode: QueueMode },
    /// A wish about a batch.
    Batch { batch: usize, change: u8 },
    /// What follows from how batches stand.
    Tend { max: usize },
    /// Jobs that expired, ended.
    Expire { max: usize },
    /// A job written anew.
    Carry { job: usize },
    /// Every job written anew that has its first record in this part of the log, and then that part
    /// given up.
    Trim { percent: usize },
    /// Signs of life of every lease.
    Renew,
    /// Time, forward or back.
    Pass(i64),
}

/// What few jobs say.
#[derive(Debug, Clone, Default)]
pub(crate) struct Extra {
    group: Option<u8>,
    /// A key, a scope of [`SCOPES`], a period, and what to do.
    unique: Option<(u8, usize, Option<u64>, OnConflict)>,
    idempotency: Option<u8>,
    /// Milliseconds after it is due.
    expires: Option<u64>,
    retry_for: Option<u64>,
    pub(super) batch: Option<u8>,
}

/// Scopes, none of which tells the reasons for waiting apart.
const SCOPES: [Scope; 3] = [
    Scope::WAITING.and(Scope::RETRYABLE),
    Scope::UNFINISHED,
    Scope::KNOWN,
];

fn extras() -> impl Strategy<Value = Extra> {
    let period = prop::option::weighted(0.5, 1..3_000_u64);
    let policy = prop::sample::select(&OnConflict::ALL[..]);
    let unique = (0..2_u8, 0..3_usize, period, policy);
    let says = (
        prop::option::weighted(0.5, 0..3_u8),
        prop::option::weighted(0.5, unique),
        prop::option::weighted(0.3, 0..3_u8),
        prop::option::weighted(0.4, 1..3_000_u64),
        prop::option::weighted(0.3, 1..4_000_u64),
        prop::option::weighted(0.6, 0..3_u8),
    );
    let extra = says.prop_map(
        |(group, unique, idempotency, expires, retry_for, batch)| Extra {
            group,
            unique,
            idempotency,
            expires,
            retry_for,
            batch,
        },
    );
    prop_oneof![1 => Just(Extra::default()), 1 => extra]
}

fn outcomes() -> impl Strategy<Value = Outcome> {
    let trap = FailureKind::Trap(TrapKind::Unreachable);
    prop_oneof![
        3 => Just(Outcome::Completed(output())),
        3 => Just(failed(FailureKind::Error)),
        2 => Just(failed(trap)),
        1 => Just(failed(FailureKind::Lost)),
        1 => (0..9_000_u64).prop_map(|ms| Outcome::Failed {
            failure: failure(FailureKind::Timeout),
            retry_after_ms: Some(ms),
        }),
        1 => Just(Outcome::Permanent(failure(FailureKind::Error))),
        1 => (0..3_000_u64).prop_map(|delay_ms| Outcome::Snoozed { delay_ms }),
        1 => Just(Outcome::Discarded { reason: "no".into() }),
        1 => prop_oneof![
            Just(Waiting::PluginMissing),
            Just(Waiting::PluginInvalid),
            Just(Waiting::PoolFull),
            Just(Waiting::Shutdown),
        ].prop_map(Outcome::NotRun),
    ]
}

/// A history of up to 80 steps.
pub(crate) fn histories() -> impl Strategy<Value = Vec<Op>> {
    let job = 0..12_usize;
    let late = prop::bool::weighted(0.1);
    let delay = prop_oneof![2 => Just(0_u64), 1 => 1..4_000_u64];
    let taken = prop::option::weighted(0.05, job.clone());
    let op = prop_oneof![
        6 => (0..3_u8, 0..3_u8, -1..2_i16, delay, taken, extras()).prop_map(
            |(kind, queue, priority, delay, taken, extra)| {
                Op::Enqueue { kind, queue, priority, delay, taken, extra }
            }
        ),
        10 => (1..8_u8).prop_map(|kinds| Op::Claim { kinds }),
        8 => (job.clone(), late, outcomes(), 0..3_usize).prop_map(
            |(job, late, outcome, children)| Op::Settle { job, late, outcome, children }
        ),
        1 => (job.clone(), late).prop_map(|(job, late)| Op::Checkpoint { job, late }),
        4 => (job.clone(), late).prop_map(|(job, late)| Op::Lose { job, late }),
        5 => (job, 0..10_u8).prop_map(|(job, wish)| Op::Amend { job, wish }),
        4 => (0..2_u8, 0..16_u8, 0..4_u8, 0..3_u64).prop_map(
            |(name, change, overlap, step)| Op::Cron { name, change, overlap, step }
        ),
        1 => (0..3_000_u64, 0..6_usize, 0..4_usize)
            .prop_map(|(age, keep, max)| Op::Prune { age, keep, max }),
        1 => (0..3_u8, prop::sample::select(&QueueMode::ALL[..]))
            .prop_map(|(queue, mode)| Op::Steer { queue, mode }),
        1 => (0..3_usize).prop_map(|max| Op::Expire { max }),
        4 => (0..3_usize, 0..9_u8).prop_map(|(batch, change)| Op::Batch { batch, change }),
        3 => (0..4_usize).prop_map(|max| Op::Tend { max }),
        1 => (0..12_usize).prop_map(|job| Op::Carry { job }),
        1 => (0..=100_usize).prop_map(|percent| Op::Trim { percent }),
        1 => Just(Op::Renew),
        4 => prop_oneof![4 => 0..2_500_i64, 1 => -2_000..0_i64].prop_map(Op::Pass),
    ];
    prop::collection::vec(op, 1..80)
}

pub(super) fn terms(extra: &Extra, job: &Job) -> Terms {
    let unique = |(key, scope, period, on_conflict): (u8, usize, Option<u64>, OnConflict)| Unique {
        key: Digest(key.into()),
        says: format!("key {key}"),
        scope: SCOPES[scope],
        until: period.map(|ms| job.enqueued_at.plus(ms)),
        on_conflict,
    };
    let named = |key: u8| Named {
        key: Digest(1000 + u128::from(key)),
        says: String::new(),
    };
    Terms {
        expires: extra.expires.map(|ms| job.due.plus(ms)),
        retry_for_ms: extra.retry_for,
        unique: extra.unique.map(unique),
        idempotency: extra.idempotency.map(named),
        group: extra.group.map(|group| format!("g{group}")),
        ..Terms::default()
    }
}
