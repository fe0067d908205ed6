//! Jobs that wait until it is too late: ended by a timer, and before every claim.

use std::time::{Duration, Instant};

use sandhog_model::{Command, Now};

use super::actor::Actor;
use crate::store::StoreError;

/// Jobs ended in one go; what is left comes with the next wishes.
const AT_ONCE: usize = 1000;
/// The longest wait before the wall clock is looked at again, which may be set forward.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// How long it rests when the log has no room.
const REST: Duration = Duration::from_secs(1);

/// When jobs are ended that waited too long.
#[derive(Debug, Default)]
pub(super) struct Expiry {
    /// Not before this: the log had no room.
    not_before: Option<Instant>,
}

impl Expiry {
    /// Try again after a while: the log has no room.
    pub(super) fn rest(&mut self) {
        self.not_before = Some(Instant::now() + REST);
    }

    /// Whether it is too early to try again.
    pub(super) fn rests(&self) -> bool {
        self.not_before.is_some_and(|rest| rest > Instant::now())
    }
}

impl Actor {
    /// When to look for expired jobs again, and for what follows batches.
    pub(super) fn expiry_due(&self) -> Option<Instant> {
        if self.refusal().is_some() {
            return None;
        }
        if self.writer.ledger.wants_tending() {
            let now = Instant::now();
            return Some(self.expiry.not_before.map_or(now, |rest| now.max(rest)));
        }
        let at = self.writer.ledger.next_expiry()?;
        let wall = self.writer.clock.now().wall;
        let wait = Duration::from_millis(at.since(wall)).min(LONGEST_WAIT);
        let due = Instant::now() + wait;
        Some(self.expiry.not_before.map_or(due, |rest| due.max(rest)))
    }

    /// End the jobs that waited until they expired.
    pub(super) fn expire(&mut self, now: Now) {
        let is_due = |at| at <= now.wall;
        if !self.writer.ledger.next_expiry().is_some_and(is_due) {
            return;
        }
        self.expiry.not_before = match self.carry_out(Command::Expire { max: AT_ONCE }, now) {
            Ok(_) => None,
            Err(error) => {
                if !matches!(error, StoreError::Poisoned { .. }) {
                    tracing::debug!(%error, "expired jobs are ended later");
                }
                Some(Instant::now() + REST)
            }
        };
    }
}
