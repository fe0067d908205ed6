//! Which slots are due: what a scheduler does now, and when it looks again. Pure, like the rest.

use alloc::vec::Vec;

use jiff::{SignedDuration, Timestamp};
use sandhog_model::{
    UnixMs,
    cron::{Done, Span},
};

use crate::Schedule;

/// A slot that is later than this was missed: nobody was there at its time.
pub const ON_TIME: SignedDuration = SignedDuration::from_secs(5);
/// Most slots of one plan; a scheduler that was given so many looks again at once.
const MOST: usize = 1000;
/// Missed slots are counted up to this.
const MOST_MISSED: usize = 100_000;
/// How far back is looked for the latest slot at first.
const FIRST_LOOK: SignedDuration = SignedDuration::from_mins(1);

/// What becomes of slots that were missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CatchUp {
    /// They are left out.
    None,
    /// The latest of them gets its job, when none after it is on time.
    Latest,
    /// Each of them does.
    All,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// Slots that get their jobs now, earliest first.
    pub slots: Vec<Planned>,
    /// How many of them were missed and are made good.
    pub made_good: usize,
    /// Slots that were missed and are left out, up to 100,000.
    pub missed: usize,
    /// What is done when nothing was due but slots were left out, so that they are not counted again.
    pub passed: Option<Span>,
    /// When to look again: the next slot, or now when there is more to do than one plan has room for.
    pub next: Option<Timestamp>,
}

/// A slot that gets its job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planned {
    /// The slot.
    pub at: Timestamp,
    /// What the schedule is done with once it has the job: the slot, and the time before it back to the one
    /// before, unless slots between them were left out. Those may still come when the clock is set back.
    pub done: Span,
}

/// What to do at `now`. `done`: with which part of time the schedule is through. `window`: how far back
/// missed slots count.
#[must_use]
pub fn plan(
    schedule: &Schedule,
    done: &Done,
    now: Timestamp,
    catch_up: CatchUp,
    window: SignedDuration,
) -> Plan {
    let at = unix(now);
    // Set back into time that is done with: nothing is due before the end of that.
    if let Some(span) = done.around(at)
        && span.upto > at
    {
        return Plan {
            next: next(schedule, done, now),
            ..Plan::default()
        };
    }
    let base = done.last_end(at).and_then(timestamp).unwrap_or(now);
    let floor = match catch_up {
        CatchUp::None => back(now, ON_TIME),
        CatchUp::Latest | CatchUp::All => back(now, window.max(ON_TIME)),
    };
    let from = base.max(floor);
    let due: Vec<Timestamp> = match catch_up {
        CatchUp::None | CatchUp::All => up_to(schedule, from, now).take(MOST).collect(),
        CatchUp::Latest => latest(schedule, from, now),
    };
    let first = due.first().copied();
    let missed = match first {
        Some(first) => count(schedule, base, before(first)),
        None => count(schedule, base, now),
    };
    let on_time = back(now, ON_TIME);
    let made_good = due.iter().filter(|slot| **slot <= on_time).count();
    let mut last = if missed == 0 { Some(base) } else { None };
    let slots: Vec<Planned> = due
        .into_iter()
        .map(|at| {
            let after = last.replace(at).unwrap_or_else(|| before(at));
            let (after, upto) = (unix(after), unix(at));
            let done = Span { after, upto };
            Planned { at, done }
        })
        .collect();
    let passed = (slots.is_empty() && missed > 0).then(|| Span {
        after: UnixMs(at.0.saturating_sub(1)),
        upto: at,
    });
    let next = match slots.len() {
        MOST => Some(now),
        _ => next(schedule, done, now),
    };
    Plan {
        slots,
        made_good,
        missed,
        passed,
        next,
    }
}

/// The first slot after `now` that is not done with.
fn next(schedule: &Schedule, done: &Done, now: Timestamp) -> Option<Timestamp> {
    let mut from = now;
    loop {
        let slot = schedule.next_after(from)?;
        match done.around(unix(slot)) {
            None => return Some(slot),
            Some(span) => from = timestamp(span.upto)?.max(slot),
        }
    }
}

/// The slots of the last moments, or the last one before them.
fn latest(schedule: &Schedule, from: Timestamp, now: Timestamp) -> Vec<Timestamp> {
    let on_time = from.max(back(now, ON_TIME));
    let fresh: Vec<_> = up_to(schedule, on_time, now).collect();
    if !fresh.is_empty() {
        return fresh;
    }
    // A rhythm of seconds has millions of slots in a year: look at a little first, then at more.
    let mut look = FIRST_LOOK;
    loop {
        let start = from.max(back(now, look));
        if let Some(last) = up_to(schedule, start, now).last() {
            return Vec::from([last]);
        }
        if start <= from {
            return Vec::new();
        }
        look = look.saturating_mul(2);
    }
}

fn up_to(
    schedule: &Schedule,
    after: Timestamp,
    upto: Timestamp,
) -> impl Iterator<Item = Timestamp> {
    schedule
        .slots_after(after)
        .take_while(move |at| *at <= upto)
}

fn count(schedule: &Schedule, after: Timestamp, upto: Timestamp) -> usize {
    up_to(schedule, after, upto).take(MOST_MISSED).count()
}

fn back(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.checked_sub(by).unwrap_or(Timestamp::MIN)
}

fn before(at: Timestamp) -> Timestamp {
    back(at, SignedDuration::from_millis(1))
}

/// An instant as the log has it; one before 1970 is its first.
#[must_use]
pub fn unix(at: Timestamp) -> UnixMs {
    UnixMs(u64::try_from(at.as_millisecond()).unwrap_or(0))
}

/// An instant of the log; `None` when no calendar has it.
#[must_use]
pub fn timestamp(at: UnixMs) -> Option<Timestamp> {
    i64::try_from(at.0)
        .ok()
        .and_then(|ms| Timestamp::from_millisecond(ms).ok())
}
