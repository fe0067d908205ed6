//! A store that is watched: what goes in and out of it is counted, and nothing else changes.

mod names;
mod spans;

use std::{
    collections::HashMap,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use sandhog_model::{
    Amend, Cancellation, ClaimRequest, Hold, Job, JobId, Letter, Outcome, QueueRules, Rejected,
    Settlement, State, Token, UnixMs,
    batch::BatchWish,
    cron::{CronChange, CronWish},
};
use tokio::sync::{Notify, broadcast};

use super::{
    Amended, Answer, BatchDone, BatchRow, CalledOff, Changed, Claimed, CronDone, CronRow,
    DeadCount, DeadFilter, DeadRow, DeadWish, Imported, Inspect, JobChange, JobFilter, JobRow,
    JobView, LetterBounds, LetterName, LetterRef, Page, PageRequest, Purged, QueueRow, RawLetter,
    Steer, Store, StoreStats, Taken, UniqueRow,
};
use crate::{
    clock::Clock,
    metrics::{JobMetrics, Metrics, One, Span},
    traces::{self, Traces},
};
use names::{failed, outcome, reason};
use spans::Leased;

/// See the module.
pub struct Observed {
    inner: Arc<dyn Store>,
    counted: Arc<Metrics>,
    clock: Arc<dyn Clock>,
    traces: Traces,
    /// The jobs that this process leased and has not reported on.
    leased: Mutex<HashMap<JobId, Leased>>,
}

impl Observed {
    /// Watch a store.
    #[must_use]
    pub fn new(
        inner: Arc<dyn Store>,
        metrics: Arc<Metrics>,
        traces: Traces,
        clock: Arc<dyn Clock>,
    ) -> Self {
        names::begin(&metrics.jobs);
        let leased = Mutex::default();
        Self {
            inner,
            counted: metrics,
            traces,
            clock,
            leased,
        }
    }

    fn metrics(&self) -> &JobMetrics {
        &self.counted.jobs
    }

    fn note(&self, what: impl FnOnce(&mut Span)) {
        self.counted.history.note(what);
    }

    fn since(&self, then: UnixMs) -> Duration {
        Duration::from_millis(self.clock.now().wall.since(then))
    }

    fn claimed(&self, claimed: &Claimed) {
        let jobs = self.metrics();
        let mut leased = self.leased.lock().unwrap_or_else(PoisonError::into_inner);
        for one in &claimed.jobs {
            // Later attempts are due when their backoff is over, which is no wait for a worker.
            if one.attempt == 1 {
                let latency = jobs
                    .latency
                    .get_or_create(&jobs.queues.queue(&one.job.queue));
                let waited = self.since(one.due);
                latency.observe(waited.as_secs_f64());
                self.note(|span| span.latency.took(waited));
            }
            leased.insert(one.job.id, Leased::of(&one.job));
        }
    }

    /// What the reports say, and whose they are.
    fn reported(&self, reports: &mut [Settlement]) {
        let jobs = self.metrics();
        let mut leased = self.leased.lock().unwrap_or_else(PoisonError::into_inner);
        for report in reports {
            let known = leased.remove(&report.id).unwrap_or_default();
            let ended = outcome(&report.outcome);
            jobs.outcomes.get_or_create(&One::outcome(ended)).inc();
            spans::process(&self.traces, &known, report, ended);
            let attempt = &report.attempt;
            if let Some(failure) = &attempt.failure {
                let name = failure.kind.name();
                jobs.failures
                    .get_or_create(&One::failure(name.into()))
                    .inc();
                let kind = jobs.kinds.value(&known.kind);
                self.note(|span| span.failed(kind, name));
            }
            if matches!(report.outcome, Outcome::NotRun(_)) {
                continue;
            }
            let kind = jobs.kinds.kind(&known.kind);
            jobs.attempts.get_or_create(&kind).inc();
            let took = Duration::from_micros(attempt.duration_us);
            self.note(|span| span.duration.took(took));
            let seconds = |us: u64| Duration::from_micros(us).as_secs_f64();
            jobs.duration
                .get_or_create(&kind)
                .observe(took.as_secs_f64());
            jobs.cpu.observe(seconds(attempt.cpu_us));
            jobs.peak_memory.observe(attempt.peak_memory as f64);
        }
    }

    fn settled(&self, states: &[Result<State, Rejected>]) {
        for state in states.iter().flatten().filter(|state| state.is_final()) {
            let ended = &self.metrics().ended;
            ended.get_or_create(&One::state(state.name())).inc();
            self.note(|span| match state {
                State::Completed => span.completed += 1,
                State::Dead => span.dead += 1,
                _ => {}
            });
        }
    }
}

impl Store for Observed {
    fn mint(&self) -> JobId {
        self.inner.mint()
    }

    fn take_in(&self, mut jobs: Vec<Job>) -> Answer<'_, Vec<Result<Taken, Rejected>>> {
        let queues: Vec<One> = jobs
            .iter()
            .map(|job| self.metrics().queues.queue(&job.queue))
            .collect();
        let now = self.clock.now().wall;
        let begun = jobs.iter_mut().filter(|_| self.traces.is_on());
        let spans: Vec<Option<traces::Span>> = begun
            .map(|job| spans::send(&self.traces, job, now))
            .collect();
        let asked = self.inner.take_in(jobs);
        Box::pin(async move {
            let answers = asked.await;
            let metrics = self.metrics();
            match &answers {
                Ok(answers) => {
                    let is_new = |answer: &&Result<Taken, Rejected>| {
                        matches!(answer, Ok(Taken::New(_) | Taken::InPlaceOf { .. }))
                    };
                    let taken = answers.iter().filter(is_new).count();
                    self.note(|span| span.enqueued += taken as u64);
                    let mut spans = spans.into_iter();
                    for (answer, queue) in answers.iter().zip(&queues) {
                        let kept = |why: &&Rejected| {
                            matches!(why, Rejected::Duplicate { is_kept: true, .. })
                        };
                        match answer {
                            Ok(Taken::New(_) | Taken::InPlaceOf { .. }) => {
                                metrics.enqueued.get_or_create(queue).inc()
                            }
                            Ok(Taken::PutOff { .. }) => metrics.kept.inc(),
                            Err(why) if kept(&why) => metrics.kept.inc(),
                            Err(why) => {
                                let reason = One::reason(reason(why));
                                metrics.refused.get_or_create(&reason).inc()
                            }
                        };
                        let Some(span) = spans.next() else { continue };
                        let refused = answer.as_ref().err().filter(|why| !kept(why));
                        let refused = refused.map(|why| (reason(why), why.to_string()));
                        spans::sent(span, refused, self.clock.now().wall);
                    }
                }
                Err(error) => {
                    let refused = metrics.refused.get_or_create(&One::reason(failed(error)));
                    refused.inc_by(queues.len() as u64);
                    for span in spans {
                        let refused = Some((failed(error), error.to_string()));
                        spans::sent(span, refused, self.clock.now().wall);
                    }
                }
            }
            answers
        })
    }

    fn claim(&self, request: ClaimRequest) -> Answer<'_, Claimed> {
        let asked = self.inner.claim(request);
        then(asked, |claimed| self.claimed(claimed))
    }

    fn checkpoint(&self, id: JobId, token: Token, bytes: Vec<u8>) -> Answer<'_, ()> {
        self.inner.checkpoint(id, token, bytes)
    }

    fn settle(&self, mut reports: Vec<Settlement>) -> Answer<'_, Vec<Result<State, Rejected>>> {
        self.reported(&mut reports);
        let asked = self.inner.settle(reports);
        then(asked, |states| self.settled(states))
    }

    fn renew(&self, leases: Vec<(JobId, Token)>) -> Answer<'_, Vec<(JobId, Token)>> {
        self.inner.renew(leases)
    }

    fn sweep(&self) -> Answer<'_, usize> {
        let asked = self.inner.sweep();
        then(asked, |lost| {
            self.metrics().lost.inc_by(*lost as u64);
        })
    }

    fn call_off(
        &self,
        ids: Vec<JobId>,
        cancel: Cancellation,
    ) -> Answer<'_, Vec<Result<CalledOff, Rejected>>> {
        self.inner.call_off(ids, cancel)
    }

    fn amend(&self, wishes: Vec<Amend>) -> Answer<'_, Vec<Result<Changed, Rejected>>> {
        self.inner.amend(wishes)
    }

    fn cron(&self, wish: CronWish) -> Answer<'_, CronDone> {
        let slot = match &wish.change {
            CronChange::Slot(due) => Some(due.at),
            CronChange::Release { slot, .. } => Some(*slot),
            _ => None,
        };
        let asked = self.inner.cron(wish);
        then(asked, move |_| {
            if let Some(slot) = slot {
                self.metrics().cron_slots.inc();
                let lag = self.since(slot);
                self.metrics().cron_lag.observe(lag.as_secs_f64());
            }
        })
    }

    fn batch(&self, wish: BatchWish) -> Answer<'_, Option<BatchDone>> {
        self.inner.batch(wish)
    }

    fn amend_dead(&self, letters: Vec<LetterRef>, wish: DeadWish) -> Answer<'_, Vec<Amended>> {
        self.inner.amend_dead(letters, wish)
    }

    fn import_dead(
        &self,
        letters: Vec<Letter>,
        dry_run: bool,
    ) -> Answer<'_, Vec<Result<Imported, Rejected>>> {
        self.inner.import_dead(letters, dry_run)
    }

    fn purge_dead(&self, bounds: LetterBounds, dry_run: bool) -> Answer<'_, Purged> {
        self.inner.purge_dead(bounds, dry_run)
    }

    fn steer(&self, steer: Steer) -> Answer<'_, ()> {
        self.inner.steer(steer)
    }

    fn govern(&self, rules: Arc<QueueRules>) -> Answer<'_, ()> {
        self.inner.govern(rules)
    }

    fn ready(&self) -> Arc<Notify> {
        self.inner.ready()
    }

    fn poisoned(&self) -> Pin<Box<dyn Future<Output = String> + Send + '_>> {
        self.inner.poisoned()
    }

    fn close(&self) -> Answer<'_, ()> {
        self.inner.close()
    }
}

/// An answer that is looked at on its way.
fn then<'a, T: 'a>(asked: Answer<'a, T>, look: impl FnOnce(&T) + Send + 'a) -> Answer<'a, T> {
    Box::pin(async move {
        let answer = asked.await;
        if let Ok(answer) = &answer {
            look(answer);
        }
        answer
    })
}

impl Inspect for Observed {
    fn job(&self, id: JobId) -> Answer<'_, Option<JobView>> {
        self.inner.job(id)
    }

    fn jobs(&self, filter: JobFilter, page: PageRequest) -> Answer<'_, Page<JobRow>> {
        self.inner.jobs(filter, page)
    }

    fn queues(&self) -> Answer<'_, Vec<QueueRow>> {
        self.inner.queues()
    }

    fn crons(&self) -> Answer<'_, Vec<CronRow>> {
        self.inner.crons()
    }

    fn unique(&self, page: PageRequest) -> Answer<'_, Page<UniqueRow>> {
        self.inner.unique(page)
    }

    fn batch_row(&self, id: JobId) -> Answer<'_, Option<BatchRow>> {
        self.inner.batch_row(id)
    }

    fn batches(&self, page: PageRequest) -> Answer<'_, Page<BatchRow>> {
        self.inner.batches(page)
    }

    fn dead(&self, filter: DeadFilter, page: PageRequest) -> Answer<'_, Page<DeadRow>> {
        self.inner.dead(filter, page)
    }

    fn count_dead(&self, filter: DeadFilter, cursor: Option<String>) -> Answer<'_, DeadCount> {
        self.inner.count_dead(filter, cursor)
    }

    fn letter(&self, id: JobId) -> Answer<'_, Option<Letter>> {
        self.inner.letter(id)
    }

    fn raw_letter(&self, name: LetterName) -> Answer<'_, Option<RawLetter>> {
        self.inner.raw_letter(name)
    }

    fn hold(&self, id: JobId) -> Answer<'_, Option<Hold>> {
        self.inner.hold(id)
    }

    fn weigh(&self, wishes: Vec<Amend>) -> Answer<'_, Vec<Result<Changed, Rejected>>> {
        self.inner.weigh(wishes)
    }

    fn weigh_dead(&self, letters: Vec<LetterRef>, wish: DeadWish) -> Answer<'_, Vec<Amended>> {
        self.inner.weigh_dead(letters, wish)
    }

    fn stats(&self) -> Answer<'_, StoreStats> {
        self.inner.stats()
    }

    fn changes(&self) -> broadcast::Receiver<JobChange> {
        self.inner.changes()
    }
}
