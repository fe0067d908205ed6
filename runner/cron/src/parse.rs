//! From text to what a schedule is made of.

use alloc::vec::Vec;

use crate::{Field, Refused, Why, every, item::Item, pattern::Pattern};

/// Most bytes of an expression: every number of every field, spelled out, fits.
pub(crate) const LONGEST: usize = 512;

/// Names for common expressions.
pub(crate) const MACROS: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// What decides when a schedule's slots are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timing {
    /// Fields of a calendar.
    Calendar(Pattern),
    /// So many seconds apart.
    Every(u64),
    /// Once, when the runner starts.
    Start,
}

const BLANK: [char; 2] = [' ', '\t'];

pub(crate) fn parse(text: &str) -> Result<Timing, Refused> {
    let refuse = |why| Refused::new(None, 1, text.trim_matches(BLANK), why);
    if text.len() > LONGEST {
        return Err(refuse(Why::TooLong(text.len())));
    }
    let words: Vec<(usize, &str)> = words(text).collect();
    let Some(&(column, first)) = words.first() else {
        return Err(refuse(Why::Empty));
    };
    let upper = first.to_ascii_uppercase();
    if upper.starts_with("TZ=") || upper.starts_with("CRON_TZ=") {
        return Err(refuse(Why::ZoneInFront));
    }
    if !first.starts_with('@') {
        return fields(&words, refuse);
    }
    if first.eq_ignore_ascii_case("@every") {
        let behind = text.trim_start_matches(BLANK);
        return every::parse(&behind[first.len()..], column + first.len()).map(Timing::Every);
    }
    if words.len() > 1 {
        return Err(refuse(Why::UnknownMacro));
    }
    if first.eq_ignore_ascii_case("@reboot") {
        return Ok(Timing::Start);
    }
    let known = MACROS
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(first));
    match known {
        Some((_, meant)) => parse(meant),
        None => Err(refuse(Why::UnknownMacro)),
    }
}

fn fields(words: &[(usize, &str)], refuse: impl Fn(Why) -> Refused) -> Result<Timing, Refused> {
    let names = match words.len() {
        5 => &Field::ALL[1..],
        6 => &Field::ALL[..],
        count => return Err(refuse(Why::Fields(count))),
    };
    let items: Vec<Item<'_>> = names
        .iter()
        .zip(words)
        .map(|(&field, &(column, text))| Item {
            field,
            text,
            column,
        })
        .collect();
    let pattern = Pattern::parse(&items)?;
    match pattern.can_occur() {
        true => Ok(Timing::Calendar(pattern)),
        false => Err(refuse(Why::Never)),
    }
}

/// The words of a text, each with the column of its first character.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut column = 1;
    text.split(BLANK).filter_map(move |word| {
        let at = column;
        column += word.chars().count() + 1;
        (!word.is_empty()).then_some((at, word))
    })
}
