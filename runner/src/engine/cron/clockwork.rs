//! The clockwork: looks which slots are due, hands their jobs to the store, and sleeps until the next.
//!
//! It holds nothing that matters: what a schedule is done with stands in the log, in the same record as the
//! job, so that a runner that dies at any moment leaves each slot with one job or with none, and the next
//! one goes on there.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use sandhog_cron::{
    Timestamp,
    plan::{Plan, plan, timestamp, unix},
};
use sandhog_model::{
    Asked, Cancellation, Job, JobId, Rejected, Status, Token, UnixMs,
    cron::{CronChange, CronState, CronWish, DueSlot, Span},
    job::Bounds,
};
use tokio::sync::{broadcast, watch};

use super::{
    super::{
        live::CallingOff,
        settings::{Settings, door_defaults},
        worker::Phase,
    },
    CronBook, CronEntry,
};
use crate::{
    clock::Clock,
    plugin::Plugins,
    store::{CronDone, CronRow, JobChange, Store, StoreError},
};

/// The longest sleep. A clock that was set is noticed after it.
const LONGEST: Duration = Duration::from_secs(15);
/// How soon what failed is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// What gives slots their jobs.
pub(in super::super) struct Clockwork {
    pub(in super::super) store: Arc<dyn Store>,
    pub(in super::super) plugins: Arc<dyn Plugins>,
    pub(in super::super) settings: Arc<dyn Settings>,
    pub(in super::super) clock: Arc<dyn Clock>,
    pub(in super::super) book: Arc<CronBook>,
    pub(in super::super) calling_off: CallingOff,
}

/// What is kept from one look to the next, for the next alone.
#[derive(Default)]
struct Memory {
    /// Whether this runner's start was seen to.
    started: bool,
    /// The schedules of the settings as they were last followed, and which reading that was.
    followed: Option<(u64, Arc<BTreeMap<String, CronEntry>>)>,
    /// Jobs whose end a slot waits for.
    awaited: BTreeSet<JobId>,
    /// Entries that cannot be read, and were told of.
    unreadable: BTreeMap<String, String>,
}

impl Clockwork {
    pub(in super::super) async fn run(self, mut phase: watch::Receiver<Phase>) {
        // Listened to only while a slot waits for a job: what nobody hears need not be told.
        let mut changes = None;
        let mut memory = Memory::default();
        while *phase.borrow() != Phase::Drain {
            let wait = match self.look(&mut memory).await {
                Ok(wait) => wait,
                Err(StoreError::Closed) => return,
                Err(error) => {
                    tracing::warn!(%error, "schedules cannot be looked at, and are again in a second");
                    AGAIN
                }
            };
            match (&changes, memory.awaited.is_empty()) {
                (Some(_), true) => changes = None,
                (None, false) => {
                    changes = Some(self.store.changes());
                    // It may have ended a moment ago.
                    continue;
                }
                (None, true) | (Some(_), false) => {}
            }
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = self.book.told() => {}
                () = ended(changes.as_mut(), &memory.awaited) => {}
                _ = phase.changed() => {}
            }
        }
    }

    /// Give what is due its jobs. How long nothing will be due.
    async fn look(&self, memory: &mut Memory) -> Result<Duration, StoreError> {
        self.follow(memory).await?;
        let rows = self.store.crons().await?;
        memory.awaited.clear();
        let (mut wait, mut all_well) = (LONGEST, true);
        for row in rows {
            let Some(entry) = self.entry(&row, memory) else {
                continue;
            };
            if !memory.started && entry.schedule.is_at_start() {
                all_well &= self.tell(&row.name, self.at_start(&row, &entry).await);
            }
            // One that fails keeps no other from its turn.
            match self.tend(&row, &entry, memory).await {
                Ok(Some(next)) => wait = wait.min(self.until(next)),
                Ok(None) => {}
                Err(error) => all_well &= self.tell(&row.name, Err(error)),
            }
        }
        memory.started = true;
        Ok(if all_well { wait } else { wait.min(AGAIN) })
    }

    fn tell(&self, name: &str, done: Result<(), StoreError>) -> bool {
        if let Err(error) = &done {
            tracing::warn!(schedule = name, %error, "a slot did not get its job, and is tried again in a second");
        }
        done.is_ok()
    }

    /// Follow the settings, once for each reading of them. Of a schedule that is another now, no slot
    /// counts as missed.
    async fn follow(&self, memory: &mut Memory) -> Result<(), StoreError> {
        let (reading, entries) = self.book.reading();
        let before = match &memory.followed {
            Some((followed, _)) if *followed == reading => return Ok(()),
            Some((_, before)) => Some(Arc::clone(before)),
            None => None,
        };
        self.begin(&entries).await?;
        for (name, entry) in entries.iter() {
            let earlier = before.as_ref().and_then(|before| before.get(name));
            if earlier.is_some_and(|earlier| earlier.schedule != entry.schedule) {
                let upto = self.clock.now().wall;
                let after = UnixMs(0);
                self.change(name, CronChange::Pass(Span { after, upto }))
                    .await?;
            }
        }
        memory.followed = Some((reading, entries));
        Ok(())
    }

    /// Let schedules of the settings begin that the log does not know, and forget those that are in
    /// neither any more.
    async fn begin(&self, entries: &BTreeMap<String, CronEntry>) -> Result<(), StoreError> {
        let rows = self.store.crons().await?;
        let known: BTreeSet<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        for name in entries.keys() {
            if !known.contains(name.as_str()) {
                self.change(name, CronChange::Begin).await?;
            }
        }
        for CronRow { name, state, .. } in &rows {
            if self.book.entry(name, state).is_none() {
                tracing::info!(
                    schedule = name,
                    "is not in the settings any more: forgotten"
                );
                self.change(name, CronChange::Forget).await?;
            }
        }
        Ok(())
    }

    fn entry(&self, row: &CronRow, memory: &mut Memory) -> Option<CronEntry> {
        match self.book.entry(&row.name, &row.state)? {
            Ok(entry) => Some(entry),
            Err(why) => {
                let told = memory.unreadable.insert(row.name.clone(), why.clone());
                if told.as_ref() != Some(&why) {
                    tracing::warn!(schedule = row.name, %why, "does not run: its entry cannot be read");
                }
                None
            }
        }
    }

    /// One schedule: what waits for its turn, and what is due. When it is next.
    async fn tend(
        &self,
        row: &CronRow,
        entry: &CronEntry,
        memory: &mut Memory,
    ) -> Result<Option<Timestamp>, StoreError> {
        let name = row.name.as_str();
        if row.state.paused.is_some() {
            return Ok(None);
        }
        if let Some(slot) = row.state.waiting {
            match (row.state.latest, has_ended(row.latest)) {
                (Some(latest), false) => {
                    memory.awaited.insert(latest);
                }
                (Some(_) | None, _) => self.release(name, entry, slot).await?,
            }
        }
        let now = timestamp(self.clock.now().wall).unwrap_or(Timestamp::MAX);
        let Plan {
            slots,
            made_good,
            missed,
            passed,
            next,
        } = plan(
            &entry.schedule,
            &row.state.done,
            now,
            entry.catch_up,
            entry.window,
        );
        if missed + made_good > 0 {
            tracing::info!(
                schedule = name,
                missed = missed + made_good,
                made_good,
                "slots were missed: no runner was up, or the clock was set"
            );
        }
        for slot in slots {
            let state = self.slot(name, entry, unix(slot.at), slot.done).await?;
            // From now on, not from the next look on, which may be long to come.
            let waits = state.filter(|state| state.waiting.is_some());
            memory.awaited.extend(waits.and_then(|state| state.latest));
        }
        if let Some(passed) = passed {
            self.change(name, CronChange::Pass(passed)).await?;
        }
        Ok(next)
    }

    async fn at_start(&self, row: &CronRow, entry: &CronEntry) -> Result<(), StoreError> {
        if row.state.paused.is_some() {
            return Ok(());
        }
        // The instant at which it began is done with.
        let at = self.clock.now().wall.plus(1);
        let after = UnixMs(at.0 - 1);
        let done = Span { after, upto: at };
        self.slot(&row.name, entry, at, done).await.map(|_| ())
    }

    /// Give a slot its job. The schedule as it is then; `None` when the slot had its turn already.
    async fn slot(
        &self,
        name: &str,
        entry: &CronEntry,
        at: UnixMs,
        done: Span,
    ) -> Result<Option<CronState>, StoreError> {
        let job = self.job(name, entry, at)?;
        let id = job.id;
        let due = DueSlot {
            at,
            done,
            job,
            overlap: entry.overlap(name),
        };
        match self.change(name, CronChange::Slot(Box::new(due))).await {
            Ok(CronDone { state, called_off }) => {
                if let Some((job, lease)) = called_off {
                    self.call_off(name, job, lease);
                }
                told(name, at, id, state.as_ref());
                Ok(state)
            }
            // It was paused or taken away meanwhile, or another gave the slot its job.
            Err(StoreError::Rejected(Rejected::SlotDone { .. } | Rejected::NoSuchCron(_))) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// The slot that waited for the job before it.
    async fn release(&self, name: &str, entry: &CronEntry, slot: UnixMs) -> Result<(), StoreError> {
        let job = Box::new(self.job(name, entry, slot)?);
        let id = job.id;
        match self.change(name, CronChange::Release { slot, job }).await {
            Ok(done) => {
                told(name, slot, id, done.state.as_ref());
                Ok(())
            }
            Err(StoreError::Rejected(Rejected::SlotDone { .. } | Rejected::NoSuchCron(_))) => {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn job(&self, name: &str, entry: &CronEntry, slot: UnixMs) -> Result<Job, StoreError> {
        let new = entry.job_of(name, Some(slot));
        let defaults = door_defaults(self.settings.as_ref(), &self.plugins.catalog(), &new.kind);
        let now = self.clock.now().wall;
        // What the settings allow was looked at when the entry was read.
        let bounds = Bounds::default();
        let job = new.accept_within(self.store.mint(), now, &defaults, bounds);
        job.map_err(StoreError::Rejected)
    }

    fn call_off(&self, name: &str, id: JobId, lease: Token) {
        let at = self.clock.now().wall;
        let (how, by) = (Asked::Cancel, format!("schedule {name}"));
        let reason = None;
        self.calling_off.call_off(
            id,
            lease,
            Cancellation {
                how,
                at,
                by,
                reason,
            },
        );
    }

    async fn change(&self, name: &str, change: CronChange) -> Result<CronDone, StoreError> {
        let name = name.to_owned();
        self.store.cron(CronWish { name, change }).await
    }

    fn until(&self, next: Timestamp) -> Duration {
        let left = unix(next).since(self.clock.now().wall);
        Duration::from_millis(left)
    }
}

fn told(name: &str, slot: UnixMs, id: JobId, state: Option<&CronState>) {
    let at = timestamp(slot).map(|at| at.to_string()).unwrap_or_default();
    match state {
        Some(state) if state.latest == Some(id) => {
            tracing::debug!(schedule = name, slot = at, job = %id, "a slot got its job");
        }
        Some(state) if state.waiting == Some(slot) => {
            tracing::info!(
                schedule = name,
                slot = at,
                "waits until the job before it has ended"
            );
        }
        Some(_) => {
            tracing::info!(
                schedule = name,
                slot = at,
                "is left out: the job before it has not ended"
            );
        }
        None => {}
    }
}

fn has_ended(status: Option<Status>) -> bool {
    !matches!(
        status,
        Some(Status::Waiting { .. } | Status::Running { .. })
    )
}

/// One of these jobs came to its end, as far as that is told.
async fn ended(changes: Option<&mut broadcast::Receiver<JobChange>>, awaited: &BTreeSet<JobId>) {
    let Some(changes) = changes else {
        return std::future::pending().await;
    };
    loop {
        match changes.recv().await {
            Ok(JobChange { id, state }) if state.is_final() && awaited.contains(&id) => return,
            Ok(_) => {}
            Err(broadcast::error::RecvError::Lagged(_)) => return,
            // The store is closed: whoever asks it next hears so.
            Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
        }
    }
}
