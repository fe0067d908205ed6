//! The end of a batch: the sync that covers it, then everyone is told.
//!
//! Of a large batch this happens on a thread of its own, while the writer decides and frames the
//! next one. There is one at a time, and the writer touches no file until it is back, so the order
//! of what reaches the disk is the same with and without it.

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, TryRecvError, sync_channel},
    },
    thread::JoinHandle,
    time::Instant,
};

use tokio::sync::{Notify, broadcast, watch};

use super::{
    mailbox::Mailbox,
    reply::{Rounds, Sleeper},
    wish::{Incoming, Reply},
};
use crate::{
    disk::DiskFile,
    store::{JobChange, StoreError},
};

/// An answer that waits for the commit.
pub(super) enum Waiting {
    /// What became of jobs. There are more of these than of any other, and they need no room elsewhere.
    Jobs(Reply<Incoming>, Result<Incoming, StoreError>),
    Other(Tell),
}

/// Lays an answer down, or why the commit failed. Gives whom to wake.
type Tell = Box<dyn FnOnce(Option<&StoreError>) -> Option<Sleeper> + Send>;

impl Waiting {
    /// An answer kept until the commit. When that fails, nobody hears of a success.
    pub(super) fn of<T: Send + 'static>(reply: Reply<T>, answer: Result<T, StoreError>) -> Self {
        Self::Other(Box::new(move |failed| lay(reply, answer, failed)))
    }

    /// Lay it down, or why the commit failed. Gives whom to wake.
    fn tell(self, failed: Option<&StoreError>) -> Option<Sleeper> {
        match self {
            Self::Jobs(reply, answer) => lay(reply, answer, failed),
            Self::Other(tell) => tell(failed),
        }
    }
}

/// Lay an answer down, unless the commit failed that it waited for.
fn lay<T: Send + 'static>(
    reply: Reply<T>,
    answer: Result<T, StoreError>,
    failed: Option<&StoreError>,
) -> Option<Sleeper> {
    reply.lay(match failed {
        None => answer,
        Some(error) => Err(error.clone()),
    })
}

/// Whom to tell, and whether there is still something to tell.
#[derive(Clone)]
pub(super) struct Bell {
    pub(super) poison: watch::Sender<Option<String>>,
    pub(super) changes: broadcast::Sender<JobChange>,
    pub(super) ready: Arc<Notify>,
    pub(super) rounds: Rounds,
}

/// A written batch that waits for its sync.
pub(super) struct Flush {
    pub(super) file: Arc<dyn DiskFile>,
    /// What it changed.
    pub(super) changes: Vec<JobChange>,
    pub(super) waiting: Vec<Waiting>,
}

impl Bell {
    /// A bell nobody listens to yet; `changes` are kept for a listener that is behind.
    pub(super) fn new(changes: usize) -> Self {
        Self {
            poison: watch::Sender::new(None),
            changes: broadcast::channel(changes).0,
            ready: Arc::new(Notify::new()),
            rounds: Rounds::default(),
        }
    }

    /// Why nothing is taken any more, once that is so.
    pub(super) fn refusal(&self) -> Option<StoreError> {
        let poison = self.poison.borrow();
        poison.as_ref().map(|cause| StoreError::Poisoned {
            cause: cause.clone(),
        })
    }

    /// Take nothing more. The first cause stays.
    pub(super) fn poison(&self, cause: String) {
        self.poison.send_if_modified(|poison| {
            if poison.is_some() {
                return false;
            }
            tracing::error!(%cause, "the store takes nothing more");
            *poison = Some(cause);
            true
        });
    }

    /// Tell what changed. It is durable.
    pub(super) fn tell(&self, changes: Vec<JobChange>) {
        for change in changes {
            // Nobody listening is no failure.
            let _ = self.changes.send(change);
        }
    }

    /// Say that something may be claimed. It need not be durable: a claim is answered after the sync that
    /// makes it so, and whoever claims can wake up meanwhile.
    pub(super) fn ring(&self) {
        self.ready.notify_waiters();
        // A permit for whoever was just about to wait.
        self.ready.notify_one();
    }

    /// Answer everyone who waited for a batch.
    pub(super) fn answer(&self, waiting: Vec<Waiting>) {
        let refusal = self.refusal();
        let answers = waiting.into_iter();
        self.rounds
            .wake(answers.filter_map(|answer| answer.tell(refusal.as_ref())));
    }

    /// Sync, tell and answer. Microseconds of the sync, `None` when it failed or was not tried: a
    /// poisoned store syncs nothing.
    fn finish(&self, flush: Flush) -> Option<u64> {
        let mut took = None;
        if self.refusal().is_none() {
            let start = Instant::now();
            match flush.file.sync() {
                Ok(()) => {
                    took = Some(start.elapsed().as_micros() as u64);
                    self.tell(flush.changes);
                }
                Err(error) => self.poison(error.to_string()),
            }
        }
        self.answer(flush.waiting);
        took
    }
}

/// The thread that syncs beside the writer.
pub(super) struct Flusher {
    to: Option<SyncSender<Flush>>,
    back: Receiver<Option<u64>>,
    thread: Option<JoinHandle<()>>,
    away: bool,
}

/// How a flush came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Landed {
    /// None was away.
    Idle,
    /// It goes on.
    Away,
    /// Synced, in so many microseconds.
    Synced(u64),
    /// Not synced; the bell was told why.
    Failed,
}

impl Flusher {
    /// Start the thread. `mailbox` is where the writer waits.
    pub(super) fn start(bell: Bell, mailbox: Arc<Mailbox>) -> std::io::Result<Self> {
        let (to, flushes) = sync_channel::<Flush>(1);
        let (done, back) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("store-sync".to_owned())
            .spawn(move || {
                for flush in flushes {
                    if done.send(bell.finish(flush)).is_err() {
                        return;
                    }
                    mailbox.synced();
                }
            })?;
        Ok(Self {
            to: Some(to),
            back,
            thread: Some(thread),
            away: false,
        })
    }

    /// Send a flush off; none is away.
    pub(super) fn send(&mut self, flush: Flush) {
        debug_assert!(!self.away, "one at a time");
        if let Some(to) = &self.to {
            // Without the thread its answers are dropped, and the way back tells.
            let _ = to.send(flush);
            self.away = true;
        }
    }

    /// Take a flush back, and wait for it if `wait` says so.
    pub(super) fn land(&mut self, wait: bool) -> Landed {
        if !self.away {
            return Landed::Idle;
        }
        let back = if wait {
            self.back.recv().map_err(|_| TryRecvError::Disconnected)
        } else {
            self.back.try_recv()
        };
        match back {
            Err(TryRecvError::Empty) => Landed::Away,
            Ok(Some(took)) => {
                self.away = false;
                Landed::Synced(took)
            }
            Ok(None) | Err(TryRecvError::Disconnected) => {
                self.away = false;
                Landed::Failed
            }
        }
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        self.to = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
