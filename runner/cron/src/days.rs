//! The two day fields, and which days of a month they name together.

use crate::{
    Field, Refused, Why,
    item::{Item, number},
};

/// Both day fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Days {
    month: DaysOfMonth,
    week: DaysOfWeek,
    /// A day must be named by both fields, not by one of them.
    both: bool,
}

/// Bit sets by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct DaysOfMonth {
    days: u32,
    /// So many days before the last: bit 0 is `L`.
    from_last: u32,
    /// The weekday nearest to the day: `15W`.
    nearest: u32,
    /// The weekday nearest to so many days before the last: bit 0 is `LW`.
    nearest_from_last: u32,
}

/// Bit sets by day of the week, Sunday 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct DaysOfWeek {
    every: u8,
    last: u8,
    /// The first to the fifth of its month.
    nth: [u8; 5],
}

/// A month as far as days of it go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Month {
    /// The day of the week of its first day, Sunday 0.
    pub(crate) first: u8,
    /// Its number of days.
    pub(crate) days: u8,
}

impl Month {
    const fn weekday(self, day: u8) -> u8 {
        (self.first + day - 1) % 7
    }

    /// The nearest Monday to Friday within the month.
    const fn nearest(self, day: u8) -> u8 {
        match self.weekday(day) {
            6 if day == 1 => 3,
            6 => day - 1,
            0 if day == self.days => day - 2,
            0 => day + 1,
            _ => day,
        }
    }
}

impl Days {
    pub(crate) fn parse(month: Item<'_>, week: Item<'_>) -> Result<Self, Refused> {
        // The one field whose list may be marked: it joins the other instead of adding to it.
        let joined = week.text.strip_prefix('+');
        let plain = Item {
            text: joined.unwrap_or(week.text),
            column: week.column + usize::from(joined.is_some()),
            ..week
        };
        let starred = |item: Item<'_>| item.text.starts_with(['*', '?']);
        Ok(Self {
            both: joined.is_some() || starred(month) || starred(week),
            month: DaysOfMonth::parse(month)?,
            week: DaysOfWeek::parse(plain)?,
        })
    }

    /// The days of a month that are named, day 1 as bit 1.
    pub(crate) fn of(&self, month: Month) -> u32 {
        let (by_month, by_week) = (self.month.of(month), self.week.of(month));
        match self.both {
            true => by_month & by_week,
            false => by_month | by_week,
        }
    }
}

impl DaysOfMonth {
    fn parse(field: Item<'_>) -> Result<Self, Refused> {
        let mut all = Self::default();
        if field.text == "?" {
            all.days = u32::MAX;
            return Ok(all);
        }
        for item in field.entries() {
            let text = item.text;
            let before_w = text.strip_suffix(['W', 'w']);
            if let Some(rest) = before_w.unwrap_or(text).strip_prefix(['L', 'l']) {
                let bit = 1 << from_last(&item, rest)?;
                match before_w {
                    Some(_) => all.nearest_from_last |= bit,
                    None => all.from_last |= bit,
                }
            } else if let Some(day) = before_w {
                if day.is_empty() {
                    return Err(item.refuse(Why::NoNearest));
                }
                all.nearest |= 1 << item.value(day)?;
            } else {
                all.days |= item.bits()? as u32;
            }
        }
        Ok(all)
    }

    fn of(&self, month: Month) -> u32 {
        let mut days = self.days;
        for day in 1..=month.days {
            let bit = 1 << day;
            let from_last = 1 << (month.days - day);
            if self.from_last & from_last != 0 {
                days |= bit;
            }
            if self.nearest & bit != 0 || self.nearest_from_last & from_last != 0 {
                days |= 1 << month.nearest(day);
            }
        }
        // Bits 1 to the last day.
        days & ((1_u64 << (month.days + 1)) - 2) as u32
    }
}

/// What stands behind `L`: nothing, or `-4`.
fn from_last(item: &Item<'_>, rest: &str) -> Result<u32, Refused> {
    if rest.is_empty() {
        return Ok(0);
    }
    rest.strip_prefix('-')
        .and_then(number)
        .filter(|before| (1..=30).contains(before))
        .ok_or_else(|| item.refuse(Why::LastOffset))
}

impl DaysOfWeek {
    fn parse(field: Item<'_>) -> Result<Self, Refused> {
        let mut all = Self::default();
        if field.text == "?" {
            all.every = u8::MAX;
            return Ok(all);
        }
        for item in field.entries() {
            let bit = |day: &str| item.value(day).map(|day| 1_u8 << (day % 7));
            if let Some((day, nth)) = item.text.split_once('#') {
                match (bit(day)?, number(nth)) {
                    (bit, Some(nth @ 1..=5)) => all.nth[nth as usize - 1] |= bit,
                    (bit, None) if nth.eq_ignore_ascii_case("L") => all.last |= bit,
                    _ => return Err(item.refuse(Why::Nth)),
                }
            } else if let Some(day) = item.text.strip_suffix(['L', 'l']) {
                if day.is_empty() {
                    return Err(item.refuse(Why::BareLast));
                }
                all.last |= bit(day)?;
            } else {
                debug_assert!(item.field == Field::DayOfWeek);
                all.every |= item.bits()? as u8;
            }
        }
        Ok(all)
    }

    fn of(&self, month: Month) -> u32 {
        (1..=month.days).fold(0, |days, day| {
            let weekday = 1 << month.weekday(day);
            let nth = self.nth[usize::from(day - 1) / 7];
            let last = if day + 7 > month.days { self.last } else { 0 };
            match (self.every | nth | last) & weekday {
                0 => days,
                _ => days | 1 << day,
            }
        })
    }
}
