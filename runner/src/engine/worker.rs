//! A worker thread: one current-thread runtime, one host, a number of slots.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant},
};

use sandhog_model::{ClaimRequest, Settlement, UnixMs};
use tokio::{
    sync::watch,
    task::{Id, JoinError, JoinSet},
};

use super::{
    budget::{Reserved, Short},
    idle::{Idle, IdleWorkers, Looking},
    live::WorkerCount,
    run::{RunContext, broken, run},
    settle::settle,
};
use crate::{
    plugin::Host,
    store::{Claimed, LeasedJob, Store, StoreError},
};

/// The longest sleep before the clock is looked at again, so that a wall clock set forward is
/// noticed.
const LONGEST_SLEEP: Duration = Duration::from_secs(5);
/// Slots from which on a worker claims for half of them at a time: attempts of one half run while the other is asked
/// for. Of few slots a half is too little to be worth the way to the store.
const MANY_SLOTS: usize = 16;

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
    pub(super) idle: Arc<IdleWorkers>,
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
    asked: Option<Asked>,
    /// Kept while it looks for the answer instead of sleeping until it is woken.
    looking: Option<Looking>,
    /// Kept while nothing runs and there is memory to run something.
    idle: Option<Idle>,
    /// What became ready was left to an idle worker.
    passed: bool,
}

/// A claim that is under way. It is seen to its end, or what it leased would run nowhere.
struct Asked {
    answer: Pin<Box<dyn Future<Output = Result<Claimed, StoreError>>>>,
    reserved: Reserved,
    /// Since when the worker does nothing but wait for the answer.
    waits: Option<Instant>,
}

impl Slots {
    /// The answer to the claim that is under way.
    async fn answered(asked: &mut Option<Asked>) -> Result<Claimed, StoreError> {
        match asked {
            Some(asked) => asked.answer.as_mut().await,
            None => std::future::pending().await,
        }
    }

    /// The next look for that answer. `false`: there are to be no more.
    async fn looked(looking: Option<&Looking>) -> bool {
        match looking {
            Some(looking) => looking.again().await,
            None => std::future::pending().await,
        }
    }
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
        let more = self.idle.more();
        tokio::pin!(more);
        more.as_mut().enable();
        let mut look = true;
        loop {
            let phase = *told.borrow_and_update();
            if phase == Phase::Run && look && slots.asked.is_none() {
                look = false;
                self.ask(&mut slots);
            }
            if phase == Phase::Drain && slots.running.is_empty() && slots.asked.is_none() {
                break;
            }
            self.tell_whether_idle(&mut slots, phase);
            tokio::select! {
                answer = Slots::answered(&mut slots.asked) => {
                    slots.looking = None;
                    look |= self.begin(&mut slots, &host, answer);
                }
                goes_on = Slots::looked(slots.looking.as_ref()) => if !goes_on {
                    slots.looking = None;
                },
                Some(ended) = slots.running.join_next_with_id() => {
                    self.end(&mut slots, ended);
                    look = true;
                }
                Some(_) = slots.settling.join_next() => {}
                () = notified.as_mut() => {
                    notified.set(ready.notified());
                    notified.as_mut().enable();
                    slots.passed = !slots.running.is_empty() && self.idle.any();
                    look |= !slots.passed;
                }
                () = more.as_mut() => {
                    more.set(self.idle.more());
                    more.as_mut().enable();
                    look |= std::mem::take(&mut slots.passed);
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

    /// Ask for jobs for the free slots, as far as there is memory for what they would run.
    fn ask(&self, slots: &mut Slots) {
        let free = self.slots.saturating_sub(slots.running.len());
        let most = match self.slots {
            MANY_SLOTS.. => free.min(self.slots / 2),
            _ => free,
        };
        let kinds = self.context.plugins.catalog().kinds();
        let least = || self.least_memory(&kinds);
        slots.short = None;
        let mut reserved = self
            .context
            .budget
            .reserve(most, self.memory_ceiling, least);
        let max = reserved.attempts();
        if max == 0 || kinds.is_empty() {
            slots.next_due = None;
            slots.short = reserved.lacking().filter(|_| !kinds.is_empty());
            return;
        }
        let store = self.store.clone();
        slots.asked = Some(Asked {
            answer: Box::pin(async move { store.claim(ClaimRequest { kinds, max }).await }),
            reserved,
            waits: slots.running.is_empty().then(Instant::now),
        });
        slots.looking = slots.idle.as_ref().and_then(Idle::look);
    }

    /// Begin the attempts of what was claimed. Whether there may be more.
    fn begin(
        &self,
        slots: &mut Slots,
        host: &std::rc::Rc<dyn Host>,
        answer: Result<Claimed, StoreError>,
    ) -> bool {
        let Some(asked) = slots.asked.take() else {
            return false;
        };
        self.count
            .claimed(asked.waits.map_or(Duration::ZERO, |since| since.elapsed()));
        let mut reserved = asked.reserved;
        let claimed = match answer {
            Ok(claimed) => claimed,
            Err(error) => {
                tracing::warn!(%error, "cannot claim jobs");
                slots.next_due = Some(self.context.clock.now().wall.plus(500));
                slots.idle = None;
                self.idle.tell_of_more();
                return false;
            }
        };
        slots.next_due = claimed.next_due;
        let is_full = claimed.is_full;
        if is_full {
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
        if is_full {
            slots.idle = None;
            self.idle.tell_of_more();
        }
        is_full
    }

    /// Whether others may leave to this worker what becomes ready.
    fn tell_whether_idle(&self, slots: &mut Slots, phase: Phase) {
        let is_idle = phase == Phase::Run && slots.running.is_empty() && slots.short.is_none();
        match (is_idle, &slots.idle) {
            (true, None) => slots.idle = Some(self.idle.enter()),
            (false, Some(_)) => slots.idle = None,
            _ => {}
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
        if let Some(asked) = &mut slots.asked
            && slots.running.is_empty()
        {
            asked.waits = Some(Instant::now());
        }
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
