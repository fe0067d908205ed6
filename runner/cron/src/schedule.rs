//! A schedule: an expression in a zone, and its slots.

use alloc::string::{String, ToString};

use jiff::{SignedDuration, Timestamp, civil::DateTime, tz::AmbiguousOffset};

use crate::{
    Change, Refused, Zone, every,
    parse::{Timing, parse},
    pattern::Pattern,
    zone::floor,
};

/// How far ahead a slot is looked for: the calendar repeats itself after 400 years.
const HORIZON: SignedDuration = SignedDuration::from_hours(400 * 366 * 24);
const SECOND: SignedDuration = SignedDuration::from_secs(1);

/// When jobs are to be enqueued. A slot is an instant, a whole second; the same schedule has the same
/// slots wherever and whenever it is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    text: String,
    zone: Zone,
    timing: Timing,
}

/// A slot as the people of its zone see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// The instant.
    pub at: Timestamp,
    /// What clocks show then.
    pub local: DateTime,
    /// How far clocks are ahead of UTC, in seconds.
    pub offset_s: i32,
    /// What the time is called then, such as `CEST`.
    pub abbreviation: String,
    /// The clocks are set on the local day.
    pub change: Option<Change>,
    /// Where clocks show the same time twice, which of the two this is.
    pub pass: Option<Pass>,
    /// The time that was asked for is skipped on this day; this is the first instant after it.
    pub is_moved: bool,
}

/// Which of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// Before the clocks are set back.
    First,
    /// After that.
    Second,
}

impl Schedule {
    /// Read an expression. Refused is what cannot be read, and what can never occur.
    pub fn parse(text: &str, zone: Zone) -> Result<Self, Refused> {
        Ok(Self {
            timing: parse(text)?,
            text: text.trim_matches([' ', '\t']).to_string(),
            zone,
        })
    }

    /// The expression.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The zone.
    #[must_use]
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// Whether it is `@reboot`: no time, but each start of the runner.
    #[must_use]
    pub fn is_at_start(&self) -> bool {
        self.timing == Timing::Start
    }

    /// The first slot after an instant. `None` for `@reboot`, and when the calendar ends (in the year
    /// 9999) before the next one.
    #[must_use]
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        match &self.timing {
            Timing::Start => None,
            Timing::Every(seconds) => every::next(*seconds, after),
            Timing::Calendar(pattern) if pattern.is_interval => self.next_beat(pattern, after),
            Timing::Calendar(pattern) => self.next_time_of_day(pattern, after),
        }
    }

    /// The slots after an instant, in order.
    pub fn slots_after(&self, after: Timestamp) -> impl Iterator<Item = Timestamp> {
        core::iter::successors(self.next_after(after), |last| self.next_after(*last))
    }

    /// A rhythm follows real time: every instant whose local time matches is a slot. What the clocks
    /// skip does not happen, what they repeat happens twice.
    fn next_beat(&self, pattern: &Pattern, after: Timestamp) -> Option<Timestamp> {
        let mut from = Timestamp::from_second(floor(after) + 1).ok()?;
        let horizon = from.checked_add(HORIZON).unwrap_or(Timestamp::MAX);
        while from <= horizon {
            // Between two changes, local time and real time go side by side.
            let offset = self.zone.offset(from);
            let end = self.zone.next_change(from).map(|change| change.at);
            let local = pattern.at_or_after(offset.to_datetime(from))?;
            let at = offset.to_timestamp(local).ok();
            if let Some(at) = at.filter(|at| end.is_none_or(|end| *at < end)) {
                return Some(at);
            }
            from = end?;
        }
        None
    }

    /// A time of day happens once on each of its days. A later time of day is never at an earlier instant.
    fn next_time_of_day(&self, pattern: &Pattern, after: Timestamp) -> Option<Timestamp> {
        let mut from = self.zone.local(Timestamp::from_second(floor(after)).ok()?);
        loop {
            let local = pattern.at_or_after(from.checked_add(SECOND).ok()?)?;
            match self.instant(local)? {
                at if at > after => return Some(at),
                // Asked while clocks show a time again: it has had its turn.
                _ => from = local,
            }
        }
    }

    /// The instant of a time of day: the first of two, and when it is skipped the first one behind the
    /// gap.
    fn instant(&self, local: DateTime) -> Option<Timestamp> {
        match self.zone.meaning(local) {
            AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(local).ok(),
            AmbiguousOffset::Fold { before, .. } => before.to_timestamp(local).ok(),
            AmbiguousOffset::Gap { after, .. } => {
                let inside = after.to_timestamp(local).ok()?;
                self.zone.next_change(inside).map(|change| change.at)
            }
        }
    }

    /// One of its slots, as the people of its zone see it.
    #[must_use]
    pub fn slot(&self, at: Timestamp) -> Slot {
        let (local, offset) = (self.zone.local(at), self.zone.offset(at));
        let pass = match self.zone.meaning(local) {
            AmbiguousOffset::Fold { before, .. } if before == offset => Some(Pass::First),
            AmbiguousOffset::Fold { .. } => Some(Pass::Second),
            AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Gap { .. } => None,
        };
        let is_moved = match &self.timing {
            Timing::Calendar(pattern) => !pattern.matches(local),
            Timing::Every(_) | Timing::Start => false,
        };
        Slot {
            at,
            local,
            offset_s: offset.seconds(),
            abbreviation: self.zone.abbreviation(at),
            change: self.change_on(local, at),
            pass,
            is_moved,
        }
    }

    /// The moment of the local day at which clocks are set.
    fn change_on(&self, local: DateTime, at: Timestamp) -> Option<Change> {
        let begun = at.checked_add(SECOND).unwrap_or(Timestamp::MAX);
        let around = [self.zone.last_change(begun), self.zone.next_change(at)];
        let mut around = around.into_iter().flatten();
        around.find(|change| change.to.date() == local.date())
    }
}
