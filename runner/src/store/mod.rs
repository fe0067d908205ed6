//! Where jobs are kept. The store takes wishes and holds the index; what it answers is durable.
//!
//! Knows nothing of plugins, sockets or workers.

pub mod dead;
mod error;
mod frames;
pub mod lock;
mod observed;
#[cfg(test)]
mod tests;
mod view;
pub mod wal;

use std::{future::Future, pin::Pin, sync::Arc};

use sandhog_model::{
    Amend, BatchWish, Cancellation, ClaimRequest, Hold, Job, JobId, Letter, QueueRules, Rejected,
    Settlement, State, Token, UnixMs,
    cron::{CronState, CronWish},
};
use tokio::sync::{Notify, broadcast};

pub use dead::{
    DeadCount, DeadFilter, DeadRow, DeadWish, Imported, LetterBounds, LetterName, LetterRef,
    PurgeCounts, PurgeReason, Purged, RawLetter,
};
pub use error::StoreError;
pub use observed::Observed;
pub use view::{
    Amended, BatchRow, CronRow, FailureRow, JobFilter, JobRow, JobView, Page, PageRequest,
    QueueRow, Steer, StoreStats, UniqueRow, tries,
};

/// An answer that comes once what it says is durable.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// A job with the right to run it.
#[derive(Debug, Clone)]
pub struct LeasedJob {
    /// The job.
    pub job: Job,
    /// The right to report on this attempt.
    pub token: Token,
    /// This attempt's number, from 1.
    pub attempt: u32,
    /// Since when a worker could have begun it.
    pub due: UnixMs,
    /// What the last durable checkpoint of an earlier attempt holds.
    pub checkpoint: Option<Vec<u8>>,
}

/// What a claim gave.
#[derive(Debug, Clone, Default)]
pub struct Claimed {
    /// The jobs leased, but for those that cannot be read.
    pub jobs: Vec<LeasedJob>,
    /// Whether as many were leased as were asked for: there may be more.
    pub is_full: bool,
    /// When the next waiting job becomes due, when fewer were given than asked for.
    pub next_due: Option<UnixMs>,
}

/// A change of a job, told after it is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobChange {
    /// The job.
    pub id: JobId,
    /// The state it is in now.
    pub state: State,
}

/// A job that someone from outside changed, or found as they wish it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Changed {
    /// The state it is in now; `None` when it is gone.
    pub state: Option<State>,
    /// Whether it was otherwise before.
    pub is_new: bool,
}

/// The job that is the answer to one that was handed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// A new one.
    New(JobId),
    /// A new one that took the place of one that waited, which is cancelled.
    InPlaceOf {
        /// The new one.
        id: JobId,
        /// The one that is cancelled.
        replaced: JobId,
    },
    /// The one that stood in its way.
    PutOff {
        /// That one.
        id: JobId,
        /// When it is due now.
        due: UnixMs,
    },
}

impl Taken {
    /// The job.
    #[must_use]
    pub const fn id(self) -> JobId {
        match self {
            Self::New(id) | Self::InPlaceOf { id, .. } | Self::PutOff { id, .. } => id,
        }
    }
}

/// A job that was called off, now or before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CalledOff {
    /// The state it is in now.
    pub state: State,
    /// The lease of the attempt that is to end, when one runs.
    pub lease: Option<Token>,
}

/// What became of a wish about a schedule.
#[derive(Debug, Clone, PartialEq)]
pub struct CronDone {
    /// The schedule as it is now; `None` when it is gone.
    pub state: Option<CronState>,
    /// The lease of an attempt that is to end, because a slot cancelled the job before it.
    pub called_off: Option<(JobId, Token)>,
}

/// What became of a wish about a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchDone {
    /// The batch as it is now.
    pub row: BatchRow,
    /// Whether it was otherwise before.
    pub is_new: bool,
}

/// The write side.
pub trait Store: Inspect {
    /// A new id, larger than every id of this store.
    fn mint(&self) -> JobId;
    /// Accept jobs, each or a refusal in its place. Durable when answered.
    fn take_in(&self, jobs: Vec<Job>) -> Answer<'_, Vec<Result<Taken, Rejected>>>;
    /// The same, for whom it is enough to know which job is the answer.
    fn enqueue(&self, jobs: Vec<Job>) -> Answer<'_, Vec<Result<JobId, Rejected>>> {
        let asked = self.take_in(jobs);
        Box::pin(async move {
            let answers = asked.await?.into_iter();
            Ok(answers.map(|answer| answer.map(Taken::id)).collect())
        })
    }
    /// Lease due jobs of the kinds served: from the queues by their weights, and of a queue those of higher
    /// priority first, then of the group whose turn it is, then the earlier due.
    fn claim(&self, request: ClaimRequest) -> Answer<'_, Claimed>;
    /// Keep bytes for the next attempt. Durable when answered.
    fn checkpoint(&self, id: JobId, token: Token, bytes: Vec<u8>) -> Answer<'_, ()>;
    /// Report on attempts, each answered with the job's new state or a refusal. Durable when
    /// answered.
    fn settle(&self, reports: Vec<Settlement>) -> Answer<'_, Vec<Result<State, Rejected>>>;
    /// The holders are alive. Gives back the leases that no longer hold their job.
    fn renew(&self, leases: Vec<(JobId, Token)>) -> Answer<'_, Vec<(JobId, Token)>>;
    /// Take back leases that were not renewed for the lease time. Gives their number.
    fn sweep(&self) -> Answer<'_, usize>;
    /// Call jobs off, each answered for itself: what waits ends at once, what runs is asked to end.
    /// Durable when answered.
    fn call_off(
        &self,
        ids: Vec<JobId>,
        cancel: Cancellation,
    ) -> Answer<'_, Vec<Result<CalledOff, Rejected>>>;
    /// Change jobs that no attempt holds, each answered for itself. Durable when answered.
    fn amend(&self, wishes: Vec<Amend>) -> Answer<'_, Vec<Result<Changed, Rejected>>>;
    /// Change what is known of a schedule, with the job that goes with it. Durable when answered.
    fn cron(&self, wish: CronWish) -> Answer<'_, CronDone>;
    /// Change a batch. Durable when answered.
    fn batch(&self, wish: BatchWish) -> Answer<'_, Option<BatchDone>>;
    /// Change dead letters, each answered for itself.
    fn amend_dead(&self, letters: Vec<LetterRef>, wish: DeadWish) -> Answer<'_, Vec<Amended>>;
    /// Take in letters of another store: dead jobs of this one from then on. One whose id is here
    /// already is left alone. With `dry_run` nothing changes. Durable when answered.
    fn import_dead(
        &self,
        letters: Vec<Letter>,
        dry_run: bool,
    ) -> Answer<'_, Vec<Result<Imported, Rejected>>>;
    /// Delete the letters that bounds are against, at most 1000 at once, or only name them.
    fn purge_dead(&self, bounds: LetterBounds, dry_run: bool) -> Answer<'_, Purged>;
    /// Say what a queue is to do, until someone says otherwise. Durable when answered.
    fn steer(&self, steer: Steer) -> Answer<'_, ()>;
    /// Follow these rules for queues from now on.
    fn govern(&self, rules: Arc<QueueRules>) -> Answer<'_, ()>;
    /// Told when jobs may have become claimable.
    fn ready(&self) -> Arc<Notify>;
    /// Resolves when the store takes nothing more: the reason.
    fn poisoned(&self) -> Pin<Box<dyn Future<Output = String> + Send + '_>>;
    /// Sync what is open and let the directory go. Stopping twice is harmless.
    fn close(&self) -> Answer<'_, ()>;
}

/// The read side. No call reads more than it shows.
pub trait Inspect: Send + Sync + 'static {
    /// One job with its history.
    fn job(&self, id: JobId) -> Answer<'_, Option<JobView>>;
    /// Jobs, newest first.
    fn jobs(&self, filter: JobFilter, page: PageRequest) -> Answer<'_, Page<JobRow>>;
    /// Queues by name.
    fn queues(&self) -> Answer<'_, Vec<QueueRow>>;
    /// Schedules by name, as far as the log knows them.
    fn crons(&self) -> Answer<'_, Vec<CronRow>>;
    /// Unique jobs that stand in the way of others, by key, from a cursor on.
    fn unique(&self, page: PageRequest) -> Answer<'_, Page<UniqueRow>>;
    /// One batch.
    fn batch_row(&self, id: JobId) -> Answer<'_, Option<BatchRow>>;
    /// Batches, newest first.
    fn batches(&self, page: PageRequest) -> Answer<'_, Page<BatchRow>>;
    /// Dead letters, newest first.
    fn dead(&self, filter: DeadFilter, page: PageRequest) -> Answer<'_, Page<DeadRow>>;
    /// How many dead letters there are, from a cursor on.
    fn count_dead(&self, filter: DeadFilter, cursor: Option<String>) -> Answer<'_, DeadCount>;
    /// One dead letter.
    fn letter(&self, id: JobId) -> Answer<'_, Option<Letter>>;
    /// The bytes of a dead letter, whether it can be read or not.
    fn raw_letter(&self, name: LetterName) -> Answer<'_, Option<RawLetter>>;
    /// What keeps a job from being begun that is due; `None` when it does not wait for that.
    fn hold(&self, id: JobId) -> Answer<'_, Option<Hold>>;
    /// What [`Store::amend`] would answer, each as if those before it had been carried out. Nothing changes.
    fn weigh(&self, wishes: Vec<Amend>) -> Answer<'_, Vec<Result<Changed, Rejected>>>;
    /// What [`Store::amend_dead`] would answer. Nothing changes.
    fn weigh_dead(&self, letters: Vec<LetterRef>, wish: DeadWish) -> Answer<'_, Vec<Amended>>;
    /// The store at a glance.
    fn stats(&self) -> Answer<'_, StoreStats>;
    /// Changes from now on.
    fn changes(&self) -> broadcast::Receiver<JobChange>;
}
