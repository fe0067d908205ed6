//! What heads are made of: a job, an attempt's end, and what follows from it.

use alloc::vec::Vec;
use core::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use super::{
    fields::{Fields, Lost, put_count, put_text},
    record::read,
    terms::{put_extras, put_terms, put_terms_of, take_extras, take_terms, take_terms_of},
};
use crate::{
    cancel::Asked,
    fact::{Accepted, Anew, Ended, Follows, SlimTerms},
    id::JobId,
    ledger::Status,
    outcome::FailureKind,
    time::UnixMs,
};

/// Bytes of the shortest job: all of its fixed fields and two names of no length.
const SHORTEST_JOB: usize = 40;

pub(super) const UNKNOWN: Lost = Lost("a kind that is not known");

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

/// What has a fixed place in every job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fixed {
    pub(crate) id: JobId,
    pub(crate) enqueued_at: UnixMs,
    pub(crate) due: UnixMs,
    pub(crate) priority: i16,
    pub(crate) max_attempts: Option<NonZeroU32>,
}

impl Fixed {
    #[inline]
    fn take(head: &mut Fields<'_>) -> Result<Self, Lost> {
        let mut fixed = Fields::new(head.bytes(SHORTEST_JOB - 2)?);
        Ok(Self {
            id: fixed.id()?,
            enqueued_at: fixed.instant()?,
            due: fixed.instant()?,
            priority: fixed.i16()?,
            max_attempts: NonZeroU32::new(fixed.u32()?),
        })
    }
}

#[inline]
fn job<'a>(head: &mut Fields<'a>) -> Result<Accepted<'a>, Lost> {
    let fixed = Fixed::take(head)?;
    Ok(Accepted {
        id: fixed.id,
        enqueued_at: fixed.enqueued_at,
        due: fixed.due,
        priority: fixed.priority,
        max_attempts: fixed.max_attempts.map(NonZeroU32::get),
        kind: head.text()?,
        queue: head.text()?,
        terms: SlimTerms::default(),
    })
}

/// The head of a sole job: what has a fixed place, and the bytes of all that has none.
#[inline]
pub(super) fn split_job(head: &[u8]) -> Option<(Fixed, &[u8])> {
    let mut head = Fields::new(head);
    let fixed = Fixed::take(&mut head).ok()?;
    Some((fixed, head.rest()))
}

pub(super) fn sole_names(bytes: &[u8]) -> Option<[&str; 2]> {
    let mut names = Fields::new(bytes);
    let both = [names.text().ok()?, names.text().ok()?];
    names.is_empty().then_some(both)
}

/// All that is known of a schedule or a batch, as MessagePack behind its length in four bytes.
pub(super) fn put_state<T: Serialize>(state: &T, out: &mut Vec<u8>) -> Result<(), Lost> {
    let start = out.len();
    put_count(out, 0)?;
    rmp_serde::encode::write(out, state).map_err(|_| Lost("a state that cannot be written"))?;
    let length = out.len() - start - 4;
    let length = u32::try_from(length).map_err(|_| Lost("a state of more than 4 GiB"))?;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    Ok(())
}

pub(super) fn state<T: for<'de> Deserialize<'de>>(head: &mut Fields<'_>) -> Result<T, Lost> {
    let length = head.u32()?;
    let bytes = head.bytes(length as usize)?;
    read(bytes).map_err(|_| Lost("a state that cannot be read"))
}

/// Several jobs, and behind them what few of them say.
pub(super) fn put_jobs(jobs: &[Accepted<'_>], out: &mut Vec<u8>) -> Result<(), Lost> {
    put_count(out, jobs.len())?;
    jobs.iter().try_for_each(|job| put_job(job, out))?;
    put_terms_of(jobs, out)
}

pub(super) fn jobs<'a>(head: &mut Fields<'a>) -> Result<Vec<Accepted<'a>>, Lost> {
    let mut jobs = head.list(SHORTEST_JOB, job)?;
    take_terms_of(&mut jobs, head)?;
    Ok(jobs)
}

/// The one job of a head, and at its end what few jobs say.
pub(super) fn put_sole_job(job: &Accepted<'_>, out: &mut Vec<u8>) -> Result<(), Lost> {
    put_job(job, out)?;
    put_terms(&job.terms, out)
}

#[inline]
pub(super) fn sole_job<'a>(head: &mut Fields<'a>) -> Result<Accepted<'a>, Lost> {
    let mut job = job(head)?;
    if !head.is_empty() {
        job.terms = take_terms(head)?;
    }
    Ok(job)
}

pub(super) fn put_buried(buried: Option<&Ended>, out: &mut Vec<u8>) -> Result<(), Lost> {
    out.push(u8::from(buried.is_some()));
    buried.map_or(Ok(()), |attempt| put_ended(attempt, out))
}

pub(super) fn put_maybe_id(id: Option<JobId>, out: &mut Vec<u8>) {
    out.push(u8::from(id.is_some()));
    out.extend(id.into_iter().flat_map(|id| id.0.to_le_bytes()));
}

pub(super) fn put_ended(attempt: &Ended, out: &mut Vec<u8>) -> Result<(), Lost> {
    out.extend_from_slice(&attempt.number.to_le_bytes());
    out.extend_from_slice(&attempt.token.0.to_le_bytes());
    out.extend_from_slice(&attempt.ended_at.0.to_le_bytes());
    put_failure(attempt.failure, out)
}

pub(super) fn ended(head: &mut Fields<'_>) -> Result<Ended, Lost> {
    Ok(Ended {
        number: head.u32()?,
        token: head.token()?,
        ended_at: head.instant()?,
        failure: failure(head)?,
    })
}

/// A failure is its name, none is a name of no length.
pub(super) fn put_failure(failure: Option<FailureKind>, out: &mut Vec<u8>) -> Result<(), Lost> {
    put_text(out, failure.map_or("", FailureKind::name))
}

pub(super) fn failure(head: &mut Fields<'_>) -> Result<Option<FailureKind>, Lost> {
    match head.text()? {
        "" => Ok(None),
        name => FailureKind::named(name).map(Some).ok_or(UNKNOWN),
    }
}

pub(super) fn put_follows(follows: Follows, out: &mut Vec<u8>) {
    let (kind, due) = match follows {
        Follows::Completed => (1, None),
        Follows::Retry { due } => (2, Some(due)),
        Follows::Snoozed { due } => (3, Some(due)),
        Follows::PutBack { due } => (4, Some(due)),
        Follows::Discarded => (5, None),
        Follows::Dead => (6, None),
        Follows::Cancelled => (7, None),
    };
    out.push(kind);
    if let Some(due) = due {
        out.extend_from_slice(&due.0.to_le_bytes());
    }
}

pub(super) fn follows(head: &mut Fields<'_>) -> Result<Follows, Lost> {
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
        7 => Follows::Cancelled,
        _ => return Err(UNKNOWN),
    })
}

pub(super) fn put_carried(anew: &Anew<'_>, out: &mut Vec<u8>) -> Result<(), Lost> {
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
        Status::Expired(_) => 8,
    });
    out.extend_from_slice(&anew.status.at().0.to_le_bytes());
    out.extend_from_slice(&anew.attempts.to_le_bytes());
    out.extend_from_slice(&anew.losses.to_le_bytes());
    out.extend_from_slice(&anew.token.0.to_le_bytes());
    put_failure(anew.failure, out)?;
    out.push(u8::from(anew.checkpoint));
    put_asked(anew.asked, out);
    out.extend_from_slice(&anew.traps.to_le_bytes());
    put_extras(anew, out)
}

pub(super) fn carried<'a>(head: &mut Fields<'a>) -> Result<Anew<'a>, Lost> {
    let (job, at) = (job(head)?, head.instant()?);
    let (stage, instant) = (head.u8()?, head.instant()?);
    let due = instant;
    let mut anew = Anew {
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
            8 => Status::Expired(instant),
            _ => return Err(UNKNOWN),
        },
        attempts: head.u32()?,
        losses: head.u32()?,
        token: head.token()?,
        failure: failure(head)?,
        checkpoint: head.flag()?,
        // Records of before a job could be called off end here.
        asked: match head.is_empty() {
            true => None,
            false => asked(head)?,
        },
        // Records of before these were counted apart end here.
        traps: match head.is_empty() {
            true => 0,
            false => head.u32()?,
        },
        lifted: false,
        unlocked: false,
        failing_since: None,
    };
    take_extras(&mut anew, head)?;
    Ok(anew)
}

pub(super) fn put_asked(asked: Option<Asked>, out: &mut Vec<u8>) {
    out.push(match asked {
        None => 0,
        Some(Asked::Cancel) => 1,
        Some(Asked::Kill) => 2,
    });
}

pub(super) fn asked(head: &mut Fields<'_>) -> Result<Option<Asked>, Lost> {
    match head.u8()? {
        0 => Ok(None),
        1 => Ok(Some(Asked::Cancel)),
        2 => Ok(Some(Asked::Kill)),
        _ => Err(UNKNOWN),
    }
}
