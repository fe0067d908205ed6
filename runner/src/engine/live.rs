//! The attempts that run now.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
};

use sandhog_model::{JobId, Token};

use super::view::WorkerRow;
use crate::plugin::{Live, LiveView};

/// Every attempt that runs now, over all workers.
#[derive(Debug, Default)]
pub(super) struct LiveTable {
    attempts: Mutex<HashMap<JobId, Held>>,
}

/// One attempt that runs now.
#[derive(Debug, Clone)]
pub(super) struct Held {
    /// Its lease.
    pub(super) token: Token,
    /// Its number of the worker.
    pub(super) worker: usize,
    /// What others see of it.
    pub(super) live: Arc<Live>,
    /// After this instant of the steady clock its lease is not renewed any more, in milliseconds.
    pub(super) hard_deadline: u64,
}

impl LiveTable {
    fn held(&self) -> MutexGuard<'_, HashMap<JobId, Held>> {
        // Nothing that holds the lock can leave the map half changed.
        self.attempts
            .lock()
            .unwrap_or_else(|held| held.into_inner())
    }

    pub(super) fn add(&self, id: JobId, held: Held) {
        self.held().insert(id, held);
    }

    /// Take an attempt out, unless a newer lease holds the job by now.
    pub(super) fn remove(&self, id: JobId, token: Token) {
        let mut held = self.held();
        if held.get(&id).is_some_and(|held| held.token == token) {
            held.remove(&id);
        }
    }

    pub(super) fn view(&self, id: JobId) -> Option<LiveView> {
        let live = self.held().get(&id)?.live.clone();
        Some(live.with(|view| view.clone()))
    }

    /// The leases to renew at this instant of the steady clock: those of attempts that can still be
    /// running. One whose host is stuck past its deadline is left to run out.
    pub(super) fn renewable(&self, mono: u64) -> Vec<(JobId, Token)> {
        self.held()
            .iter()
            .filter(|(_, held)| mono <= held.hard_deadline)
            .map(|(id, held)| (*id, held.token))
            .collect()
    }

    /// Stop the guest of a lease that no longer holds its job.
    pub(super) fn interrupt(&self, id: JobId, token: Token) {
        if let Some(held) = self.held().get(&id)
            && held.token == token
        {
            held.live.interrupt();
        }
    }

    /// Stop every guest.
    pub(super) fn interrupt_all(&self) {
        for held in self.held().values() {
            held.live.interrupt();
        }
    }

    /// How many attempts run.
    pub(super) fn len(&self) -> usize {
        self.held().len()
    }

    /// The jobs a worker runs, in the order of their ids.
    pub(super) fn of_worker(&self, worker: usize) -> Vec<JobId> {
        let held = self.held();
        let mut jobs: Vec<JobId> = held
            .iter()
            .filter(|(_, held)| held.worker == worker)
            .map(|(id, _)| *id)
            .collect();
        jobs.sort_unstable();
        jobs
    }
}

/// What the engine counts of one worker thread.
#[derive(Debug, Default)]
pub(super) struct WorkerCount {
    ended: AtomicU64,
}

impl WorkerCount {
    pub(super) fn one_ended(&self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn held(token: u64, hard_deadline: u64) -> Held {
        Held {
            token: Token(token),
            worker: 0,
            live: Arc::default(),
            hard_deadline,
        }
    }

    #[test]
    fn a_stuck_attempt_is_not_renewed() {
        let table = LiveTable::default();
        table.add(JobId(1), held(1, 100));
        table.add(JobId(2), held(2, 200));
        assert_eq!(table.renewable(100).len(), 2);
        assert_eq!(table.renewable(150), [(JobId(2), Token(2))]);
    }

    #[test]
    fn a_late_end_does_not_take_out_the_newer_lease() {
        let table = LiveTable::default();
        table.add(JobId(1), held(1, 100));
        table.add(JobId(1), held(2, 100));
        table.remove(JobId(1), Token(1));
        assert_eq!(table.len(), 1);
        table.interrupt(JobId(1), Token(1));
        assert!(!table.held()[&JobId(1)].live.is_interrupted());
        table.interrupt(JobId(1), Token(2));
        assert!(table.held()[&JobId(1)].live.is_interrupted());
    }
}
