//! Changes from outside to a job that no attempt holds.

use alloc::{vec, vec::Vec};

use crate::{
    command::{Amend, Rejected},
    event::Event,
    id::JobId,
    ledger::{Ledger, Status},
    time::Now,
};

use super::known;

pub(super) fn amend(ledger: &Ledger, wish: Amend, now: Now) -> Result<Vec<Event>, Rejected> {
    match wish {
        Amend::Retry(id) => retry(ledger, id, now),
        Amend::Requeue(id) => {
            only_dead(ledger, id, now, "requeue")?;
            Ok(requeued(id, now, true))
        }
        Amend::Delete(id) => {
            only_dead(ledger, id, now, "delete")?;
            Ok(vec![Event::Deleted { id, at: now.wall }])
        }
    }
}

/// Whatever it waited for or ended as, it is to run now. Only a run in progress stands against it.
fn retry(ledger: &Ledger, id: JobId, now: Now) -> Result<Vec<Event>, Rejected> {
    match known(ledger, id)?.status() {
        Status::Waiting { .. } => Ok(vec![Event::Hastened { id, at: now.wall }]),
        Status::Completed(_) | Status::Cancelled(_) | Status::Discarded(_) => {
            Ok(requeued(id, now, false))
        }
        Status::Dead(_) => Ok(requeued(id, now, true)),
        Status::Running { .. } => Err(wrong_state(ledger, id, now, "retry")),
    }
}

fn requeued(id: JobId, now: Now, from_dead: bool) -> Vec<Event> {
    vec![Event::Requeued {
        id,
        at: now.wall,
        from_dead,
    }]
}

fn only_dead(ledger: &Ledger, id: JobId, now: Now, wish: &'static str) -> Result<(), Rejected> {
    match known(ledger, id)?.status() {
        Status::Dead(_) => Ok(()),
        Status::Waiting { .. }
        | Status::Running { .. }
        | Status::Completed(_)
        | Status::Cancelled(_)
        | Status::Discarded(_) => Err(wrong_state(ledger, id, now, wish)),
    }
}

fn wrong_state(ledger: &Ledger, id: JobId, now: Now, wish: &'static str) -> Rejected {
    match ledger.state(id, now.wall) {
        Some(state) => Rejected::WrongState { id, state, wish },
        None => Rejected::NoSuchJob(id),
    }
}
