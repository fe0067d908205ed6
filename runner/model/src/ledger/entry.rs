//! What follows from what the ledger knows of a job.

use crate::{
    job::State,
    ledger::{Entry, Status},
    time::UnixMs,
};

impl Entry {
    /// The state a person sees at `wall`. [`Ledger::state`] differs only after the clock was set
    /// back: what was due once stays available there.
    #[must_use]
    pub fn state(&self, wall: UnixMs) -> State {
        self.status.state(wall)
    }

    /// The number of the attempt that runs, from 1, if one does.
    #[must_use]
    pub fn running_attempt(&self) -> Option<u32> {
        match self.status {
            Status::Running { .. } => Some(self.attempts.saturating_add(1)),
            Status::Waiting { .. }
            | Status::Completed(_)
            | Status::Cancelled(_)
            | Status::Discarded(_)
            | Status::Dead(_)
            | Status::Expired(_) => None,
        }
    }

    /// The number of the attempt that runs, or of attempts used when none does.
    #[must_use]
    pub fn shown_attempt(&self) -> u32 {
        self.running_attempt().unwrap_or(self.attempts)
    }
}
