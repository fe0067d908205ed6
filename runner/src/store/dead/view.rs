//! What the read side shows of dead letters, and what can be asked of them. These are the shapes of
//! the socket.

use std::{fmt, str::FromStr};

use sandhog_model::{Amend, FailureKind, JobId, Token, UnixMs};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::store::FailureRow;

/// What a letter is called: its job's id, or, when that cannot be read, the place in the file where
/// it was found broken, written `@7168`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LetterName {
    /// The dead job.
    Job(JobId),
    /// An entry that cannot be read. The place keeps its name when the file is written anew.
    Place(u64),
}

/// A text that names no letter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no job id and no place: use what `sandhog dead ls` shows in its first column")]
pub struct NotALetter(pub String);

impl fmt::Display for LetterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Job(id) => fmt::Display::fmt(id, f),
            Self::Place(at) => write!(f, "@{at}"),
        }
    }
}

impl FromStr for LetterName {
    type Err = NotALetter;

    fn from_str(text: &str) -> Result<Self, NotALetter> {
        let bad = || NotALetter(text.chars().take(64).collect());
        match text.strip_prefix('@') {
            Some(place) if place.bytes().all(|byte| byte.is_ascii_digit()) => {
                place.parse().map(Self::Place).map_err(|_| bad())
            }
            Some(_) => Err(bad()),
            None => text.parse().map(Self::Job).map_err(|_| bad()),
        }
    }
}

impl Serialize for LetterName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for LetterName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Which dead letters. Empty fields do not filter; all others must fit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DeadFilter {
    /// Only from this queue.
    pub queue: Option<String>,
    /// Only of this kind.
    pub kind: Option<String>,
    /// Only those whose last attempt failed so: a failure's name such as `trap:unreachable`, or a
    /// family such as `trap`.
    pub failure: Option<String>,
    /// Only those whose last attempt ran on a component whose SHA-256 begins so, in hex.
    pub digest: Option<String>,
    /// Only those that died at this instant or later.
    pub since: Option<UnixMs>,
    /// Only those that died before this instant.
    pub until: Option<UnixMs>,
    /// Only those with this text, in whatever case: in the last failure's code, cause, hint, panic
    /// or kind, in the job's kind, or in its payload when the letter is not large.
    pub text: Option<String>,
    /// Only entries that cannot be read.
    pub unreadable: bool,
}

impl DeadFilter {
    /// Whether it lets everything through.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A dead letter in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeadRow {
    /// What it is called.
    pub name: LetterName,
    /// Its kind; empty when it cannot be read.
    pub kind: String,
    /// Its queue; empty when it cannot be read.
    pub queue: String,
    /// When it died; 0 when that cannot be read.
    pub died_at: UnixMs,
    /// The lease whose end buried it.
    pub token: Token,
    /// Attempts in its history.
    pub attempts: u32,
    /// The number of the last of them, which begins anew when a job is brought back.
    #[serde(default)]
    pub last: u32,
    /// Attempts it was allowed.
    pub max_attempts: u32,
    /// How the last attempt failed.
    pub failure: FailureRow,
    /// SHA-256 of the component the last attempt ran on, in hex; `None` when none ran.
    pub digest: Option<String>,
    /// Bytes it takes in the file.
    pub bytes: u64,
    /// Why it cannot be read, if it cannot.
    pub unreadable: Option<String>,
}

impl DeadRow {
    /// The row of an entry of which nothing more is known.
    pub(super) fn unreadable(name: LetterName, bytes: u64, why: String) -> Self {
        Self {
            name,
            kind: String::new(),
            queue: String::new(),
            died_at: UnixMs(0),
            token: Token::default(),
            attempts: 0,
            last: 0,
            max_attempts: 0,
            failure: unreadable_failure(&why),
            digest: None,
            bytes,
            unreadable: Some(why),
        }
    }
}

pub(super) fn unreadable_failure(why: &str) -> FailureRow {
    FailureRow {
        kind: FailureKind::HostError,
        cause: format!("the letter cannot be read: {why}"),
        hint: Some("see its bytes with `sandhog dead show --raw`".to_owned()),
    }
}

/// How many letters there are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DeadCount {
    /// Letters that fit, as far as was looked.
    pub count: u64,
    /// Where to go on counting, when not all was looked at.
    pub next: Option<String>,
}

/// The bytes of a letter as they lie in the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawLetter {
    /// What it is called.
    pub name: LetterName,
    /// Why it cannot be read, if it cannot.
    pub unreadable: Option<String>,
    /// The bytes: of the whole frame, or of what was found in its place.
    #[serde(with = "serde_bytes")]
    pub bytes: Vec<u8>,
}

/// A letter to change. With a token, only as long as it is the letter of that very death.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LetterRef {
    /// What it is called.
    pub name: LetterName,
    /// The lease whose end buried it, as its row said.
    pub token: Option<Token>,
}

/// What to do with dead jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeadWish {
    /// Give them fresh attempts and take them out.
    Requeue,
    /// Forget them with their letters.
    Delete,
}

impl DeadWish {
    /// The change of a job that it is.
    pub(in crate::store) const fn of(self, id: JobId) -> Amend {
        match self {
            Self::Requeue => Amend::Requeue(id),
            Self::Delete => Amend::Delete(id),
        }
    }
}

/// What became of a letter of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Imported {
    /// It is a dead job of this store now, or would be.
    Taken,
    /// Its id is here already; nothing changed.
    Known,
}

/// Which letters are kept. `None` does not bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LetterBounds {
    /// Those that died longer ago than this many milliseconds go.
    pub keep_ms: Option<u64>,
    /// At most so many, the newest.
    pub max_letters: Option<u64>,
    /// At most so many bytes in all, the newest. The newest letter of all stays whatever its size.
    pub max_bytes: Option<u64>,
}

impl LetterBounds {
    /// Whether everything is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Why a letter was purged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PurgeReason {
    /// It was older than the age to keep.
    Age,
    /// There were more than the number to keep.
    Number,
    /// All letters together were larger than the bytes to keep.
    Bytes,
}

impl fmt::Display for PurgeReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Age => "older than the age to keep",
            Self::Number => "more than the number to keep",
            Self::Bytes => "over the bytes to keep",
        })
    }
}

/// Letters purged, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PurgeCounts {
    /// For their age.
    pub age: u64,
    /// For their number.
    pub number: u64,
    /// For their bytes.
    pub bytes: u64,
}

impl PurgeCounts {
    /// One more.
    pub fn add(&mut self, reason: PurgeReason) {
        match reason {
            PurgeReason::Age => self.age += 1,
            PurgeReason::Number => self.number += 1,
            PurgeReason::Bytes => self.bytes += 1,
        }
    }

    /// All together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.age + self.number + self.bytes
    }
}

/// What a purge did, or would do.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Purged {
    /// The letters, oldest first, with the reason; at most 1000 at a time.
    pub letters: Vec<(JobId, PurgeReason)>,
    /// How many more the bounds are against.
    pub left: u64,
}
