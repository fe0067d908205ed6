//! What callers put into the writer's mailbox, each with the place its answer goes.

use std::sync::Arc;

use sandhog_model::{
    Amend, BatchWish, Cancellation, Carried, ClaimRequest, Digest, Entry, Hold, Job, JobId, Letter,
    QueueRules, RecordAt, Rejected, Settlement, Standing, State, Token, UnixMs, cron::CronWish,
};

use super::reply;
use crate::store::{
    Amended, BatchDone, BatchRow, CalledOff, Changed, CronDone, CronRow, DeadWish, Imported,
    JobFilter, LetterBounds, LetterRef, Purged, QueueRow, Steer, StoreError, StoreStats, Taken,
    frames,
};

/// Where an answer goes. A caller that went away loses its answer, not its wish.
pub(super) type Reply<T> = reply::Reply<Result<T, StoreError>>;

/// A lease as the writer gives it: the caller reads the job itself.
#[derive(Debug, Clone)]
pub(super) struct LeaseRef {
    pub(super) id: JobId,
    pub(super) token: Token,
    pub(super) attempt: u32,
    pub(super) due: UnixMs,
    pub(super) enqueued: RecordAt,
    pub(super) checkpoint: Option<RecordAt>,
}

/// What a claim gave.
pub(super) struct Leases {
    pub(super) leases: Vec<LeaseRef>,
    /// Whether there are as many as were asked for.
    pub(super) is_full: bool,
    pub(super) next_due: Option<UnixMs>,
}

/// A job as the index knows it.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) id: JobId,
    pub(super) entry: Entry,
    pub(super) state: State,
}

/// Unique jobs that stand in the way of others.
pub(super) struct Uniques {
    pub(super) found: Vec<(Standing, Known)>,
    /// The key of the first that is not shown.
    pub(super) next: Option<Digest>,
}

/// A place among the jobs that wait for an instant: behind this one.
pub(super) type DuePlace = (UnixMs, JobId);

/// A part of a walk through the jobs that wait for an instant.
pub(super) struct ScannedDue {
    pub(super) found: Vec<Known>,
    /// Where to go on, when there may be more.
    pub(super) resume: Option<DuePlace>,
}

/// A part of a scan through the index.
pub(super) struct Scanned {
    pub(super) found: Vec<Known>,
    /// Where to go on, when there may be more.
    pub(super) resume: Option<JobId>,
}

/// A job that is to be accepted. Its record is made where it comes from: there is one writer, and many
/// callers.
pub(super) struct Coming {
    pub(super) id: JobId,
    /// The record's body, or why there can be none.
    pub(super) body: Result<Vec<u8>, String>,
}

impl From<&Job> for Coming {
    fn from(job: &Job) -> Self {
        Self {
            id: job.id,
            body: frames::encode_job(job),
        }
    }
}

/// Jobs that are to be accepted, and room for what becomes of each. Whoever hands them in makes it all and gets it back: memory
/// that is given back by another thread than took it costs both of them.
pub(super) struct Incoming {
    pub(super) jobs: Vec<Coming>,
    pub(super) answers: Vec<Result<Taken, Rejected>>,
}

impl From<Vec<Job>> for Incoming {
    fn from(jobs: Vec<Job>) -> Self {
        Self {
            answers: Vec::with_capacity(jobs.len()),
            jobs: jobs.into_iter().map(|job| Coming::from(&job)).collect(),
        }
    }
}

/// A wish about dead letters.
pub(super) enum LetterWish {
    Amend(Vec<LetterRef>, DeadWish, Reply<Vec<Amended>>),
    Import {
        letters: Vec<Letter>,
        dry_run: bool,
        reply: Reply<Vec<Result<Imported, Rejected>>>,
    },
    Purge {
        bounds: LetterBounds,
        dry_run: bool,
        reply: Reply<Purged>,
    },
}

/// Jobs to call off.
pub(super) struct CallOff {
    pub(super) ids: Vec<JobId>,
    pub(super) cancel: Cancellation,
    pub(super) reply: Reply<Vec<Result<CalledOff, Rejected>>>,
}

/// What is asked about schedules.
pub(super) enum CronAsk {
    Change(CronWish, Reply<CronDone>),
    All(Reply<Vec<CronRow>>),
}

/// Part of a list of jobs.
pub(super) enum ScanAsk {
    /// Newest first.
    Newest {
        filter: JobFilter,
        before: Option<JobId>,
        limit: usize,
        reply: Reply<Scanned>,
    },
    /// Those that wait for an instant, the earliest first.
    Due {
        filter: JobFilter,
        after: Option<DuePlace>,
        limit: usize,
        reply: Reply<ScannedDue>,
    },
}

/// What is asked of queues, and of unique jobs.
pub(super) enum QueueAsk {
    All(Reply<Vec<QueueRow>>),
    Hold(JobId, Reply<Option<Hold>>),
    Steer(Steer, Reply<()>),
    Govern(Arc<QueueRules>, Reply<()>),
    Unique {
        from: Digest,
        limit: usize,
        reply: Reply<Uniques>,
    },
}

/// What is asked of batches.
pub(super) enum BatchAsk {
    Change(BatchWish, Reply<Option<BatchDone>>),
    One(JobId, Reply<Option<BatchRow>>),
    Some {
        before: Option<JobId>,
        limit: usize,
        reply: Reply<Vec<BatchRow>>,
    },
}

/// Changes of which only is asked what they would come to.
pub(super) enum WeighAsk {
    Jobs(Vec<Amend>, Reply<Vec<Result<Changed, Rejected>>>),
    Letters(Vec<LetterRef>, DeadWish, Reply<Vec<Amended>>),
}

/// One wish. Those that are rare and long lie elsewhere: each is moved several times, and from one processor to
/// another.
pub(super) enum Wish {
    Enqueue(Incoming, Reply<Incoming>),
    Claim(ClaimRequest, Reply<Leases>),
    Checkpoint {
        id: JobId,
        token: Token,
        bytes: Vec<u8>,
        reply: Reply<()>,
    },
    Settle(Vec<Settlement>, Reply<Vec<Result<State, Rejected>>>),
    Renew(Vec<(JobId, Token)>, Reply<Vec<(JobId, Token)>>),
    Sweep(Reply<usize>),
    CallOff(Box<CallOff>),
    Amend(Vec<Amend>, Reply<Vec<Result<Changed, Rejected>>>),
    Crons(Box<CronAsk>),
    Letters(Box<LetterWish>),
    Look(Vec<JobId>, Reply<Vec<Known>>),
    Scan(Box<ScanAsk>),
    OfQueues(Box<QueueAsk>),
    OfBatches(Box<BatchAsk>),
    Weigh(Box<WeighAsk>),
    Stats(Reply<StoreStats>),
    Compact(Box<Ask>),
    Close(Reply<()>),
}

const _: () = assert!(
    size_of::<Wish>() <= 64,
    "a wish fits into a line of a cache"
);

/// The log's first segment, to be freed.
pub(super) struct Front {
    pub(super) segment: u32,
    /// The segment that is written to.
    pub(super) current: u32,
    /// Where the records of the first segment lie that accepted a job which is still there.
    pub(super) places: Vec<RecordAt>,
}

/// A job to be written anew.
pub(super) struct Anew {
    /// Its latest record when it was read.
    pub(super) latest: RecordAt,
    pub(super) carried: Box<Carried>,
}

/// How a pass of the compaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    Done,
    /// It tries again by itself.
    Later,
    /// This segment cannot be freed.
    Stuck(u32),
}

/// What the compaction's thread asks of the writer.
pub(super) enum Ask {
    /// Forget jobs that ended; whether there may be more.
    Prune(Reply<bool>),
    /// The segment to free, if the log is too large.
    Front(Reply<Option<Front>>),
    /// Write jobs anew; those that changed meanwhile are given back.
    Carry(Vec<Anew>, Reply<Vec<JobId>>),
    /// Say that nothing before some segment is needed; durable when answered with its number.
    Trim(Reply<u32>),
    Removed {
        segments: u64,
        bytes: u64,
        reply: Reply<()>,
    },
    Rest(Rest, Reply<()>),
    /// The disk failed under it.
    Fail(String),
}

/// Wishes that lie elsewhere, made of what they hold.
macro_rules! elsewhere {
    ($($wish:ident of $ask:ty,)*) => {$(
        impl From<$ask> for Wish {
            fn from(ask: $ask) -> Self {
                Self::$wish(Box::new(ask))
            }
        }
    )*};
}

elsewhere! {
    CallOff of CallOff,
    Crons of CronAsk,
    Letters of LetterWish,
    Scan of ScanAsk,
    OfQueues of QueueAsk,
    OfBatches of BatchAsk,
    Weigh of WeighAsk,
    Compact of Ask,
}
