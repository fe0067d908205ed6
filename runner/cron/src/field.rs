//! The fields of an expression: their names, and what may stand in them.

/// A field of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// 0 to 59; only when an expression has six fields.
    Second,
    /// 0 to 59.
    Minute,
    /// 0 to 23.
    Hour,
    /// 1 to 31.
    DayOfMonth,
    /// 1 to 12, or a name.
    Month,
    /// 0 to 7, or a name; 0 and 7 are both Sunday.
    DayOfWeek,
}

const MONTHS: [&str; 12] = [
    "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

impl Field {
    /// In the order of an expression with seconds.
    pub const ALL: [Self; 6] = [
        Self::Second,
        Self::Minute,
        Self::Hour,
        Self::DayOfMonth,
        Self::Month,
        Self::DayOfWeek,
    ];

    /// As errors and the documentation name it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Second => "second",
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::DayOfMonth => "day-of-month",
            Self::Month => "month",
            Self::DayOfWeek => "day-of-week",
        }
    }

    /// The least and the largest number that may be written. The largest is also the largest step.
    #[must_use]
    pub const fn range(self) -> (u8, u8) {
        match self {
            Self::Second | Self::Minute => (0, 59),
            Self::Hour => (0, 23),
            Self::DayOfMonth => (1, 31),
            Self::Month => (1, 12),
            Self::DayOfWeek => (0, 7),
        }
    }

    /// What `*` stands for: Sunday once.
    pub(crate) const fn span(self) -> (u8, u8) {
        match self {
            Self::DayOfWeek => (0, 6),
            _ => self.range(),
        }
    }

    /// The number a name stands for, in capitals or not.
    pub(crate) fn named(self, name: &str) -> Option<u8> {
        let (names, first): (&[&str], u8) = match self {
            Self::Month => (&MONTHS, 1),
            Self::DayOfWeek => (&WEEKDAYS, 0),
            _ => return None,
        };
        let found = names
            .iter()
            .position(|one| one.eq_ignore_ascii_case(name))?;
        Some(first + found as u8)
    }

    /// What may stand in it, for errors.
    pub(crate) const fn allowed(self) -> &'static str {
        match self {
            Self::Second | Self::Minute => "a number from 0 to 59",
            Self::Hour => "a number from 0 to 23",
            Self::DayOfMonth => {
                "a number from 1 to 31, L for the last day, or 15W for the nearest weekday"
            }
            Self::Month => "a number from 1 to 12, or JAN to DEC",
            Self::DayOfWeek => {
                "a number from 0 to 7 (0 and 7 are Sunday), SUN to SAT, 5L for the last Friday, or 5#2 for the second"
            }
        }
    }
}
