//! A time zone of the IANA database, and the moments at which its clocks are set.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;

use jiff::{
    Timestamp,
    civil::DateTime,
    tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneDatabase},
};

use crate::refused::shown;

/// A time zone. Its rules are the ones this program was built with, the same on every machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone {
    rules: TimeZone,
    name: String,
}

/// A name that is no zone of the IANA database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownZone {
    /// What was asked for, cut when it is long.
    pub name: String,
    /// Names that look like it.
    pub near: Vec<String>,
}

/// A moment at which clocks are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// The first instant of the new time.
    pub at: Timestamp,
    /// What clocks would have shown at that instant.
    pub from: DateTime,
    /// What they show instead.
    pub to: DateTime,
    /// Summer time begins or ends; otherwise the zone's own offset changes.
    pub is_dst: bool,
}

impl Zone {
    /// Coordinated universal time.
    #[must_use]
    pub fn utc() -> Self {
        Self {
            rules: TimeZone::UTC,
            name: "UTC".into(),
        }
    }

    /// A zone by its name in the IANA database, in capitals or not.
    pub fn named(name: &str) -> Result<Self, UnknownZone> {
        let database = TimeZoneDatabase::bundled();
        // A name longer than any is not searched for.
        let found = (name.len() <= 64)
            .then(|| database.get(name).ok())
            .flatten();
        if let Some(rules) = found.filter(|rules| !rules.is_unknown()) {
            let name = rules.iana_name().unwrap_or(name).to_string();
            return Ok(Self { rules, name });
        }
        let wanted = name.rsplit('/').next().unwrap_or(name);
        let wanted = wanted.replace(' ', "_").to_ascii_lowercase();
        let near = database
            .available()
            .map(|one| one.to_string())
            .filter(|one| wanted.len() > 2 && one.to_ascii_lowercase().contains(&wanted))
            .take(3);
        Err(UnknownZone {
            name: shown(name),
            near: near.collect(),
        })
    }

    /// Every name there is.
    #[must_use]
    pub fn names() -> Vec<String> {
        let database = TimeZoneDatabase::bundled();
        database.available().map(|name| name.to_string()).collect()
    }

    /// Its name in the database.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How far its clocks are ahead of UTC at an instant.
    #[must_use]
    pub fn offset(&self, at: Timestamp) -> Offset {
        self.rules.to_offset(at)
    }

    /// What its clocks show at an instant.
    #[must_use]
    pub fn local(&self, at: Timestamp) -> DateTime {
        self.rules.to_datetime(at)
    }

    /// What its time is called at an instant, such as `CEST`.
    #[must_use]
    pub fn abbreviation(&self, at: Timestamp) -> String {
        self.rules.to_offset_info(at).abbreviation().into()
    }

    /// The next moment at which the clocks are set, after an instant.
    #[must_use]
    pub fn next_change(&self, after: Timestamp) -> Option<Change> {
        let mut moments = self.rules.following(after).map(|one| one.timestamp());
        moments.find_map(|at| self.change_at(at))
    }

    /// The last such moment before an instant.
    #[must_use]
    pub fn last_change(&self, before: Timestamp) -> Option<Change> {
        let mut moments = self.rules.preceding(before).map(|one| one.timestamp());
        moments.find_map(|at| self.change_at(at))
    }

    /// Names of zones and rules change without the clocks being set: those are no changes.
    fn change_at(&self, at: Timestamp) -> Option<Change> {
        let just_before = Timestamp::from_second(at.as_second().checked_sub(1)?).ok()?;
        let before = self.rules.to_offset_info(just_before);
        let behind = self.rules.to_offset_info(at);
        (before.offset() != behind.offset()).then(|| Change {
            at,
            from: before.offset().to_datetime(at),
            to: behind.offset().to_datetime(at),
            is_dst: before.dst() != behind.dst(),
        })
    }

    pub(crate) fn meaning(&self, local: DateTime) -> AmbiguousOffset {
        self.rules.to_ambiguous_timestamp(local).offset()
    }
}

impl Change {
    /// Whether clocks skip a time, and do not repeat one.
    #[must_use]
    pub fn is_forward(&self) -> bool {
        self.to > self.from
    }
}

/// The whole second at or before an instant.
pub(crate) fn floor(at: Timestamp) -> i64 {
    match at.subsec_nanosecond() {
        ..0 => at.as_second() - 1,
        _ => at.as_second(),
    }
}

impl fmt::Display for UnknownZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        write!(f, "`{name}` is no zone of the IANA database: ")?;
        match self.near.as_slice() {
            [] => f.write_str("write its name, such as Europe/Paris, America/New_York or UTC"),
            near => write!(f, "did you mean {}?", near.join(", ")),
        }
    }
}

impl core::error::Error for UnknownZone {}
