//! What few jobs say of themselves: an end to their waiting, who they are, whom they share with.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::Link;
use crate::{id::JobId, ledger::Status, time::UnixMs};

/// What few jobs say.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Terms {
    /// Not to be begun from this instant on: a job that still waits then is expired.
    pub expires: Option<UnixMs>,
    /// How long it may go on failing, in milliseconds from the end of the first attempt that failed.
    pub retry_for_ms: Option<u64>,
    /// What it must not be twice.
    pub unique: Option<Unique>,
    /// The caller's name for the wish that it came from.
    pub idempotency: Option<Named>,
    /// The group it takes turns and shares limits with, such as a customer.
    pub group: Option<String>,
    /// The batch it belongs to.
    pub batch: Option<JobId>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// What follows it when it completes, the next one first.
    #[serde(default)]
    pub then: Vec<Link>,
}

impl Terms {
    /// Whether it says nothing, as most jobs do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self {
            expires,
            retry_for_ms,
            unique,
            idempotency,
            group,
            batch,
            tags,
            then,
        } = self;
        expires.is_none()
            && retry_for_ms.is_none()
            && unique.is_none()
            && idempotency.is_none()
            && group.is_none()
            && batch.is_none()
            && tags.is_empty()
            && then.is_empty()
    }
}

/// What two jobs have in common that must not be there twice: 128 bits of a hash over a kind and the
/// text of a key. Whoever makes it decides what goes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub u128);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// As text where people read it, as 16 bytes in the log.
impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            serde_bytes::Bytes::new(&self.0.to_be_bytes()).serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let text = String::deserialize(deserializer)?;
            let digest = u128::from_str_radix(&text, 16).map_err(D::Error::custom)?;
            Ok(Self(digest))
        } else {
            let bytes = serde_bytes::ByteArray::<16>::deserialize(deserializer)?;
            Ok(Self(u128::from_be_bytes(*bytes)))
        }
    }
}

/// A key, and what people read of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// The key.
    pub key: Digest,
    /// Its text, as far as it is kept.
    pub says: String,
}

/// What a job must not be twice, and for how long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unique {
    /// The key.
    pub key: Digest,
    /// Its text, as far as it is kept.
    pub says: String,
    /// The states in which it stands in the way of others.
    pub scope: Scope,
    /// From this instant on it stands in nobody's way; never when `None`.
    pub until: Option<UnixMs>,
    /// What becomes of it when another stands in its way.
    pub on_conflict: OnConflict,
}

/// What becomes of a job when one with its key is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnConflict {
    /// It is refused.
    #[default]
    Reject,
    /// The other one is the answer.
    Keep,
    /// It takes the place of one that waits.
    Replace,
    /// One that waits becomes due when it would have been, and is the answer.
    Debounce,
}

impl OnConflict {
    /// Every one, in the order of their numbers in the log.
    pub const ALL: [Self; 4] = [Self::Reject, Self::Keep, Self::Replace, Self::Debounce];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reject => "reject",
            Self::Keep => "keep",
            Self::Replace => "replace",
            Self::Debounce => "debounce",
        }
    }
}

impl FromStr for OnConflict {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|one| one.name() == text);
        found.ok_or_else(|| {
            format!("{text:?} is no answer to a conflict: use reject, keep, replace or debounce")
        })
    }
}

/// The states in which a unique job stands in the way of others. `scheduled` and `available` are one:
/// nothing is written when a job becomes due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope(u16);

impl Scope {
    /// One that waits, and did not fail since.
    pub const WAITING: Self = Self(1);
    /// One that waits out a backoff.
    pub const RETRYABLE: Self = Self(1 << 1);
    /// One that runs.
    pub const RUNNING: Self = Self(1 << 2);
    /// One that has not ended.
    pub const UNFINISHED: Self = Self(0b111);
    /// Whatever its state, for as long as it is known.
    pub const KNOWN: Self = Self(0b1111_1111);

    const NAMES: [&'static str; 8] = [
        "waiting",
        "retryable",
        "running",
        "completed",
        "cancelled",
        "discarded",
        "dead",
        "expired",
    ];

    /// Its bits, as the log has them.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// The scope of these bits; those that mean nothing are left out.
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits & Self::KNOWN.0)
    }

    /// Both together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether a job as it stands is meant.
    #[must_use]
    pub fn holds(self, status: Status) -> bool {
        let bit = match status {
            Status::Waiting { backoff: false, .. } => 0,
            Status::Waiting { backoff: true, .. } => 1,
            Status::Running { .. } => 2,
            Status::Completed(_) => 3,
            Status::Cancelled(_) => 4,
            Status::Discarded(_) => 5,
            Status::Dead(_) => 6,
            Status::Expired(_) => 7,
        };
        self.0 >> bit & 1 == 1
    }
}

impl Default for Scope {
    fn default() -> Self {
        Self::UNFINISHED
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = (0..8).filter(|bit| self.0 >> bit & 1 == 1);
        let names: Vec<&str> = named.map(|bit| Self::NAMES[bit]).collect();
        f.write_str(&names.join(","))
    }
}

impl FromStr for Scope {
    type Err = String;

    /// Names with commas between them. `unfinished` is the first three.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut scope = Self(0);
        for name in text.split(',').map(str::trim) {
            let bits = match name {
                "unfinished" => Self::UNFINISHED.0,
                "scheduled" | "available" => Self::WAITING.0,
                name => match Self::NAMES.iter().position(|one| *one == name) {
                    Some(bit) => 1 << bit,
                    None => {
                        let names = Self::NAMES.join(", ");
                        return Err(format!(
                            "{name:?} is no state of a unique job: use unfinished, {names}"
                        ));
                    }
                },
            };
            scope.0 |= bits;
        }
        Ok(scope)
    }
}

impl Serialize for Scope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.serialize_str(&self.to_string())
        } else {
            serializer.serialize_u16(self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Scope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let text = String::deserialize(deserializer)?;
            text.parse().map_err(D::Error::custom)
        } else {
            u16::deserialize(deserializer).map(Self::from_bits)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_reads_back_from_its_names() {
        for text in [
            "waiting",
            "running,dead",
            "waiting,retryable,running,expired",
        ] {
            assert_eq!(
                text.parse::<Scope>().map(|scope| scope.to_string()),
                Ok(text.into())
            );
        }
        assert_eq!("unfinished".parse(), Ok(Scope::UNFINISHED));
        assert_eq!("available, scheduled".parse(), Ok(Scope::WAITING));
        let why = "waiting,done".parse::<Scope>().expect_err("no state");
        assert!(why.contains("done") && why.contains("completed"), "{why}");
    }
}
