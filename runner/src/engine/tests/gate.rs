//! Attempts that run until a test lets them end.

use std::sync::atomic::{AtomicUsize, Ordering};

use sandhog_model::{Job, Outcome};
use tokio::sync::Semaphore;

use super::stage::done;

/// What the attempts of a test share: how many run, how many did at most, and what lets them end.
pub(super) struct Gate {
    running: AtomicUsize,
    pub(super) most: AtomicUsize,
    pub(super) open: Semaphore,
}

impl Gate {
    pub(super) const fn new() -> Self {
        Self {
            running: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            open: Semaphore::const_new(0),
        }
    }

    pub(super) async fn pass(&self, job: Job) -> Outcome {
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(running, Ordering::SeqCst);
        let permit = self.open.acquire().await;
        permit.expect("nobody closes the gate").forget();
        self.running.fetch_sub(1, Ordering::SeqCst);
        done(&job.kind)
    }

    pub(super) fn running(&self) -> usize {
        self.running.load(Ordering::SeqCst)
    }
}
