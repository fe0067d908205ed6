//! Jobs that are called off.

use super::{Written, refuse};
use crate::{
    cancel::Asked,
    event::RecordAt,
    id::{JobId, Token},
    ledger::{Ledger, Status, Unsound},
};

impl Ledger {
    /// The attempt that runs is to end. Its place in every order stays as it is.
    pub(super) fn ask_to_end(
        &mut self,
        id: JobId,
        token: Token,
        how: Asked,
        at: RecordAt,
    ) -> Result<(), Unsound> {
        self.held(id, token)?;
        if let Some(slot) = self.entries.get_mut(&id) {
            slot.latest = at;
        }
        let asked = self.asked.entry(id).or_insert(how);
        *asked = how.max(*asked);
        Ok(())
    }

    pub(super) fn cancel(&mut self, id: JobId, written: Written) -> Result<(), Unsound> {
        let Status::Waiting { .. } = self.known(id)?.status() else {
            return refuse(id, "it is cancelled while it does not wait");
        };
        self.traps.remove(&id);
        self.change(id, written, |slot, _| {
            slot.set_status(Status::Cancelled(written.on));
        });
        Ok(())
    }
}
