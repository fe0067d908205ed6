//! What happens to a job while no attempt of it runs.

use super::{Written, refuse};
use crate::{
    event::RecordAt,
    id::JobId,
    ledger::{Ledger, Status, Unsound},
    time::UnixMs,
};

impl Ledger {
    pub(super) fn requeue(
        &mut self,
        id: JobId,
        from_dead: bool,
        written: Written,
    ) -> Result<(), Unsound> {
        let was_dead = match self.known(id)?.status() {
            Status::Dead(_) => true,
            Status::Completed(_)
            | Status::Cancelled(_)
            | Status::Discarded(_)
            | Status::Expired(_) => false,
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
        self.change(id, written, |slot, side| {
            if let Some(side) = side {
                side.lifted |= side.expires().is_some();
                side.failing_since = None;
            }
            slot.set_status(Status::Waiting {
                due: written.on,
                backoff: false,
            });
            slot.set_attempts(0);
            slot.set_losses(0);
        });
        Ok(())
    }

    pub(super) fn hasten(&mut self, id: JobId, written: Written) -> Result<(), Unsound> {
        let Status::Waiting { due, .. } = self.known(id)?.status() else {
            return refuse(id, "it is made due while it does not wait");
        };
        self.change(id, written, |slot, _| {
            slot.set_status(Status::Waiting {
                // A job that is due keeps its place in the line.
                due: due.min(written.on),
                backoff: false,
            });
        });
        Ok(())
    }

    pub(super) fn postpone(
        &mut self,
        id: JobId,
        due: UnixMs,
        written: Written,
    ) -> Result<(), Unsound> {
        let Status::Waiting { backoff, .. } = self.known(id)?.status() else {
            return refuse(id, "it is put off while it does not wait");
        };
        self.change(id, written, |slot, _| {
            slot.set_status(Status::Waiting { due, backoff });
        });
        Ok(())
    }

    /// It stands in nobody's way any more. Its place in every other order stays as it is.
    pub(super) fn unlock(&mut self, id: JobId, at: RecordAt) -> Result<(), Unsound> {
        let status = self.known(id)?.status();
        self.index.remove_beside(id, status, &self.sides.of(id));
        if let Some(side) = self.sides.get_mut(id) {
            side.unlocked = true;
        }
        self.index.insert_beside(id, status, &self.sides.of(id));
        if let Some(slot) = self.entries.get_mut(&id) {
            slot.latest = at;
        }
        Ok(())
    }

    pub(super) fn expire(&mut self, id: JobId, written: Written) -> Result<(), Unsound> {
        let Status::Waiting { .. } = self.known(id)?.status() else {
            return refuse(id, "it expires while it does not wait");
        };
        self.end_waiting(id, Status::Expired(written.on), written);
        Ok(())
    }

    pub(super) fn drop_waiting(&mut self, id: JobId, written: Written) -> Result<(), Unsound> {
        let Status::Waiting { .. } = self.known(id)?.status() else {
            return refuse(id, "it is dropped while it does not wait");
        };
        self.end_waiting(id, Status::Discarded(written.on), written);
        Ok(())
    }

    /// It ends without another attempt, and none may follow that wants a checkpoint.
    fn end_waiting(&mut self, id: JobId, status: Status, written: Written) {
        self.change(id, written, |slot, _| slot.set_status(status));
        self.traps.remove(&id);
        self.keep_checkpoint(id, None);
    }
}
