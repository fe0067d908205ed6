//! Who gets the room that is left on a full disk.

use sandhog_model::Event;

/// What a record is for: how much room it has to leave to others when the disk is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    /// New work: jobs, checkpoints.
    NewWork,
    /// Work that goes on: leases, fresh attempts.
    Work,
    /// What must be written whatever happens: outcomes, losses, burials, deletions, and the records
    /// that make room.
    Outcome,
}

impl Room {
    /// What a fact is for.
    pub(super) fn of(event: &Event) -> Self {
        match event {
            Event::Enqueued(_)
            | Event::Replaced { .. }
            | Event::Checkpointed { .. }
            | Event::Cron { job: Some(_), .. } => Self::NewWork,
            Event::Leased { .. }
            | Event::Requeued { .. }
            | Event::Hastened { .. }
            | Event::Postponed { .. } => Self::Work,
            Event::Settled { .. }
            | Event::Lost { .. }
            | Event::Deleted { .. }
            | Event::CancelAsked { .. }
            | Event::Cancelled { .. }
            | Event::Expired { .. }
            | Event::Dropped { .. }
            | Event::Unlocked { .. }
            | Event::Steered { .. }
            | Event::Carried(_)
            | Event::Cron { job: None, .. }
            | Event::CronForgotten { .. }
            | Event::Batch { .. }
            | Event::BatchForgotten { .. }
            | Event::Pruned { .. }
            | Event::Trimmed { .. }
            | Event::Merged { .. } => Self::Outcome,
        }
    }

    /// Bytes to be left in the log after the record.
    pub(super) fn kept(self, segment_bytes: u64) -> u64 {
        match self {
            Self::NewWork => segment_bytes / 2,
            Self::Work => segment_bytes / 4,
            Self::Outcome => 0,
        }
    }
}
