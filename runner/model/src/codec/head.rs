//! The beginning of a record: all that the ledger needs of it, at fixed places where that can be, so
//! that a start need not look at payloads, results and logs, which are most of a log's bytes.
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 1 | what kind of fact it is, 1 to 12 |
//! | 1 | 1 | 1 when the place of the same job's record before it follows, else 0 |
//! | 2 | 4 | length of the head, from byte 6 on |
//! | 6 | | the head: the place before, if any, and the fields of the fact |
//! | | | the rest, which the ledger does without |
//!
//! A field may be added at the end of a head; who does not know it passes over it.

use alloc::{borrow::Cow, vec::Vec};

use super::fields::{Fields, Lost, put_count, put_text};
use crate::{
    fact::{Accepted, Anew, Ended, Fact, Follows, Slim},
    id::JobId,
    ledger::Status,
    outcome::FailureKind,
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

/// Bytes of the shortest job: all of its fixed fields and two names of no length.
const SHORTEST_JOB: usize = 40;
const ID_BYTES: usize = 16;

const UNKNOWN: Lost = Lost("a kind that is not known");

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

/// A record's head and what comes after it.
#[inline]
pub(super) fn take(bytes: &[u8]) -> Result<(Slim<'_>, &[u8]), Lost> {
    let mut record = Fields::new(bytes);
    let kind = record.u8()?;
    let has_previous = record.flag()?;
    let length = record.u32()?;
    let mut head = Fields::new(record.bytes(length as usize)?);
    let previous = match has_previous {
        true => Some(head.place()?),
        false => None,
    };
    let fact = match kind {
        ENQUEUED => Fact::Enqueued(job(&mut head)?),
        SETTLED => settled(&mut head)?,
        CARRIED => Fact::Carried(carried(&mut head)?),
        PRUNED => Fact::Pruned {
            ids: Cow::Owned(head.list(ID_BYTES, Fields::id)?),
            at: head.instant()?,
        },
        TRIMMED => Fact::Trimmed {
            before: head.place()?,
            at: head.instant()?,
            last_token: head.token()?,
            last_id: head.maybe(Fields::id)?,
        },
        MERGED => Fact::Merged {
            at: head.instant()?,
            last_token: head.token()?,
            log: head.text()?,
        },
        _ => step(kind, &mut head)?,
    };
    Ok((
        Slim { previous, fact },
        bytes.get(PREAMBLE + length as usize..).unwrap_or(&[]),
    ))
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
        Fact::Pruned { .. } => PRUNED,
        Fact::Trimmed { .. } => TRIMMED,
        Fact::Merged { .. } => MERGED,
    }
}

fn put_fact(fact: &Fact<'_>, out: &mut Vec<u8>) -> Result<(), Lost> {
    let id = |out: &mut Vec<u8>, id: JobId| out.extend_from_slice(&id.0.to_le_bytes());
    let number = |out: &mut Vec<u8>, number: u64| out.extend_from_slice(&number.to_le_bytes());
    match *fact {
        Fact::Enqueued(ref job) => put_job(job, out)?,
        Fact::Leased { id: job, token, at } | Fact::Checkpointed { id: job, token, at } => {
            id(out, job);
            number(out, token.0);
            number(out, at.0);
        }
        Fact::Settled {
            id: job,
            ref attempt,
            follows,
            ref children,
        } => {
            id(out, job);
            put_ended(attempt, out)?;
            put_follows(follows, out);
            put_count(out, children.len())?;
            for child in children {
                put_job(child, out)?;
            }
        }
        Fact::Lost {
            id: job,
            token,
            at,
            ref buried,
        } => {
            id(out, job);
            number(out, token.0);
            number(out, at.0);
            out.push(u8::from(buried.is_some()));
            if let Some(attempt) = buried {
                put_ended(attempt, out)?;
            }
        }
        Fact::Requeued {
            id: job,
            at,
            from_dead,
        } => {
            id(out, job);
            number(out, at.0);
            out.push(u8::from(from_dead));
        }
        Fact::Hastened { id: job, at } | Fact::Deleted { id: job, at } => {
            id(out, job);
            number(out, at.0);
        }
        Fact::Carried(ref anew) => put_carried(anew, out)?,
        Fact::Pruned { ref ids, at } => {
            put_count(out, ids.len())?;
            ids.iter().for_each(|job| id(out, *job));
            number(out, at.0);
        }
        Fact::Trimmed {
            before,
            at,
            last_id,
            last_token,
        } => {
            number(out, before.0);
            number(out, at.0);
            number(out, last_token.0);
            out.push(u8::from(last_id.is_some()));
            last_id.into_iter().for_each(|job| id(out, job));
        }
        Fact::Merged {
            log,
            at,
            last_token,
        } => {
            number(out, at.0);
            number(out, last_token.0);
            put_text(out, log)?;
        }
    }
    Ok(())
}

/// The facts that are small.
fn step<'a>(kind: u8, head: &mut Fields<'a>) -> Result<Fact<'a>, Lost> {
    if !matches!(
        kind,
        LEASED | CHECKPOINTED | LOST | REQUEUED | HASTENED | DELETED
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
        HASTENED => Fact::Hastened {
            id,
            at: head.instant()?,
        },
        _ => Fact::Deleted {
            id,
            at: head.instant()?,
        },
    })
}

fn put_job(job: &Accepted<'_>, out: &mut Vec<u8>) -> Result<(), Lost> {
    let mut fixed = [0; SHORTEST_JOB - 2];
    fixed[..16].copy_from_slice(&job.id.0.to_le_bytes());
    fixed[16..24].copy_from_slice(&job.enqueued_at.0.to_le_bytes());
    fixed[24..32].copy_from_slice(&job.due.0.to_le_bytes());
    fixed[32..34].copy_from_slice(&job.priority.to_le_bytes());
    // No policy allows no attempt, so 0 is free to say that none was named.
    fixed[34..].copy_from_slice(&job.max_attempts.unwrap_or(0).to_le_bytes());
    out.extend_from_slice(&fixed);
    put_text(out, job.kind)?;
    put_text(out, job.queue)
}

#[inline]
fn job<'a>(head: &mut Fields<'a>) -> Result<Accepted<'a>, Lost> {
    Ok(Accepted {
        id: head.id()?,
        enqueued_at: head.instant()?,
        due: head.instant()?,
        priority: head.i16()?,
        max_attempts: Some(head.u32()?).filter(|attempts| *attempts > 0),
        kind: head.text()?,
        queue: head.text()?,
    })
}

fn settled<'a>(head: &mut Fields<'a>) -> Result<Fact<'a>, Lost> {
    Ok(Fact::Settled {
        id: head.id()?,
        attempt: ended(head)?,
        follows: follows(head)?,
        children: head.list(SHORTEST_JOB, job)?,
    })
}

fn put_ended(attempt: &Ended, out: &mut Vec<u8>) -> Result<(), Lost> {
    out.extend_from_slice(&attempt.number.to_le_bytes());
    out.extend_from_slice(&attempt.token.0.to_le_bytes());
    out.extend_from_slice(&attempt.ended_at.0.to_le_bytes());
    put_failure(attempt.failure, out)
}

fn ended(head: &mut Fields<'_>) -> Result<Ended, Lost> {
    Ok(Ended {
        number: head.u32()?,
        token: head.token()?,
        ended_at: head.instant()?,
        failure: failure(head)?,
    })
}

/// A failure is its name, none is a name of no length.
fn put_failure(failure: Option<FailureKind>, out: &mut Vec<u8>) -> Result<(), Lost> {
    put_text(out, failure.map_or("", FailureKind::name))
}

fn failure(head: &mut Fields<'_>) -> Result<Option<FailureKind>, Lost> {
    match head.text()? {
        "" => Ok(None),
        name => FailureKind::named(name).map(Some).ok_or(UNKNOWN),
    }
}

fn put_follows(follows: Follows, out: &mut Vec<u8>) {
    let (kind, due) = match follows {
        Follows::Completed => (1, None),
        Follows::Retry { due } => (2, Some(due)),
        Follows::Snoozed { due } => (3, Some(due)),
        Follows::PutBack { due } => (4, Some(due)),
        Follows::Discarded => (5, None),
        Follows::Dead => (6, None),
    };
    out.push(kind);
    if let Some(due) = due {
        out.extend_from_slice(&due.0.to_le_bytes());
    }
}

fn follows(head: &mut Fields<'_>) -> Result<Follows, Lost> {
    Ok(match head.u8()? {
        1 => Follows::Completed,
        2 => Follows::Retry {
            due: head.instant()?,
        },
        3 => Follows::Snoozed {
            due: head.instant()?,
        },
        4 => Follows::PutBack {
            due: head.instant()?,
        },
        5 => Follows::Discarded,
        6 => Follows::Dead,
        _ => return Err(UNKNOWN),
    })
}

fn put_carried(anew: &Anew<'_>, out: &mut Vec<u8>) -> Result<(), Lost> {
    put_job(&anew.job, out)?;
    out.extend_from_slice(&anew.at.0.to_le_bytes());
    out.push(match anew.status {
        Status::Waiting { backoff: false, .. } => 1,
        Status::Waiting { backoff: true, .. } => 2,
        Status::Running { .. } => 3,
        Status::Completed(_) => 4,
        Status::Cancelled(_) => 5,
        Status::Discarded(_) => 6,
        Status::Dead(_) => 7,
    });
    out.extend_from_slice(&anew.status.at().0.to_le_bytes());
    out.extend_from_slice(&anew.attempts.to_le_bytes());
    out.extend_from_slice(&anew.losses.to_le_bytes());
    out.extend_from_slice(&anew.token.0.to_le_bytes());
    put_failure(anew.failure, out)?;
    out.push(u8::from(anew.checkpoint));
    Ok(())
}

fn carried<'a>(head: &mut Fields<'a>) -> Result<Anew<'a>, Lost> {
    let (job, at) = (job(head)?, head.instant()?);
    let (stage, instant) = (head.u8()?, head.instant()?);
    let due = instant;
    Ok(Anew {
        job,
        at,
        status: match stage {
            1 => Status::Waiting {
                due,
                backoff: false,
            },
            2 => Status::Waiting { due, backoff: true },
            3 => Status::Running { since: instant },
            4 => Status::Completed(instant),
            5 => Status::Cancelled(instant),
            6 => Status::Discarded(instant),
            7 => Status::Dead(instant),
            _ => return Err(UNKNOWN),
        },
        attempts: head.u32()?,
        losses: head.u32()?,
        token: head.token()?,
        failure: failure(head)?,
        checkpoint: head.flag()?,
    })
}
