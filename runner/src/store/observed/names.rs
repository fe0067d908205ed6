//! What outcomes and refusals are called where they are counted and traced.

use sandhog_model::{FailureKind, Outcome, Rejected, State, Waiting};

use crate::{
    metrics::{JobMetrics, One, from_zero},
    store::StoreError,
};

const OUTCOMES: [&str; 9] = [
    "completed",
    "failed",
    "permanent",
    "snoozed",
    "discarded",
    "put-back-plugin-missing",
    "put-back-plugin-invalid",
    "put-back-pool-full",
    "put-back-shutdown",
];
/// Why a job can be refused.
const REASONS: [&str; 11] = [
    "not-found",
    "batch-closed",
    "id-taken",
    "duplicate",
    "queue-full",
    "queue-draining",
    "invalid",
    "disk-full",
    "busy",
    "stopping",
    "poisoned",
];
/// What an attempt can bring a job to.
const ENDS: [State; 4] = [
    State::Completed,
    State::Discarded,
    State::Cancelled,
    State::Dead,
];

/// Have all that is counted by a name be there before it first happens.
pub(super) fn begin(jobs: &JobMetrics) {
    from_zero(&jobs.outcomes, OUTCOMES.map(One::outcome));
    from_zero(&jobs.refused, REASONS.map(One::reason));
    let kinds = FailureKind::ALL.iter();
    from_zero(
        &jobs.failures,
        kinds.map(|kind| One::failure(kind.name().into())),
    );
    from_zero(&jobs.ended, ENDS.map(|state| One::state(state.name())));
}

pub(super) fn outcome(outcome: &Outcome) -> &'static str {
    let name = match outcome {
        Outcome::Completed(_) => "completed",
        Outcome::Failed { .. } => "failed",
        Outcome::Permanent(_) => "permanent",
        Outcome::Snoozed { .. } => "snoozed",
        Outcome::Discarded { .. } => "discarded",
        Outcome::NotRun(Waiting::PluginMissing) => "put-back-plugin-missing",
        Outcome::NotRun(Waiting::PluginInvalid) => "put-back-plugin-invalid",
        Outcome::NotRun(Waiting::PoolFull) => "put-back-pool-full",
        Outcome::NotRun(Waiting::Shutdown) => "put-back-shutdown",
    };
    debug_assert!(OUTCOMES.contains(&name), "{name}");
    name
}

pub(super) fn reason(rejected: &Rejected) -> &'static str {
    match rejected {
        Rejected::NoSuchJob(_) | Rejected::NoSuchCron(_) | Rejected::NoSuchBatch(_) => "not-found",
        Rejected::BatchClosed { .. } | Rejected::BatchCancelled { .. } => "batch-closed",
        Rejected::IdTaken(_) => "id-taken",
        Rejected::Fenced { .. } => "fenced",
        Rejected::WrongState { .. } | Rejected::BatchOver { .. } => "wrong-state",
        Rejected::SlotDone { .. } => "slot-done",
        Rejected::Duplicate { is_kept: true, .. } => "kept-existing",
        Rejected::Duplicate { is_kept: false, .. } => "duplicate",
        Rejected::QueueFull { .. } => "queue-full",
        Rejected::QueueDraining { .. } => "queue-draining",
        Rejected::Invalid(_) => "invalid",
    }
}

pub(super) fn failed(error: &StoreError) -> &'static str {
    match error {
        StoreError::Rejected(rejected) => reason(rejected),
        StoreError::Full { .. } => "disk-full",
        StoreError::Busy { .. } => "busy",
        StoreError::Closed => "stopping",
        StoreError::Poisoned { .. } => "poisoned",
        StoreError::Damaged { .. } => "damaged",
    }
}
