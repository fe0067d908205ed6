//! Wishes: what the rest of the runner asks of the ledger.

use alloc::{boxed::Box, string::String, sync::Arc, vec::Vec};
use core::fmt;

use crate::{
    attempt::Attempt,
    batch::BatchWish,
    cancel::Asked,
    cron::CronWish,
    id::{JobId, Token},
    job::{Job, State},
    outcome::Outcome,
    queue::{QueueLimits, QueueMode},
    retry::RetryPolicy,
    time::UnixMs,
};

/// A wish. Deciding it gives facts or a refusal.
#[derive(Debug, Clone)]
pub enum Command {
    /// Accept a job.
    Enqueue(Box<Job>),
    /// Lease the due job of these kinds whose turn it is. A batch is this again and again: each lease
    /// moves the turns on.
    Claim(Arc<[String]>),
    /// Keep bytes for the job's next attempt.
    Checkpoint {
        /// The job.
        id: JobId,
        /// The lease of the caller.
        token: Token,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Report on an attempt.
    Settle(Box<Settlement>),
    /// Take a lease back from a worker that went away, or whose lease ran out.
    Lose {
        /// The job.
        id: JobId,
        /// The lease that is gone.
        token: Token,
    },
    /// Change a job from outside.
    Amend(Amend),
    /// Change what is known of a schedule, with the job that goes with it.
    Cron(CronWish),
    /// Change a batch.
    Batch(BatchWish),
    /// Write down what follows from how batches stand.
    Tend {
        /// At most so many facts.
        max: usize,
    },
    /// Forget jobs that ended, and batches.
    Prune(Retention),
    /// End jobs that waited until they expired, the earliest first.
    Expire {
        /// At most so many.
        max: usize,
    },
    /// Say what a queue is to do. What is `None` stays as it is.
    Steer {
        /// The queue.
        queue: String,
        /// What it does with jobs.
        mode: Option<QueueMode>,
        /// Its limits, all of them.
        limits: Option<QueueLimits>,
        /// Who says so.
        by: String,
    },
}

/// What becomes of a job that is to be accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It is accepted.
    Accept,
    /// It is accepted, and a waiting job with its key is called off.
    InPlaceOf(JobId),
    /// It is not: a waiting job with its key becomes due at another instant.
    Postpone {
        /// That job.
        id: JobId,
        /// The instant.
        due: UnixMs,
    },
}

/// What makes two jobs the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sameness {
    /// A unique key.
    Unique,
    /// An idempotency key.
    Idempotency,
}

/// Which jobs that ended are kept. Dead ones always are: they have a store of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Those that ended before this are forgotten.
    pub ended_before: UnixMs,
    /// At most so many are kept, the latest.
    pub keep: usize,
    /// Those that ended from then until now are kept all the same: someone may wait for their results.
    pub spared_from: UnixMs,
    /// At most so many are forgotten at once, the oldest first.
    pub max: usize,
}

/// Which jobs a worker can take.
#[derive(Debug, Clone)]
pub struct ClaimRequest {
    /// The kinds that have a handler now.
    pub kinds: Vec<String>,
    /// How many jobs at most.
    pub max: usize,
}

/// The report on an attempt, by the holder of its lease.
#[derive(Debug, Clone)]
pub struct Settlement {
    /// The job.
    pub id: JobId,
    /// The lease of the caller.
    pub token: Token,
    /// How it ended.
    pub outcome: Outcome,
    /// What the history keeps of it.
    pub attempt: Attempt,
    /// Jobs to add in the same record, when the outcome is a success.
    pub children: Vec<Job>,
    /// The policy in force for this attempt, which the job's own was resolved to.
    pub retry: RetryPolicy,
}

/// A change from outside. A job that runs can only be called off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Amend {
    /// Run a waiting job now, or give a final one that is not dead fresh attempts.
    Retry(JobId),
    /// Give a dead job fresh attempts and take it out of the dead letters.
    Requeue(JobId),
    /// Forget a dead job and its letter.
    Delete(JobId),
    /// Have a waiting job become due at another instant. No attempt is used.
    Snooze {
        /// Which.
        id: JobId,
        /// The instant.
        due: UnixMs,
    },
    /// End a waiting job as one that was dropped.
    Discard {
        /// Which.
        id: JobId,
        /// Who asks.
        by: String,
        /// Why.
        reason: Option<String>,
    },
    /// Forget a job that ended, a dead one with its letter; with `force` one that waits, too.
    Remove {
        /// Which.
        id: JobId,
        /// Whether it may wait.
        force: bool,
    },
    /// Say that a unique job stands in nobody's way any more.
    Unlock(JobId),
    /// Call a job off: one that waits ends at once, one that runs is asked to. Asking again changes
    /// nothing, unless a kill follows a cancel.
    Cancel {
        /// Which.
        id: JobId,
        /// How.
        how: Asked,
        /// Who asks.
        by: String,
        /// Why.
        reason: Option<String>,
    },
}

impl Amend {
    /// The job it is about.
    #[must_use]
    pub fn id(&self) -> JobId {
        match *self {
            Self::Retry(id)
            | Self::Requeue(id)
            | Self::Delete(id)
            | Self::Unlock(id)
            | Self::Snooze { id, .. }
            | Self::Discard { id, .. }
            | Self::Remove { id, .. }
            | Self::Cancel { id, .. } => id,
        }
    }
}

/// Why a wish was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rejected {
    /// No such job.
    NoSuchJob(JobId),
    /// The id was used before.
    IdTaken(JobId),
    /// The report comes from a lease that no longer holds the job.
    Fenced {
        /// The job.
        id: JobId,
        /// The lease of the caller.
        token: Token,
    },
    /// The job's state does not allow it.
    WrongState {
        /// The job.
        id: JobId,
        /// The state it is in.
        state: State,
        /// What was wished, as a verb.
        wish: &'static str,
    },
    /// No such schedule.
    NoSuchCron(String),
    /// No such batch.
    NoSuchBatch(JobId),
    /// A batch takes in no jobs from outside any more.
    BatchClosed {
        /// The batch.
        batch: JobId,
        /// Whether it was called off.
        is_cancelled: bool,
    },
    /// A batch came to its end, or was called off, and there is nothing left to do with it.
    BatchOver {
        /// The batch.
        batch: JobId,
        /// What became of it.
        why: &'static str,
        /// What was wished, as a verb.
        wish: &'static str,
    },
    /// What comes back into a batch that was called off is called off too.
    BatchCancelled {
        /// The job.
        id: JobId,
        /// Its batch.
        batch: JobId,
    },
    /// A schedule is done with this slot already.
    SlotDone {
        /// The schedule.
        name: String,
        /// The slot.
        slot: UnixMs,
    },
    /// A job stands in its way.
    Duplicate {
        /// That job.
        holder: JobId,
        /// What they have in common.
        sameness: Sameness,
        /// Whether that job is the answer: nobody is to be told of an error.
        is_kept: bool,
    },
    /// As many jobs wait in the queue as may.
    QueueFull {
        /// The queue.
        queue: String,
        /// How many wait.
        depth: u64,
        /// How many may.
        max: u64,
    },
    /// The queue takes nothing in.
    QueueDraining {
        /// The queue.
        queue: String,
    },
    /// A field is out of its range: what, and the range.
    Invalid(String),
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchJob(id) => write!(f, "no job {id} here"),
            Self::IdTaken(id) => write!(f, "the id {id} is taken"),
            Self::Fenced { id, token } => write!(
                f,
                "the attempt with token {} no longer holds job {id}: its report is refused",
                token.0
            ),
            Self::WrongState { id, state, wish } => {
                write!(f, "cannot {wish} job {id}: it is {state}")
            }
            Self::NoSuchCron(name) => write!(
                f,
                "there is no schedule {name:?} here: `sandhog cron ls` shows those there are"
            ),
            Self::NoSuchBatch(id) => write!(
                f,
                "no batch {id} here: `sandhog batch ls` shows those there are"
            ),
            Self::BatchClosed {
                batch,
                is_cancelled: true,
            } => write!(f, "batch {batch} was called off and takes no more jobs in"),
            Self::BatchClosed { batch, .. } => write!(
                f,
                "batch {batch} is sealed: only its own jobs can add jobs to it"
            ),
            Self::BatchOver { batch, why, wish } => write!(
                f,
                "cannot {wish} batch {batch}: {why}; `sandhog batch show {batch}` has how it stands"
            ),
            Self::BatchCancelled { id, batch } => write!(
                f,
                "job {id} is in batch {batch}, which was called off: what comes back into it is called off at \
                 once; enqueue the job anew, without the batch"
            ),
            Self::SlotDone { name, slot } => {
                write!(f, "schedule {name:?} is done with its slot at {slot}")
            }
            Self::Duplicate {
                holder,
                sameness: Sameness::Unique,
                ..
            } => write!(
                f,
                "job {holder} has the same unique key: `sandhog unique ls` shows it"
            ),
            Self::Duplicate { holder, .. } => {
                write!(f, "job {holder} has the same idempotency key")
            }
            Self::QueueFull { queue, depth, max } => write!(
                f,
                "queue {queue} is full: {depth} jobs wait in it and `max_depth` under [queue.{queue}] \
                 allows {max}"
            ),
            Self::QueueDraining { queue } => write!(
                f,
                "queue {queue} is drained and takes nothing in: `sandhog queue resume {queue}` opens it"
            ),
            Self::Invalid(why) => f.write_str(why),
        }
    }
}

impl core::error::Error for Rejected {}
