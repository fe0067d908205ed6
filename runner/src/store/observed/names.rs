//! What outcomes and refusals are called where they are counted and traced.

use sandhog_model::{Outcome, Rejected, Waiting};

use crate::store::StoreError;

pub(super) fn outcome(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Completed(_) => "completed",
        Outcome::Failed { .. } => "failed",
        Outcome::Permanent(_) => "permanent",
        Outcome::Snoozed { .. } => "snoozed",
        Outcome::Discarded { .. } => "discarded",
        Outcome::NotRun(Waiting::PluginMissing) => "put-back-plugin-missing",
        Outcome::NotRun(Waiting::PluginInvalid) => "put-back-plugin-invalid",
        Outcome::NotRun(Waiting::PoolFull) => "put-back-pool-full",
        Outcome::NotRun(Waiting::Shutdown) => "put-back-shutdown",
    }
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
