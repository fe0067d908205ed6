//! What changes from outside would come to, when none of them is made.

use alloc::collections::BTreeMap;

use crate::{
    command::{Amend, Command, Rejected, Sameness},
    decide,
    event::Event,
    id::JobId,
    job::{Digest, State},
    ledger::{Ledger, Status},
    time::Now,
};

/// Wishes of one sort that are weighed one after the other, each as if those before it had been carried out.
#[derive(Debug, Default)]
pub struct Weighing {
    /// What became of the jobs so far; `None` when they are gone.
    after: BTreeMap<JobId, Option<State>>,
    /// Unique keys that jobs which came back would have.
    keys: BTreeMap<Digest, JobId>,
}

impl Weighing {
    /// The state the job would be in, `None` when it would be gone, and whether that is new.
    ///
    /// # Errors
    /// The rule that would refuse it.
    pub fn weigh(
        &mut self,
        ledger: &Ledger,
        wish: Amend,
        now: Now,
    ) -> Result<(Option<State>, bool), Rejected> {
        let id = wish.id();
        if let Some(after) = self.after.get(&id) {
            return again(&wish, *after);
        }
        let events = ledger.decide(Command::Amend(wish), now, 0)?;
        if let Some(Event::Requeued { .. }) = events.first() {
            self.takes_key(ledger, id, now)?;
        }
        let after = match events.last() {
            Some(event) => comes_to(ledger, id, event, now),
            None => ledger.state(id, now.wall),
        };
        self.after.insert(id, after);
        Ok((after, !events.is_empty()))
    }

    /// A job that comes back stands in the way of those that come back after it.
    fn takes_key(&mut self, ledger: &Ledger, id: JobId, now: Now) -> Result<(), Rejected> {
        let Some(lock) = decide::back_with(ledger, id, now) else {
            return Ok(());
        };
        if let Some(holder) = self.keys.get(&lock.key) {
            return Err(Rejected::Duplicate {
                holder: *holder,
                sameness: Sameness::Unique,
                is_kept: false,
            });
        }
        self.keys.insert(lock.key, id);
        Ok(())
    }
}

/// The same wish once more.
fn again(wish: &Amend, state: Option<State>) -> Result<(Option<State>, bool), Rejected> {
    let id = wish.id();
    let state = state.ok_or(Rejected::NoSuchJob(id))?;
    let refused = |wish| Err(Rejected::WrongState { id, state, wish });
    match wish {
        Amend::Requeue(_) => refused("requeue"),
        Amend::Discard { .. } => refused("discard"),
        Amend::Delete(_) | Amend::Remove { .. } => refused("delete"),
        Amend::Retry(_) | Amend::Snooze { .. } | Amend::Unlock(_) | Amend::Cancel { .. } => {
            Ok((Some(state), false))
        }
    }
}

/// The state of a job after one more fact.
fn comes_to(ledger: &Ledger, id: JobId, event: &Event, now: Now) -> Option<State> {
    match event {
        Event::Deleted { .. } => None,
        Event::Hastened { .. } | Event::Requeued { .. } => Some(State::Available),
        Event::Dropped { .. } => Some(State::Discarded),
        Event::Cancelled { .. } => Some(State::Cancelled),
        Event::Postponed { due, .. } => {
            let before = ledger.look(id)?.status();
            let backoff = matches!(before, Status::Waiting { backoff: true, .. });
            Some(Status::Waiting { due: *due, backoff }.state(now.wall))
        }
        // The rest leaves it where it is: asked to end, or in nobody's way.
        _ => ledger.state(id, now.wall),
    }
}
