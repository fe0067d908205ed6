//! `@every`: a fixed time between slots, counted from 1970-01-01T00:00:00Z, so that a slot is the same
//! before and after a restart and on every machine.

use jiff::Timestamp;

use crate::{Refused, Why, item::number};

/// The longest time between two slots, in days.
pub(crate) const MOST_DAYS: u64 = 366;
const DAY: u64 = 24 * 60 * 60;

/// Units and their seconds.
const UNITS: [(&str, u64); 17] = [
    ("s", 1),
    ("sec", 1),
    ("second", 1),
    ("seconds", 1),
    ("m", 60),
    ("min", 60),
    ("minute", 60),
    ("minutes", 60),
    ("h", 3_600),
    ("hour", 3_600),
    ("hours", 3_600),
    ("d", DAY),
    ("day", DAY),
    ("days", DAY),
    ("w", 7 * DAY),
    ("week", 7 * DAY),
    ("weeks", 7 * DAY),
];
/// Known elsewhere, and no whole or no fixed number of seconds.
const LOOSE: [&str; 6] = ["M", "month", "months", "y", "year", "years"];
const FINE: [&str; 4] = ["ms", "us", "µs", "ns"];

/// Read the duration behind `@every`, in seconds.
pub(crate) fn parse(text: &str, column: usize) -> Result<u64, Refused> {
    let refuse = |why| Refused::new(None, column, text, why);
    let mut rest = text.trim_matches([' ', '\t']);
    let mut total: u64 = 0;
    if rest.is_empty() {
        return Err(refuse(Why::NoDuration));
    }
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (amount, behind) = rest.split_at(digits);
        let amount = number(amount).ok_or_else(|| refuse(Why::NoDuration))?;
        let behind = behind.trim_start_matches([' ', '\t']);
        let end = behind
            .find(|c: char| !c.is_alphabetic())
            .unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(end);
        if LOOSE.contains(&unit) {
            return Err(refuse(Why::LooseUnit));
        }
        if FINE.contains(&unit) {
            return Err(refuse(Why::DurationRange));
        }
        let seconds = UNITS
            .iter()
            .find(|(name, _)| *name == unit)
            .map(|(_, seconds)| *seconds)
            .ok_or_else(|| refuse(Why::NoDuration))?;
        total = total.saturating_add(u64::from(amount).saturating_mul(seconds));
        rest = behind.trim_start_matches([' ', '\t']);
    }
    match total {
        1.. if total <= MOST_DAYS * DAY => Ok(total),
        _ => Err(refuse(Why::DurationRange)),
    }
}

/// The first slot after an instant.
pub(crate) fn next(seconds: u64, after: Timestamp) -> Option<Timestamp> {
    let seconds = i64::try_from(seconds).ok()?;
    let slot = crate::zone::floor(after).div_euclid(seconds) + 1;
    Timestamp::from_second(slot.checked_mul(seconds)?).ok()
}
