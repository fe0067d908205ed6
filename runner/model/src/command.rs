//! Wishes: what the rest of the runner asks of the ledger.

use alloc::{boxed::Box, string::String, vec::Vec};
use core::fmt;

use crate::{
    attempt::Attempt,
    cancel::Asked,
    cron::CronWish,
    id::{JobId, Token},
    job::{Job, State},
    outcome::Outcome,
    retry::RetryPolicy,
    time::UnixMs,
};

/// A wish. Deciding it gives facts or a refusal.
#[derive(Debug, Clone)]
pub enum Command {
    /// Accept a job.
    Enqueue(Box<Job>),
    /// Lease up to `max` due jobs of the served kinds.
    Claim(ClaimRequest),
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
    /// Forget jobs that ended.
    Prune(Retention),
}

/// Which jobs that ended are kept. Dead ones always are: they have a store of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Those that ended before this are forgotten.
    pub ended_before: UnixMs,
    /// At most so many are kept, the latest.
    pub keep: usize,
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
    /// A schedule is done with this slot already.
    SlotDone {
        /// The schedule.
        name: String,
        /// The slot.
        slot: UnixMs,
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
            Self::SlotDone { name, slot } => {
                write!(f, "schedule {name:?} is done with its slot at {slot}")
            }
            Self::Invalid(why) => f.write_str(why),
        }
    }
}

impl core::error::Error for Rejected {}
