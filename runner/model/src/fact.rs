//! Facts as far as the ledger needs them: no payloads, no logs, nothing owned. An [`Event`] at hand
//! and a record read from disk both become one, so that a live run and a recovery follow the same
//! rules.

mod about;
mod short;

use alloc::{borrow::Cow, vec::Vec};

use crate::{
    batch::BatchState,
    cancel::Asked,
    cron::CronState,
    event::RecordAt,
    id::{JobId, Token},
    job::{Digest, OnConflict, Scope},
    ledger::Status,
    outcome::FailureKind,
    queue::Steering,
    time::UnixMs,
};

/// A [`Record`](crate::Record) as far as the ledger needs it.
#[derive(Debug, Clone, PartialEq)]
pub struct Slim<'a> {
    /// The job's record before this one.
    pub previous: Option<RecordAt>,
    /// The fact.
    pub fact: Fact<'a>,
}

/// An [`Event`](crate::Event) as far as the ledger needs it.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact<'a> {
    /// See [`Event::Enqueued`](crate::Event::Enqueued).
    Enqueued(Accepted<'a>),
    /// See [`Event::Leased`](crate::Event::Leased).
    Leased {
        /// The job.
        id: JobId,
        /// The lease.
        token: Token,
        /// When.
        at: UnixMs,
    },
    /// See [`Event::Checkpointed`](crate::Event::Checkpointed).
    Checkpointed {
        /// The job.
        id: JobId,
        /// The lease.
        token: Token,
        /// When.
        at: UnixMs,
    },
    /// See [`Event::Settled`](crate::Event::Settled).
    Settled {
        /// The job.
        id: JobId,
        /// The attempt that ended.
        attempt: Ended,
        /// What follows for the job.
        follows: Follows,
        /// The jobs it enqueued.
        children: Vec<Accepted<'a>>,
    },
    /// See [`Event::Lost`](crate::Event::Lost).
    Lost {
        /// The job.
        id: JobId,
        /// The lease that is gone.
        token: Token,
        /// When it was noticed.
        at: UnixMs,
        /// The attempt that the history keeps, when this loss buried the job.
        buried: Option<Ended>,
    },
    /// See [`Event::Requeued`](crate::Event::Requeued).
    Requeued {
        /// The job.
        id: JobId,
        /// When.
        at: UnixMs,
        /// Whether it came from the dead letters.
        from_dead: bool,
    },
    /// See [`Event::Hastened`](crate::Event::Hastened).
    Hastened {
        /// The job.
        id: JobId,
        /// When.
        at: UnixMs,
    },
    /// See [`Event::Deleted`](crate::Event::Deleted).
    Deleted {
        /// The job.
        id: JobId,
        /// When.
        at: UnixMs,
    },
    /// See [`Event::CancelAsked`](crate::Event::CancelAsked).
    CancelAsked {
        /// The job.
        id: JobId,
        /// The lease of the attempt.
        token: Token,
        /// When.
        at: UnixMs,
        /// How.
        how: Asked,
    },
    /// See [`Event::Cancelled`](crate::Event::Cancelled).
    Cancelled {
        /// The job.
        id: JobId,
        /// When.
        at: UnixMs,
        /// How.
        how: Asked,
    },
    /// See [`Event::Postponed`](crate::Event::Postponed).
    Postponed {
        /// The job.
        id: JobId,
        /// When that was.
        at: UnixMs,
        /// When it is due now.
        due: UnixMs,
    },
    /// See [`Event::Expired`](crate::Event::Expired).
    Expired {
        /// The job.
        id: JobId,
        /// When that was noticed.
        at: UnixMs,
    },
    /// See [`Event::Dropped`](crate::Event::Dropped).
    Dropped {
        /// The job.
        id: JobId,
        /// When.
        at: UnixMs,
    },
    /// See [`Event::Replaced`](crate::Event::Replaced).
    Replaced {
        /// The job that ended.
        id: JobId,
        /// The job that was accepted.
        job: Accepted<'a>,
    },
    /// See [`Event::Unlocked`](crate::Event::Unlocked).
    Unlocked {
        /// The job.
        id: JobId,
        /// When.
        at: UnixMs,
    },
    /// See [`Event::Steered`](crate::Event::Steered).
    Steered {
        /// The queue.
        queue: &'a str,
        /// When.
        at: UnixMs,
        /// Who, as they call themselves.
        by: &'a str,
        /// What it is to do from now on.
        to: Steering,
    },
    /// See [`Event::Carried`](crate::Event::Carried).
    Carried(Anew<'a>),
    /// See [`Event::Cron`](crate::Event::Cron).
    Cron {
        /// Its name.
        name: &'a str,
        /// When.
        at: UnixMs,
        /// All that is known of it.
        state: Cow<'a, CronState>,
        /// The job it enqueued.
        job: Option<Accepted<'a>>,
    },
    /// See [`Event::CronForgotten`](crate::Event::CronForgotten).
    CronForgotten {
        /// Its name.
        name: &'a str,
        /// When.
        at: UnixMs,
    },
    /// See [`Event::Batch`](crate::Event::Batch).
    Batch {
        /// Its id.
        id: JobId,
        /// When.
        at: UnixMs,
        /// All that is known of it besides its jobs.
        state: Cow<'a, BatchState>,
        /// The jobs that follow.
        jobs: Vec<Accepted<'a>>,
    },
    /// See [`Event::BatchForgotten`](crate::Event::BatchForgotten).
    BatchForgotten {
        /// Its id.
        id: JobId,
        /// When.
        at: UnixMs,
    },
    /// See [`Event::Pruned`](crate::Event::Pruned).
    Pruned {
        /// The jobs.
        ids: Cow<'a, [JobId]>,
        /// When.
        at: UnixMs,
    },
    /// See [`Event::Trimmed`](crate::Event::Trimmed).
    Trimmed {
        /// The place.
        before: RecordAt,
        /// When.
        at: UnixMs,
        /// The largest id seen.
        last_id: Option<JobId>,
        /// The largest token given.
        last_token: Token,
    },
    /// See [`Event::Merged`](crate::Event::Merged).
    Merged {
        /// The other log's id, as the name of its directory.
        log: &'a str,
        /// When.
        at: UnixMs,
        /// The largest token given there.
        last_token: Token,
    },
}

/// A [`Job`](crate::Job) as far as the ledger needs it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Accepted<'a> {
    /// Its id.
    pub id: JobId,
    /// Which handler runs it.
    pub kind: &'a str,
    /// Which queue it waits in.
    pub queue: &'a str,
    /// Higher runs first.
    pub priority: i16,
    /// When it was accepted.
    pub enqueued_at: UnixMs,
    /// Not to be run before this.
    pub due: UnixMs,
    /// Attempts in all, when it or what it stands for says.
    pub max_attempts: Option<u32>,
    /// What few jobs say.
    pub terms: SlimTerms<'a>,
}

/// [`Terms`](crate::Terms) as far as the ledger needs them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SlimTerms<'a> {
    /// Not to be begun from this instant on.
    pub expires: Option<UnixMs>,
    /// How long it may go on failing, in milliseconds.
    pub retry_for_ms: Option<u64>,
    /// What it must not be twice.
    pub unique: Option<Lock>,
    /// The caller's name for the wish that it came from.
    pub idempotency: Option<Digest>,
    /// The group it takes turns and shares limits with.
    pub group: Option<&'a str>,
    /// The batch it belongs to.
    pub batch: Option<JobId>,
}

/// A [`Unique`](crate::Unique) key as far as the ledger needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lock {
    /// The key.
    pub key: Digest,
    /// The states in which the job stands in the way of others.
    pub scope: Scope,
    /// From this instant on it does not.
    pub until: Option<UnixMs>,
    /// What becomes of the job when another stands in its way.
    pub on_conflict: OnConflict,
}

/// An [`Attempt`](crate::Attempt) as far as the ledger needs it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ended {
    /// Its number.
    pub number: u32,
    /// The lease it ran under.
    pub token: Token,
    /// When it ended.
    pub ended_at: UnixMs,
    /// How it failed, if it did.
    pub failure: Option<FailureKind>,
}

/// A [`Verdict`](crate::Verdict) as far as the ledger needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follows {
    /// See [`Verdict::Completed`](crate::Verdict::Completed).
    Completed,
    /// See [`Verdict::Retry`](crate::Verdict::Retry).
    Retry {
        /// When it is due.
        due: UnixMs,
    },
    /// See [`Verdict::Snoozed`](crate::Verdict::Snoozed).
    Snoozed {
        /// When it is due.
        due: UnixMs,
    },
    /// See [`Verdict::PutBack`](crate::Verdict::PutBack).
    PutBack {
        /// When it is due.
        due: UnixMs,
    },
    /// See [`Verdict::Discarded`](crate::Verdict::Discarded).
    Discarded,
    /// See [`Verdict::Dead`](crate::Verdict::Dead).
    Dead,
    /// See [`Verdict::Cancelled`](crate::Verdict::Cancelled).
    Cancelled,
}

/// A [`Carried`](crate::Carried) job as far as the ledger needs it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Anew<'a> {
    /// The job as it was accepted.
    pub job: Accepted<'a>,
    /// When this was written.
    pub at: UnixMs,
    /// Where it is in its life.
    pub status: Status,
    /// Attempts used.
    pub attempts: u32,
    /// How often its lease was lost.
    pub losses: u32,
    /// The latest lease.
    pub token: Token,
    /// How the latest attempt failed, if it did.
    pub failure: Option<FailureKind>,
    /// Whether a checkpoint is in it.
    pub checkpoint: bool,
    /// How it is asked to end, when it runs and is.
    pub asked: Option<Asked>,
    /// Attempts that failed in a way that the same input brings about again.
    pub traps: u32,
    /// Whether it expires no more, because someone asked for it after it ended.
    pub lifted: bool,
    /// Whether it stands in nobody's way any more, because someone said so.
    pub unlocked: bool,
    /// When the first of its failed attempts ended, if that counts.
    pub failing_since: Option<UnixMs>,
}
