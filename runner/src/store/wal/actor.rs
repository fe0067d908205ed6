//! The writer's thread: takes what waits in the mailbox as one batch, commits it, then answers.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError},
    time::Duration,
};

use sandhog_model::{Amend, Command, JobId, Now, Rejected, State, Token};
use tokio::sync::watch;

use super::{
    Durability,
    wish::{Known, LeaseRef, Leases, Reply, Scanned, Wish},
    writer::{Unstaged, Writer},
};
use crate::store::{JobFilter, QueueRow, StoreError, StoreStats, lock::HeldLock};

/// Bytes after which a batch takes no more wishes: an answer is not to wait for much more than one
/// sync.
const BATCH_BYTES: usize = 4 << 20;
/// Index entries one scan looks at in a batch; a longer list comes back for the next part, so that
/// writes go on in between.
const SCAN_ENTRIES: usize = 4096;

/// An answer that waits for the commit: told `None` when it succeeded.
type Waiting = Box<dyn FnOnce(Option<&StoreError>) + Send>;

/// The loop and what it owns.
pub(super) struct Actor {
    pub(super) writer: Writer,
    pub(super) poison: watch::Sender<Option<String>>,
    pub(super) lease_ms: u64,
    pub(super) max_letters: Option<usize>,
    pub(super) torn_tail_bytes: u64,
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
                waiting.push(hold(reply, answer.map(|each| only_ids(each))));
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

    fn one(&mut self, command: &Command, now: Now) -> Result<(), StoreError> {
        self.carry_out(command, now, false).map(|_| ())
    }

    fn carry_out(
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

    /// Carry out one command for each, a refusal by the rules in its place. A reason that is no
    /// matter of rules ends the whole wish when nothing of it was done yet, and otherwise stands
    /// in the places of those that were not done.
    fn each<T>(
        &mut self,
        all: Vec<T>,
        now: Now,
        keep_reserve: bool,
        command: impl Fn(T) -> (JobId, Command),
    ) -> Result<Vec<(JobId, Result<(), Rejected>)>, StoreError> {
        let mut answers = Vec::with_capacity(all.len());
        let mut done = 0;
        for one in all {
            let (id, command) = command(one);
            let answer = match self.carry_out(&command, now, keep_reserve) {
                Ok(_) => {
                    done += 1;
                    Ok(())
                }
                Err(StoreError::Rejected(rejected)) => Err(rejected),
                Err(error) if done == 0 || matches!(error, StoreError::Poisoned { .. }) => {
                    return Err(error);
                }
                Err(error) => Err(Rejected::Invalid(error.to_string())),
            };
            answers.push((id, answer));
        }
        Ok(answers)
    }

    fn states(
        &self,
        each: Vec<(JobId, Result<(), Rejected>)>,
        now: Now,
    ) -> Vec<Result<State, Rejected>> {
        each.into_iter()
            .map(|(id, answer)| {
                answer.and_then(|()| {
                    self.writer
                        .ledger
                        .state(id, now.wall)
                        .ok_or(Rejected::NoSuchJob(id))
                })
            })
            .collect()
    }

    fn claim(&mut self, command: &Command, max: usize, now: Now) -> Result<Leases, StoreError> {
        self.writer.ledger.advance(now.wall);
        let ids = self.carry_out(command, now, false)?;
        let ledger = &self.writer.ledger;
        let leases: Vec<LeaseRef> = ids
            .into_iter()
            .filter_map(|id| {
                let entry = ledger.get(id)?;
                Some(LeaseRef {
                    id,
                    token: entry.token,
                    attempt: entry.running_attempt()?,
                    enqueued: entry.enqueued,
                    checkpoint: entry.checkpoint,
                })
            })
            .collect();
        let next_due = (leases.len() < max).then(|| ledger.next_due()).flatten();
        Ok(Leases { leases, next_due })
    }

    fn renew(&mut self, leases: Vec<(JobId, Token)>, now: Now) -> Vec<(JobId, Token)> {
        leases
            .into_iter()
            .filter(|(id, token)| !self.writer.ledger.renew(*id, *token, now.mono))
            .collect()
    }

    /// Take leases back. One that cannot be taken back now does not keep the others.
    fn lose(&mut self, leases: &[(JobId, Token)], now: Now) -> Result<usize, StoreError> {
        let mut lost = 0;
        for (id, token) in leases {
            let command = Command::Lose {
                id: *id,
                token: *token,
            };
            match self.one(&command, now) {
                Ok(()) => lost += 1,
                Err(error @ StoreError::Poisoned { .. }) => return Err(error),
                Err(error) => tracing::warn!(%id, %error, "a lost lease cannot be taken back yet"),
            }
        }
        if lost > 0 {
            self.purge(now);
        }
        Ok(lost)
    }

    fn amend(&mut self, wish: Amend, now: Now) -> Result<Option<State>, StoreError> {
        let ids = self.carry_out(&Command::Amend(wish), now, false)?;
        Ok(ids
            .first()
            .and_then(|id| self.writer.ledger.state(*id, now.wall)))
    }

    /// Delete the oldest letters over the operator's bound, each told.
    fn purge(&mut self, now: Now) {
        let Some(keep) = self.max_letters else {
            return;
        };
        // Letters of this batch are not listed yet: they are what makes others too many.
        let keep = keep.saturating_sub(self.writer.dead.staged());
        for id in self.writer.dead.beyond(keep) {
            match self.carry_out(&Command::Amend(Amend::Delete(id)), now, false) {
                Ok(_) => {
                    self.writer.counters.purged += 1;
                    tracing::warn!(%id, "dead letter deleted: more than the number to keep");
                }
                Err(error) => tracing::warn!(%id, %error, "a dead letter too many stays"),
            }
        }
    }

    fn look(&self, ids: &[JobId], now: Now) -> Vec<Known> {
        ids.iter().filter_map(|id| self.known(*id, now)).collect()
    }

    fn known(&self, id: JobId, now: Now) -> Option<Known> {
        let entry = self.writer.ledger.get(id)?;
        Some(Known {
            id,
            entry: entry.clone(),
            state: entry.state(now.wall),
        })
    }

    fn scan(&self, filter: &JobFilter, before: Option<JobId>, limit: usize, now: Now) -> Scanned {
        let mut found = Vec::new();
        for (seen, (id, entry)) in self.writer.ledger.newest(before).enumerate() {
            let state = entry.state(now.wall);
            if super::views::matches(filter, entry, state) {
                found.push(Known {
                    id,
                    entry: entry.clone(),
                    state,
                });
            }
            if found.len() == limit || seen + 1 == SCAN_ENTRIES {
                let resume = Some(id);
                return Scanned { found, resume };
            }
        }
        Scanned {
            found,
            resume: None,
        }
    }

    fn queues(&self, now: Now) -> Vec<QueueRow> {
        self.writer
            .ledger
            .counts(now.wall)
            .into_iter()
            .map(|(queue, counts)| QueueRow {
                queue: queue.to_string(),
                counts,
            })
            .collect()
    }

    fn stats(&self, now: Now) -> StoreStats {
        let mut jobs = Vec::new();
        let counts = self.writer.ledger.counts(now.wall);
        for state in State::ALL {
            let count: u64 = counts
                .iter()
                .flat_map(|(_, counts)| counts)
                .filter(|(counted, _)| *counted == state)
                .map(|(_, count)| count)
                .sum();
            if count > 0 {
                jobs.push((state, count));
            }
        }
        let counters = self.writer.counters;
        StoreStats {
            jobs,
            dead_letters: self.writer.dead.len() as u64,
            segments: self.writer.appender.segments(),
            log_bytes: self.writer.appender.bytes_on_disk(),
            appended: counters.appended,
            syncs: counters.syncs,
            last_sync_us: counters.last_sync_us,
            durability: self.writer.durability.to_string(),
            poisoned: self.poison.borrow().clone(),
            torn_tail_bytes: self.torn_tail_bytes,
            purged_letters: counters.purged,
        }
    }
}

fn only_ids(each: Vec<(JobId, Result<(), Rejected>)>) -> Vec<Result<JobId, Rejected>> {
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
