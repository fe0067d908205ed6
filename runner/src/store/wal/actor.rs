//! The writer's thread: takes what waits in the mailbox as one batch, commits it, then answers.

use std::time::{Duration, Instant};

use sandhog_model::{Command, JobId, Now, Rejected};

use super::{
    Durability,
    crowd::Crowd,
    expiry::Expiry,
    flush::Waiting,
    mailbox::{Inbox, Woken},
    merge::Taken,
    upkeep::Upkeep,
    wish::{Reply, Wish},
    writer::{Unstaged, Writer},
};
use crate::store::{LetterBounds, StoreError, lock::HeldLock};

/// Bytes after which a batch takes no more wishes: an answer is not to wait for much more than one
/// sync.
const BATCH_BYTES: usize = 4 << 20;
/// Answers that may wait for one commit, as many as a mailbox holds by default: while a sync takes
/// long the mailbox fills, and callers hear that the store is busy.
const MOST: usize = 4096;
/// Wishes from which on a batch is synced beside the writer. For fewer, waking another thread costs
/// more than deciding the next ones meanwhile gains, unless syncs are slow.
pub(super) const MANY: usize = 256;

/// What became of each wish of a list: done, or refused by the rules.
pub(super) type Each = Vec<(JobId, Result<(), Rejected>)>;

/// The loop and what it owns.
pub(super) struct Actor {
    pub(super) writer: Writer,
    /// Answers of the batch that is being made.
    pub(super) waiting: Vec<Waiting>,
    /// Those that tell of leases, which no sync has to cover.
    pub(super) leased: Vec<Waiting>,
    pub(super) lease_ms: u64,
    pub(super) letters: LetterBounds,
    /// Whether a letter came since the bounds were looked at, or time passed.
    pub(super) purge_due: bool,
    pub(super) torn_tail_bytes: u64,
    pub(super) taken: Taken,
    pub(super) upkeep: Upkeep,
    pub(super) expiry: Expiry,
    pub(super) crowd: Crowd,
    pub(super) _lock: HeldLock,
}

impl Actor {
    /// Serve until every handle is gone or one asks to close.
    ///
    /// The inbox goes before the rest, also in a panic: the compaction's thread, of which the end
    /// is waited for, must not wait for an answer meanwhile.
    pub(super) fn run(mut self, inbox: Inbox) {
        self.look_after(self.writer.clock.now());
        let closing = self.serve(&inbox);
        self.land(true);
        self.commit(self.writer.clock.now());
        self.land(true);
        self.writer.bell.rounds.end();
        // Whatever the compaction's thread asked is answered, or dropped with the inbox; only then
        // is its end waited for.
        drop(inbox);
        self.upkeep.compaction = None;
        if self.refusal().is_none()
            && self.writer.durability != Durability::None
            && let Err(error) = self.writer.sync()
        {
            self.writer.bell.poison(error.to_string());
        }
        let end = self.refusal().map_or(Ok(()), Err);
        // The directory is free before anyone hears that it is.
        self.writer.dead.close();
        drop(self);
        if let Some(reply) = closing {
            reply.send(end);
        }
    }

    /// Take wishes in. While a batch is synced beside this thread the next one grows; it is written
    /// when that one is back.
    fn serve(&mut self, inbox: &Inbox) -> Option<Reply<()>> {
        let mut wishes = Vec::new();
        while self.next(inbox, &mut wishes) {
            let now = self.writer.clock.now();
            let closing = self.take_all(&mut wishes, now);
            if closing.is_some() {
                return closing;
            }
            self.expire(now);
            self.tend(now);
            if self.land(false) {
                let closing = self.gather(inbox, &mut wishes, now);
                if closing.is_some() {
                    return closing;
                }
                let answers = self.waiting.len();
                self.commit(now);
                self.crowd.answered(answers, inbox.waiting());
            }
            self.look_after(now);
        }
        None
    }

    /// Do these wishes. Gives the reply of one to close; what is behind it is dropped.
    pub(super) fn take_all(&mut self, wishes: &mut Vec<Wish>, now: Now) -> Option<Reply<()>> {
        sweeps_last(wishes);
        for wish in wishes.drain(..) {
            if let Some(reply) = self.take(wish, now) {
                return Some(reply);
            }
            if self.writer.appender.pending_bytes() >= BATCH_BYTES || self.answers() >= MOST {
                self.land(true);
                self.commit(now);
            }
        }
        None
    }

    /// How many answers the batch has by now.
    fn answers(&self) -> usize {
        self.waiting.len() + self.leased.len()
    }

    /// Wait for wishes; with a sync in between when the setting asks for one. `false`: there will be
    /// none.
    fn next(&mut self, inbox: &Inbox, wishes: &mut Vec<Wish>) -> bool {
        loop {
            let end = self.sync_due();
            let expiry = self.expiry_due();
            let rounds = self.rounds_due();
            let due = end.into_iter().chain(expiry).chain(rounds).min();
            let woken = inbox.take(wishes, due);
            if end.is_some_and(|end| end <= Instant::now()) {
                self.sync();
            }
            match woken {
                Woken::Wishes => return true,
                Woken::Left => return false,
                // What came meanwhile is a batch now.
                Woken::Synced => return true,
                Woken::Nothing if expiry.is_some_and(|due| due <= Instant::now()) => return true,
                Woken::Nothing => {}
            }
        }
    }

    /// When the setting wants what was written synced.
    fn sync_due(&self) -> Option<Instant> {
        match self.writer.durability {
            Durability::Interval(ms)
                if self.writer.appender.is_unsynced() && self.refusal().is_none() =>
            {
                Some(self.writer.last_sync + Duration::from_millis(ms))
            }
            Durability::Interval(_) | Durability::Commit | Durability::None => None,
        }
    }

    /// When to see whether everyone who was answered a moment ago was woken; those for whom it is time are.
    fn rounds_due(&self) -> Option<Instant> {
        let rounds = &self.writer.bell.rounds;
        rounds.due()?;
        rounds.see_to(Instant::now());
        rounds.due()
    }

    fn sync(&mut self) {
        if let Err(error) = self.writer.sync() {
            self.writer.bell.poison(error.to_string());
        }
    }

    pub(super) fn refusal(&self) -> Option<StoreError> {
        self.writer.bell.refusal()
    }

    /// Take nothing more.
    pub(super) fn poisoned(&self, cause: String) {
        self.writer.bell.poison(cause);
    }

    /// Take the sync beside this thread back; with `wait`, also when it goes on. Whether none is
    /// away now.
    pub(super) fn land(&mut self, wait: bool) -> bool {
        match self.writer.land(wait) {
            Ok(landed) => landed,
            Err(cause) => {
                self.writer.bell.poison(cause);
                true
            }
        }
    }

    /// Write what was gathered, and see that it is answered: leases once they are written, as a lease that
    /// is lost with the machine only means that its job waits again; everything else once it is as safe as the
    /// setting says.
    pub(super) fn commit(&mut self, now: Now) {
        self.purge(now);
        let mut waiting = std::mem::take(&mut self.waiting);
        if self.writer.batch.readied {
            // What was leased may not be there yet.
            waiting.append(&mut self.leased);
        }
        if self.refusal().is_none() {
            match self.writer.write(now) {
                Ok(written) => {
                    self.writer.bell.answer(std::mem::take(&mut self.leased));
                    let many = waiting.len() >= MANY || self.writer.syncs_are_slow();
                    if many && self.writer.can_flush_beside(&written) {
                        return self.writer.flush_beside(written.changes, waiting);
                    }
                    if let Err(error) = self.writer.finish(written) {
                        self.writer.bell.poison(error.to_string());
                    }
                }
                Err(error) => self.writer.bell.poison(error.to_string()),
            }
        }
        waiting.append(&mut self.leased);
        self.writer.bell.answer(waiting);
    }

    /// Do one wish. Its answer waits for the commit. Gives the reply of a wish to close.
    fn take(&mut self, wish: Wish, now: Now) -> Option<Reply<()>> {
        match wish {
            Wish::Enqueue(incoming, reply) => {
                let answer = self.accept(incoming, now);
                self.waiting.push(Waiting::Jobs(reply, answer));
            }
            Wish::Claim(request, reply) => {
                let answer = self.claim(request, now);
                self.leased.push(Waiting::of(reply, answer));
            }
            Wish::Checkpoint {
                id,
                token,
                bytes,
                reply,
            } => {
                let answer = self.one(Command::Checkpoint { id, token, bytes }, now);
                self.waiting.push(Waiting::of(reply, answer));
            }
            Wish::Settle(reports, reply) => {
                let answer = self.settle(reports, now);
                self.purge_due = true;
                self.waiting.push(Waiting::of(reply, answer));
            }
            Wish::Renew(leases, reply) => {
                // Nothing is written, and a slow disk is no reason to be late with the next one.
                reply.send(self.unless_poisoned(|actor| actor.renew(leases, now)));
            }
            Wish::Sweep(reply) => {
                let answer = self.sweep(now);
                self.waiting.push(Waiting::of(reply, answer));
            }
            Wish::CallOff(off) => self.take_call_off(*off, now),
            Wish::Amend(wishes, reply) => {
                let answer = self.amend(wishes, now);
                self.waiting.push(Waiting::of(reply, answer));
            }
            Wish::Crons(ask) => self.take_crons(*ask, now),
            Wish::Letters(wish) => {
                let answer = self.take_letters(*wish, now);
                self.waiting.push(answer);
            }
            Wish::Look(ids, reply) => {
                let known = self.look(&ids, now);
                let settled = self.are_settled(&known);
                self.answer_look(reply, known, settled);
            }
            Wish::Scan(ask) => self.take_scan(*ask, now),
            Wish::OfQueues(ask) => self.ask_of_queues(*ask, now),
            Wish::OfBatches(ask) => self.ask_of_batches(*ask, now),
            Wish::Weigh(ask) => self.weigh(*ask, now),
            // Told also when nothing else is: it says why.
            Wish::Stats(reply) => {
                reply.send(Ok(self.stats(now)));
            }
            Wish::Compact(ask) => self.compact(*ask, now),
            Wish::Close(reply) => return Some(reply),
        }
        None
    }

    fn sweep(&mut self, now: Now) -> Result<usize, StoreError> {
        let overdue = self.writer.ledger.overdue(now.mono, self.lease_ms);
        self.purge_due = true;
        self.upkeep.age_is_due();
        self.lose(&overdue, now)
    }

    /// Answer a look: at once when all that it shows is settled, so that nobody who only looks waits for
    /// a slow disk, and else with the batch.
    pub(super) fn answer_look<T: Send + 'static>(
        &mut self,
        reply: Reply<T>,
        answer: T,
        settled: bool,
    ) {
        match self.refusal() {
            None if !settled => self.waiting.push(Waiting::of(reply, Ok(answer))),
            refusal => {
                reply.send(refusal.map_or(Ok(answer), Err));
            }
        }
    }

    fn unless_poisoned<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> Result<T, StoreError> {
        match self.refusal() {
            None => Ok(act(self)),
            Some(refusal) => Err(refusal),
        }
    }

    pub(super) fn one(&mut self, command: Command, now: Now) -> Result<(), StoreError> {
        self.carry_out(command, now).map(|_| ())
    }

    pub(super) fn carry_out(
        &mut self,
        command: Command,
        now: Now,
    ) -> Result<Vec<JobId>, StoreError> {
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        let staged = self.writer.carry_out(command, now);
        staged.map_err(|unstaged| self.unstaged(unstaged))
    }

    /// The same, with the number of facts instead of their jobs.
    pub(super) fn carry_out_all(
        &mut self,
        command: Command,
        now: Now,
    ) -> Result<usize, StoreError> {
        let before = self.writer.counters.appended;
        self.carry_out(command, now)?;
        Ok((self.writer.counters.appended - before) as usize)
    }

    /// What is answered when a fact was not taken in.
    pub(super) fn unstaged(&self, unstaged: Unstaged) -> StoreError {
        match unstaged {
            Unstaged::Refused(error) => error,
            Unstaged::Poison(cause) => {
                self.writer.bell.poison(cause.clone());
                // The first cause counts.
                self.refusal().unwrap_or(StoreError::Poisoned { cause })
            }
        }
    }
}

/// Signs of life that waited here count before leases are looked through.
fn sweeps_last(wishes: &mut [Wish]) {
    let is_sweep = |wish: &Wish| matches!(wish, Wish::Sweep(_));
    // Few batches have one, and none of the others is to be moved about.
    if wishes.iter().any(is_sweep) {
        wishes.sort_by_key(is_sweep);
    }
}
