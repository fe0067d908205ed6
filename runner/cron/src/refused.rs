//! Why a text is no schedule: the field, the column, what stands there, and what to do.

use alloc::string::String;
use core::fmt;

use crate::{
    Field,
    every::MOST_DAYS,
    parse::{LONGEST, MACROS},
};

/// Most characters of somebody's text that a message repeats.
const SHOWN: usize = 40;

/// Why a text is no schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The field at fault, when it is one.
    pub field: Option<Field>,
    /// Where in the text, in characters from 1.
    pub column: usize,
    /// What stands there, cut when it is long.
    pub text: String,
    /// What is wrong with it.
    pub why: Why,
}

/// What can be wrong with an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Nothing but blanks.
    Empty,
    /// More bytes than any sensible expression has.
    TooLong(usize),
    /// Neither five fields nor six.
    Fields(usize),
    /// A zone in front of the expression.
    ZoneInFront,
    /// An `@word` that is none of ours.
    UnknownMacro,
    /// Nothing between two commas, or beside one.
    EmptyItem,
    /// Neither a number nor a name of this field.
    NoValue,
    /// A number outside of the field's range.
    OutOfRange,
    /// A step that is no number.
    NoStep,
    /// A step of 0, or one larger than the field's largest number.
    StepRange,
    /// A step after a single number, or after nothing.
    StepAlone,
    /// A range whose end is before its start, where no range wraps.
    Backwards,
    /// `?` in a field of the time, or with more beside it.
    Question,
    /// `L` alone as a day of the week.
    BareLast,
    /// `L-` with something else than 1 to 30 behind it.
    LastOffset,
    /// `W` without a day before it.
    NoNearest,
    /// `#` with something else than 1 to 5 or `L` behind it.
    Nth,
    /// No date can ever match the day and month fields.
    Never,
    /// `@every` without a duration that can be read.
    NoDuration,
    /// `@every` with a unit whose length is not fixed.
    LooseUnit,
    /// `@every` with less than a second, parts of one, or more than can be asked for.
    DurationRange,
}

impl Refused {
    pub(crate) fn new(field: Option<Field>, column: usize, text: &str, why: Why) -> Self {
        Self {
            field,
            column,
            text: shown(text),
            why,
        }
    }
}

/// The text as a message repeats it: cut, and without orders to a terminal.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = String::new();
    for c in text.chars().take(SHOWN) {
        match c.is_control() {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.why == Why::Never {
            f.write_str("NEVER: ")?;
        }
        if let Some(field) = self.field {
            write!(f, "{} field, column {}", field.name(), self.column)?;
            f.write_str(if self.text.is_empty() { ": " } else { ", " })?;
        }
        if !self.text.is_empty() {
            write!(f, "`{}`: ", self.text)?;
        }
        self.reason(f)
    }
}

impl core::error::Error for Refused {}

impl Refused {
    fn reason(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = self.field.unwrap_or(Field::Minute);
        let (name, most) = (field.name(), field.range().1);
        match self.why {
            Why::Empty => f.write_str("the expression is empty: write five fields, such as `0 3 * * *`"),
            Why::TooLong(bytes) => write!(f, "the expression has {bytes} bytes, {LONGEST} at most"),
            Why::Fields(count) => fields(f, count),
            Why::ZoneInFront => f.write_str("the zone is not part of the expression: give it beside it"),
            Why::UnknownMacro => macros(f),
            Why::EmptyItem => f.write_str("nothing stands here: write a value, or take the comma away"),
            Why::NoValue => write!(f, "is no {name}: write {}", field.allowed()),
            Why::OutOfRange => write!(f, "is out of range: write {}", field.allowed()),
            Why::NoStep => write!(f, "is no step: write a number from 1 to {most} after the /"),
            Why::StepRange => write!(
                f,
                "the step is out of range: in the {name} field it is a number from 1 to {most}"
            ),
            Why::StepAlone => {
                let (start, step) = self.text.split_once('/').unwrap_or_default();
                let start = if start.is_empty() { "0" } else { start };
                let last = field.span().1;
                write!(
                    f,
                    "a step needs a range before it: write {start}-{last}/{step}, or */{step} for the whole range"
                )
            }
            Why::Backwards => write!(
                f,
                "the range ends before it starts, and only days of the week wrap: write its two parts with a comma, such as {}",
                self.parts(field)
            ),
            Why::Question => f.write_str("? stands for any day, alone in a day field: write * here"),
            Why::BareLast => f.write_str("L needs a day of the week before it: write 5L for the last Friday, or 6 for Saturday"),
            Why::LastOffset => f.write_str("L-N counts from the last day of the month: N is a number from 1 to 30"),
            Why::NoNearest => f.write_str("W needs a day of the month before it: write such as 15W, or LW for the last weekday"),
            Why::Nth => f.write_str("# needs a number from 1 to 5 behind it, or L for the last: write such as MON#1"),
            Why::Never => f.write_str("can never occur: none of its months has a day that its day fields allow; change the day or the month"),
            Why::NoDuration => f.write_str("is no duration: write such as @every 90m, with the units s, m, h, d and w"),
            Why::LooseUnit => f.write_str("the length of a month or a year is not fixed: write days, or @monthly or @yearly"),
            Why::DurationRange => write!(f, "is out of range: @every takes whole seconds, from 1s to {MOST_DAYS}d"),
        }
    }

    /// The two halves of a range that would have to wrap.
    fn parts(&self, field: Field) -> String {
        let (first, last) = field.range();
        let base = self.text.split('/').next().unwrap_or_default();
        let (from, to) = base.split_once('-').unwrap_or_default();
        alloc::format!("{from}-{last},{first}-{to}")
    }
}

fn fields(f: &mut fmt::Formatter<'_>, count: usize) -> fmt::Result {
    let names = "[second] minute hour day-of-month month day-of-week";
    match count {
        1 => write!(f, "is one field, not five or six: write {names}"),
        7 => write!(
            f,
            "has 7 fields: there is no field for the year; write {names}"
        ),
        _ => write!(f, "has {count} fields, not five or six: write {names}"),
    }
}

fn macros(f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("is not known: write ")?;
    for (name, _) in MACROS {
        write!(f, "{name}, ")?;
    }
    f.write_str("@every with a duration, or @reboot")
}
