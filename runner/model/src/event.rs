//! Facts: what the log keeps. Nothing changes a job without one.

use alloc::{boxed::Box, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::{
    attempt::Attempt,
    id::{JobId, Token},
    job::{Job, Output},
    outcome::Waiting,
    time::UnixMs,
};

/// Where a record lies in the store, opaque to the model. Larger is later.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct RecordAt(pub u64);

/// What is written: a fact, and where the same job's fact before it lies, so that a job's whole
/// history is read from disk by walking back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The job's record before this one.
    pub previous: Option<RecordAt>,
    /// The fact.
    pub event: Event,
}

/// A fact about one job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// A job was accepted.
    Enqueued(Box<Job>),
    /// A worker got a lease.
    Leased {
        /// The job.
        id: JobId,
        /// The lease.
        token: Token,
        /// When.
        at: UnixMs,
    },
    /// A running attempt kept bytes for the next one.
    Checkpointed {
        /// The job.
        id: JobId,
        /// The lease.
        token: Token,
        /// When.
        at: UnixMs,
        /// The bytes.
        #[serde(with = "serde_bytes")]
        bytes: Vec<u8>,
    },
    /// An attempt ended. The jobs it enqueued are part of the fact.
    Settled {
        /// The job.
        id: JobId,
        /// What the history keeps.
        attempt: Box<Attempt>,
        /// What follows for the job.
        verdict: Verdict,
        /// The jobs it enqueued; empty unless it completed.
        children: Vec<Job>,
    },
    /// A lease went away with its worker; the job waits again, no attempt used.
    Lost {
        /// The job.
        id: JobId,
        /// The lease that is gone.
        token: Token,
        /// When it was noticed.
        at: UnixMs,
        /// What the history keeps, when this loss buried the job as poison.
        buried: Option<Box<Attempt>>,
    },
    /// A person or program gave the job fresh attempts, due at once.
    Requeued {
        /// The job.
        id: JobId,
        /// When.
        at: UnixMs,
        /// Whether it came from the dead letters.
        from_dead: bool,
    },
    /// A waiting job was made due at once.
    Hastened {
        /// The job.
        id: JobId,
        /// When.
        at: UnixMs,
    },
    /// A dead job was deleted with its letter.
    Deleted {
        /// The job.
        id: JobId,
        /// When.
        at: UnixMs,
    },
}

/// What follows from an attempt's end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Verdict {
    /// Done, with a result.
    Completed(Output),
    /// Tried again at this instant.
    Retry {
        /// When it is due.
        due: UnixMs,
    },
    /// Called again at this instant; no attempt used.
    Snoozed {
        /// When it is due.
        due: UnixMs,
    },
    /// Waiting as before; no attempt used.
    PutBack {
        /// Why.
        why: PutBack,
        /// When it is due.
        due: UnixMs,
    },
    /// Dropped by its handler.
    Discarded {
        /// The handler's reason.
        reason: alloc::string::String,
    },
    /// Out of attempts, or failed for good.
    Dead,
}

/// Why a job was put back without using an attempt.
pub type PutBack = Waiting;

impl Event {
    /// The job the fact is about.
    #[must_use]
    pub fn id(&self) -> JobId {
        match self {
            Self::Enqueued(job) => job.id,
            Self::Leased { id, .. }
            | Self::Checkpointed { id, .. }
            | Self::Settled { id, .. }
            | Self::Lost { id, .. }
            | Self::Requeued { id, .. }
            | Self::Hastened { id, .. }
            | Self::Deleted { id, .. } => *id,
        }
    }

    /// The job `id` as this fact accepted it: on its own, or among the jobs an attempt enqueued.
    #[must_use]
    pub fn accepted(&self, id: JobId) -> Option<&Job> {
        match self {
            Self::Enqueued(job) => Some(&**job).filter(|job| job.id == id),
            Self::Settled { children, .. } => children.iter().find(|job| job.id == id),
            Self::Leased { .. }
            | Self::Checkpointed { .. }
            | Self::Lost { .. }
            | Self::Requeued { .. }
            | Self::Hastened { .. }
            | Self::Deleted { .. } => None,
        }
    }

    /// Every job the fact is about: the one it names, then those it accepted besides.
    pub fn ids(&self) -> impl Iterator<Item = JobId> + '_ {
        let children: &[Job] = match self {
            Self::Settled { children, .. } => children,
            Self::Enqueued(_)
            | Self::Leased { .. }
            | Self::Checkpointed { .. }
            | Self::Lost { .. }
            | Self::Requeued { .. }
            | Self::Hastened { .. }
            | Self::Deleted { .. } => &[],
        };
        core::iter::once(self.id()).chain(children.iter().map(|job| job.id))
    }
}
