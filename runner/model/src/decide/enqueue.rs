//! Accepting a job.

use alloc::{boxed::Box, vec, vec::Vec};

use crate::{
    command::{Admission, Rejected, Sameness},
    event::Event,
    fact::{Accepted, Lock},
    id::JobId,
    job::{Job, OnConflict},
    ledger::{Ledger, Status},
    queue::QueueMode,
    side::Side,
    time::Now,
};

/// A job whose id is new is accepted when none stands in its way and its queue takes it in. Its fields
/// were checked when it became a [`Job`].
pub(super) fn enqueue(ledger: &Ledger, job: Box<Job>, now: Now) -> Result<Vec<Event>, Rejected> {
    Ok(match admit(ledger, &Accepted::from(&*job), now)? {
        Admission::Accept => vec![Event::Enqueued(job)],
        Admission::InPlaceOf(id) => vec![Event::Replaced { id, job }],
        Admission::Postpone { id, due } => {
            let at = now.wall;
            vec![Event::Postponed { id, at, due }]
        }
    })
}

/// What becomes of a job that is to be accepted.
pub(crate) fn admit(ledger: &Ledger, job: &Accepted<'_>, now: Now) -> Result<Admission, Rejected> {
    // Ids grow, so that most need no search.
    if Some(job.id) <= ledger.last_id() && ledger.slot(job.id).is_some() {
        return Err(Rejected::IdTaken(job.id));
    }
    let locks = &ledger.index.locks;
    // The same wish gets the same answer, whatever became of the queue since.
    if let Some(key) = job.terms.idempotency
        && let Some(holder) = locks.holder(key, now.wall, None)
    {
        names_a_batch(ledger, job.terms.batch, holder)?;
        return Err(Rejected::Duplicate {
            holder,
            sameness: Sameness::Idempotency,
            is_kept: true,
        });
    }
    let standing = job.terms.unique.and_then(|lock| {
        let holder = locks.holder(lock.key, now.wall, None)?;
        Some((lock, holder))
    });
    // One that is kept is the answer, whatever became of the batch since.
    match (standing, job.terms.batch) {
        (Some((lock, holder)), batch) if lock.on_conflict == OnConflict::Keep => {
            names_a_batch(ledger, batch, holder)?;
        }
        (_, Some(batch)) => joins(ledger, batch)?,
        (_, None) => {}
    }
    if let Some((lock, holder)) = standing {
        return conflict(ledger, job, lock, holder);
    }
    takes_in(ledger, job.queue, 0)?;
    Ok(Admission::Accept)
}

fn conflict(
    ledger: &Ledger,
    job: &Accepted<'_>,
    lock: Lock,
    holder: JobId,
) -> Result<Admission, Rejected> {
    let waiting = ledger.slot(holder).and_then(|slot| match slot.status() {
        Status::Waiting { due, .. } => Some((slot, due)),
        _ => None,
    });
    match (lock.on_conflict, waiting) {
        (OnConflict::Replace, Some((slot, _))) => {
            let leaves = **ledger.names.text(slot.queue) == *job.queue;
            takes_in(ledger, job.queue, u64::from(leaves))?;
            Ok(Admission::InPlaceOf(holder))
        }
        (OnConflict::Debounce, Some((_, before))) => {
            let side = ledger.sides.of(holder).side;
            let until = side.and_then(|side| side.unique()?.until);
            // What is put off again and again still begins when its period ends.
            let due = until.map_or(job.due, |until| job.due.min(until));
            // And it is not put off until it is too late.
            let expires = side.and_then(Side::expires);
            let due = match expires.is_some_and(|expires| expires <= due) {
                true => before,
                false => due,
            };
            Ok(Admission::Postpone { id: holder, due })
        }
        (OnConflict::Reject | OnConflict::Keep | OnConflict::Replace | OnConflict::Debounce, _) => {
            Err(Rejected::Duplicate {
                holder,
                sameness: Sameness::Unique,
                is_kept: lock.on_conflict == OnConflict::Keep,
            })
        }
    }
}

/// Whether the batch that a wish names is one, or was when the job that is its answer joined it. A wish that names
/// none that ever was is not right in itself, whoever would answer it.
fn names_a_batch(ledger: &Ledger, batch: Option<JobId>, answer: JobId) -> Result<(), Rejected> {
    let joined = ledger.sides.of(answer).side.and_then(|side| side.batch);
    match batch.filter(|batch| ledger.batch(*batch).is_none()) {
        Some(unknown) if joined != Some(unknown) => Err(Rejected::NoSuchBatch(unknown)),
        Some(_) | None => Ok(()),
    }
}

/// Whether a batch takes in a job from outside.
fn joins(ledger: &Ledger, batch: JobId) -> Result<(), Rejected> {
    let state = ledger.batch(batch).ok_or(Rejected::NoSuchBatch(batch))?;
    if state.is_open() {
        return Ok(());
    }
    Err(Rejected::BatchClosed {
        batch,
        is_cancelled: state.cancelled.is_some(),
    })
}

/// Whether a queue takes a job in, when so many leave it for that one. The jobs of a handler are part of its outcome, and
/// not asked about.
fn takes_in(ledger: &Ledger, queue: &str, leave: u64) -> Result<(), Rejected> {
    let queues = &ledger.index.queues;
    if ledger.steering(queue).mode == QueueMode::Draining {
        let queue = queue.into();
        return Err(Rejected::QueueDraining { queue });
    }
    if let Some(max) = queues.rules().of(queue).max_depth {
        let depth = ledger.depth(queue);
        if depth.saturating_sub(leave) >= max {
            let queue = queue.into();
            return Err(Rejected::QueueFull { queue, depth, max });
        }
    }
    Ok(())
}
