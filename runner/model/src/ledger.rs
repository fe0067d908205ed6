//! The state of every job, built from facts alone.

use alloc::{sync::Arc, vec::Vec};

use crate::{
    command::{Command, Rejected},
    event::{Event, RecordAt},
    id::{JobId, Token},
    job::State,
    outcome::FailureKind,
    time::{Now, UnixMs},
};

/// What the ledger keeps in memory of a job; the rest lies on disk at the places named here.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Which handler runs it.
    pub kind: Arc<str>,
    /// Which queue it waits in.
    pub queue: Arc<str>,
    /// Higher runs first.
    pub priority: i16,
    /// Where it is in its life.
    pub status: Status,
    /// Attempts used since it was accepted or last requeued.
    pub attempts: u32,
    /// Attempts it may use, as far as known.
    pub max_attempts: u32,
    /// How often its lease was lost, since it was accepted or last requeued.
    pub losses: u32,
    /// The latest lease, running or not.
    pub token: Token,
    /// How the latest attempt failed, if it did.
    pub failure: Option<FailureKind>,
    /// The record that accepted it.
    pub enqueued: RecordAt,
    /// Its latest record.
    pub latest: RecordAt,
    /// The record of its latest checkpoint.
    pub checkpoint: Option<RecordAt>,
}

/// The stored states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Waiting until due, for a reason.
    Waiting {
        /// When it may run.
        due: UnixMs,
        /// Whether it waits out a backoff.
        backoff: bool,
    },
    /// Leased.
    Running {
        /// When the lease was given.
        since: UnixMs,
    },
    /// Ended, with a result, at an instant.
    Completed(UnixMs),
    /// Ended by a person.
    Cancelled(UnixMs),
    /// Dropped by its handler.
    Discarded(UnixMs),
    /// In the dead letters.
    Dead(UnixMs),
}

/// The state of every job.
#[derive(Debug, Clone, Default)]
pub struct Ledger {}

/// An event that no sound log can contain here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsound {
    /// The job.
    pub id: JobId,
    /// What is wrong, for a person.
    pub why: &'static str,
}

impl Status {
    /// The state a person sees at `wall`.
    #[must_use]
    pub fn state(&self, wall: UnixMs) -> State {
        match *self {
            Self::Waiting { due, .. } if due <= wall => State::Available,
            Self::Waiting { backoff: true, .. } => State::Retryable,
            Self::Waiting { backoff: false, .. } => State::Scheduled,
            Self::Running { .. } => State::Running,
            Self::Completed(_) => State::Completed,
            Self::Cancelled(_) => State::Cancelled,
            Self::Discarded(_) => State::Discarded,
            Self::Dead(_) => State::Dead,
        }
    }
}

impl Ledger {
    /// What follows from a wish. Nothing changes yet. `entropy` feeds the jitter.
    pub fn decide(
        &self,
        _command: &Command,
        _now: Now,
        _entropy: u64,
    ) -> Result<Vec<Event>, Rejected> {
        unimplemented!()
    }

    /// Take a fact in. `at` is where its record lies, `mono` the steady clock for the lease index.
    pub fn evolve(&mut self, _event: &Event, _at: RecordAt, _mono: u64) -> Result<(), Unsound> {
        unimplemented!()
    }

    /// Move what became due by `wall` among the claimable. Call before deciding a claim.
    pub fn advance(&mut self, _wall: UnixMs) {}

    /// One job.
    #[must_use]
    pub fn get(&self, _id: JobId) -> Option<&Entry> {
        None
    }

    /// Jobs newest first, from below `before`.
    pub fn newest(&self, _before: Option<JobId>) -> impl Iterator<Item = (JobId, &Entry)> {
        core::iter::empty()
    }

    /// The earliest instant at which a job that waits now becomes due.
    #[must_use]
    pub fn next_due(&self) -> Option<UnixMs> {
        None
    }

    /// Leases not renewed for `lease_ms` by the steady clock.
    #[must_use]
    pub fn overdue(&self, _mono: u64, _lease_ms: u64) -> Vec<(JobId, Token)> {
        Vec::new()
    }

    /// Every lease.
    #[must_use]
    pub fn leases(&self) -> Vec<(JobId, Token)> {
        Vec::new()
    }

    /// The holder is alive. `false` when the lease no longer holds the job.
    pub fn renew(&mut self, _id: JobId, _token: Token, _mono: u64) -> bool {
        false
    }

    /// Counts by queue and state at `wall`, queues in the order of their names.
    #[must_use]
    pub fn counts(&self, _wall: UnixMs) -> Vec<(Arc<str>, Vec<(State, u64)>)> {
        Vec::new()
    }

    /// The largest id seen.
    #[must_use]
    pub fn last_id(&self) -> Option<JobId> {
        None
    }
}
