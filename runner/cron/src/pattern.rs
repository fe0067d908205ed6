//! A parsed expression: which local times it names, whatever the zone.

use jiff::civil::{Date, DateTime, Time};

use crate::{
    Field, Refused,
    days::{Days, Month},
    item::Item,
};

/// The calendar repeats itself after so many years, days of the week included.
const CYCLE: i16 = 400;
/// So many years hold every kind of year, leap or not, beginning on each day of the week.
const KINDS: i16 = 28;

/// The fields of an expression, as bit sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pattern {
    seconds: u64,
    minutes: u64,
    hours: u64,
    months: u64,
    days: Days,
    /// A field of the time starts with `*`: it names a rhythm, not times of day.
    pub(crate) is_interval: bool,
}

impl Pattern {
    /// From six fields with their places; seconds may be missing.
    pub(crate) fn parse(fields: &[Item<'_>]) -> Result<Self, Refused> {
        let of = |field| fields.iter().find(move |item| item.field == field);
        let empty = |field| Item {
            field,
            text: "",
            column: 1,
        };
        let item = |field| of(field).copied().unwrap_or(empty(field));
        let bits = |field| {
            item(field)
                .entries()
                .try_fold(0, |bits, one| one.bits().map(|more| bits | more))
        };
        let times = [Field::Second, Field::Minute, Field::Hour];
        Ok(Self {
            is_interval: times.iter().any(|field| item(*field).text.starts_with('*')),
            seconds: match of(Field::Second) {
                Some(_) => bits(Field::Second)?,
                None => 1,
            },
            minutes: bits(Field::Minute)?,
            hours: bits(Field::Hour)?,
            months: bits(Field::Month)?,
            days: Days::parse(item(Field::DayOfMonth), item(Field::DayOfWeek))?,
        })
    }

    /// Whether any date of the calendar matches.
    pub(crate) fn can_occur(&self) -> bool {
        (2000..2000 + KINDS).any(|year| (1..=12).any(|month| self.days_of(year, month) != 0))
    }

    /// The first local time at or after `from` that it names. `None` when the calendar ends before.
    pub(crate) fn at_or_after(&self, from: DateTime) -> Option<DateTime> {
        let from = match from.subsec_nanosecond() {
            0 => from,
            _ => whole_second(from)?,
        };
        let (mut year, mut month) = (from.year(), from.month());
        let mut days = self.days_of(year, month) & (u32::MAX << from.day());
        if days & 1 << from.day() != 0 {
            if let Some(time) = self.time_at_or_after(from.time()) {
                return Some(DateTime::from_parts(from.date(), time));
            }
            days &= !(1 << from.day());
        }
        while days == 0 {
            if year > from.year().saturating_add(CYCLE) {
                return None;
            }
            (year, month) = match month {
                12 => (year + 1, 1),
                _ => (year, month + 1),
            };
            days = self.days_of(year, month);
        }
        let date = Date::new(year, month, days.trailing_zeros() as i8).ok()?;
        let time = self.time_at_or_after(Time::midnight())?;
        Some(DateTime::from_parts(date, time))
    }

    pub(crate) fn matches(&self, local: DateTime) -> bool {
        self.at_or_after(local) == Some(local)
    }

    /// The days of a month, day 1 as bit 1. None beyond the calendar's end.
    fn days_of(&self, year: i16, month: i8) -> u32 {
        if self.months & 1 << month == 0 {
            return 0;
        }
        Date::new(year, month, 1).map_or(0, |first| {
            self.days.of(Month {
                first: first.weekday().to_sunday_zero_offset() as u8,
                days: first.days_in_month() as u8,
            })
        })
    }

    fn time_at_or_after(&self, from: Time) -> Option<Time> {
        let (mut minute, mut second) = (from.minute(), from.second());
        let mut hour = first(self.hours, from.hour())?;
        if hour != from.hour() {
            (minute, second) = (0, 0);
        }
        let in_hour = |minute, second| {
            let at = first(self.minutes, minute)?;
            if at != minute {
                return Some((at, first(self.seconds, 0)?));
            }
            match first(self.seconds, second) {
                Some(second) => Some((at, second)),
                None => Some((first(self.minutes, minute + 1)?, first(self.seconds, 0)?)),
            }
        };
        let found = match in_hour(minute, second) {
            Some(found) => found,
            None => {
                hour = first(self.hours, hour + 1)?;
                in_hour(0, 0)?
            }
        };
        Time::new(hour, found.0, found.1, 0).ok()
    }
}

/// The first bit at or after `from`.
fn first(bits: u64, from: i8) -> Option<i8> {
    let rest = bits & u64::MAX.checked_shl(u32::from(from.unsigned_abs()))?;
    (rest != 0).then(|| rest.trailing_zeros() as i8)
}

fn whole_second(at: DateTime) -> Option<DateTime> {
    let whole = at.with().subsec_nanosecond(0).build().ok()?;
    whole.checked_add(jiff::SignedDuration::from_secs(1)).ok()
}
