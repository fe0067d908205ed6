//! A record read only as far as the ledger needs it: a start goes over every record of a log, and
//! payloads, results and logs are most of their bytes.
//!
//! Fields are named here in the order of [`Event`](crate::Event)'s structs. A field added there is
//! one more here; the record tests compare both readings.

use alloc::{borrow::Cow, string::ToString, vec::Vec};

use super::{
    record::{BadRecord, DEPTH},
    walk::{Lost, Walk},
};
use crate::{
    event::RecordAt,
    fact::{Accepted, Anew, Ended, Fact, Follows, Slim},
    id::{JobId, Token},
    ledger::Status,
    limits::BODY_BYTES,
    outcome::FailureKind,
    retry::RetryPolicy,
    time::UnixMs,
};

/// Depth left for what is passed over below a field.
const BELOW: usize = DEPTH - 4;

const UNKNOWN: Lost = Lost("a variant that is not known");

/// What the ledger needs of the record that `bytes` begin with.
///
/// # Errors
/// They are no record. Texts that are passed over are not looked at, so less is found wrong than
/// by [`decode_record`](super::decode_record).
pub fn decode_slim(bytes: &[u8]) -> Result<Slim<'_>, BadRecord> {
    if bytes.len() > BODY_BYTES {
        let length = bytes.len();
        return Err(BadRecord::TooLong { length });
    }
    record(&mut Walk::new(bytes)).map_err(|Lost(why)| BadRecord::Unreadable {
        why: why.to_string(),
    })
}

fn record<'a>(walk: &mut Walk<'a>) -> Result<Slim<'a>, Lost> {
    walk.fields(2)?;
    let previous = walk.maybe(place)?;
    let (name, true) = walk.variant()? else {
        return Err(UNKNOWN);
    };
    let fact = match name {
        b"Enqueued" => Fact::Enqueued(job(walk)?),
        b"Settled" => settled(walk)?,
        b"Carried" => Fact::Carried(carried(walk)?),
        b"Pruned" => pruned(walk)?,
        b"Merged" => {
            walk.fields(3)?;
            let log = walk.text()?;
            pass(walk, 1)?;
            let last_token = token(walk)?;
            Fact::Merged { log, last_token }
        }
        b"Trimmed" => {
            walk.fields(4)?;
            let before = place(walk)?;
            pass(walk, 1)?;
            Fact::Trimmed {
                before,
                last_id: walk.maybe(id)?,
                last_token: token(walk)?,
            }
        }
        _ => step(walk, name)?,
    };
    Ok(Slim { previous, fact })
}

/// The facts that are small.
fn step<'a>(walk: &mut Walk<'a>, name: &[u8]) -> Result<Fact<'a>, Lost> {
    let fields = match name {
        b"Checkpointed" | b"Lost" => 4,
        b"Leased" | b"Requeued" => 3,
        b"Hastened" | b"Deleted" => 2,
        _ => return Err(UNKNOWN),
    };
    walk.fields(fields)?;
    let id = id(walk)?;
    Ok(match name {
        b"Leased" => Fact::Leased {
            id,
            token: token(walk)?,
            at: instant(walk)?,
        },
        b"Checkpointed" => {
            let token = token(walk)?;
            pass(walk, 2)?;
            Fact::Checkpointed { id, token }
        }
        b"Lost" => Fact::Lost {
            id,
            token: token(walk)?,
            at: instant(walk)?,
            buried: walk.maybe(attempt)?,
        },
        b"Requeued" => Fact::Requeued {
            id,
            at: instant(walk)?,
            from_dead: walk.truth()?,
        },
        b"Hastened" => Fact::Hastened {
            id,
            at: instant(walk)?,
        },
        _ => {
            pass(walk, 1)?;
            Fact::Deleted { id }
        }
    })
}

fn settled<'a>(walk: &mut Walk<'a>) -> Result<Fact<'a>, Lost> {
    walk.fields(4)?;
    let id = id(walk)?;
    let attempt = attempt(walk)?;
    let follows = verdict(walk)?;
    let mut children = Vec::new();
    for _ in 0..walk.list()? {
        children.push(job(walk)?);
    }
    Ok(Fact::Settled {
        id,
        attempt,
        follows,
        children,
    })
}

fn pruned<'a>(walk: &mut Walk<'a>) -> Result<Fact<'a>, Lost> {
    walk.fields(2)?;
    let mut ids = Vec::new();
    for _ in 0..walk.list()? {
        ids.push(id(walk)?);
    }
    pass(walk, 1)?;
    Ok(Fact::Pruned {
        ids: Cow::Owned(ids),
    })
}

fn carried<'a>(walk: &mut Walk<'a>) -> Result<Anew<'a>, Lost> {
    walk.fields(12)?;
    let job = job(walk)?;
    let at = instant(walk)?;
    let status = status(walk)?;
    let (attempts, losses) = (small(walk)?, small(walk)?);
    let token = token(walk)?;
    let failure = walk.maybe(failure_kind)?;
    // History, output, reason, children.
    pass(walk, 4)?;
    let checkpoint = walk.maybe(Walk::bytes)?.is_some();
    Ok(Anew {
        job,
        at,
        status,
        attempts,
        losses,
        token,
        failure,
        checkpoint,
    })
}

fn job<'a>(walk: &mut Walk<'a>) -> Result<Accepted<'a>, Lost> {
    walk.fields(12)?;
    let id = id(walk)?;
    let (kind, queue) = (walk.text()?, walk.text()?);
    let priority = walk.int()?;
    let priority = i16::try_from(priority).map_err(|_| Lost("a priority out of its range"))?;
    // Payload, content type, headers.
    pass(walk, 3)?;
    let (enqueued_at, due) = (instant(walk)?, instant(walk)?);
    walk.fields(3)?;
    let retry = RetryPolicy {
        max_attempts: walk.maybe(small)?,
        ..RetryPolicy::default()
    };
    // Trap attempts and backoff; time-out and parent.
    pass(walk, 2)?;
    pass(walk, 2)?;
    Ok(Accepted {
        id,
        kind,
        queue,
        priority,
        enqueued_at,
        due,
        max_attempts: retry.max_attempts(),
    })
}

fn attempt(walk: &mut Walk<'_>) -> Result<Ended, Lost> {
    walk.fields(11)?;
    let number = small(walk)?;
    let token = token(walk)?;
    pass(walk, 1)?;
    let ended_at = instant(walk)?;
    // Duration, digest, plugin, peak memory.
    pass(walk, 4)?;
    let failure = walk.maybe(|walk| {
        walk.fields(7)?;
        let kind = failure_kind(walk)?;
        pass(walk, 6)?;
        Ok(kind)
    })?;
    // Logs and dropped lines.
    pass(walk, 2)?;
    Ok(Ended {
        number,
        token,
        ended_at,
        failure,
    })
}

fn verdict(walk: &mut Walk<'_>) -> Result<Follows, Lost> {
    let due = |walk: &mut Walk<'_>| {
        walk.fields(1)?;
        instant(walk)
    };
    Ok(match walk.variant()? {
        (b"Completed", true) => {
            pass(walk, 1)?;
            Follows::Completed
        }
        (b"Retry", true) => Follows::Retry { due: due(walk)? },
        (b"Snoozed", true) => Follows::Snoozed { due: due(walk)? },
        (b"PutBack", true) => {
            walk.fields(2)?;
            pass(walk, 1)?;
            let due = instant(walk)?;
            Follows::PutBack { due }
        }
        (b"Discarded", true) => {
            pass(walk, 1)?;
            Follows::Discarded
        }
        (b"Dead", false) => Follows::Dead,
        _ => return Err(UNKNOWN),
    })
}

fn status(walk: &mut Walk<'_>) -> Result<Status, Lost> {
    let (name, true) = walk.variant()? else {
        return Err(UNKNOWN);
    };
    Ok(match name {
        b"Waiting" => {
            walk.fields(2)?;
            Status::Waiting {
                due: instant(walk)?,
                backoff: walk.truth()?,
            }
        }
        b"Running" => {
            walk.fields(1)?;
            let since = instant(walk)?;
            Status::Running { since }
        }
        b"Completed" => Status::Completed(instant(walk)?),
        b"Cancelled" => Status::Cancelled(instant(walk)?),
        b"Discarded" => Status::Discarded(instant(walk)?),
        b"Dead" => Status::Dead(instant(walk)?),
        _ => return Err(UNKNOWN),
    })
}

fn failure_kind(walk: &mut Walk<'_>) -> Result<FailureKind, Lost> {
    FailureKind::named(walk.text()?).ok_or(UNKNOWN)
}

fn id(walk: &mut Walk<'_>) -> Result<JobId, Lost> {
    let bytes = walk.bytes()?.try_into();
    let bytes = bytes.map_err(|_| Lost("an id that has not 16 bytes"))?;
    Ok(JobId(u128::from_be_bytes(bytes)))
}

fn token(walk: &mut Walk<'_>) -> Result<Token, Lost> {
    walk.uint().map(Token)
}

fn instant(walk: &mut Walk<'_>) -> Result<UnixMs, Lost> {
    walk.uint().map(UnixMs)
}

fn place(walk: &mut Walk<'_>) -> Result<RecordAt, Lost> {
    walk.uint().map(RecordAt)
}

fn small(walk: &mut Walk<'_>) -> Result<u32, Lost> {
    u32::try_from(walk.uint()?).map_err(|_| Lost("a number too large"))
}

fn pass(walk: &mut Walk<'_>, values: usize) -> Result<(), Lost> {
    for _ in 0..values {
        walk.skip(BELOW)?;
    }
    Ok(())
}
