//! Changes from outside.

use alloc::{boxed::Box, format, vec, vec::Vec};

use crate::{
    cancel::Cancellation,
    command::{Amend, Rejected, Sameness},
    event::Event,
    fact::Lock,
    id::JobId,
    ledger::{Ledger, Status},
    limits::{CANCEL_REASON_BYTES, CANCELLED_BY_BYTES, DUE_AHEAD_MS},
    side::Side,
    time::{Now, UnixMs},
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
        Amend::Snooze { id, due } => snooze(ledger, id, due, now),
        Amend::Discard { id, by, reason } => discard(ledger, id, &by, reason.as_deref(), now),
        Amend::Remove { id, force } => remove(ledger, id, force, now),
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
            said_by(&by, reason.as_deref())?;
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

fn snooze(ledger: &Ledger, id: JobId, due: UnixMs, now: Now) -> Result<Vec<Event>, Rejected> {
    let Status::Waiting { due: before, .. } = known(ledger, id)?.status() else {
        return Err(wrong_state(ledger, id, now, "snooze"));
    };
    let days = due.since(now.wall) / (24 * 60 * 60 * 1000);
    if due.since(now.wall) > DUE_AHEAD_MS {
        return Err(Rejected::Invalid(format!(
            "{days} days ahead: at most 100 years (36525 days) are allowed"
        )));
    }
    let expires = ledger.sides.of(id).side.and_then(Side::expires);
    if let Some(expires) = expires.filter(|expires| *expires <= due) {
        return Err(Rejected::Invalid(format!(
            "job {id} expires at {expires} and could not be begun at {due}: choose an earlier instant"
        )));
    }
    let at = now.wall;
    let postponed = (before != due).then_some(Event::Postponed { id, at, due });
    Ok(postponed.into_iter().collect())
}

fn discard(
    ledger: &Ledger,
    id: JobId,
    by: &str,
    reason: Option<&str>,
    now: Now,
) -> Result<Vec<Event>, Rejected> {
    said_by(by, reason)?;
    let Status::Waiting { .. } = known(ledger, id)?.status() else {
        return Err(wrong_state(ledger, id, now, "discard"));
    };
    let reason = match reason {
        Some(reason) => format!("discarded by {by}: {reason}"),
        None => format!("discarded by {by}"),
    };
    let at = now.wall;
    Ok(vec![Event::Dropped { id, at, reason }])
}

fn remove(ledger: &Ledger, id: JobId, force: bool, now: Now) -> Result<Vec<Event>, Rejected> {
    let may_go = match known(ledger, id)?.status() {
        Status::Waiting { .. } => force,
        Status::Running { .. } => false,
        Status::Completed(_)
        | Status::Cancelled(_)
        | Status::Discarded(_)
        | Status::Dead(_)
        | Status::Expired(_) => true,
    };
    match may_go {
        true => Ok(vec![Event::Deleted { id, at: now.wall }]),
        false => Err(wrong_state(ledger, id, now, "delete")),
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

/// Who asks and why are kept, within bounds.
pub(super) fn said_by(by: &str, reason: Option<&str>) -> Result<(), Rejected> {
    bounded("the name of who asks", by.len(), CANCELLED_BY_BYTES)?;
    bounded(
        "the reason",
        reason.map_or(0, str::len),
        CANCEL_REASON_BYTES,
    )
}

pub(super) fn bounded(what: &str, length: usize, most: usize) -> Result<(), Rejected> {
    if length > most {
        return Err(Rejected::Invalid(format!(
            "{what} has {length} bytes: at most {most} are kept"
        )));
    }
    Ok(())
}

/// The lock that a job has once it waits again.
pub(crate) fn back_with(ledger: &Ledger, id: JobId, now: Now) -> Option<Lock> {
    let lock = ledger.sides.of(id).side.and_then(Side::unique)?;
    let waiting = Status::Waiting {
        due: now.wall,
        backoff: false,
    };
    let counts = lock.until.is_none_or(|until| until > now.wall);
    (counts && lock.scope.holds(waiting)).then_some(lock)
}

/// A unique job does not come back while another one has its key, and none into a batch that was called off.
fn requeued(ledger: &Ledger, id: JobId, now: Now, from_dead: bool) -> Result<Vec<Event>, Rejected> {
    let batch = ledger.sides.of(id).side.and_then(|side| side.batch);
    if let Some(batch) = batch
        && let Some(state) = ledger.batch(batch)
        && state.cancelled.is_some()
    {
        return Err(Rejected::BatchCancelled { id, batch });
    }
    if let Some(lock) = back_with(ledger, id, now)
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
