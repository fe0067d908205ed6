//! Taking facts in. Total: what it refuses, no sound log contains, and then nothing has changed.

mod anew;
mod kept;
mod log;
mod off;
mod waits;

use alloc::collections::BTreeSet;

use crate::{
    brief::Brief,
    event::{Event, Record, RecordAt},
    fact::{Accepted, Ended, Fact, Follows, Slim},
    id::{JobId, Token},
    ledger::{Ledger, Status, Unsound},
    outcome::FailureKind,
    side::Side,
    slot::Slot,
    time::{Now, UnixMs},
};

/// When and where a fact was written.
#[derive(Clone, Copy)]
struct Written {
    /// The fact's own instant.
    on: UnixMs,
    at: RecordAt,
    mono: u64,
}

impl Written {
    /// Both clocks, as far as the fact knows them.
    fn now(self) -> Now {
        Now {
            wall: self.on,
            mono: self.mono,
        }
    }
}

impl Ledger {
    /// Take a fact in. `at` is where its record lies, `mono` the steady clock for the lease index.
    ///
    /// # Errors
    /// The fact cannot follow from those before it; the ledger is unchanged.
    pub fn evolve(&mut self, event: &Event, at: RecordAt, mono: u64) -> Result<(), Unsound> {
        self.follow(&Fact::from(event), at, mono)
    }

    /// Take a record in. The first records of a job may lie before the first that is there; then
    /// what follows about it is passed over until a record tells all of it.
    ///
    /// # Errors
    /// As [`evolve`](Self::evolve).
    pub fn replay(&mut self, record: &Record, at: RecordAt, mono: u64) -> Result<(), Unsound> {
        self.take_in(&Slim::from(record), at, mono)
    }

    /// [`replay`](Self::replay) for a record of which only this much was read.
    ///
    /// # Errors
    /// As [`evolve`](Self::evolve).
    pub fn take_in(&mut self, record: &Slim<'_>, at: RecordAt, mono: u64) -> Result<(), Unsound> {
        if let Some(id) = record.fact.id()
            && self.begins_earlier(id, record.previous)
        {
            return self.pass_over(id, &record.fact, at, mono);
        }
        self.follow(&record.fact, at, mono)
    }

    fn follow(&mut self, fact: &Fact<'_>, at: RecordAt, mono: u64) -> Result<(), Unsound> {
        let written = |on: UnixMs| Written { on, at, mono };
        match *fact {
            Fact::Enqueued(ref job) => {
                self.unknown(job.id)?;
                self.accept(job, written(job.enqueued_at));
            }
            Fact::Leased { id, token, at: on } => self.lease(id, token, written(on))?,
            Fact::Checkpointed { id, token, .. } => self.checkpoint(id, token, at)?,
            Fact::Settled {
                id,
                ref attempt,
                follows,
                ref children,
            } => {
                self.check_settled(id, attempt, follows, children)?;
                self.settle(id, attempt, follows, written(attempt.ended_at));
                for child in children {
                    self.accept(child, written(child.enqueued_at));
                }
            }
            Fact::Lost {
                id,
                token,
                at: on,
                ref buried,
            } => {
                self.check_lost(id, token, buried.as_ref())?;
                self.lose(id, buried.as_ref(), written(on));
            }
            Fact::Requeued {
                id,
                at: on,
                from_dead,
            } => self.requeue(id, from_dead, written(on))?,
            Fact::Hastened { id, at: on } => self.hasten(id, written(on))?,
            Fact::Deleted { id, .. } => self.delete(id, mono)?,
            Fact::Postponed { id, at: on, due } => self.postpone(id, due, written(on))?,
            Fact::Expired { id, at: on } => self.expire(id, written(on))?,
            Fact::Dropped { id, at: on } => self.drop_waiting(id, written(on))?,
            Fact::Replaced { id, ref job } => {
                self.unknown(job.id)?;
                self.cancel(id, written(job.enqueued_at))?;
                self.accept(job, written(job.enqueued_at));
            }
            Fact::Unlocked { id, .. } => self.unlock(id, at)?,
            Fact::CancelAsked { id, token, how, .. } => self.ask_to_end(id, token, how, at)?,
            Fact::Cancelled { id, at: on, .. } => self.cancel(id, written(on))?,
            Fact::Carried(ref anew) => self.carry(anew, written(anew.at))?,
            Fact::Steered { .. }
            | Fact::Cron { .. }
            | Fact::CronForgotten { .. }
            | Fact::Batch { .. }
            | Fact::BatchForgotten { .. }
            | Fact::Pruned { .. }
            | Fact::Trimmed { .. }
            | Fact::Merged { .. } => self.follow_of_log(fact, at, mono)?,
        }
        Ok(())
    }

    /// Change a known job and the orders with it.
    fn change(
        &mut self,
        id: JobId,
        written: Written,
        how: impl FnOnce(&mut Slot, Option<&mut Side>),
    ) {
        if let Some(slot) = self.entries.get_mut(&id) {
            let names = &mut self.names;
            let before = self.sides.of(id);
            let group = before.group;
            let is_stale = self.index.take_out(id, slot, &before, written.mono, names);
            how(slot, self.sides.get_mut(id));
            slot.latest = written.at;
            let after = self.sides.of(id);
            self.index.insert(id, slot, &after, written.now(), names);
            // An attempt that began had its group reviewed, since that has one more that runs.
            if is_stale && !slot.is_running() {
                self.index.review(slot, group, written.mono, names);
            }
        }
    }

    fn checkpoint(&mut self, id: JobId, token: Token, at: RecordAt) -> Result<(), Unsound> {
        self.held(id, token)?;
        if let Some(slot) = self.entries.get_mut(&id) {
            slot.latest = at;
        }
        self.keep_checkpoint(id, Some(at));
        Ok(())
    }

    fn accept(&mut self, job: &Accepted<'_>, written: Written) {
        let brief = Brief::new(job, &mut self.names);
        self.sides.accept(job.id, &job.terms, &mut self.names);
        self.enter(&brief, written);
    }

    /// Take up a job. Its names are there already.
    pub(crate) fn take_up(
        &mut self,
        brief: &Brief,
        at: RecordAt,
        mono: u64,
    ) -> Result<(), Unsound> {
        self.unknown(brief.id)?;
        self.names.keep(brief.kind);
        self.names.keep(brief.queue);
        let on = brief.enqueued_at;
        self.enter(brief, Written { on, at, mono });
        Ok(())
    }

    fn enter(&mut self, brief: &Brief, written: Written) {
        let id = brief.id;
        let slot = Slot::new(brief, written.at);
        let beside = self.sides.of(id);
        self.index
            .insert(id, &slot, &beside, written.now(), &mut self.names);
        self.entries.insert(id, slot);
        self.last_id = self.last_id.max(Some(id));
    }

    fn forget(&mut self, id: JobId, mono: u64) {
        if let Some(slot) = self.entries.remove(&id) {
            let names = &mut self.names;
            let beside = self.sides.of(id);
            if self.index.take_out(id, &slot, &beside, mono, names) {
                self.index.review(&slot, beside.group, mono, names);
            }
            let batch = beside.side.and_then(|side| side.batch);
            self.sides.forget(id, names);
            names.release(slot.kind);
            names.release(slot.queue);
            self.index.tidy(slot.queue, mono, names);
            self.keep_checkpoint(id, None);
            self.traps.remove(&id);
            if let Some(batch) = batch {
                self.index.batches.lose(batch, slot.status());
            }
        }
    }

    fn lease(&mut self, id: JobId, token: Token, written: Written) -> Result<(), Unsound> {
        match self.known(id)?.status() {
            Status::Waiting { .. } => {}
            Status::Running { .. } => {
                return refuse(id, "it is leased while another lease holds it");
            }
            Status::Completed(_)
            | Status::Cancelled(_)
            | Status::Discarded(_)
            | Status::Dead(_)
            | Status::Expired(_) => return refuse(id, "it is leased after it ended"),
        }
        if token <= self.last_token {
            return refuse(
                id,
                "its lease has a token that is not larger than every one before",
            );
        }
        self.last_token = token;
        self.change(id, written, |slot, _| {
            slot.set_status(Status::Running { since: written.on });
            slot.token = token;
        });
        Ok(())
    }

    fn check_settled(
        &self,
        id: JobId,
        attempt: &Ended,
        follows: Follows,
        children: &[Accepted<'_>],
    ) -> Result<(), Unsound> {
        let slot = self.held(id, attempt.token)?;
        if attempt.number != slot.next_attempt() {
            return refuse(
                id,
                "the attempt that ended has another number than the one that ran",
            );
        }
        let fits = match follows {
            Follows::Completed | Follows::Discarded => true,
            Follows::Cancelled => self.asked.contains_key(&id),
            Follows::Retry { .. }
            | Follows::Snoozed { .. }
            | Follows::PutBack { .. }
            | Follows::Dead => !self.asked.contains_key(&id),
        };
        if !fits {
            return refuse(id, CALLED_OFF);
        }
        if follows != Follows::Completed && !children.is_empty() {
            return refuse(id, "an attempt that did not complete left jobs behind");
        }
        self.check_children(id, children)
    }

    fn check_children(&self, parent: JobId, children: &[Accepted<'_>]) -> Result<(), Unsound> {
        if children.is_empty() {
            return Ok(());
        }
        let mut seen = BTreeSet::from([parent]);
        for child in children {
            self.unknown(child.id)?;
            if !seen.insert(child.id) {
                return refuse(child.id, "one attempt enqueued it twice");
            }
        }
        Ok(())
    }

    fn settle(&mut self, id: JobId, attempt: &Ended, follows: Follows, written: Written) {
        let ended = written.on;
        let waiting = |due: UnixMs, backoff: bool| Status::Waiting { due, backoff };
        let (status, used) = match follows {
            Follows::Completed => (Status::Completed(ended), true),
            Follows::Retry { due } => (waiting(due, true), true),
            Follows::Snoozed { due } => (waiting(due, false), false),
            Follows::PutBack { due } => (waiting(due, false), false),
            Follows::Discarded => (Status::Discarded(ended), true),
            Follows::Dead => (Status::Dead(ended), true),
            Follows::Cancelled => (Status::Cancelled(ended), true),
        };
        let ran = !matches!(follows, Follows::PutBack { .. });
        self.asked.remove(&id);
        let repeats = attempt.failure.is_some_and(FailureKind::is_deterministic);
        let traps = self.traps(id) + u32::from(used && repeats);
        self.keep_traps(id, status, traps);
        let is_retried = matches!(follows, Follows::Retry { .. });
        self.change(id, written, |slot, side| {
            if let Some(side) = side
                && is_retried
                && side.retry_for_ms.is_some()
            {
                side.failing_since.get_or_insert(ended);
            }
            slot.set_status(status);
            if used {
                slot.set_attempts(slot.next_attempt());
            }
            if ran {
                slot.set_failure(attempt.failure);
            }
        });
        if matches!(status, Status::Completed(_) | Status::Discarded(_)) {
            self.keep_checkpoint(id, None);
        }
    }

    fn check_lost(&self, id: JobId, token: Token, buried: Option<&Ended>) -> Result<(), Unsound> {
        self.held(id, token)?;
        if self.asked.contains_key(&id) && buried.is_some() {
            return refuse(id, CALLED_OFF);
        }
        Ok(())
    }

    /// The job waits again, unless it was called off: then it ended.
    fn lose(&mut self, id: JobId, buried: Option<&Ended>, written: Written) {
        let asked = self.asked.remove(&id);
        let (due, backoff) = (written.on, false);
        let status = match (buried, asked) {
            (Some(_), _) => Status::Dead(written.on),
            (None, Some(_)) => Status::Cancelled(written.on),
            (None, None) => Status::Waiting { due, backoff },
        };
        self.keep_traps(id, status, self.traps(id));
        self.change(id, written, |slot, _| {
            slot.set_losses(slot.losses() + 1);
            slot.set_status(status);
            if let Some(attempt) = buried {
                slot.set_failure(attempt.failure);
            }
        });
    }

    fn delete(&mut self, id: JobId, mono: u64) -> Result<(), Unsound> {
        if self.known(id)?.is_running() {
            return refuse(id, "it is deleted while an attempt holds it");
        }
        self.forget(id, mono);
        Ok(())
    }

    fn known(&self, id: JobId) -> Result<&Slot, Unsound> {
        self.entries.get(&id).ok_or(Unsound { id, why: UNKNOWN })
    }

    pub(crate) fn is_taken(&self, id: JobId) -> bool {
        // Ids grow, so that most need no search.
        Some(id) <= self.last_id && self.entries.contains(&id)
    }

    fn unknown(&self, id: JobId) -> Result<(), Unsound> {
        if self.is_taken(id) {
            return refuse(id, "it is accepted a second time");
        }
        Ok(())
    }

    /// The job, when `token` holds it.
    fn held(&self, id: JobId, token: Token) -> Result<&Slot, Unsound> {
        let slot = self.known(id)?;
        if !slot.is_running() || slot.token != token {
            return refuse(id, "the lease it names does not hold it");
        }
        Ok(slot)
    }
}

const CALLED_OFF: &str =
    "its end does not fit: a job that was called off ends so, and no other does";
const UNKNOWN: &str = "it was never accepted, or deleted before";

fn refuse<T>(id: JobId, why: &'static str) -> Result<T, Unsound> {
    Err(Unsound { id, why })
}
