//! Workers that run nothing, to whom those that do leave what becomes ready: a thread that is busy with a guest comes to
//! a new job when that pauses, at worst at its next interruption, and an idle one at once.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::{Notify, futures::Notified};

/// How many there are, and the word that they cannot take it all.
#[derive(Debug, Default)]
pub(super) struct IdleWorkers {
    count: AtomicUsize,
    more: Notify,
}

/// A worker that is idle, as long as this is kept. It claims when it is told that something is ready, or has done so
/// since it was told the last time.
#[derive(Debug)]
pub(super) struct Idle(Arc<IdleWorkers>);

impl IdleWorkers {
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

impl Drop for Idle {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::SeqCst);
    }
}
