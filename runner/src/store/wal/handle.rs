//! The store as its callers hold it: wishes go into the writer's mailbox, records are read here.
//!
//! The writer's thread looks things up in the index and never waits for a reader. Files are read on
//! the caller's side: for a claim at once, since the records were mostly written a moment ago; for
//! views and lists on tokio's threads for blocking work.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
};

use sandhog_model::{
    Amend, BatchWish, Cancellation, ClaimRequest, Hold, IdMint, Job, JobId, Letter, QueueRules,
    Rejected, Settlement, State, Token, cron::CronWish,
};
use tokio::sync::{Notify, broadcast, watch};

use super::{
    mailbox::{Mailbox, Refused},
    reply::reply,
    segments::SegmentFiles,
    views,
    wish::{
        BatchAsk, CallOff, CronAsk, Incoming, Known, LetterWish, QueueAsk, Reply, WeighAsk, Wish,
    },
};
use crate::{
    clock::Clock,
    entropy::Entropy,
    store::{
        Amended, Answer, BatchDone, BatchRow, CalledOff, Changed, Claimed, CronDone, CronRow,
        DeadCount, DeadFilter, DeadRow, DeadWish, Imported, Inspect, JobChange, JobFilter, JobRow,
        JobView, LetterBounds, LetterName, LetterRef, Page, PageRequest, Purged, QueueRow,
        RawLetter, Steer, Store, StoreError, StoreStats, Taken, UniqueRow,
        dead::{BadList, DeadStore},
    },
};

/// The embedded store: one log, its index and the dead letters, served by one thread.
pub struct Wal {
    /// Bounded: when it is full the caller hears [`StoreError::Busy`].
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) files: Arc<SegmentFiles>,
    pub(super) dead: Arc<DeadStore>,
    pub(super) mint: Mutex<IdMint>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) entropy: Arc<dyn Entropy>,
    pub(super) ready: Arc<Notify>,
    pub(super) changes: broadcast::Sender<JobChange>,
    pub(super) poison: watch::Receiver<Option<String>>,
    /// Whether new work waits for the compaction.
    pub(super) behind: watch::Receiver<bool>,
    /// The jobs that were running when the process before this one ended, with their kinds.
    pub(super) lost: Vec<(JobId, String)>,
    #[cfg(test)]
    pub(super) compaction: std::sync::mpsc::SyncSender<super::compact::Wake>,
    pub(super) thread: Option<JoinHandle<()>>,
}

impl Drop for Wal {
    fn drop(&mut self) {
        // The writer ends when nobody is left; the directory is free when it has.
        self.mailbox.leave();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Wal {
    /// The jobs that were running when the process before this one ended, with their kinds; none when
    /// another opened the directory since and took their leases back.
    #[must_use]
    pub fn lost(&self) -> &[(JobId, String)] {
        &self.lost
    }

    pub(super) async fn ask<T, W: Into<Wish>>(
        &self,
        wish: impl FnOnce(Reply<T>) -> W,
    ) -> Result<T, StoreError> {
        let (reply, answer) = reply();
        self.mailbox
            .put(wish(reply).into())
            .map_err(|refused| match refused {
                Refused::Full => StoreError::Busy {
                    waiting: self.mailbox.size(),
                },
                Refused::Gone => self.ended(),
            })?;
        answer.await.unwrap_or_else(|_| Err(self.ended()))
    }

    /// Why there is no writer any more.
    fn ended(&self) -> StoreError {
        match &*self.poison.borrow() {
            Some(cause) => StoreError::Poisoned {
                cause: cause.clone(),
            },
            None => StoreError::Closed,
        }
    }

    async fn hand_in(&self, jobs: Vec<Job>) -> Result<Vec<Result<Taken, Rejected>>, StoreError> {
        // Slowed down to what the compaction can free, so that the log cannot grow for ever. An
        // error means that there is no writer, which is told below.
        if *self.behind.borrow() {
            let _ = self.behind.clone().wait_for(|behind| !behind).await;
        }
        let incoming = Incoming::from(jobs);
        let told = self.ask(|reply| Wish::Enqueue(incoming, reply)).await?;
        Ok(told.answers)
    }

    pub(super) async fn look(&self, ids: Vec<JobId>) -> Result<Vec<Known>, StoreError> {
        self.ask(|reply| Wish::Look(ids, reply)).await
    }
}

impl Store for Wal {
    fn mint(&self) -> JobId {
        let wall = self.clock.now().wall;
        self.mint
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .next(wall, || self.entropy.next())
    }

    fn take_in(&self, jobs: Vec<Job>) -> Answer<'_, Vec<Result<Taken, Rejected>>> {
        Box::pin(self.hand_in(jobs))
    }

    fn claim(&self, request: ClaimRequest) -> Answer<'_, Claimed> {
        Box::pin(async move {
            let claimed = self.ask(|reply| Wish::Claim(request, reply)).await?;
            let mut jobs = Vec::with_capacity(claimed.leases.len());
            for lease in claimed.leases {
                let id = lease.id;
                match self.leased_job(lease).await {
                    Ok(job) => jobs.push(job),
                    // Its lease runs out; in the end it is listed as it is.
                    Err(error) => {
                        tracing::error!(%id, %error, "a leased job cannot be read");
                    }
                }
            }
            Ok(Claimed {
                jobs,
                is_full: claimed.is_full,
                next_due: claimed.next_due,
            })
        })
    }

    fn checkpoint(&self, id: JobId, token: Token, bytes: Vec<u8>) -> Answer<'_, ()> {
        Box::pin(self.ask(move |reply| Wish::Checkpoint {
            id,
            token,
            bytes,
            reply,
        }))
    }

    fn settle(&self, reports: Vec<Settlement>) -> Answer<'_, Vec<Result<State, Rejected>>> {
        Box::pin(self.ask(|reply| Wish::Settle(reports, reply)))
    }

    fn renew(&self, leases: Vec<(JobId, Token)>) -> Answer<'_, Vec<(JobId, Token)>> {
        Box::pin(self.ask(|reply| Wish::Renew(leases, reply)))
    }

    fn sweep(&self) -> Answer<'_, usize> {
        Box::pin(self.ask(Wish::Sweep))
    }

    fn call_off(
        &self,
        ids: Vec<JobId>,
        cancel: Cancellation,
    ) -> Answer<'_, Vec<Result<CalledOff, Rejected>>> {
        Box::pin(self.ask(|reply| CallOff { ids, cancel, reply }))
    }

    fn amend(&self, wishes: Vec<Amend>) -> Answer<'_, Vec<Result<Changed, Rejected>>> {
        Box::pin(self.ask(|reply| Wish::Amend(wishes, reply)))
    }

    fn cron(&self, wish: CronWish) -> Answer<'_, CronDone> {
        Box::pin(self.ask(|reply| CronAsk::Change(wish, reply)))
    }

    fn batch(&self, wish: BatchWish) -> Answer<'_, Option<BatchDone>> {
        Box::pin(self.ask(|reply| BatchAsk::Change(wish, reply)))
    }

    fn amend_dead(&self, letters: Vec<LetterRef>, wish: DeadWish) -> Answer<'_, Vec<Amended>> {
        Box::pin(self.ask(move |reply| LetterWish::Amend(letters, wish, reply)))
    }

    fn import_dead(
        &self,
        letters: Vec<Letter>,
        dry_run: bool,
    ) -> Answer<'_, Vec<Result<Imported, Rejected>>> {
        Box::pin(async move {
            let ids: Vec<JobId> = letters.iter().map(Letter::id).collect();
            let wish = |reply| LetterWish::Import {
                letters,
                dry_run,
                reply,
            };
            let answers = self.ask(wish).await?;
            let taken = ids.into_iter().zip(&answers);
            let taken = taken.filter(|(_, answer)| matches!(answer, Ok(Imported::Taken)));
            let mut mint = self.mint.lock().unwrap_or_else(PoisonError::into_inner);
            taken.for_each(|(id, _)| mint.saw(id));
            drop(mint);
            Ok(answers)
        })
    }

    fn purge_dead(&self, bounds: LetterBounds, dry_run: bool) -> Answer<'_, Purged> {
        Box::pin(self.ask(move |reply| LetterWish::Purge {
            bounds,
            dry_run,
            reply,
        }))
    }

    fn steer(&self, steer: Steer) -> Answer<'_, ()> {
        Box::pin(self.ask(|reply| QueueAsk::Steer(steer, reply)))
    }

    fn govern(&self, rules: Arc<QueueRules>) -> Answer<'_, ()> {
        Box::pin(self.ask(|reply| QueueAsk::Govern(rules, reply)))
    }

    fn ready(&self) -> Arc<Notify> {
        self.ready.clone()
    }

    fn poisoned(&self) -> Pin<Box<dyn Future<Output = String> + Send + '_>> {
        let mut poison = self.poison.clone();
        Box::pin(async move {
            if let Ok(cause) = poison.wait_for(Option::is_some).await
                && let Some(cause) = cause.clone()
            {
                return cause;
            }
            // A store that was closed in good order never gets poisoned.
            std::future::pending().await
        })
    }

    fn close(&self) -> Answer<'_, ()> {
        Box::pin(async move {
            match self.ask(Wish::Close).await {
                Err(StoreError::Closed) => Ok(()),
                other => other,
            }
        })
    }
}

impl Inspect for Wal {
    fn job(&self, id: JobId) -> Answer<'_, Option<JobView>> {
        Box::pin(async move {
            self.read_known(id, |known, files| views::view(known, |at| files.read(at)))
                .await
        })
    }

    fn jobs(&self, filter: JobFilter, page: PageRequest) -> Answer<'_, Page<JobRow>> {
        Box::pin(self.page(filter, page))
    }

    fn queues(&self) -> Answer<'_, Vec<QueueRow>> {
        Box::pin(self.ask(QueueAsk::All))
    }

    fn crons(&self) -> Answer<'_, Vec<CronRow>> {
        Box::pin(self.ask(CronAsk::All))
    }

    fn unique(&self, page: PageRequest) -> Answer<'_, Page<UniqueRow>> {
        Box::pin(self.unique_page(page))
    }

    fn batch_row(&self, id: JobId) -> Answer<'_, Option<BatchRow>> {
        Box::pin(self.ask(move |reply| BatchAsk::One(id, reply)))
    }

    fn batches(&self, page: PageRequest) -> Answer<'_, Page<BatchRow>> {
        Box::pin(self.batch_page(page))
    }

    fn dead(&self, filter: DeadFilter, page: PageRequest) -> Answer<'_, Page<DeadRow>> {
        let dead = self.dead.clone();
        Box::pin(on_blocking_thread(move || {
            let bad = |bad: BadList| Rejected::Invalid(bad.to_string()).into();
            dead.list(&filter, &page).map_err(bad)
        }))
    }

    fn count_dead(&self, filter: DeadFilter, cursor: Option<String>) -> Answer<'_, DeadCount> {
        let dead = self.dead.clone();
        Box::pin(on_blocking_thread(move || {
            let bad = |bad: BadList| Rejected::Invalid(bad.to_string()).into();
            dead.count(&filter, cursor.as_deref()).map_err(bad)
        }))
    }

    fn letter(&self, id: JobId) -> Answer<'_, Option<Letter>> {
        Box::pin(async move {
            let dead = self.dead.clone();
            on_blocking_thread(move || dead.letter(id)).await
        })
    }

    fn raw_letter(&self, name: LetterName) -> Answer<'_, Option<RawLetter>> {
        let dead = self.dead.clone();
        Box::pin(on_blocking_thread(move || dead.raw(name)))
    }

    fn hold(&self, id: JobId) -> Answer<'_, Option<Hold>> {
        Box::pin(self.ask(move |reply| QueueAsk::Hold(id, reply)))
    }

    fn weigh(&self, wishes: Vec<Amend>) -> Answer<'_, Vec<Result<Changed, Rejected>>> {
        Box::pin(self.ask(|reply| WeighAsk::Jobs(wishes, reply)))
    }

    fn weigh_dead(&self, letters: Vec<LetterRef>, wish: DeadWish) -> Answer<'_, Vec<Amended>> {
        Box::pin(self.ask(move |reply| WeighAsk::Letters(letters, wish, reply)))
    }

    fn stats(&self) -> Answer<'_, StoreStats> {
        Box::pin(self.ask(Wish::Stats))
    }

    fn changes(&self) -> broadcast::Receiver<JobChange> {
        self.changes.subscribe()
    }
}

pub(super) async fn on_blocking_thread<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::task::spawn_blocking(read).await {
        Ok(answer) => answer,
        Err(ended) => match ended.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(StoreError::Closed),
        },
    }
}
