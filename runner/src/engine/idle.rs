//! Workers that run nothing, to whom those that do leave what becomes ready: a thread that is busy with a guest comes to
//! a new job when that pauses, at worst at its next interruption, and an idle one at once.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::sync::{Notify, futures::Notified};

use crate::processors;

/// How long an idle worker looks for an answer before it sleeps until it is woken. It was called before the sync that the
/// answer waits for, and a quick one ends about then. On two processors looking longer is in the way of the log's thread.
const LOOKING: Duration = Duration::from_micros(60);

/// How many there are, and the word that they cannot take it all.
#[derive(Debug)]
pub(super) struct IdleWorkers {
    /// Workers, idle or not.
    all: usize,
    count: AtomicUsize,
    more: Notify,
    /// Whether none of them may look for its answer: another one does, or there is no processor to spare.
    looked: AtomicBool,
}

/// The idle worker that looks for its answer again and again, one at a time: it saves the time that it takes to be
/// woken, and takes a processor for that.
#[derive(Debug)]
pub(super) struct Looking {
    workers: Arc<IdleWorkers>,
    until: Instant,
}

/// A worker that is idle, as long as this is kept. It claims when it is told that something is ready, or has done so
/// since it was told the last time.
#[derive(Debug)]
pub(super) struct Idle(Arc<IdleWorkers>);

impl IdleWorkers {
    /// None yet, of so many workers.
    pub(super) fn new(all: usize) -> Arc<Self> {
        Arc::new(Self {
            all,
            count: AtomicUsize::new(0),
            more: Notify::new(),
            looked: AtomicBool::new(!processors::any_to_spare()),
        })
    }

    /// One more.
    pub(super) fn enter(self: &Arc<Self>) -> Idle {
        self.count.fetch_add(1, Ordering::SeqCst);
        Idle(Arc::clone(self))
    }

    /// Whether anything can be left to another worker.
    pub(super) fn any(&self) -> bool {
        self.count.load(Ordering::SeqCst) > 0
    }

    /// Say that there is more than one worker could claim, or that it could not: whoever left it to others
    /// has to look. Not before that worker stopped being idle.
    pub(super) fn tell_of_more(&self) {
        self.more.notify_waiters();
    }

    /// The next such word.
    pub(super) fn more(&self) -> Notified<'_> {
        self.more.notified()
    }
}

impl Idle {
    /// Look for an answer, unless another one does, or there is no processor to spare: a guest may have one, and the
    /// log's thread needs one.
    pub(super) fn look(&self) -> Option<Looking> {
        let nothing_runs = self.0.count.load(Ordering::SeqCst) == self.0.all;
        let may = nothing_runs && !self.0.looked.swap(true, Ordering::SeqCst);
        may.then(|| Looking {
            workers: Arc::clone(&self.0),
            until: Instant::now() + LOOKING,
        })
    }
}

impl Looking {
    /// Let everything else of the thread have its turn before the next look. `false`: it took long enough.
    pub(super) async fn again(&self) -> bool {
        tokio::task::yield_now().await;
        Instant::now() < self.until
    }
}

impl Drop for Looking {
    fn drop(&mut self) {
        self.workers.looked.store(false, Ordering::SeqCst);
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_worker_at_a_time_looks_while_nothing_runs_and_not_for_long() {
        let workers = IdleWorkers::new(2);
        workers.looked.store(false, Ordering::SeqCst);
        let one = workers.enter();
        assert!(one.look().is_none(), "the other runs something");
        let other = workers.enter();
        let looking = one.look().expect("nobody looks");
        assert!(other.look().is_none());
        while looking.again().await {}
        assert!(Instant::now() >= looking.until);
        assert!(other.look().is_none());
        drop(looking);
        assert!(other.look().is_some());
    }
}
