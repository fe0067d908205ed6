//! What a list needs of an entry, read without copying the rest: payload, headers and log lines are
//! passed over where they lie.
//!
//! The shapes here repeat [`DeadEntry`](super::file::DeadEntry) field by field; a test holds the two
//! together.

use sandhog_model::{FailureKind, JobId, RetryPolicy, Token, UnixMs};
use serde::{Deserialize, de::IgnoredAny};

/// An entry.
#[derive(Deserialize)]
pub(super) enum EntryHead<'a> {
    #[serde(borrow)]
    Letter(LetterHead<'a>),
    Tombstone {
        id: JobId,
    },
    #[serde(borrow)]
    Unreadable(UnreadableHead<'a>),
    Cleared {
        at: u64,
    },
}

/// A letter.
#[derive(Deserialize)]
pub(super) struct LetterHead<'a> {
    #[serde(borrow)]
    pub(super) job: JobHead<'a>,
    #[serde(borrow)]
    pub(super) attempts: Vec<AttemptHead<'a>>,
    pub(super) died_at: UnixMs,
    pub(super) token: Token,
    _losses: IgnoredAny,
}

/// A job.
#[derive(Deserialize)]
pub(super) struct JobHead<'a> {
    pub(super) id: JobId,
    pub(super) kind: &'a str,
    pub(super) queue: &'a str,
    _priority: IgnoredAny,
    #[serde(borrow)]
    pub(super) payload: &'a [u8],
    _content_type: IgnoredAny,
    _headers: IgnoredAny,
    _enqueued_at: IgnoredAny,
    _due: IgnoredAny,
    pub(super) retry: RetryPolicy,
    _timeout_ms: IgnoredAny,
    _parent: IgnoredAny,
    #[serde(default)]
    _terms: IgnoredAny,
}

/// An attempt.
#[derive(Deserialize)]
pub(super) struct AttemptHead<'a> {
    pub(super) number: u32,
    _token: IgnoredAny,
    _started_at: IgnoredAny,
    _ended_at: IgnoredAny,
    _duration_us: IgnoredAny,
    pub(super) digest: &'a str,
    _plugin: IgnoredAny,
    _peak_memory: IgnoredAny,
    #[serde(borrow)]
    pub(super) failure: Option<FailureHead<'a>>,
    _logs: IgnoredAny,
    _dropped_lines: IgnoredAny,
    #[serde(default)]
    _cpu_us: IgnoredAny,
}

/// A failure.
#[derive(Deserialize)]
pub(super) struct FailureHead<'a> {
    pub(super) kind: FailureKind,
    pub(super) code: &'a str,
    pub(super) cause: &'a str,
    pub(super) hint: Option<&'a str>,
    pub(super) panic: Option<&'a str>,
    _backtrace: IgnoredAny,
    _details: IgnoredAny,
}

/// Bytes of an entry that could not be read.
#[derive(Deserialize)]
pub(super) struct UnreadableHead<'a> {
    pub(super) id: Option<JobId>,
    pub(super) at: u64,
    pub(super) why: &'a str,
    #[serde(borrow)]
    pub(super) bytes: &'a [u8],
}

/// What an entry says, as far as a list needs it.
pub(super) fn head(body: &[u8]) -> Result<EntryHead<'_>, String> {
    rmp_serde::from_slice(body).map_err(|error| error.to_string())
}

impl<'a> LetterHead<'a> {
    /// How the last attempt failed, when the letter says.
    pub(super) fn failure(&self) -> Option<&FailureHead<'a>> {
        self.attempts.last()?.failure.as_ref()
    }

    /// The digest of the component the last attempt ran on; empty when none ran.
    pub(super) fn digest(&self) -> &'a str {
        self.attempts.last().map_or("", |last| last.digest)
    }
}

/// How a letter's body begins, up to its id: of a job that says no terms, and of one that does.
const LETTER_STARTS: [&[u8]; 2] = [
    b"\x81\xa6Letter\x95\x9c\xc4\x10",
    b"\x81\xa6Letter\x95\x9d\xc4\x10",
];

/// The id of the letter that these bytes look like, checksum or not: a guess that only an id which
/// is known otherwise confirms.
pub(super) fn guess_id(body: &[u8]) -> Option<JobId> {
    let rest = LETTER_STARTS
        .iter()
        .find_map(|start| body.strip_prefix(*start))?;
    let id = rest.first_chunk::<16>()?;
    Some(JobId(u128::from_be_bytes(*id)))
}

#[cfg(test)]
mod tests {
    use sandhog_model::{Attempt, Job, JobId, KindDefaults, Letter, Link, NewJob};

    use super::*;
    use crate::store::{dead::file::DeadEntry, frames};

    fn letter(job: Job) -> DeadEntry {
        let attempt = Attempt::without_run(1, Token(3), UnixMs(5));
        DeadEntry::Letter(Box::new(Letter {
            job,
            attempts: vec![attempt],
            died_at: UnixMs(7),
            token: Token(3),
            losses: 2,
        }))
    }

    /// What few jobs say comes at a job's end, and with it or without it the rest is found.
    #[test]
    fn a_head_is_read_whatever_a_job_says() {
        let bare = NewJob {
            kind: "k".into(),
            ..NewJob::default()
        };
        let says_more = NewJob {
            group: Some("g".into()),
            tags: vec!["t".into()],
            retry_for_ms: Some(1),
            expires: Some(UnixMs(9)),
            then: vec![Link {
                kind: "l".into(),
                ..Link::default()
            }],
            ..bare.clone()
        };
        for new in [bare, says_more] {
            let job = new.accept(JobId(1), UnixMs(0), &KindDefaults::default());
            let body = frames::encode_entry(&letter(job.expect("within bounds")));
            let Ok(EntryHead::Letter(head)) = head(&body) else {
                panic!("no letter: {:?}", head(&body).err());
            };
            assert_eq!((head.job.id, head.job.kind), (JobId(1), "k"));
            assert_eq!(guess_id(&body), Some(JobId(1)));
            assert_eq!((head.attempts.len(), head.died_at), (1, UnixMs(7)));
            assert_eq!(head.token, Token(3));
        }
    }
}
