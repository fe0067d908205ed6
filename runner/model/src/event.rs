//! Facts: what the log keeps. Nothing changes a job without one.

mod about;

use alloc::{boxed::Box, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::{
    attempt::Attempt,
    batch::BatchState,
    cancel::Cancellation,
    carried::Carried,
    cron::CronState,
    id::{JobId, Token},
    job::{Job, Output},
    outcome::Waiting,
    queue::Steering,
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

/// A fact, mostly about one job.
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
    /// A job that no attempt holds was deleted; a dead one with its letter.
    Deleted {
        /// The job.
        id: JobId,
        /// When.
        at: UnixMs,
    },
    /// A running job was called off; its attempt is to end.
    CancelAsked {
        /// The job.
        id: JobId,
        /// The lease of the attempt.
        token: Token,
        /// How, when, by whom and why.
        cancel: Box<Cancellation>,
    },
    /// A waiting job was called off: it ended.
    Cancelled {
        /// The job.
        id: JobId,
        /// How, when, by whom and why.
        cancel: Box<Cancellation>,
    },
    /// A waiting job was given another instant to become due.
    Postponed {
        /// The job.
        id: JobId,
        /// When that was.
        at: UnixMs,
        /// When it is due now.
        due: UnixMs,
    },
    /// A waiting job was not begun before it expired: it ended.
    Expired {
        /// The job.
        id: JobId,
        /// When that was noticed.
        at: UnixMs,
    },
    /// A waiting job was dropped by someone from outside: it ended.
    Dropped {
        /// The job.
        id: JobId,
        /// When.
        at: UnixMs,
        /// Who dropped it, and why.
        reason: String,
    },
    /// A job was accepted in place of a waiting one with its unique key, which ended as cancelled.
    Replaced {
        /// The job that ended.
        id: JobId,
        /// The job that was accepted.
        job: Box<Job>,
    },
    /// Someone said that a unique job stands in nobody's way any more.
    Unlocked {
        /// The job.
        id: JobId,
        /// When.
        at: UnixMs,
    },
    /// Someone said what a queue is to do. All that was said before of it is void.
    Steered {
        /// The queue.
        queue: String,
        /// When.
        at: UnixMs,
        /// Who, as they call themselves.
        by: String,
        /// What it is to do from now on.
        to: Box<Steering>,
    },
    /// All that is known of a job, written anew: no earlier record about it is needed. It changes
    /// nothing when it says what the records before it said.
    Carried(Box<Carried>),
    /// A schedule is as it is here from now on; the job of a slot is part of the fact.
    Cron {
        /// Its name.
        name: String,
        /// When.
        at: UnixMs,
        /// All that is known of it.
        state: Box<CronState>,
        /// The job that its slot, or who asked for it, enqueued.
        job: Option<Box<Job>>,
    },
    /// A schedule is not there any more.
    CronForgotten {
        /// Its name.
        name: String,
        /// When.
        at: UnixMs,
    },
    /// A batch is as it is here from now on; the jobs that follow it are part of the fact.
    Batch {
        /// Its id.
        id: JobId,
        /// When.
        at: UnixMs,
        /// All that is known of it besides its jobs.
        state: Box<BatchState>,
        /// The jobs that follow, when it came to an end.
        jobs: Vec<Job>,
    },
    /// A batch is forgotten because of its age or the number of others.
    BatchForgotten {
        /// Its id.
        id: JobId,
        /// When.
        at: UnixMs,
    },
    /// Jobs that ended were forgotten because of their age or number. Dead ones are never among
    /// them.
    Pruned {
        /// The jobs.
        ids: Vec<JobId>,
        /// When.
        at: UnixMs,
    },
    /// No record before a place is needed any more: the segments that lie wholly before it may be
    /// removed.
    Trimmed {
        /// The place.
        before: RecordAt,
        /// When.
        at: UnixMs,
        /// The largest id seen, of jobs forgotten since as well.
        last_id: Option<JobId>,
        /// The largest token given.
        last_token: Token,
    },
    /// Every job of another log was taken over into this one; that log is not needed any more.
    Merged {
        /// The other log's id, as the name of its directory.
        log: String,
        /// When.
        at: UnixMs,
        /// The largest token given there.
        last_token: Token,
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
        reason: String,
    },
    /// Out of attempts, or failed for good.
    Dead,
    /// It was called off while the attempt ran, and that did not succeed.
    Cancelled,
}

/// Why a job was put back without using an attempt.
pub type PutBack = Waiting;
