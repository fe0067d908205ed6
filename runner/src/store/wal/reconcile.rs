//! Finishing what a crash cut in half: burials, requeues, deletions, and the leases of the dead.

use std::collections::HashSet;

use sandhog_model::{Command, Event, FailureKind, JobId, Letter, Now, Status, Token, Verdict};

use super::room::Room;
use super::writer::{Unstaged, WithLetter, Writer};

/// What a letter means, given what the log says of its job.
enum Meaning {
    /// The log says the same.
    Agreed,
    /// The letter was written, the log's record was not: a burial to finish.
    Burial,
    /// The log took the job out of the dead letters, the letter was not removed.
    Gone,
    /// The log does not know the job: the letter was imported and the record was not written, or it
    /// is another log's. It becomes a dead job of this one.
    Unknown,
}

/// Make log and dead letters say the same, then take back every lease still held, in one synced
/// batch.
pub(super) fn reconcile(
    writer: &mut Writer,
    forgotten: &HashSet<JobId>,
    now: Now,
) -> Result<(), Unstaged> {
    let mut gone = Vec::new();
    for (id, token) in writer.dead.tokens() {
        match meaning(writer, forgotten, id, token) {
            Meaning::Agreed => {}
            Meaning::Burial => finish_burial(writer, id, now)?,
            Meaning::Gone => gone.push(id),
            Meaning::Unknown => adopt(writer, id, now)?,
        }
    }
    let failed = |error: crate::disk::DiskError| Unstaged::Poison(error.to_string());
    // Before any letter is written: the latest entry of an id wins.
    writer.dead.remove(&gone).map_err(failed)?;
    write_missing_letters(writer)?;
    for (id, token) in writer.ledger.leases() {
        match writer.carry_out(Command::Lose { id, token }, now) {
            Ok(_) => {}
            Err(Unstaged::Refused(error)) if !is_full(&error) => {
                tracing::warn!(%id, %error, "a lease of the last run cannot be taken back");
            }
            Err(unstaged) => return Err(unstaged),
        }
    }
    writer.commit(now).map_err(failed)?;
    // Whatever the durability: the run before must not come back to life.
    writer.sync().map_err(failed)
}

fn is_full(error: &crate::store::StoreError) -> bool {
    matches!(error, crate::store::StoreError::Full { .. })
}

fn meaning(writer: &Writer, forgotten: &HashSet<JobId>, id: JobId, token: Token) -> Meaning {
    let Some(entry) = writer.ledger.get(id) else {
        return if forgotten.contains(&id) {
            Meaning::Gone
        } else {
            Meaning::Unknown
        };
    };
    match entry.status {
        Status::Running { .. } if entry.token == token => Meaning::Burial,
        Status::Dead(_) if entry.token == token => Meaning::Agreed,
        // The lease record itself may have been lost with the power, as may the burial's; then the
        // job waits or runs with another token, and nobody was told that it died.
        Status::Waiting { .. }
        | Status::Running { .. }
        | Status::Completed(_)
        | Status::Cancelled(_)
        | Status::Discarded(_)
        | Status::Dead(_)
        | Status::Expired(_) => Meaning::Gone,
    }
}

/// Append the record that a letter was written for.
fn finish_burial(writer: &mut Writer, id: JobId, now: Now) -> Result<(), Unstaged> {
    let letter = match writer.dead.letter(id) {
        Ok(Some(letter)) => letter,
        // It was sound when the store was opened a moment ago.
        Ok(None) => return Ok(()),
        Err(error) => return Err(Unstaged::Refused(error)),
    };
    if let Some(event) = burial(letter) {
        tracing::info!(%id, "finishing a burial that the last stop cut in half");
        writer.stage(event, WithLetter::IsThere, now)?;
    }
    Ok(())
}

/// Take the job of a letter into the log. What cannot be taken in is kept as it is.
fn adopt(writer: &mut Writer, id: JobId, now: Now) -> Result<(), Unstaged> {
    let taken = match writer.dead.letter(id) {
        Ok(Some(letter)) => writer.take_in(letter, now, Room::Outcome),
        Ok(None) => return Ok(()),
        Err(error) => Err(Unstaged::Refused(error)),
    };
    match taken {
        Ok(()) => tracing::info!(%id, "a dead letter's job was not in the log: it is now"),
        Err(Unstaged::Refused(error)) => {
            tracing::warn!(%id, %error, "a dead letter's job is not in this log; it is kept");
        }
        Err(poison @ Unstaged::Poison(_)) => return Err(poison),
    }
    Ok(())
}

fn burial(letter: Letter) -> Option<Event> {
    let (id, token, died_at) = (letter.job.id, letter.token, letter.died_at);
    let attempt = Box::new(letter.attempts.into_iter().next_back()?);
    let lost = attempt
        .failure
        .as_ref()
        .is_some_and(|failure| failure.kind == FailureKind::Lost);
    Some(if lost {
        Event::Lost {
            id,
            token,
            at: died_at,
            buried: Some(attempt),
        }
    } else {
        Event::Settled {
            id,
            attempt,
            verdict: Verdict::Dead,
            children: Vec::new(),
        }
    })
}

/// A dead job without a letter: its letter was damaged, or power took it in a setting that does not
/// sync. The log still has all of it.
fn write_missing_letters(writer: &mut Writer) -> Result<(), Unstaged> {
    let missing: Vec<JobId> = writer
        .ledger
        .seen(None)
        .filter(|(id, seen)| {
            matches!(seen.status(), Status::Dead(_)) && writer.dead.token(*id) != Some(seen.token())
        })
        .map(|(id, _)| id)
        .collect();
    for id in missing {
        match writer.letter_from_log(id) {
            Ok(Some(letter)) => {
                tracing::warn!(%id, "a dead letter was missing and is written again from the log");
                writer.bury(&letter)?;
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(%id, %error, "a missing dead letter cannot be rebuilt"),
        }
    }
    Ok(())
}
