//! Logs without their beginning: jobs written anew, jobs forgotten, records that tell half of it.

use super::{UNKNOWN, Written, refuse};
use crate::{
    event::RecordAt,
    fact::{Anew, Fact},
    id::JobId,
    ledger::{Ledger, Status, Unsound},
    slot::Slot,
};

impl Ledger {
    /// Whether a record about a job tells only the end of it, because those before it, `previous`
    /// among them, are not there.
    pub(super) fn begins_earlier(&self, id: JobId, previous: Option<RecordAt>) -> bool {
        self.first > RecordAt(0)
            && previous.is_some_and(|previous| previous < self.first || self.awaited.contains(&id))
            && !self.entries.contains(&id)
    }

    pub(super) fn pass_over(
        &mut self,
        id: JobId,
        fact: &Fact<'_>,
        at: RecordAt,
        mono: u64,
    ) -> Result<(), Unsound> {
        match *fact {
            Fact::Deleted { .. } => {
                self.awaited.remove(&id);
                return Ok(());
            }
            Fact::Leased { token, .. } => self.last_token = self.last_token.max(token),
            Fact::Settled {
                ref attempt,
                ref children,
                ..
            } => {
                self.check_children(id, children)?;
                for child in children {
                    let on = child.enqueued_at;
                    self.accept(child, Written { on, at, mono });
                }
                self.last_token = self.last_token.max(attempt.token);
            }
            Fact::Replaced { ref job, .. } => {
                self.unknown(job.id)?;
                let on = job.enqueued_at;
                self.accept(job, Written { on, at, mono });
            }
            Fact::Enqueued(_)
            | Fact::Checkpointed { .. }
            | Fact::Lost { .. }
            | Fact::Requeued { .. }
            | Fact::Hastened { .. }
            | Fact::CancelAsked { .. }
            | Fact::Cancelled { .. }
            | Fact::Postponed { .. }
            | Fact::Expired { .. }
            | Fact::Dropped { .. }
            | Fact::Unlocked { .. }
            | Fact::Steered { .. }
            | Fact::Carried(_)
            | Fact::Cron { .. }
            | Fact::CronForgotten { .. }
            | Fact::Batch { .. }
            | Fact::BatchForgotten { .. }
            | Fact::Pruned { .. }
            | Fact::Trimmed { .. }
            | Fact::Merged { .. } => {}
        }
        self.awaited.insert(id);
        Ok(())
    }

    pub(super) fn carry(&mut self, anew: &Anew<'_>, written: Written) -> Result<(), Unsound> {
        let id = anew.job.id;
        let Some(slot) = self.entries.get(&id) else {
            self.awaited.remove(&id);
            self.accept(&anew.job, written);
            self.last_token = self.last_token.max(anew.token);
            self.change_to(anew, written);
            return Ok(());
        };
        let names = [self.names.text(slot.kind), self.names.text(slot.queue)];
        if names.map(|name| &**name) != [anew.job.kind, anew.job.queue]
            || slot.priority != anew.job.priority
        {
            return refuse(id, "it is written anew as another job than was accepted");
        }
        if anew.token < slot.token {
            return refuse(id, "it is written anew as it was before its latest lease");
        }
        let side = self.sides.of(id).side;
        if slot.says(anew) && side.is_none_or(|side| side.says(anew)) {
            // Its place in every order stays as it is, the age of its lease included.
            if let Some(slot) = self.entries.get_mut(&id) {
                slot.take_over(anew, written.at);
                slot.latest = written.at;
            }
            self.keep_checkpoint(id, anew.checkpoint.then_some(written.at));
            self.keep_asked(anew);
            self.keep_traps(id, anew.status, anew.traps);
        } else {
            self.last_token = self.last_token.max(anew.token);
            self.change_to(anew, written);
        }
        Ok(())
    }

    /// The job is as a record says that writes it anew.
    fn change_to(&mut self, anew: &Anew<'_>, written: Written) {
        let id = anew.job.id;
        self.change(id, written, |slot, side| {
            slot.take_over(anew, written.at);
            side.into_iter().for_each(|side| side.take_over(anew));
        });
        self.keep_checkpoint(id, anew.checkpoint.then_some(written.at));
        self.keep_asked(anew);
        self.keep_traps(id, anew.status, anew.traps);
    }

    fn keep_asked(&mut self, anew: &Anew<'_>) {
        match anew.asked {
            Some(how) => self.asked.insert(anew.job.id, how),
            None => self.asked.remove(&anew.job.id),
        };
    }

    pub(super) fn prune(&mut self, ids: &[JobId], mono: u64) -> Result<(), Unsound> {
        for id in ids {
            match self.entries.get(id).map(Slot::status) {
                Some(
                    Status::Completed(_)
                    | Status::Cancelled(_)
                    | Status::Discarded(_)
                    | Status::Expired(_),
                ) => {}
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
            self.forget(*id, mono);
        }
        Ok(())
    }
}

impl Slot {
    /// Whether a record that writes the job anew says nothing new of it.
    fn says(&self, anew: &Anew<'_>) -> bool {
        self.status() == anew.status
            && self.token == anew.token
            && self.attempts() == anew.attempts
            && self.losses() == anew.losses
            && self.failure() == anew.failure
    }

    fn take_over(&mut self, anew: &Anew<'_>, at: RecordAt) {
        self.set_status(anew.status);
        self.set_attempts(anew.attempts);
        self.set_losses(anew.losses);
        self.token = anew.token;
        self.set_failure(anew.failure);
        self.enqueued = at;
    }
}
