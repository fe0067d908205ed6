//! The attempts that run now.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use sandhog_model::{Asked, Cancellation, JobId, Token};

use super::view::{Waits, WorkerRow};
use crate::plugin::{Live, LiveView};

/// How long a leased job may take to start on a busy worker, and how often that is looked at, when it was
/// called off before.
const STARTS_WITHIN: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(20);

/// Every attempt that runs now, over all workers. A job has more than one while an attempt that
/// lost its lease has not ended.
#[derive(Debug, Default)]
pub(super) struct LiveTable {
    attempts: Mutex<Attempts>,
}

#[derive(Debug, Default)]
struct Attempts {
    held: BTreeMap<(JobId, Token), Held>,
    /// What was called off between its lease and its start.
    early: BTreeMap<(JobId, Token), Cancellation>,
    /// Whether every guest is to stop, those that start from now on too.
    stopping: bool,
}

/// How attempts are ended whose jobs were called off.
#[derive(Debug, Clone)]
pub(super) struct CallingOff {
    pub(super) live: Arc<LiveTable>,
    /// How long a handler may go on that was asked to end.
    pub(super) grace: Duration,
}

impl CallingOff {
    /// End the attempt of a lease: a kill at once, else after the grace. Call on a tokio runtime.
    pub(super) fn call_off(&self, id: JobId, lease: Token, cancel: Cancellation) {
        let how = cancel.how;
        let is_there = self.live.call_off(id, lease, cancel);
        if how == Asked::Kill && is_there {
            return;
        }
        let Self { live, grace } = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(grace).await;
            // A lease that was just given starts later on a busy worker; one whose attempt had ended
            // never does.
            let mut looks = STARTS_WITHIN.as_millis() / LOOK.as_millis();
            while looks > 0 && live.is_early(id, lease) {
                tokio::time::sleep(LOOK).await;
                looks -= 1;
            }
            live.interrupt(id, lease);
            live.forget_early(id, lease);
        });
    }
}

/// One attempt that runs now.
#[derive(Debug, Clone)]
pub(super) struct Held {
    /// The number of its worker.
    pub(super) worker: usize,
    /// What others see of it.
    pub(super) live: Arc<Live>,
    /// After this instant of the steady clock its lease is not renewed any more, in milliseconds.
    pub(super) hard_deadline: u64,
}

impl LiveTable {
    fn attempts(&self) -> MutexGuard<'_, Attempts> {
        // Nothing that holds the lock can leave the map half changed.
        self.attempts
            .lock()
            .unwrap_or_else(|held| held.into_inner())
    }

    pub(super) fn add(&self, id: JobId, token: Token, held: Held) {
        let mut attempts = self.attempts();
        if let Some(cancel) = attempts.early.remove(&(id, token)) {
            held.live.call_off(cancel);
        }
        if attempts.stopping {
            held.live.interrupt();
        }
        attempts.held.insert((id, token), held);
    }

    /// The job of a lease was called off. `false` when its attempt has not started, or has ended: the
    /// first is told when it does.
    pub(super) fn call_off(&self, id: JobId, token: Token, cancel: Cancellation) -> bool {
        let mut attempts = self.attempts();
        match attempts.held.get(&(id, token)) {
            Some(held) => {
                held.live.call_off(cancel);
                true
            }
            None => {
                attempts.early.insert((id, token), cancel);
                false
            }
        }
    }

    /// Whether a lease was called off whose attempt did not start, as far as is known.
    fn is_early(&self, id: JobId, token: Token) -> bool {
        self.attempts().early.contains_key(&(id, token))
    }

    /// A lease that was called off before its start had time to start.
    pub(super) fn forget_early(&self, id: JobId, token: Token) {
        self.attempts().early.remove(&(id, token));
    }

    pub(super) fn remove(&self, id: JobId, token: Token) {
        self.attempts().held.remove(&(id, token));
    }

    /// The newest attempt at a job.
    pub(super) fn view(&self, id: JobId) -> Option<LiveView> {
        let live = {
            let attempts = self.attempts();
            let of_job = attempts.held.range((id, Token(0))..=(id, Token(u64::MAX)));
            of_job.last()?.1.live.clone()
        };
        Some(live.with(|view| view.clone()))
    }

    /// The leases to renew at this instant of the steady clock: those of attempts that can still be
    /// running. One whose host is stuck past its deadline is left to run out.
    pub(super) fn renewable(&self, mono: u64) -> Vec<(JobId, Token)> {
        self.attempts()
            .held
            .iter()
            .filter(|(_, held)| mono <= held.hard_deadline)
            .map(|(lease, _)| *lease)
            .collect()
    }

    /// Stop the guest of a lease that no longer holds its job.
    pub(super) fn interrupt(&self, id: JobId, token: Token) {
        if let Some(held) = self.attempts().held.get(&(id, token)) {
            held.live.interrupt();
        }
    }

    /// Stop every guest, and those whose lease is given but that start only later.
    pub(super) fn interrupt_all(&self) {
        let mut attempts = self.attempts();
        attempts.stopping = true;
        for held in attempts.held.values() {
            held.live.interrupt();
        }
    }

    /// How many attempts run.
    pub(super) fn len(&self) -> usize {
        self.attempts().held.len()
    }

    /// The jobs a worker runs, in the order of their ids.
    pub(super) fn of_worker(&self, worker: usize) -> Vec<JobId> {
        let attempts = self.attempts();
        let mut jobs: Vec<JobId> = attempts
            .held
            .iter()
            .filter(|(_, held)| held.worker == worker)
            .map(|((id, _), _)| *id)
            .collect();
        jobs.dedup();
        jobs
    }
}

/// What the engine counts of one worker thread.
#[derive(Debug, Default)]
pub(super) struct WorkerCount {
    ended: AtomicU64,
    claims: AtomicU64,
    claiming_ns: AtomicU64,
    reports: AtomicU64,
    reporting_ns: AtomicU64,
}

impl WorkerCount {
    pub(super) fn one_ended(&self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }

    /// A claim was answered after this time.
    pub(super) fn claimed(&self, took: Duration) {
        count(&self.claims, &self.claiming_ns, took);
    }

    /// Reports on attempts that had ended together were answered after this time.
    pub(super) fn reported(&self, took: Duration) {
        count(&self.reports, &self.reporting_ns, took);
    }

    /// Add to what the workers waited for.
    pub(super) fn add_to(&self, waits: &mut Waits) {
        let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
        waits.claims += read(&self.claims);
        waits.claiming += Duration::from_nanos(read(&self.claiming_ns));
        waits.reports += read(&self.reports);
        waits.reporting += Duration::from_nanos(read(&self.reporting_ns));
    }

    pub(super) fn row(&self, number: usize, slots: usize, live: &LiveTable) -> WorkerRow {
        WorkerRow {
            number,
            slots,
            running: live.of_worker(number),
            ended: self.ended.load(Ordering::Relaxed),
        }
    }
}

fn count(times: &AtomicU64, ns: &AtomicU64, took: Duration) {
    times.fetch_add(1, Ordering::Relaxed);
    let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
    ns.fetch_add(took, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use sandhog_model::{Asked, UnixMs};

    use super::*;

    fn held(hard_deadline: u64) -> Held {
        Held {
            worker: 0,
            live: Arc::default(),
            hard_deadline,
        }
    }

    #[test]
    fn a_stuck_attempt_is_not_renewed() {
        let table = LiveTable::default();
        table.add(JobId(1), Token(1), held(100));
        table.add(JobId(2), Token(2), held(200));
        assert_eq!(table.renewable(100).len(), 2);
        assert_eq!(table.renewable(150), [(JobId(2), Token(2))]);
    }

    #[test]
    fn a_late_end_does_not_take_out_the_newer_lease() {
        let table = LiveTable::default();
        let (late, newer) = (held(100), held(100));
        table.add(JobId(1), Token(1), late.clone());
        table.add(JobId(1), Token(2), newer.clone());
        table.interrupt(JobId(1), Token(1));
        assert!(late.live.is_interrupted() && !newer.live.is_interrupted());
        table.remove(JobId(1), Token(1));
        assert_eq!((table.len(), table.of_worker(0)), (1, vec![JobId(1)]));
        table.interrupt_all();
        assert!(newer.live.is_interrupted());
    }

    #[test]
    fn what_is_called_off_before_its_start_is_told_at_its_start() {
        let table = LiveTable::default();
        let cancel = |how| Cancellation {
            how,
            at: UnixMs(0),
            by: "ada".into(),
            reason: None,
        };
        assert!(!table.call_off(JobId(1), Token(2), cancel(Asked::Kill)));
        // Another lease of the same job is not meant.
        let (other, meant) = (held(100), held(100));
        table.add(JobId(1), Token(1), other.clone());
        table.add(JobId(1), Token(2), meant.clone());
        assert!(!other.live.is_called_off() && meant.live.is_interrupted());
        assert!(table.call_off(JobId(1), Token(1), cancel(Asked::Cancel)));
        assert!(other.live.is_called_off() && !other.live.is_interrupted());
        // A kill overrules a cancel, and not the reverse.
        assert!(table.call_off(JobId(1), Token(1), cancel(Asked::Kill)));
        assert!(table.call_off(JobId(1), Token(1), cancel(Asked::Cancel)));
        assert_eq!(other.live.cancellation(), Some(cancel(Asked::Kill)));
        assert!(other.live.is_interrupted());
        table.call_off(JobId(1), Token(9), cancel(Asked::Kill));
        table.forget_early(JobId(1), Token(9));
        let late = held(100);
        table.add(JobId(1), Token(9), late.clone());
        assert!(!late.live.is_called_off());
    }

    #[tokio::test]
    async fn what_is_called_off_before_its_start_is_stopped_however_late_that_is() {
        let off = CallingOff {
            live: Arc::default(),
            grace: Duration::from_millis(1),
        };
        let cancel = Cancellation {
            how: Asked::Cancel,
            at: UnixMs(0),
            by: "ada".into(),
            reason: None,
        };
        off.call_off(JobId(1), Token(1), cancel);
        // Its worker is busy for longer than the grace.
        let begun = std::time::Instant::now();
        while begun.elapsed() < off.grace * 50 {
            tokio::task::yield_now().await;
        }
        let late = held(100);
        off.live.add(JobId(1), Token(1), late.clone());
        assert!(late.live.is_called_off());
        let stopped = late.live.interrupt_asked();
        let stopped = tokio::time::timeout(Duration::from_secs(20), stopped);
        stopped.await.expect("the grace is over");
        assert!(!off.live.is_early(JobId(1), Token(1)));
    }

    #[test]
    fn a_stop_reaches_an_attempt_that_lost_its_lease() {
        let table = LiveTable::default();
        let (late, newer) = (held(100), held(100));
        table.add(JobId(1), Token(1), late.clone());
        table.add(JobId(1), Token(2), newer.clone());
        table.interrupt_all();
        assert!(late.live.is_interrupted() && newer.live.is_interrupted());
        // One that was leased before and starts only now.
        let last = held(100);
        table.add(JobId(2), Token(3), last.clone());
        assert!(last.live.is_interrupted());
    }
}
