//! A look at a job in the ledger, before anything of it is copied.

use crate::{
    event::RecordAt,
    id::{JobId, Token},
    ledger::{Entry, Ledger, Status},
    outcome::FailureKind,
    side::Side,
    slot::Slot,
};

/// A job in a list, before anything of it is copied.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    pub(crate) id: JobId,
    pub(crate) slot: &'a Slot,
    pub(crate) ledger: &'a Ledger,
}

impl<'a> Seen<'a> {
    /// Which handler runs it.
    #[must_use]
    pub fn kind(&self) -> &'a str {
        self.ledger.names.text(self.slot.kind)
    }

    /// Which queue it waits in.
    #[must_use]
    pub fn queue(&self) -> &'a str {
        self.ledger.names.text(self.slot.queue)
    }

    /// Where it is in its life.
    #[must_use]
    pub fn status(&self) -> Status {
        self.slot.status()
    }

    /// The latest lease, running or not.
    #[must_use]
    pub fn token(&self) -> Token {
        self.slot.token
    }

    /// How the latest attempt failed, if it did.
    #[must_use]
    pub fn failure(&self) -> Option<FailureKind> {
        self.slot.failure()
    }

    /// The record that accepted it.
    #[must_use]
    pub fn enqueued(&self) -> RecordAt {
        self.slot.enqueued
    }

    /// Its latest record.
    #[must_use]
    pub fn latest(&self) -> RecordAt {
        self.slot.latest
    }

    /// All that the ledger knows of it.
    #[must_use]
    pub fn entry(&self) -> Entry {
        let slot = self.slot;
        let beside = self.ledger.sides.of(self.id);
        Entry {
            kind: self.ledger.names.text(slot.kind).clone(),
            queue: self.ledger.names.text(slot.queue).clone(),
            priority: slot.priority,
            status: slot.status(),
            attempts: slot.attempts(),
            max_attempts: slot.max_attempts(),
            losses: slot.losses(),
            traps: self.ledger.traps(self.id),
            token: slot.token,
            failure: slot.failure(),
            enqueued: slot.enqueued,
            latest: slot.latest,
            checkpoint: self.ledger.checkpoints.get(&self.id).copied(),
            asked: self.ledger.asked.get(&self.id).copied(),
            group: beside
                .group
                .map(|group| self.ledger.names.text(group).clone()),
            expires: beside.side.and_then(Side::expires),
            unlocked: beside.side.is_some_and(|side| side.unlocked),
            lifted: beside.side.is_some_and(|side| side.lifted),
            failing_since: beside.side.and_then(|side| side.failing_since),
            batch: beside.side.and_then(|side| side.batch),
        }
    }
}
