//! The beginning of a record: all that the ledger needs of it, at fixed places where that can be, so
//! that a start need not look at payloads, results and logs, which are most of a log's bytes.
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 1 | what kind of fact it is, 1 to 27 |
//! | 1 | 1 | 1 when the place of the same job's record before it follows, else 0 |
//! | 2 | 4 | length of the head, from byte 6 on |
//! | 6 | | the head: the place before, if any, and the fields of the fact |
//! | | | the rest, which the ledger does without |
//!
//! A field may be added at the end of a head; who does not know it passes over it.

mod log;

use alloc::vec::Vec;

use log::{put_of_log, take_of_log};

use super::{
    fields::{Fields, Lost},
    parts::{
        UNKNOWN, asked, carried, ended, follows, jobs, put_asked, put_buried, put_carried,
        put_ended, put_follows, put_jobs, put_sole_job, sole_job,
    },
};
use crate::{
    cancel::Asked,
    fact::{Accepted, Ended, Fact, Follows, Slim},
    id::{JobId, Token},
    time::UnixMs,
};

/// Bytes before the head.
const PREAMBLE: usize = 6;
/// Kinds of facts. A number is never given to another kind.
const ENQUEUED: u8 = 1;
const LEASED: u8 = 2;
const CHECKPOINTED: u8 = 3;
const SETTLED: u8 = 4;
const LOST: u8 = 5;
const REQUEUED: u8 = 6;
const HASTENED: u8 = 7;
const DELETED: u8 = 8;
const CARRIED: u8 = 9;
const PRUNED: u8 = 10;
const TRIMMED: u8 = 11;
const MERGED: u8 = 12;
const CANCEL_ASKED: u8 = 13;
const CANCELLED: u8 = 14;
const CRON: u8 = 15;
const CRON_FORGOTTEN: u8 = 16;
const POSTPONED: u8 = 20;
const EXPIRED: u8 = 21;
const STEERED: u8 = 22;
const UNLOCKED: u8 = 23;
const DROPPED: u8 = 24;
const BATCH: u8 = 25;
const BATCH_FORGOTTEN: u8 = 26;
const REPLACED: u8 = 27;

/// Append a record's head.
pub(super) fn put(slim: &Slim<'_>, out: &mut Vec<u8>) -> Result<(), Lost> {
    let start = out.len();
    out.extend_from_slice(&[
        kind(&slim.fact),
        u8::from(slim.previous.is_some()),
        0,
        0,
        0,
        0,
    ]);
    if let Some(previous) = slim.previous {
        out.extend_from_slice(&previous.0.to_le_bytes());
    }
    put_fact(&slim.fact, out)?;
    let length = out.len() - start - PREAMBLE;
    let length = u32::try_from(length).map_err(|_| Lost("a head of more than 4 GiB"))?;
    out[start + 2..start + PREAMBLE].copy_from_slice(&length.to_le_bytes());
    Ok(())
}

/// The bytes of a record's head, by what they say.
#[inline]
pub(super) fn extent(bytes: &[u8]) -> &[u8] {
    let mut record = Fields::new(bytes.get(2..).unwrap_or(&[]));
    let length = record.u32().map_or(0, |length| length as usize);
    bytes.get(..PREAMBLE + length).unwrap_or(bytes)
}

/// Hand on what a record's head says, and what comes after it. It is not moved: a fact has room for the largest one, and
/// moving it takes longer than reading most of them.
#[inline]
pub(super) fn with<T>(bytes: &[u8], to: impl FnOnce(&Slim<'_>, &[u8]) -> T) -> Result<T, Lost> {
    let mut record = Fields::new(bytes);
    let kind = record.u8()?;
    let has_previous = record.flag()?;
    let length = record.u32()?;
    let mut head = Fields::new(record.bytes(length as usize)?);
    let previous = match has_previous {
        true => Some(head.place()?),
        false => None,
    };
    let rest = bytes.get(PREAMBLE + length as usize..).unwrap_or(&[]);
    let fact = match kind {
        ENQUEUED => Fact::Enqueued(sole_job(&mut head)?),
        SETTLED => settled(&mut head)?,
        CARRIED => Fact::Carried(carried(&mut head)?),
        REPLACED => Fact::Replaced {
            id: head.id()?,
            job: sole_job(&mut head)?,
        },
        CRON | CRON_FORGOTTEN | BATCH | BATCH_FORGOTTEN | PRUNED | TRIMMED | MERGED | STEERED => {
            take_of_log(kind, &mut head)?
        }
        _ => step(kind, &mut head)?,
    };
    Ok(to(&Slim { previous, fact }, rest))
}

/// The head of a record that accepts a job, when no record of it comes before. `None` for every other, and for what is no
/// record.
#[inline]
pub(super) fn of_first(bytes: &[u8]) -> Option<&[u8]> {
    let mut record = Fields::new(bytes);
    if record.u8() != Ok(ENQUEUED) || record.flag() != Ok(false) {
        return None;
    }
    let length = record.u32().ok()?;
    record.bytes(length as usize).ok()
}

fn kind(fact: &Fact<'_>) -> u8 {
    match fact {
        Fact::Enqueued(_) => ENQUEUED,
        Fact::Leased { .. } => LEASED,
        Fact::Checkpointed { .. } => CHECKPOINTED,
        Fact::Settled { .. } => SETTLED,
        Fact::Lost { .. } => LOST,
        Fact::Requeued { .. } => REQUEUED,
        Fact::Hastened { .. } => HASTENED,
        Fact::Deleted { .. } => DELETED,
        Fact::Carried(_) => CARRIED,
        Fact::Cron { .. } => CRON,
        Fact::CronForgotten { .. } => CRON_FORGOTTEN,
        Fact::Batch { .. } => BATCH,
        Fact::BatchForgotten { .. } => BATCH_FORGOTTEN,
        Fact::Pruned { .. } => PRUNED,
        Fact::Trimmed { .. } => TRIMMED,
        Fact::Merged { .. } => MERGED,
        Fact::CancelAsked { .. } => CANCEL_ASKED,
        Fact::Cancelled { .. } => CANCELLED,
        Fact::Postponed { .. } => POSTPONED,
        Fact::Expired { .. } => EXPIRED,
        Fact::Dropped { .. } => DROPPED,
        Fact::Replaced { .. } => REPLACED,
        Fact::Steered { .. } => STEERED,
        Fact::Unlocked { .. } => UNLOCKED,
    }
}

fn put_fact(fact: &Fact<'_>, out: &mut Vec<u8>) -> Result<(), Lost> {
    let id = |out: &mut Vec<u8>, id: JobId| out.extend_from_slice(&id.0.to_le_bytes());
    match *fact {
        Fact::Enqueued(ref job) => put_sole_job(job, out)?,
        Fact::Carried(ref anew) => put_carried(anew, out)?,
        Fact::Replaced { id: old, ref job } => {
            id(out, old);
            put_sole_job(job, out)?;
        }
        Fact::Leased { id: job, token, at } | Fact::Checkpointed { id: job, token, at } => {
            id(out, job);
            put_numbers(out, &[token.0, at.0]);
        }
        Fact::Settled {
            id: job,
            ref attempt,
            follows,
            ref children,
        } => {
            id(out, job);
            put_settled(attempt, follows, children, out)?;
        }
        Fact::Lost {
            id: job,
            token,
            at,
            buried,
        } => {
            id(out, job);
            put_numbers(out, &[token.0, at.0]);
            put_buried(buried.as_ref(), out)?;
        }
        Fact::Requeued {
            id: job,
            at,
            from_dead,
        } => {
            id(out, job);
            put_numbers(out, &[at.0]);
            out.push(u8::from(from_dead));
        }
        Fact::Hastened { id, at }
        | Fact::Deleted { id, at }
        | Fact::Expired { id, at }
        | Fact::Dropped { id, at }
        | Fact::Unlocked { id, at } => put_step(id, None, at, out),
        Fact::Postponed { id, at, due } => {
            put_step(id, None, at, out);
            put_numbers(out, &[due.0]);
        }
        Fact::CancelAsked { id, token, at, how } => put_off(id, Some(token), at, how, out),
        Fact::Cancelled { id, at, how } => put_off(id, None, at, how, out),
        Fact::Steered { .. }
        | Fact::Cron { .. }
        | Fact::CronForgotten { .. }
        | Fact::Batch { .. }
        | Fact::BatchForgotten { .. }
        | Fact::Pruned { .. }
        | Fact::Trimmed { .. }
        | Fact::Merged { .. } => put_of_log(fact, out)?,
    }
    Ok(())
}

fn put_numbers(out: &mut Vec<u8>, numbers: &[u64]) {
    out.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

fn put_step(id: JobId, token: Option<Token>, at: UnixMs, out: &mut Vec<u8>) {
    out.extend_from_slice(&id.0.to_le_bytes());
    out.extend(token.into_iter().flat_map(|token| token.0.to_le_bytes()));
    out.extend_from_slice(&at.0.to_le_bytes());
}

fn put_off(id: JobId, token: Option<Token>, at: UnixMs, how: Asked, out: &mut Vec<u8>) {
    put_step(id, token, at, out);
    put_asked(Some(how), out);
}

/// The facts that are small.
fn step<'a>(kind: u8, head: &mut Fields<'a>) -> Result<Fact<'a>, Lost> {
    if !matches!(
        kind,
        LEASED
            | CHECKPOINTED
            | LOST
            | REQUEUED
            | HASTENED
            | DELETED
            | CANCEL_ASKED
            | CANCELLED
            | POSTPONED
            | EXPIRED
            | UNLOCKED
            | DROPPED
    ) {
        return Err(UNKNOWN);
    }
    let id = head.id()?;
    Ok(match kind {
        LEASED => Fact::Leased {
            id,
            token: head.token()?,
            at: head.instant()?,
        },
        CHECKPOINTED => Fact::Checkpointed {
            id,
            token: head.token()?,
            at: head.instant()?,
        },
        LOST => Fact::Lost {
            id,
            token: head.token()?,
            at: head.instant()?,
            buried: head.maybe(ended)?,
        },
        REQUEUED => Fact::Requeued {
            id,
            at: head.instant()?,
            from_dead: head.flag()?,
        },
        CANCEL_ASKED => Fact::CancelAsked {
            id,
            token: head.token()?,
            at: head.instant()?,
            how: asked(head)?.ok_or(UNKNOWN)?,
        },
        CANCELLED => Fact::Cancelled {
            id,
            at: head.instant()?,
            how: asked(head)?.ok_or(UNKNOWN)?,
        },
        _ => short_step(kind, id, head.instant()?, head)?,
    })
}

/// The facts that say little more than when.
fn short_step<'a>(
    kind: u8,
    id: JobId,
    at: UnixMs,
    head: &mut Fields<'a>,
) -> Result<Fact<'a>, Lost> {
    Ok(match kind {
        HASTENED => Fact::Hastened { id, at },
        EXPIRED => Fact::Expired { id, at },
        DROPPED => Fact::Dropped { id, at },
        UNLOCKED => Fact::Unlocked { id, at },
        POSTPONED => {
            let due = head.instant()?;
            Fact::Postponed { id, at, due }
        }
        _ => Fact::Deleted { id, at },
    })
}

fn settled<'a>(head: &mut Fields<'a>) -> Result<Fact<'a>, Lost> {
    let (id, attempt, follows) = (head.id()?, ended(head)?, follows(head)?);
    let children = jobs(head)?;
    Ok(Fact::Settled {
        id,
        attempt,
        follows,
        children,
    })
}

fn put_settled(
    attempt: &Ended,
    follows: Follows,
    children: &[Accepted<'_>],
    out: &mut Vec<u8>,
) -> Result<(), Lost> {
    put_ended(attempt, out)?;
    put_follows(follows, out);
    put_jobs(children, out)
}
