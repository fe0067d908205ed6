//! A store and an engine that keep jobs in a map, for the tests of the doors.

mod batches;
mod crons;
mod dead;
mod desk;
mod ends;
mod engine;
mod list;
mod papers;

use std::{
    collections::{BTreeMap, BTreeSet},
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex},
};

use sandhog_model::{
    Amend, BatchWish, Cancellation, ClaimRequest, Hold, IdMint, Job, JobId, KindDefaults, Ledger,
    Letter, QueueLimits, QueueMode, QueueRules, Rejected, Settlement, State, Token, UnixMs,
    cron::CronWish,
};
use tokio::sync::{Notify, broadcast};

pub(crate) use ends::trapped;

use self::{
    dead::broken_row,
    list::{fits, paged},
};
use crate::{
    api::{Ctx, Reload},
    clock::SystemClock,
    engine::Running,
    plugin::PluginDesk,
    store::{
        Amended, Answer, BatchDone, BatchRow, CalledOff, Changed, Claimed, CronDone, CronRow,
        DeadCount, DeadFilter, DeadRow, DeadWish, Imported, Inspect, JobChange, JobFilter, JobRow,
        JobView, LetterBounds, LetterName, LetterRef, Page, PageRequest, Purged, QueueRow,
        RawLetter, Steer, Store, StoreError, StoreStats, Taken, UniqueRow,
    },
};

/// Keeps jobs in memory; a test says how they end.
pub(crate) struct Double {
    inner: Mutex<Inner>,
    changes: broadcast::Sender<JobChange>,
}

#[derive(Clone, Default)]
struct Inner {
    mint: IdMint,
    jobs: BTreeMap<JobId, JobView>,
    full: bool,
    broken: Option<(u64, Vec<u8>)>,
    /// Knows the schedules and the batches alone.
    crons: Ledger,
}

impl Double {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            inner: Mutex::default(),
            changes: broadcast::channel(64).0,
        })
    }

    pub(crate) fn ctx(self: &Arc<Self>, running: bool) -> Ctx {
        Ctx {
            store: Arc::clone(self) as Arc<dyn Store>,
            running: running.then(|| Arc::new(Engine) as Arc<dyn Running>),
            desk: running.then(|| Arc::new(desk::Shelf::default()) as Arc<dyn PluginDesk>),
            defaults: Arc::new(|_| KindDefaults::default()),
            reload: running.then(|| Arc::new(papers::Papers) as Arc<dyn Reload>),
            metrics: None,
            crons: Arc::new(crons::book()),
            clock: Arc::new(SystemClock::default()),
            payload_bytes: 1 << 20,
            version: "0.0.0-test",
        }
    }

    pub(crate) fn fill_disk(&self) {
        self.inner.lock().unwrap().full = true;
    }

    /// Jobs that wait, with their kinds.
    pub(crate) fn waiting(&self) -> Vec<(JobId, String)> {
        let waiting = self.rows(|view| view.row.state == State::Available);
        waiting
            .into_iter()
            .map(|view| (view.row.id, view.row.kind))
            .collect()
    }

    pub(crate) fn count(&self) -> usize {
        self.inner.lock().unwrap().jobs.len()
    }

    fn rows(&self, keep: impl Fn(&JobView) -> bool) -> Vec<JobView> {
        let inner = self.inner.lock().unwrap();
        inner
            .jobs
            .values()
            .rev()
            .filter(|view| keep(view))
            .cloned()
            .collect()
    }
}

fn now<'a, T: Send + 'a>(value: Result<T, StoreError>) -> Answer<'a, T> {
    Box::pin(std::future::ready(value))
}

impl Inspect for Double {
    fn job(&self, id: JobId) -> Answer<'_, Option<JobView>> {
        now(Ok(self.inner.lock().unwrap().jobs.get(&id).cloned()))
    }

    fn jobs(&self, filter: JobFilter, page: PageRequest) -> Answer<'_, Page<JobRow>> {
        let mut rows = self.rows(|view| fits(&filter, &view.row));
        if filter.by_due {
            rows.retain(|view| matches!(view.row.state, State::Scheduled | State::Retryable));
            rows.sort_by_key(|view| (view.row.at, view.row.id));
        }
        now(Ok(paged(
            rows.into_iter().map(|view| view.row).collect(),
            &page,
        )))
    }

    fn crons(&self) -> Answer<'_, Vec<CronRow>> {
        now(Ok(self.cron_rows()))
    }

    fn queues(&self) -> Answer<'_, Vec<QueueRow>> {
        let mut queues: BTreeMap<String, (BTreeMap<State, u64>, BTreeSet<String>)> =
            BTreeMap::new();
        for view in self.rows(|_| true) {
            let (states, kinds) = queues.entry(view.row.queue).or_default();
            *states.entry(view.row.state).or_default() += 1;
            kinds.extend((view.row.state == State::Available).then_some(view.row.kind));
        }
        let rows = queues.into_iter().map(|(queue, (counts, kinds))| QueueRow {
            queue,
            counts: counts.into_iter().collect(),
            kinds: kinds.into_iter().collect(),
            mode: QueueMode::default(),
            limits: QueueLimits::default(),
            set: QueueLimits::default(),
            weight: 1,
            max_depth: None,
            hold: None,
            oldest_due: None,
        });
        now(Ok(rows.collect()))
    }

    fn batch_row(&self, id: JobId) -> Answer<'_, Option<BatchRow>> {
        now(Ok(self.batch_rows().into_iter().find(|row| row.id == id)))
    }

    fn batches(&self, page: PageRequest) -> Answer<'_, Page<BatchRow>> {
        now(Ok(paged(self.batch_rows(), &page)))
    }

    fn unique(&self, page: PageRequest) -> Answer<'_, Page<UniqueRow>> {
        now(Ok(paged(Vec::new(), &page)))
    }

    fn dead(&self, filter: DeadFilter, page: PageRequest) -> Answer<'_, Page<DeadRow>> {
        let mut rows = self.dead_rows(&filter);
        let broken = self.broken().map(|(at, _)| broken_row(at));
        rows.extend(broken.filter(|_| filter == DeadFilter::default() || filter.unreadable));
        now(Ok(paged(rows, &page)))
    }

    fn count_dead(&self, filter: DeadFilter, _: Option<String>) -> Answer<'_, DeadCount> {
        let count = self.dead_rows(&filter).len() as u64;
        now(Ok(DeadCount { count, next: None }))
    }

    fn raw_letter(&self, name: LetterName) -> Answer<'_, Option<RawLetter>> {
        let broken = self
            .broken()
            .filter(|(at, _)| name == LetterName::Place(*at));
        now(Ok(broken.map(|(_, bytes)| RawLetter {
            name,
            unreadable: Some("bad checksum".into()),
            bytes,
        })))
    }

    fn letter(&self, id: JobId) -> Answer<'_, Option<Letter>> {
        let found = self.rows(|view| view.row.id == id && view.row.state == State::Dead);
        now(Ok(found.into_iter().next().map(|view| Letter {
            job: view.job,
            attempts: view.attempts,
            died_at: view.row.at,
            token: Token(7),
            losses: view.losses,
        })))
    }

    fn hold(&self, _: JobId) -> Answer<'_, Option<Hold>> {
        now(Ok(None))
    }

    fn weigh(&self, wishes: Vec<Amend>) -> Answer<'_, Vec<Result<Changed, Rejected>>> {
        let answers = self.undone(|| wishes.into_iter().map(|wish| self.change(wish)).collect());
        now(Ok(answers))
    }

    fn weigh_dead(&self, letters: Vec<LetterRef>, wish: DeadWish) -> Answer<'_, Vec<Amended>> {
        now(Ok(self.undone(|| self.changed_dead(letters, wish))))
    }

    fn stats(&self) -> Answer<'_, StoreStats> {
        now(Ok(StoreStats {
            durability: "none".into(),
            ..StoreStats::default()
        }))
    }

    fn changes(&self) -> broadcast::Receiver<JobChange> {
        self.changes.subscribe()
    }
}

impl Store for Double {
    fn mint(&self) -> JobId {
        let mut inner = self.inner.lock().unwrap();
        inner.mint.next(UnixMs(1_790_000_000_000), || 5)
    }

    fn take_in(&self, jobs: Vec<Job>) -> Answer<'_, Vec<Result<Taken, Rejected>>> {
        let mut inner = self.inner.lock().unwrap();
        if inner.full {
            let path = "logs/1.seg".into();
            let needs = "16 MiB needed".into();
            return now(Err(StoreError::Full { path, needs }));
        }
        let ids = jobs.into_iter().map(|job| {
            let row = JobRow {
                id: job.id,
                kind: job.kind.clone(),
                queue: job.queue.clone(),
                state: State::Available,
                attempt: 0,
                max_attempts: 25,
                priority: job.priority,
                at: job.due,
                failure: None,
                digest: None,
                parent: job.parent,
            };
            let id = job.id;
            let view = JobView {
                row,
                job,
                attempts: Vec::new(),
                output: None,
                reason: None,
                cancel: None,
                failure: None,
                children: Vec::new(),
                losses: 0,
                waiting_because: None,
            };
            inner.jobs.insert(id, view);
            Ok(Taken::New(id))
        });
        let ids = ids.collect();
        now(Ok(ids))
    }

    fn claim(&self, _: ClaimRequest) -> Answer<'_, Claimed> {
        now(Ok(Claimed::default()))
    }

    fn checkpoint(&self, _: JobId, _: Token, _: Vec<u8>) -> Answer<'_, ()> {
        now(Ok(()))
    }

    fn settle(&self, _: Vec<Settlement>) -> Answer<'_, Vec<Result<State, Rejected>>> {
        now(Ok(Vec::new()))
    }

    fn renew(&self, _: Vec<(JobId, Token)>) -> Answer<'_, Vec<(JobId, Token)>> {
        now(Ok(Vec::new()))
    }

    fn sweep(&self) -> Answer<'_, usize> {
        now(Ok(0))
    }

    fn call_off(
        &self,
        ids: Vec<JobId>,
        cancel: Cancellation,
    ) -> Answer<'_, Vec<Result<CalledOff, Rejected>>> {
        let answers = ids.into_iter().map(|id| self.called_off(id, &cancel));
        now(Ok(answers.collect()))
    }

    fn amend(&self, wishes: Vec<Amend>) -> Answer<'_, Vec<Result<Changed, Rejected>>> {
        now(Ok(wishes
            .into_iter()
            .map(|wish| self.change(wish))
            .collect()))
    }

    fn cron(&self, wish: CronWish) -> Answer<'_, CronDone> {
        now(self.change_cron(wish))
    }

    fn batch(&self, wish: BatchWish) -> Answer<'_, Option<BatchDone>> {
        now(self.change_batch(wish))
    }

    fn amend_dead(&self, letters: Vec<LetterRef>, wish: DeadWish) -> Answer<'_, Vec<Amended>> {
        now(Ok(self.changed_dead(letters, wish)))
    }

    fn import_dead(
        &self,
        letters: Vec<Letter>,
        dry_run: bool,
    ) -> Answer<'_, Vec<Result<Imported, Rejected>>> {
        now(Ok(self.imported(letters, dry_run)))
    }

    fn purge_dead(&self, bounds: LetterBounds, dry_run: bool) -> Answer<'_, Purged> {
        now(Ok(self.purged(bounds, dry_run)))
    }

    fn steer(&self, _: Steer) -> Answer<'_, ()> {
        now(Ok(()))
    }

    fn govern(&self, _: Arc<QueueRules>) -> Answer<'_, ()> {
        now(Ok(()))
    }

    fn ready(&self) -> Arc<Notify> {
        Arc::default()
    }

    fn poisoned(&self) -> Pin<Box<dyn Future<Output = String> + Send + '_>> {
        Box::pin(std::future::pending())
    }

    fn close(&self) -> Answer<'_, ()> {
        now(Ok(()))
    }
}

/// An engine with one idle worker and one plugin, `page`.
pub(crate) struct Engine;
