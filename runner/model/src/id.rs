//! Job ids and lease tokens.

use alloc::string::String;
use core::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use ulid::Ulid;

use crate::time::UnixMs;

/// A job's public id: a ULID, 26 characters when written. Ids grow in the order of enqueueing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u128);

impl JobId {
    /// The id as text, as people see it.
    #[must_use]
    pub fn text(self) -> String {
        use alloc::string::ToString;
        self.to_string()
    }

    /// The first of all ids with this time part.
    #[must_use]
    pub fn first_at(at: UnixMs) -> Self {
        const TIME_PART: u64 = (1 << 48) - 1;
        Self(u128::from(at.0.min(TIME_PART)) << 80)
    }

    /// The instant in the id's time part.
    #[must_use]
    pub fn minted_at(self) -> UnixMs {
        UnixMs(Ulid(self.0).timestamp_ms())
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Ulid(self.0), f)
    }
}

impl fmt::Debug for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What an id is, for those who gave another text.
pub const ID_SHAPE: &str = "an id has 26 characters, such as 01JDVYT8G0QYV5XMP1Z3M4N5P6";

/// A text that is no id: of a job, or of a batch, which has one of the same form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAnId(pub String);

impl fmt::Display for NotAnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no id: {ID_SHAPE}", self.0)
    }
}

impl core::error::Error for NotAnId {}

/// The texts that are ids, as a regular expression: a first character above 7 is more than 128 bits have room for.
pub const ID_PATTERN: &str = "[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}";

impl FromStr for JobId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let fits = matches!(text.as_bytes().first(), Some(b'0'..=b'7'));
        let ulid = Ulid::from_string(text).ok().filter(|_| fits);
        ulid.map(|ulid| Self(ulid.0))
            .ok_or_else(|| NotAnId(text.chars().take(64).collect()))
    }
}

/// As text where people read it, as 16 bytes in the log.
impl Serialize for JobId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            serde_bytes::Bytes::new(&self.0.to_be_bytes()).serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for JobId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        if deserializer.is_human_readable() {
            let text = String::deserialize(deserializer)?;
            text.parse().map_err(D::Error::custom)
        } else {
            let bytes = serde_bytes::ByteArray::<16>::deserialize(deserializer)?;
            Ok(Self(u128::from_be_bytes(*bytes)))
        }
    }
}

/// The right to report on one attempt. Each lease has a larger token than any before it, so a late
/// report of a superseded attempt is told apart and refused.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Token(pub u64);

/// Makes job ids that never repeat or go back, also when the clock was set back.
#[derive(Debug, Clone, Default)]
pub struct IdMint {
    last: u128,
}

impl IdMint {
    /// Never give out an id at or below `id` from now on.
    pub fn saw(&mut self, id: JobId) {
        self.last = self.last.max(id.0);
    }

    /// The next id: the wall clock's time part with `entropy` (80 bits are used) behind it, or the
    /// last id plus one when its millisecond is not over, or the clock was set back. Chance is asked
    /// for only when it is used.
    pub fn next(&mut self, wall: UnixMs, entropy: impl FnOnce() -> u128) -> JobId {
        self.last = if wall > JobId(self.last).minted_at() {
            Ulid::from_parts(wall.0, entropy()).0
        } else {
            self.last.saturating_add(1)
        };
        JobId(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_never_go_back_with_the_clock() {
        let mut mint = IdMint::default();
        let first = mint.next(UnixMs(2_000_000), || 7);
        let second = mint.next(UnixMs(1_000), || u128::MAX);
        assert!(second > first);
        mint.saw(JobId(second.0 + 100));
        assert!(mint.next(UnixMs(0), || 0).0 > second.0 + 100);
    }

    #[test]
    fn ids_read_back_from_their_text() {
        let id = IdMint::default().next(UnixMs(1_790_000_000_000), || 0xABCD);
        assert_eq!(id.text().parse::<JobId>(), Ok(id));
        assert_eq!(id.minted_at(), UnixMs(1_790_000_000_000));
        assert_eq!(id.text().to_ascii_lowercase().parse::<JobId>(), Ok(id));
        assert!("nonsense".parse::<JobId>().is_err());
        // It would be another id's number.
        assert!("8".repeat(26).parse::<JobId>().is_err());
        assert_eq!("7ZZZZZZZZZZZZZZZZZZZZZZZZZ".parse(), Ok(JobId(u128::MAX)));
    }
}
