//! Taking facts in. Total: what it refuses, no sound log contains, and then nothing has changed.

use alloc::collections::BTreeSet;

use crate::{
    attempt::Attempt,
    carried::Carried,
    event::{Event, Record, RecordAt, Verdict},
    id::{JobId, Token},
    job::Job,
    ledger::{Entry, Ledger, Status, Unsound},
    time::UnixMs,
};

/// When and where a fact was written.
#[derive(Clone, Copy)]
struct Written {
    /// The fact's own instant.
    on: UnixMs,
    at: RecordAt,
    mono: u64,
}

impl Ledger {
    /// Take a fact in. `at` is where its record lies, `mono` the steady clock for the lease index.
    ///
    /// # Errors
    /// The fact cannot follow from those before it; the ledger is unchanged.
    pub fn evolve(&mut self, event: &Event, at: RecordAt, mono: u64) -> Result<(), Unsound> {
        let written = |on: UnixMs| Written { on, at, mono };
        match event {
            Event::Enqueued(job) => {
                self.unknown(job.id)?;
                self.accept(job, written(job.enqueued_at));
            }
            Event::Leased { id, token, at: on } => self.lease(*id, *token, written(*on))?,
            Event::Checkpointed { id, token, .. } => {
                self.held(*id, *token)?;
                if let Some(entry) = self.entries.get_mut(id) {
                    entry.checkpoint = Some(at);
                    entry.latest = at;
                }
            }
            Event::Settled {
                id,
                attempt,
                verdict,
                children,
            } => {
                self.check_settled(*id, attempt, verdict, children)?;
                self.settle(*id, attempt, verdict, written(attempt.ended_at));
                for child in children {
                    self.accept(child, written(child.enqueued_at));
                }
            }
            Event::Lost {
                id,
                token,
                at: on,
                buried,
            } => {
                self.held(*id, *token)?;
                self.lose(*id, buried.as_deref(), written(*on));
            }
            Event::Requeued {
                id,
                at: on,
                from_dead,
            } => self.requeue(*id, *from_dead, written(*on))?,
            Event::Hastened { id, at: on } => self.hasten(*id, written(*on))?,
            Event::Deleted { id, .. } => self.delete(*id)?,
            Event::Carried(carried) => self.carry(carried, written(carried.at))?,
            Event::Pruned { ids, .. } => self.prune(ids)?,
            Event::Trimmed {
                before,
                last_id,
                last_token,
                ..
            } => {
                self.trimmed = self.trimmed.max(*before);
                self.last_id = self.last_id.max(*last_id);
                self.last_token = self.last_token.max(*last_token);
            }
            Event::Merged { last_token, .. } => {
                self.last_token = self.last_token.max(*last_token);
            }
        }
        Ok(())
    }

    /// Take a record in. The first records of a job may lie before the first that is there; then
    /// what follows about it is passed over until a record tells all of it.
    ///
    /// # Errors
    /// As [`evolve`](Self::evolve).
    pub fn replay(&mut self, record: &Record, at: RecordAt, mono: u64) -> Result<(), Unsound> {
        if let Some(id) = record.event.id()
            && record
                .previous
                .is_some_and(|previous| previous < self.first)
            && !self.entries.contains_key(&id)
        {
            return self.pass_over(id, &record.event, at, mono);
        }
        self.evolve(&record.event, at, mono)
    }

    fn pass_over(
        &mut self,
        id: JobId,
        event: &Event,
        at: RecordAt,
        mono: u64,
    ) -> Result<(), Unsound> {
        match event {
            Event::Deleted { .. } => {
                self.awaited.remove(&id);
                return Ok(());
            }
            Event::Leased { token, .. } => self.last_token = self.last_token.max(*token),
            Event::Settled {
                attempt, children, ..
            } => {
                self.check_children(id, children)?;
                for child in children {
                    let on = child.enqueued_at;
                    self.accept(child, Written { on, at, mono });
                }
                self.last_token = self.last_token.max(attempt.token);
            }
            Event::Enqueued(_)
            | Event::Checkpointed { .. }
            | Event::Lost { .. }
            | Event::Requeued { .. }
            | Event::Hastened { .. }
            | Event::Carried(_)
            | Event::Pruned { .. }
            | Event::Trimmed { .. }
            | Event::Merged { .. } => {}
        }
        self.awaited.insert(id);
        Ok(())
    }

    /// Change a known job and the orders with it.
    fn change(&mut self, id: JobId, written: Written, how: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.entries.get_mut(&id) {
            self.index.remove(id, entry);
            how(entry);
            entry.latest = written.at;
            self.index.insert(id, entry, written.on, written.mono);
        }
    }

    fn accept(&mut self, job: &Job, written: Written) {
        let entry = Entry {
            kind: self.names.shared(&job.kind),
            queue: self.names.shared(&job.queue),
            priority: job.priority,
            status: Status::Waiting {
                due: job.due,
                backoff: false,
            },
            attempts: 0,
            max_attempts: job.retry.max_attempts(),
            losses: 0,
            token: Token::default(),
            failure: None,
            enqueued: written.at,
            latest: written.at,
            checkpoint: None,
        };
        self.index.insert(job.id, &entry, written.on, written.mono);
        self.entries.insert(job.id, entry);
        self.last_id = self.last_id.max(Some(job.id));
    }

    fn lease(&mut self, id: JobId, token: Token, written: Written) -> Result<(), Unsound> {
        match self.known(id)?.status {
            Status::Waiting { .. } => {}
            Status::Running { .. } => {
                return refuse(id, "it is leased while another lease holds it");
            }
            Status::Completed(_)
            | Status::Cancelled(_)
            | Status::Discarded(_)
            | Status::Dead(_) => return refuse(id, "it is leased after it ended"),
        }
        if token <= self.last_token {
            return refuse(
                id,
                "its lease has a token that is not larger than every one before",
            );
        }
        self.last_token = token;
        self.change(id, written, |entry| {
            entry.status = Status::Running { since: written.on };
            entry.token = token;
        });
        Ok(())
    }

    fn check_settled(
        &self,
        id: JobId,
        attempt: &Attempt,
        verdict: &Verdict,
        children: &[Job],
    ) -> Result<(), Unsound> {
        let entry = self.held(id, attempt.token)?;
        if Some(attempt.number) != entry.running_attempt() {
            return refuse(
                id,
                "the attempt that ended has another number than the one that ran",
            );
        }
        match verdict {
            Verdict::Completed(_) => {}
            Verdict::Retry { .. }
            | Verdict::Snoozed { .. }
            | Verdict::PutBack { .. }
            | Verdict::Discarded { .. }
            | Verdict::Dead => {
                if !children.is_empty() {
                    return refuse(id, "an attempt that did not complete left jobs behind");
                }
            }
        }
        self.check_children(id, children)
    }

    fn check_children(&self, parent: JobId, children: &[Job]) -> Result<(), Unsound> {
        let mut seen = BTreeSet::from([parent]);
        for child in children {
            self.unknown(child.id)?;
            if !seen.insert(child.id) {
                return refuse(child.id, "one attempt enqueued it twice");
            }
        }
        Ok(())
    }

    fn settle(&mut self, id: JobId, attempt: &Attempt, verdict: &Verdict, written: Written) {
        let ended = written.on;
        let waiting = |due: UnixMs, backoff: bool| Status::Waiting { due, backoff };
        let (status, used) = match verdict {
            Verdict::Completed(_) => (Status::Completed(ended), true),
            Verdict::Retry { due } => (waiting(*due, true), true),
            Verdict::Snoozed { due } => (waiting(*due, false), false),
            Verdict::PutBack { due, .. } => (waiting(*due, false), false),
            Verdict::Discarded { .. } => (Status::Discarded(ended), true),
            Verdict::Dead => (Status::Dead(ended), true),
        };
        let ran = !matches!(verdict, Verdict::PutBack { .. });
        self.change(id, written, |entry| {
            entry.status = status;
            if used {
                entry.attempts = entry.attempts.saturating_add(1);
            }
            if ran {
                entry.failure = attempt.failure.as_ref().map(|failure| failure.kind);
            }
            if matches!(status, Status::Completed(_) | Status::Discarded(_)) {
                entry.checkpoint = None;
            }
        });
    }

    fn lose(&mut self, id: JobId, buried: Option<&Attempt>, written: Written) {
        self.change(id, written, |entry| {
            entry.losses = entry.losses.saturating_add(1);
            entry.status = match buried {
                Some(attempt) => {
                    entry.failure = attempt.failure.as_ref().map(|failure| failure.kind);
                    Status::Dead(written.on)
                }
                None => Status::Waiting {
                    due: written.on,
                    backoff: false,
                },
            };
        });
    }

    fn requeue(&mut self, id: JobId, from_dead: bool, written: Written) -> Result<(), Unsound> {
        let was_dead = match self.known(id)?.status {
            Status::Dead(_) => true,
            Status::Completed(_) | Status::Cancelled(_) | Status::Discarded(_) => false,
            Status::Waiting { .. } | Status::Running { .. } => {
                return refuse(id, "it is requeued before it ended");
            }
        };
        if was_dead != from_dead {
            return refuse(
                id,
                "it is requeued from the dead letters without being there, or the reverse",
            );
        }
        self.change(id, written, |entry| {
            entry.status = Status::Waiting {
                due: written.on,
                backoff: false,
            };
            entry.attempts = 0;
            entry.losses = 0;
        });
        Ok(())
    }

    fn hasten(&mut self, id: JobId, written: Written) -> Result<(), Unsound> {
        let Status::Waiting { due, .. } = self.known(id)?.status else {
            return refuse(id, "it is made due while it does not wait");
        };
        self.change(id, written, |entry| {
            entry.status = Status::Waiting {
                // A job that is due keeps its place in the line.
                due: due.min(written.on),
                backoff: false,
            };
        });
        Ok(())
    }

    fn delete(&mut self, id: JobId) -> Result<(), Unsound> {
        let Status::Dead(_) = self.known(id)?.status else {
            return refuse(id, "it is deleted while it is not dead");
        };
        if let Some(entry) = self.entries.remove(&id) {
            self.index.remove(id, &entry);
        }
        Ok(())
    }

    fn carry(&mut self, carried: &Carried, written: Written) -> Result<(), Unsound> {
        let id = carried.job.id;
        let Some(entry) = self.entries.get_mut(&id) else {
            self.awaited.remove(&id);
            self.accept(&carried.job, written);
            self.last_token = self.last_token.max(carried.token);
            self.change(id, written, |entry| entry.take_over(carried, written.at));
            return Ok(());
        };
        if carried.token < entry.token {
            return refuse(id, "it is written anew as it was before its latest lease");
        }
        if entry.says(carried) {
            // Its place in every order stays as it is, the age of its lease included.
            entry.take_over(carried, written.at);
            entry.latest = written.at;
        } else {
            self.last_token = self.last_token.max(carried.token);
            self.change(id, written, |entry| entry.take_over(carried, written.at));
        }
        Ok(())
    }

    fn prune(&mut self, ids: &[JobId]) -> Result<(), Unsound> {
        for id in ids {
            match self.entries.get(id).map(|entry| entry.status) {
                Some(Status::Completed(_) | Status::Cancelled(_) | Status::Discarded(_)) => {}
                Some(Status::Waiting { .. } | Status::Running { .. } | Status::Dead(_)) => {
                    return refuse(*id, "it is forgotten although it did not end");
                }
                // Its records lay before the first that is there.
                None if self.first > RecordAt(0) => {}
                None => return refuse(*id, UNKNOWN),
            }
        }
        for id in ids {
            self.awaited.remove(id);
            if let Some(entry) = self.entries.remove(id) {
                self.index.remove(*id, &entry);
            }
        }
        Ok(())
    }

    fn known(&self, id: JobId) -> Result<&Entry, Unsound> {
        self.entries.get(&id).ok_or(Unsound { id, why: UNKNOWN })
    }

    fn unknown(&self, id: JobId) -> Result<(), Unsound> {
        if self.entries.contains_key(&id) {
            return refuse(id, "it is accepted a second time");
        }
        Ok(())
    }

    /// The job, when `token` holds it.
    fn held(&self, id: JobId, token: Token) -> Result<&Entry, Unsound> {
        let entry = self.known(id)?;
        if entry.running_attempt().is_none() || entry.token != token {
            return refuse(id, "the lease it names does not hold it");
        }
        Ok(entry)
    }
}

impl Entry {
    /// Whether a record that writes the job anew says nothing new of it.
    fn says(&self, carried: &Carried) -> bool {
        self.status == carried.status
            && self.token == carried.token
            && self.attempts == carried.attempts
            && self.losses == carried.losses
            && self.failure == carried.failure
            && self.priority == carried.job.priority
            && *self.kind == *carried.job.kind
            && *self.queue == *carried.job.queue
    }

    fn take_over(&mut self, carried: &Carried, at: RecordAt) {
        self.status = carried.status;
        self.attempts = carried.attempts;
        self.losses = carried.losses;
        self.token = carried.token;
        self.failure = carried.failure;
        self.enqueued = at;
        self.checkpoint = carried.checkpoint.as_ref().map(|_| at);
    }
}

const UNKNOWN: &str = "it was never accepted, or deleted before";

fn refuse<T>(id: JobId, why: &'static str) -> Result<T, Unsound> {
    Err(Unsound { id, why })
}
