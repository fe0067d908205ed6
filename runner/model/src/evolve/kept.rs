//! What few jobs have, beside their slots.

use crate::{
    event::RecordAt,
    id::JobId,
    ledger::{Ledger, Status},
};

impl Ledger {
    /// Remember where a job's checkpoint is, or forget it.
    pub(super) fn keep_checkpoint(&mut self, id: JobId, at: Option<RecordAt>) {
        match at {
            Some(at) => {
                self.checkpoints.insert(id, at);
            }
            // Most jobs never have one.
            None if self.checkpoints.is_empty() => {}
            None => {
                self.checkpoints.remove(&id);
            }
        }
    }

    /// Remember how many attempts of a job failed in a way that the same input brings about again, as
    /// long as another may follow: whoever tries an ended job again gives it fresh attempts.
    pub(super) fn keep_traps(&mut self, id: JobId, status: Status, traps: u32) {
        match status {
            Status::Waiting { .. } | Status::Running { .. } if traps > 0 => {
                self.traps.insert(id, traps);
            }
            // Most jobs never have one.
            _ if self.traps.is_empty() => {}
            Status::Waiting { .. }
            | Status::Running { .. }
            | Status::Completed(_)
            | Status::Cancelled(_)
            | Status::Discarded(_)
            | Status::Dead(_)
            | Status::Expired(_) => {
                self.traps.remove(&id);
            }
        }
    }
}
