//! Batches: opened, sealed, called off, and what follows when all of their jobs ended.

use alloc::{boxed::Box, format, vec, vec::Vec};

use crate::{
    batch::{BatchChange, BatchState, BatchWish, Callback},
    cancel::{Asked, Cancellation},
    command::{Rejected, Retention},
    event::Event,
    id::JobId,
    ledger::Ledger,
    limits::{BATCH_BYTES, BATCH_NAME_BYTES},
    time::Now,
};

use super::{
    amend::{bounded, said_by},
    prune::is_spared,
};

pub(super) fn batch(ledger: &Ledger, wish: BatchWish, now: Now) -> Result<Vec<Event>, Rejected> {
    let BatchWish { id, change } = wish;
    let known = ledger.batch(id);
    let changed = |state: BatchState| {
        vec![Event::Batch {
            id,
            at: now.wall,
            state: Box::new(state),
            jobs: Vec::new(),
        }]
    };
    Ok(match change {
        BatchChange::Open {
            name,
            success,
            complete,
        } => {
            let callbacks = success.iter().chain(&complete);
            let ids = callbacks.map(|callback| callback.id).chain([id]);
            if let Some(taken) = ids.into_iter().find(|id| is_taken(ledger, *id)) {
                return Err(Rejected::IdTaken(taken));
            }
            let length = name.as_ref().map_or(0, |name| name.len());
            bounded("the name", length, BATCH_NAME_BYTES)?;
            let state = BatchState {
                name,
                opened_at: now.wall,
                success,
                complete,
                ..BatchState::default()
            };
            state.callbacks().try_for_each(fits)?;
            changed(state)
        }
        BatchChange::Seal => {
            let mut state = known.ok_or(Rejected::NoSuchBatch(id))?.clone();
            if state.cancelled.is_some() || has_ended(ledger, id, &state) {
                return Err(over(id, &state, "seal"));
            }
            if !state.is_open() {
                return Ok(Vec::new());
            }
            state.sealed_at = Some(now.wall);
            changed(state)
        }
        BatchChange::Cancel { by, reason } => {
            said_by(&by, reason.as_deref())?;
            let mut state = known.ok_or(Rejected::NoSuchBatch(id))?.clone();
            if state.cancelled.is_some() {
                return Ok(Vec::new());
            }
            if has_ended(ledger, id, &state) {
                return Err(over(id, &state, "cancel"));
            }
            state.sealed_at.get_or_insert(now.wall);
            state.cancelled = Some(Box::new(Cancellation {
                how: Asked::Cancel,
                at: now.wall,
                by,
                reason,
            }));
            changed(state)
        }
    })
}

/// Whether all of its jobs have ended, and that was written down.
fn has_ended(ledger: &Ledger, id: JobId, state: &BatchState) -> bool {
    state.ended_at.is_some() && ledger.batch_count(id).unfinished() == 0
}

fn over(batch: JobId, state: &BatchState, wish: &'static str) -> Rejected {
    let why = match state.cancelled {
        Some(_) => "it was called off, and takes no more jobs in",
        None => "it has ended",
    };
    Rejected::BatchOver { batch, why, wish }
}

fn is_taken(ledger: &Ledger, id: JobId) -> bool {
    // Jobs may be left of one that was forgotten.
    let is_batch = ledger.batch(id).is_some() || ledger.batch_count(id).total() > 0;
    is_batch || ledger.is_taken(id)
}

/// A callback is kept in memory until it is enqueued, and told again with every change of its batch.
fn fits(callback: &Callback) -> Result<(), Rejected> {
    let bytes = callback.link.payload.as_ref().map_or(0, Vec::len);
    if bytes > BATCH_BYTES {
        return Err(Rejected::Invalid(format!(
            "the payload of what follows the batch has {bytes} bytes: at most {BATCH_BYTES} are allowed"
        )));
    }
    callback
        .link
        .check_alone()
        .map_err(|why| Rejected::Invalid(format!("what follows the batch: {why}")))
}

/// Write down what follows from how batches stand: those that came to an end get the jobs that follow, and of
/// those that were called off, jobs that wait end. At most so many facts.
pub(super) fn tend(ledger: &Ledger, max: usize, now: Now) -> Vec<Event> {
    let batches = &ledger.index.batches;
    let off = batches.doomed().filter_map(|(batch, id)| {
        let mut cancel = ledger.batch(batch)?.cancelled.clone()?;
        cancel.at = now.wall;
        Some(Event::Cancelled { id, cancel })
    });
    let ripe = batches.ripe().filter_map(|id| {
        let mut state = ledger.batch(id)?.clone();
        let jobs = state.ripen(id, ledger.batch_count(id), now.wall);
        Some(Event::Batch {
            id,
            at: now.wall,
            state: Box::new(state),
            jobs: jobs.into_iter().flatten().collect(),
        })
    });
    off.chain(ripe).take(max).collect()
}

/// Batches that are not kept any more, the first that ended first.
pub(super) fn prune(ledger: &Ledger, retention: &Retention, now: Now) -> Vec<Event> {
    let over = ledger.index.batches.over();
    let excess = over.len().saturating_sub(retention.keep);
    let at = now.wall;
    over.earliest_first()
        .enumerate()
        .take_while(|(place, (at, _))| {
            let is_due = *place < excess || *at < retention.ended_before;
            is_due && !is_spared(retention, *at, now)
        })
        .map(|(_, (_, id))| Event::BatchForgotten { id, at })
        .take(retention.max)
        .collect()
}
