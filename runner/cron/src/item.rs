//! One entry of a field's list: a number, a name, a range, a step.

use crate::{Field, Refused, Why};

/// An entry with its place.
#[derive(Clone, Copy)]
pub(crate) struct Item<'a> {
    pub(crate) field: Field,
    pub(crate) text: &'a str,
    /// Of its first character, from 1.
    pub(crate) column: usize,
}

impl<'a> Item<'a> {
    pub(crate) fn refuse(&self, why: Why) -> Refused {
        Refused::new(Some(self.field), self.column, self.text, why)
    }

    /// What a comma parts, each with its column.
    pub(crate) fn entries(self) -> impl Iterator<Item = Item<'a>> {
        let mut column = self.column;
        self.text.split(',').map(move |text| {
            let item = Item {
                text,
                column,
                ..self
            };
            column += text.chars().count() + 1;
            item
        })
    }

    /// The values as bits, by their number. Sunday is bit 0 alone.
    pub(crate) fn bits(&self) -> Result<u64, Refused> {
        if self.text.is_empty() {
            return Err(self.refuse(Why::EmptyItem));
        }
        let (base, step) = match self.text.split_once('/') {
            Some((base, step)) => (base, Some(self.step(step)?)),
            None => (self.text, None),
        };
        if base == "*" {
            let (first, last) = self.field.span();
            return Ok(self.run(first, last, step.unwrap_or(1)));
        }
        if base.contains('?') {
            return Err(self.refuse(Why::Question));
        }
        match (base.split_once('-'), step) {
            (Some((from, to)), _) => self.range(from, to, step.unwrap_or(1)),
            (None, Some(_)) if base.is_empty() => Err(self.refuse(Why::StepAlone)),
            (None, Some(_)) => self.value(base).and(Err(self.refuse(Why::StepAlone))),
            (None, None) => self.value(base).map(|value| self.run(value, value, 1)),
        }
    }

    fn range(&self, from: &str, to: &str, step: u8) -> Result<u64, Refused> {
        let (from, mut to) = (self.value(from)?, self.value(to)?);
        if to < from {
            if self.field != Field::DayOfWeek {
                return Err(self.refuse(Why::Backwards));
            }
            to += 7;
        }
        Ok(self.run(from, to, step))
    }

    fn run(&self, from: u8, to: u8, step: u8) -> u64 {
        (from..=to)
            .step_by(usize::from(step))
            .fold(0, |bits, value| {
                let value = match self.field {
                    Field::DayOfWeek => value % 7,
                    _ => value,
                };
                bits | 1 << value
            })
    }

    /// A number or a name in the field's range. 7 stays 7, for ranges that end in it.
    pub(crate) fn value(&self, text: &str) -> Result<u8, Refused> {
        let (least, most) = self.field.range();
        if let Some(value) = self.field.named(text) {
            return Ok(value);
        }
        let number = number(text).ok_or_else(|| self.refuse(Why::NoValue))?;
        match u8::try_from(number) {
            Ok(value) if (least..=most).contains(&value) => Ok(value),
            _ => Err(self.refuse(Why::OutOfRange)),
        }
    }

    fn step(&self, text: &str) -> Result<u8, Refused> {
        let number = number(text).ok_or_else(|| self.refuse(Why::NoStep))?;
        match u8::try_from(number) {
            Ok(step) if (1..=self.field.range().1).contains(&step) => Ok(step),
            _ => Err(self.refuse(Why::StepRange)),
        }
    }
}

/// Digits and nothing else; what is too large for the type as its end.
pub(crate) fn number(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u32::MAX))
}
