//! The writer's thread: takes what waits in the mailbox as one batch, commits it, then answers.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError},
    time::Duration,
};

use sandhog_model::{Command, JobId, Now, Rejected};
use tokio::sync::watch;

use super::{
    Durability,
    merge::Taken,
    wish::{Reply, Wish},
    writer::{Unstaged, Writer},
};
use crate::store::{StoreError, lock::HeldLock};

/// Bytes after which a batch takes no more wishes: an answer is not to wait for much more than one
/// sync.
const BATCH_BYTES: usize = 4 << 20;
/// An answer that waits for the commit: told `None` when it succeeded.
type Waiting = Box<dyn FnOnce(Option<&StoreError>) + Send>;

/// What became of each wish of a list: done, or refused by the rules.
pub(super) type Each = Vec<(JobId, Result<(), Rejected>)>;

/// The loop and what it owns.
pub(super) struct Actor {
    pub(super) writer: Writer,
    pub(super) poison: watch::Sender<Option<String>>,
    pub(super) lease_ms: u64,
    pub(super) max_letters: Option<usize>,
    pub(super) torn_tail_bytes: u64,
    pub(super) taken: Taken,
    pub(super) _lock: HeldLock,
}

impl Actor {
    /// Serve until every handle is gone or one asks to close.
    pub(super) fn run(mut self, inbox: &Receiver<Wish>) {
        let closing = loop {
            let Some(first) = self.next(inbox) else {
                break None;
            };
            let now = self.writer.clock.now();
            let mut waiting = Vec::new();
            let mut closing = self.take(first, now, &mut waiting);
            while closing.is_none() && self.writer.appender.pending_bytes() < BATCH_BYTES {
                match inbox.try_recv() {
                    Ok(wish) => closing = self.take(wish, now, &mut waiting),
                    Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
                }
            }
            self.commit(now, waiting);
            if closing.is_some() {
                break closing;
            }
        };
        if self.refusal().is_none()
            && self.writer.durability != Durability::None
            && let Err(error) = self.writer.sync()
        {
            self.poisoned(error.to_string());
        }
        let end = self.refusal().map_or(Ok(()), Err);
        // The directory is free before anyone hears that it is.
        self.writer.dead.close();
        drop(self);
        if let Some(reply) = closing {
            let _ = reply.send(end);
        }
    }

    /// The next wish; with a sync in between when the setting asks for one.
    fn next(&mut self, inbox: &Receiver<Wish>) -> Option<Wish> {
        loop {
            let Durability::Interval(ms) = self.writer.durability else {
                return inbox.recv().ok();
            };
            if !self.writer.appender.is_unsynced() || self.refusal().is_some() {
                return inbox.recv().ok();
            }
            let passed = self.writer.since_sync_ms();
            match inbox.recv_timeout(Duration::from_millis(ms.saturating_sub(passed))) {
                Ok(wish) if passed < ms => return Some(wish),
                Ok(wish) => {
                    self.sync();
                    return Some(wish);
                }
                Err(RecvTimeoutError::Timeout) => self.sync(),
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    fn sync(&mut self) {
        if let Err(error) = self.writer.sync() {
            self.poisoned(error.to_string());
        }
    }

    fn refusal(&self) -> Option<StoreError> {
        self.poison
            .borrow()
            .as_ref()
            .map(|cause| StoreError::Poisoned {
                cause: cause.clone(),
            })
    }

    fn poisoned(&self, cause: String) {
        self.poison.send_if_modified(|poison| {
            if poison.is_some() {
                return false;
            }
            tracing::error!(%cause, "the store takes nothing more");
            *poison = Some(cause);
            true
        });
    }

    fn commit(&mut self, now: Now, waiting: Vec<Waiting>) {
        if self.refusal().is_none()
            && let Err(error) = self.writer.commit(now)
        {
            self.poisoned(error.to_string());
        }
        let refusal = self.refusal();
        for answer in waiting {
            answer(refusal.as_ref());
        }
    }

    /// Do one wish. Its answer waits for the commit. Gives the reply of a wish to close.
    fn take(&mut self, wish: Wish, now: Now, waiting: &mut Vec<Waiting>) -> Option<Reply<()>> {
        match wish {
            Wish::Enqueue(jobs, reply) => {
                let answer = self.each(jobs, now, true, |job| {
                    (job.id, Command::Enqueue(Box::new(job)))
                });
                waiting.push(hold(reply, answer.map(only_ids)));
            }
            Wish::Claim(request, reply) => {
                let answer = self.claim(&Command::Claim(request.clone()), request.max, now);
                waiting.push(hold(reply, answer));
            }
            Wish::Checkpoint {
                id,
                token,
                bytes,
                reply,
            } => {
                let answer = self.one(&Command::Checkpoint { id, token, bytes }, now);
                waiting.push(hold(reply, answer));
            }
            Wish::Settle(reports, reply) => {
                let answer = self.each(reports, now, false, |report| {
                    (report.id, Command::Settle(Box::new(report)))
                });
                let answer = answer.map(|each| self.states(each, now));
                if answer.is_ok() {
                    self.purge(now);
                }
                waiting.push(hold(reply, answer));
            }
            Wish::Renew(leases, reply) => {
                let answer = self.unless_poisoned(|actor| actor.renew(leases, now));
                waiting.push(hold(reply, answer));
            }
            Wish::Sweep(reply) => {
                let overdue = self.writer.ledger.overdue(now.mono, self.lease_ms);
                let answer = self.lose(&overdue, now);
                waiting.push(hold(reply, answer));
            }
            Wish::Amend(wish, reply) => {
                let answer = self.amend(wish, now);
                waiting.push(hold(reply, answer));
            }
            Wish::Look(ids, reply) => {
                waiting.push(hold(reply, Ok(self.look(&ids, now))));
            }
            Wish::Scan {
                filter,
                before,
                limit,
                reply,
            } => waiting.push(hold(reply, Ok(self.scan(&filter, before, limit, now)))),
            Wish::Queues(reply) => waiting.push(hold(reply, Ok(self.queues(now)))),
            Wish::Stats(reply) => {
                let stats = self.stats(now);
                // Told also when nothing else is: it says why.
                waiting.push(Box::new(move |_| {
                    let _ = reply.send(Ok(stats));
                }));
            }
            Wish::Close(reply) => return Some(reply),
        }
        None
    }

    fn unless_poisoned<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> Result<T, StoreError> {
        match self.refusal() {
            None => Ok(act(self)),
            Some(refusal) => Err(refusal),
        }
    }

    pub(super) fn one(&mut self, command: &Command, now: Now) -> Result<(), StoreError> {
        self.carry_out(command, now, false).map(|_| ())
    }

    pub(super) fn carry_out(
        &mut self,
        command: &Command,
        now: Now,
        keep_reserve: bool,
    ) -> Result<Vec<JobId>, StoreError> {
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        match self.writer.carry_out(command, now, keep_reserve) {
            Ok(ids) => Ok(ids),
            Err(Unstaged::Refused(error)) => Err(error),
            Err(Unstaged::Poison(cause)) => {
                self.poisoned(cause.clone());
                Err(StoreError::Poisoned { cause })
            }
        }
    }
}

fn only_ids(each: Each) -> Vec<Result<JobId, Rejected>> {
    each.into_iter()
        .map(|(id, answer)| answer.map(|()| id))
        .collect()
}

/// An answer kept until the commit. When that fails, nobody hears of a success.
fn hold<T: Send + 'static>(reply: Reply<T>, answer: Result<T, StoreError>) -> Waiting {
    Box::new(move |failed| {
        let _ = reply.send(match failed {
            None => answer,
            Some(error) => Err(error.clone()),
        });
    })
}
