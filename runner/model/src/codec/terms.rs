//! What few jobs say, at the end of a head: bits for what is there, then its fields. A head of a job that
//! says nothing ends before, as all did before format 4.

use alloc::vec::Vec;

use super::{
    fields::{Fields, Lost, put_count, put_text},
    parts::UNKNOWN,
};
use crate::{
    fact::{Accepted, Anew, Lock, SlimTerms},
    job::{OnConflict, Scope},
    queue::{QueueLimits, QueueMode, Rate, Steering},
};

const EXPIRES: u8 = 1;
const RETRY_FOR: u8 = 1 << 1;
const UNIQUE: u8 = 1 << 2;
/// With [`UNIQUE`]: for a while only.
const UNTIL: u8 = 1 << 3;
const IDEMPOTENCY: u8 = 1 << 4;
const GROUP: u8 = 1 << 5;
const BATCH: u8 = 1 << 6;

const LIFTED: u8 = 1;
const FAILING: u8 = 1 << 1;
const UNLOCKED: u8 = 1 << 2;

/// Bytes of the least that is said of one of several jobs: its place and the bits.
const LEAST_OF_ONE: usize = 5;

fn bits(terms: &SlimTerms<'_>) -> u8 {
    let until = terms.unique.and_then(|unique| unique.until);
    [
        (terms.expires.is_some(), EXPIRES),
        (terms.retry_for_ms.is_some(), RETRY_FOR),
        (terms.unique.is_some(), UNIQUE),
        (until.is_some(), UNTIL),
        (terms.idempotency.is_some(), IDEMPOTENCY),
        (terms.group.is_some(), GROUP),
        (terms.batch.is_some(), BATCH),
    ]
    .into_iter()
    .filter_map(|(is_there, bit)| is_there.then_some(bit))
    .sum()
}

/// Append what a job says, or nothing when it says nothing.
pub(super) fn put_terms(terms: &SlimTerms<'_>, out: &mut Vec<u8>) -> Result<(), Lost> {
    match bits(terms) {
        0 => Ok(()),
        bits => put_fields(bits, terms, out),
    }
}

fn put_fields(bits: u8, terms: &SlimTerms<'_>, out: &mut Vec<u8>) -> Result<(), Lost> {
    let SlimTerms {
        expires,
        retry_for_ms,
        unique,
        idempotency,
        group,
        batch,
    } = *terms;
    out.push(bits);
    let numbers = expires.map(|at| at.0).into_iter().chain(retry_for_ms);
    out.extend(numbers.flat_map(u64::to_le_bytes));
    if let Some(unique) = unique {
        out.extend_from_slice(&unique.key.0.to_le_bytes());
        out.extend_from_slice(&unique.scope.bits().to_le_bytes());
        out.push(unique.on_conflict as u8);
        out.extend(unique.until.into_iter().flat_map(|at| at.0.to_le_bytes()));
    }
    out.extend(idempotency.into_iter().flat_map(|key| key.0.to_le_bytes()));
    if let Some(group) = group {
        put_text(out, group)?;
    }
    out.extend(batch.into_iter().flat_map(|id| id.0.to_le_bytes()));
    Ok(())
}

/// What a job says at the end of its head.
pub(super) fn take_terms<'a>(head: &mut Fields<'a>) -> Result<SlimTerms<'a>, Lost> {
    let bits = head.u8()?;
    let has = |bit| bits & bit != 0;
    Ok(SlimTerms {
        expires: has(EXPIRES).then(|| head.instant()).transpose()?,
        retry_for_ms: has(RETRY_FOR).then(|| head.u64()).transpose()?,
        unique: has(UNIQUE)
            .then(|| take_lock(has(UNTIL), head))
            .transpose()?,
        idempotency: has(IDEMPOTENCY).then(|| head.digest()).transpose()?,
        group: has(GROUP).then(|| head.text()).transpose()?,
        batch: has(BATCH).then(|| head.id()).transpose()?,
    })
}

fn take_lock(has_until: bool, head: &mut Fields<'_>) -> Result<Lock, Lost> {
    let (key, scope) = (head.digest()?, Scope::from_bits(head.u16()?));
    let on_conflict = OnConflict::ALL.get(usize::from(head.u8()?)).copied();
    Ok(Lock {
        key,
        scope,
        on_conflict: on_conflict.ok_or(UNKNOWN)?,
        until: has_until.then(|| head.instant()).transpose()?,
    })
}

/// Append what some of an attempt's jobs say, each by its place among them.
pub(super) fn put_terms_of(jobs: &[Accepted<'_>], out: &mut Vec<u8>) -> Result<(), Lost> {
    let saying = || {
        let jobs = (0_u32..).zip(jobs);
        jobs.filter(|(_, job)| job.terms != SlimTerms::default())
    };
    let count = saying().count();
    if count == 0 {
        return Ok(());
    }
    put_count(out, count)?;
    saying().try_for_each(|(place, job)| {
        out.extend_from_slice(&place.to_le_bytes());
        put_fields(bits(&job.terms), &job.terms, out)
    })
}

/// Put what some of an attempt's jobs say where it belongs.
pub(super) fn take_terms_of<'a>(
    jobs: &mut [Accepted<'a>],
    head: &mut Fields<'a>,
) -> Result<(), Lost> {
    if head.is_empty() {
        return Ok(());
    }
    for (place, terms) in head.list(LEAST_OF_ONE, |head| Ok((head.u32()?, take_terms(head)?)))? {
        let job = jobs.get_mut(place as usize);
        job.ok_or(Lost("a job that is not among those enqueued"))?
            .terms = terms;
    }
    Ok(())
}

/// Append what came to be of a job that few have, and what it said.
pub(super) fn put_extras(anew: &Anew<'_>, out: &mut Vec<u8>) -> Result<(), Lost> {
    let of_job = bits(&anew.job.terms);
    let came_to_be = [
        (anew.lifted, LIFTED),
        (anew.failing_since.is_some(), FAILING),
        (anew.unlocked, UNLOCKED),
    ];
    let came_to_be: u8 = came_to_be
        .into_iter()
        .filter_map(|(is_so, bit)| is_so.then_some(bit))
        .sum();
    if of_job == 0 && came_to_be == 0 {
        return Ok(());
    }
    put_fields(of_job, &anew.job.terms, out)?;
    out.push(came_to_be);
    out.extend(
        anew.failing_since
            .into_iter()
            .flat_map(|at| at.0.to_le_bytes()),
    );
    Ok(())
}

pub(super) fn take_extras<'a>(anew: &mut Anew<'a>, head: &mut Fields<'a>) -> Result<(), Lost> {
    if head.is_empty() {
        return Ok(());
    }
    anew.job.terms = take_terms(head)?;
    let bits = head.u8()?;
    anew.lifted = bits & LIFTED != 0;
    anew.unlocked = bits & UNLOCKED != 0;
    anew.failing_since = (bits & FAILING != 0).then(|| head.instant()).transpose()?;
    Ok(())
}

const CONCURRENCY: u8 = 1;
const RATE: u8 = 1 << 1;
const GROUP_CONCURRENCY: u8 = 1 << 2;
const GROUP_RATE: u8 = 1 << 3;

pub(super) fn put_steering(to: Steering, out: &mut Vec<u8>) {
    let limits = to.limits;
    let counts = [limits.concurrency, limits.group_concurrency];
    let rates = [limits.rate, limits.group_rate];
    out.push(to.mode as u8);
    out.push(
        counts[0].map_or(0, |_| CONCURRENCY)
            + rates[0].map_or(0, |_| RATE)
            + counts[1].map_or(0, |_| GROUP_CONCURRENCY)
            + rates[1].map_or(0, |_| GROUP_RATE),
    );
    out.extend(counts.into_iter().flatten().flat_map(u32::to_le_bytes));
    for rate in rates.into_iter().flatten() {
        out.extend_from_slice(&rate.count.to_le_bytes());
        out.extend_from_slice(&rate.per_ms.to_le_bytes());
        out.extend_from_slice(&rate.burst.to_le_bytes());
    }
}

pub(super) fn steering(head: &mut Fields<'_>) -> Result<Steering, Lost> {
    let mode = QueueMode::ALL.get(usize::from(head.u8()?)).copied();
    let bits = head.u8()?;
    let has = |bit| bits & bit != 0;
    let concurrency = has(CONCURRENCY).then(|| head.u32()).transpose()?;
    let group_concurrency = has(GROUP_CONCURRENCY).then(|| head.u32()).transpose()?;
    let rate = has(RATE).then(|| rate(head)).transpose()?;
    let group_rate = has(GROUP_RATE).then(|| self::rate(head)).transpose()?;
    Ok(Steering {
        mode: mode.ok_or(UNKNOWN)?,
        limits: QueueLimits {
            concurrency,
            rate,
            group_concurrency,
            group_rate,
        },
    })
}

fn rate(head: &mut Fields<'_>) -> Result<Rate, Lost> {
    Ok(Rate {
        count: head.u32()?,
        per_ms: head.u64()?,
        burst: head.u32()?,
    })
}
