//! Schedules: one job for a slot at most, whoever asks how often.

use alloc::{boxed::Box, string::String, vec, vec::Vec};

use crate::{
    cancel::{Asked, Cancellation},
    command::Rejected,
    cron::{CronChange, CronState, CronWish, DueSlot, Overlap, Paused, Span},
    event::Event,
    id::JobId,
    job::Job,
    ledger::{Ledger, Status},
    limits::CRON_ENTRY_BYTES,
    time::{Now, UnixMs},
};

use super::amend::{bounded, cancelled, said_by};

pub(super) fn cron(ledger: &Ledger, wish: CronWish, now: Now) -> Result<Vec<Event>, Rejected> {
    let CronWish { name, change } = wish;
    let known = ledger.cron(&name).cloned();
    let changed = |state: CronState, job: Option<Box<Job>>| Event::Cron {
        name: name.clone(),
        at: now.wall,
        state: Box::new(state),
        job,
    };
    let missing = || Rejected::NoSuchCron(name.clone());
    Ok(match change {
        CronChange::Begin if known.is_some() => Vec::new(),
        CronChange::Begin => vec![changed(begun(now), None)],
        CronChange::Define(entry) => {
            let state = defined(known, entry, now)?;
            vec![changed(state, None)]
        }
        CronChange::Forget => {
            known.ok_or_else(missing)?;
            let at = now.wall;
            vec![Event::CronForgotten { name, at }]
        }
        CronChange::Slot(due) => {
            let state = known.ok_or_else(missing)?;
            let (mut events, state, job) = slot(ledger, &name, state, *due, now)?;
            events.push(changed(state, job));
            events
        }
        CronChange::Pass(span) => {
            let mut state = known.ok_or_else(missing)?;
            state.done.add(span);
            vec![changed(state, None)]
        }
        CronChange::Release { slot, job } => {
            let mut state = known.ok_or_else(missing)?;
            if state.waiting != Some(slot) || !has_ended(ledger, state.latest) {
                return Err(Rejected::SlotDone { name, slot });
            }
            ledger.may_accept(job.id)?;
            (state.waiting, state.latest) = (None, Some(job.id));
            vec![changed(state, Some(job))]
        }
        CronChange::Trigger(job) => {
            let mut state = known.ok_or_else(missing)?;
            ledger.may_accept(job.id)?;
            state.latest = Some(job.id);
            vec![changed(state, Some(job))]
        }
        CronChange::Pause { by, reason } => {
            let mut state = known.ok_or_else(missing)?;
            if state.paused.is_some() {
                return Ok(Vec::new());
            }
            state.paused = Some(paused(by, reason, now)?);
            vec![changed(state, None)]
        }
        CronChange::Resume => {
            let mut state = known.ok_or_else(missing)?;
            let Some(paused) = state.paused.take() else {
                return Ok(Vec::new());
            };
            // What would have come meanwhile is left out.
            let (after, upto) = (paused.at, now.wall);
            state.done.add(Span { after, upto });
            vec![changed(state, None)]
        }
    })
}

/// A schedule that was not known: nothing before this instant is made good.
fn begun(now: Now) -> CronState {
    let mut state = CronState::default();
    let after = UnixMs(now.wall.0.saturating_sub(1));
    let upto = now.wall;
    state.done.add(Span { after, upto });
    state
}

/// A schedule that is what an entry says.
fn defined(known: Option<CronState>, entry: String, now: Now) -> Result<CronState, Rejected> {
    bounded("a schedule's entry", entry.len(), CRON_ENTRY_BYTES)?;
    let mut state = known.unwrap_or_else(|| begun(now));
    if state.entry.as_ref() != Some(&entry) {
        // Slots that it had not before are none that were missed.
        let (after, upto) = (UnixMs(0), now.wall);
        state.done.add(Span { after, upto });
    }
    state.entry = Some(entry);
    Ok(state)
}

fn paused(by: String, reason: Option<String>, now: Now) -> Result<Paused, Rejected> {
    said_by(&by, reason.as_deref())?;
    let at = now.wall;
    Ok(Paused { at, by, reason })
}

/// What a slot comes to: what happens to the job before, the schedule afterwards, and the slot's job.
type Turn = (Vec<Event>, CronState, Option<Box<Job>>);

/// A slot with its job, or without one, because an earlier one has not ended.
fn slot(
    ledger: &Ledger,
    name: &str,
    mut state: CronState,
    due: DueSlot,
    now: Now,
) -> Result<Turn, Rejected> {
    if state.done.around(due.at).is_some() || state.paused.is_some() {
        let (name, slot) = (name.into(), due.at);
        return Err(Rejected::SlotDone { name, slot });
    }
    ledger.may_accept(due.job.id)?;
    state.done.add(due.done);
    let mut events = Vec::new();
    let running = state.latest.filter(|_| !has_ended(ledger, state.latest));
    let job = match (running, due.overlap) {
        (None, _) if state.waiting.is_none() => Some(due.job),
        (_, Overlap::Allow) => Some(due.job),
        (Some(other), Overlap::CancelOther { by, reason }) => {
            let cancel = Cancellation {
                how: Asked::Cancel,
                at: now.wall,
                by,
                reason,
            };
            events = cancelled(ledger, other, cancel, now)?;
            Some(due.job)
        }
        (None, Overlap::CancelOther { .. }) => Some(due.job),
        (_, Overlap::Skip) => None,
        (_, Overlap::BufferOne) => {
            if state.waiting.is_none() {
                (state.waiting, state.slot) = (Some(due.at), Some(due.at));
            }
            None
        }
    };
    if let Some(job) = &job {
        (state.slot, state.latest) = (Some(due.at), Some(job.id));
    }
    Ok((events, state, job.map(Box::new)))
}

/// Whether a job came to its end, or was forgotten since.
fn has_ended(ledger: &Ledger, id: Option<JobId>) -> bool {
    let status = id
        .and_then(|id| ledger.slot(id))
        .map(crate::slot::Slot::status);
    match status {
        Some(Status::Waiting { .. } | Status::Running { .. }) => false,
        Some(
            Status::Completed(_)
            | Status::Cancelled(_)
            | Status::Discarded(_)
            | Status::Dead(_)
            | Status::Expired(_),
        )
        | None => true,
    }
}
