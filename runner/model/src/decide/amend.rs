//! Changes from outside.

use alloc::{boxed::Box, format, string::String, vec, vec::Vec};

use crate::{
    cancel::Cancellation,
    command::{Amend, Rejected, Sameness},
    event::Event,
    id::JobId,
    ledger::{Ledger, Status},
    limits::{CANCEL_REASON_BYTES, CANCELLED_BY_BYTES},
    side::Side,
    time::Now,
};

use super::known;

pub(super) fn amend(ledger: &Ledger, wish: Amend, now: Now) -> Result<Vec<Event>, Rejected> {
    match wish {
        Amend::Retry(id) => retry(ledger, id, now),
        Amend::Requeue(id) => {
            only_dead(ledger, id, now, "requeue")?;
            requeued(ledger, id, now, true)
        }
        Amend::Delete(id) => {
            only_dead(ledger, id, now, "delete")?;
            Ok(vec![Event::Deleted { id, at: now.wall }])
        }
        Amend::Unlock(id) => {
            known(ledger, id)?;
            let stands = ledger.sides.of(id).side.and_then(Side::unique).is_some();
            let at = now.wall;
            Ok(stands
                .then_some(Event::Unlocked { id, at })
                .into_iter()
                .collect())
        }
        Amend::Cancel {
            id,
            how,
            by,
            reason,
        } => {
            let at = now.wall;
            bounded("the name of who asks", by.len(), CANCELLED_BY_BYTES)?;
            let length = reason.as_ref().map_or(0, String::len);
            bounded("the reason", length, CANCEL_REASON_BYTES)?;
            let cancel = Cancellation {
                how,
                at,
                by,
                reason,
            };
            cancelled(ledger, id, cancel, now)
        }
    }
}

/// Whatever it waited for or ended as, it is to run now. Only a run in progress stands against it.
fn retry(ledger: &Ledger, id: JobId, now: Now) -> Result<Vec<Event>, Rejected> {
    match known(ledger, id)?.status() {
        Status::Waiting { .. } => Ok(vec![Event::Hastened { id, at: now.wall }]),
        Status::Completed(_) | Status::Cancelled(_) | Status::Discarded(_) | Status::Expired(_) => {
            requeued(ledger, id, now, false)
        }
        Status::Dead(_) => requeued(ledger, id, now, true),
        Status::Running { .. } => Err(wrong_state(ledger, id, now, "retry")),
    }
}

/// What ended stays as it ended; a job that was called off is so already.
pub(super) fn cancelled(
    ledger: &Ledger,
    id: JobId,
    cancel: Cancellation,
    now: Now,
) -> Result<Vec<Event>, Rejected> {
    let slot = known(ledger, id)?;
    let asked = ledger.asked.get(&id).copied();
    let (token, how, cancel) = (slot.token, cancel.how, Box::new(cancel));
    match slot.status() {
        Status::Waiting { .. } => Ok(vec![Event::Cancelled { id, cancel }]),
        Status::Running { .. } if asked < Some(how) => {
            Ok(vec![Event::CancelAsked { id, token, cancel }])
        }
        Status::Running { .. } | Status::Cancelled(_) => Ok(Vec::new()),
        Status::Completed(_) | Status::Discarded(_) | Status::Dead(_) | Status::Expired(_) => {
            Err(wrong_state(ledger, id, now, how.name()))
        }
    }
}

pub(super) fn bounded(what: &str, length: usize, most: usize) -> Result<(), Rejected> {
    if length > most {
        return Err(Rejected::Invalid(format!(
            "{what} has {length} bytes: at most {most} are kept"
        )));
    }
    Ok(())
}

/// A unique job does not come back while another one has its key.
fn requeued(ledger: &Ledger, id: JobId, now: Now, from_dead: bool) -> Result<Vec<Event>, Rejected> {
    let lock = ledger.sides.of(id).side.and_then(Side::unique);
    let waiting = Status::Waiting {
        due: now.wall,
        backoff: false,
    };
    if let Some(lock) = lock
        && lock.scope.holds(waiting)
        && lock.until.is_none_or(|until| until > now.wall)
        && let Some(holder) = ledger.index.locks.holder(lock.key, now.wall, Some(id))
    {
        return Err(Rejected::Duplicate {
            holder,
            sameness: Sameness::Unique,
            is_kept: false,
        });
    }
    Ok(vec![Event::Requeued {
        id,
        at: now.wall,
        from_dead,
    }])
}

fn only_dead(ledger: &Ledger, id: JobId, now: Now, wish: &'static str) -> Result<(), Rejected> {
    match known(ledger, id)?.status() {
        Status::Dead(_) => Ok(()),
        Status::Waiting { .. }
        | Status::Running { .. }
        | Status::Completed(_)
        | Status::Cancelled(_)
        | Status::Discarded(_)
        | Status::Expired(_) => Err(wrong_state(ledger, id, now, wish)),
    }
}

fn wrong_state(ledger: &Ledger, id: JobId, now: Now, wish: &'static str) -> Rejected {
    match ledger.state(id, now.wall) {
        Some(state) => Rejected::WrongState { id, state, wish },
        None => Rejected::NoSuchJob(id),
    }
}
