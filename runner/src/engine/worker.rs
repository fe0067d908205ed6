//! A worker thread: one current-thread runtime, one host, a number of slots.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use sandhog_model::{ClaimRequest, Settlement, UnixMs};
use tokio::{
    sync::watch,
    task::{Id, JoinError, JoinSet},
};

use super::{
    budget::Short,
    live::WorkerCount,
    run::{RunContext, broken, run},
    settle::settle,
};
use crate::{
    plugin::Host,
    store::{LeasedJob, Store},
};

/// The longest sleep before the clock is looked at again, so that a wall clock set forward is
/// noticed.
const LONGEST_SLEEP: Duration = Duration::from_secs(5);

/// What the workers are asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// Claim and run.
    Run,
    /// Claim nothing more until told to run again.
    Quiet,
    /// Claim nothing more; end once nothing runs.
    Drain,
}

/// One worker.
pub(super) struct Worker {
    pub(super) context: Arc<RunContext>,
    pub(super) store: Arc<dyn Store>,
    pub(super) slots: usize,
    /// The largest memory limit of any kind, in bytes.
    pub(super) memory_ceiling: u64,
    pub(super) count: Arc<WorkerCount>,
    pub(super) phase: watch::Receiver<Phase>,
}

/// What a worker's loop keeps.
#[derive(Default)]
struct Slots {
    running: JoinSet<Settlement>,
    jobs: HashMap<Id, Arc<LeasedJob>>,
    settling: JoinSet<()>,
    next_due: Option<UnixMs>,
    /// There is more to claim than memory allows now.
    short: Option<Short>,
}

impl Worker {
    /// Claim and run until told to drain and nothing runs any more. Runs inside a `LocalSet`.
    pub(super) async fn run(self, host: Box<dyn Host>) {
        let host: std::rc::Rc<dyn Host> = host.into();
        let mut slots = Slots::default();
        let mut catalog = self.context.plugins.changed();
        let mut freed = self.context.budget.freed();
        let mut told = self.phase.clone();
        let ready = self.store.ready();
        // Armed once and again only after it fired, always before the next claim: what becomes ready
        // after a claim is not missed, whatever else ends in the same moment.
        let notified = ready.notified();
        tokio::pin!(notified);
        notified.as_mut().enable();
        let mut look = true;
        loop {
            let phase = *told.borrow_and_update();
            if phase == Phase::Run && look {
                look = false;
                self.fill(&mut slots, &host).await;
            }
            if phase == Phase::Drain && slots.running.is_empty() {
                break;
            }
            tokio::select! {
                Some(ended) = slots.running.join_next_with_id() => {
                    self.end(&mut slots, ended);
                    look = true;
                }
                Some(_) = slots.settling.join_next() => {}
                () = notified.as_mut() => {
                    notified.set(ready.notified());
                    notified.as_mut().enable();
                    look = true;
                }
                () = self.until_due(slots.next_due) => look = true,
                changed = catalog.changed() => look |= changed.is_ok(),
                changed = freed.changed() => look |= changed.is_ok(),
                changed = told.changed() => {
                    if changed.is_err() {
                        break;
                    }
                }
            }
        }
        while slots.settling.join_next().await.is_some() {}
    }

    /// Claim for the free slots, as far as there is memory for what they would run.
    async fn fill(&self, slots: &mut Slots, host: &std::rc::Rc<dyn Host>) {
        let free = self.slots.saturating_sub(slots.running.len());
        let kinds = self.context.plugins.catalog().kinds();
        let least = || self.least_memory(&kinds);
        let budget = &self.context.budget;
        slots.short = None;
        let mut reserved = budget.reserve(free, self.memory_ceiling, least);
        let max = reserved.attempts();
        if max == 0 || kinds.is_empty() {
            slots.next_due = None;
            slots.short = reserved.lacking().filter(|_| !kinds.is_empty());
            return;
        }
        let asked = Instant::now();
        let answer = self.store.claim(ClaimRequest { kinds, max }).await;
        self.count.claimed(asked.elapsed());
        let claimed = match answer {
            Ok(claimed) => claimed,
            Err(error) => {
                tracing::warn!(%error, "cannot claim jobs");
                slots.next_due = Some(self.context.clock.now().wall.plus(500));
                return;
            }
        };
        slots.next_due = claimed.next_due;
        if claimed.jobs.len() >= max {
            slots.short = reserved.lacking();
        }
        for leased in claimed.jobs {
            let leased = Arc::new(leased);
            let rule = self.context.settings.rule(&leased.job.kind);
            let room = reserved.take(rule.limits.memory);
            let (context, host, job) = (self.context.clone(), host.clone(), leased.clone());
            let task = slots
                .running
                .spawn_local(async move { run(&context, host.as_ref(), &job, rule, room).await });
            slots.jobs.insert(task.id(), leased);
        }
    }

    /// The smallest memory limit of these kinds, in bytes.
    fn least_memory(&self, kinds: &[String]) -> u64 {
        let limits = kinds
            .iter()
            .map(|kind| self.context.settings.rule(kind).limits.memory);
        limits.min().unwrap_or(0)
    }

    /// Collect what ended and send it off; the slot is free at once.
    fn end(&self, slots: &mut Slots, ended: Result<(Id, Settlement), JoinError>) {
        let mut reports = vec![self.report(slots, ended)];
        while let Some(ended) = slots.running.try_join_next_with_id() {
            reports.push(self.report(slots, ended));
        }
        let (store, count) = (self.store.clone(), self.count.clone());
        slots.settling.spawn_local(async move {
            let told = Instant::now();
            settle(store, reports).await;
            count.reported(told.elapsed());
        });
    }

    fn report(&self, slots: &mut Slots, ended: Result<(Id, Settlement), JoinError>) -> Settlement {
        self.count.one_ended();
        match ended {
            Ok((task, settlement)) => {
                slots.jobs.remove(&task);
                settlement
            }
            Err(error) => {
                let leased = slots.jobs.remove(&error.id());
                let leased = leased.expect("every running task is in the table");
                tracing::error!(job = %leased.job.id, %error, "a run broke inside the host");
                self.context.live.remove(leased.job.id, leased.token);
                broken(&self.context, &leased, error)
            }
        }
    }

    async fn until_due(&self, due: Option<UnixMs>) {
        match due {
            None => std::future::pending().await,
            Some(due) => {
                let wait = Duration::from_millis(due.since(self.context.clock.now().wall));
                tokio::time::sleep(wait.min(LONGEST_SLEEP)).await;
            }
        }
    }
}
