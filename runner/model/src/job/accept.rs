//! From what someone wishes to a job within bounds.

use alloc::{format, string::String};
use core::ops::RangeInclusive;

use super::{Job, KindDefaults, Link, NewJob, Terms, link};
use crate::{
    command::Rejected,
    id::JobId,
    limits::{
        BACKOFF_MS, CONTENT_TYPE_BYTES, DEFAULT_QUEUE, DUE_AHEAD_MS, HEADER_BYTES, HEADERS,
        NAME_BYTES, PAYLOAD_BYTES, TAG_BYTES, TAGS, TIMEOUT_MS,
    },
    time::UnixMs,
};

/// The media type of a payload that has none.
const DEFAULT_CONTENT_TYPE: &str = "application/octet-stream";

/// The bounds an operator can move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Largest payload, in bytes.
    pub payload_bytes: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            payload_bytes: PAYLOAD_BYTES,
        }
    }
}

impl NewJob {
    /// The job that this wish becomes at `now`, with the default [`Bounds`].
    ///
    /// # Errors
    /// See [`accept_within`](Self::accept_within).
    pub fn accept(self, id: JobId, now: UnixMs, defaults: &KindDefaults) -> Result<Job, Rejected> {
        self.accept_within(id, now, defaults, Bounds::default())
    }

    /// The job that this wish becomes at `now`. What it leaves open comes from `defaults`, then
    /// from the house: queue `default`, priority 0, due at once, `application/octet-stream`.
    ///
    /// The digests of [`unique`](NewJob::unique) and [`idempotency_key`](NewJob::idempotency_key)
    /// are left to whoever can read the payload.
    ///
    /// # Errors
    /// [`Rejected::Invalid`] with the field, its value or length, and the range.
    pub fn accept_within(
        self,
        id: JobId,
        now: UnixMs,
        defaults: &KindDefaults,
        bounds: Bounds,
    ) -> Result<Job, Rejected> {
        let or_default = |name: &str| String::from(name);
        let due = self.due.unwrap_or(now);
        let max_age = defaults.max_age_ms.map(|ms| due.max(now).plus(ms));
        let terms = Terms {
            expires: self.expires.or(max_age),
            retry_for_ms: self.retry_for_ms.or(defaults.retry_for_ms),
            group: self.group,
            tags: self.tags,
            then: self.then,
            batch: self.batch,
            ..Terms::default()
        };
        let job = Job {
            id,
            kind: self.kind,
            queue: self
                .queue
                .or_else(|| defaults.queue.clone())
                .unwrap_or_else(|| or_default(DEFAULT_QUEUE)),
            priority: self.priority.unwrap_or(0),
            payload: self.payload,
            content_type: self
                .content_type
                .or_else(|| defaults.content_type.clone())
                .unwrap_or_else(|| or_default(DEFAULT_CONTENT_TYPE)),
            headers: self.headers,
            enqueued_at: now,
            due,
            retry: self.retry.or(defaults.retry.clone()),
            timeout_ms: self.timeout_ms.or(defaults.timeout_ms),
            parent: self.parent,
            terms,
        };
        job.check(bounds).map_err(Rejected::Invalid)?;
        Ok(job)
    }
}

impl Job {
    /// Bytes it takes in a record, payload and headers and all, estimated from above except for a
    /// few dozen.
    #[must_use]
    pub fn weight(&self) -> usize {
        let headers: usize = self
            .headers
            .iter()
            .map(|(k, v)| k.len() + v.len() + 8)
            .sum();
        let names = self.kind.len() + self.queue.len() + self.content_type.len();
        // Ids, instants, policy and the marks between the fields.
        self.payload.len() + headers + names + self.terms.weight() + 256
    }

    fn check(&self, bounds: Bounds) -> Result<(), String> {
        check_name("kind", &self.kind)?;
        check_name("queue", &self.queue)?;
        check_length("payload", self.payload.len(), bounds.payload_bytes)?;
        check_length("content type", self.content_type.len(), CONTENT_TYPE_BYTES)?;
        check_controls("content type", &self.content_type)?;
        self.check_headers()?;
        self.retry.check()?;
        if let Some(timeout) = self.timeout_ms {
            check_range("timeout in milliseconds", timeout, 1..=TIMEOUT_MS)?;
        }
        let ahead = self.due.since(self.enqueued_at);
        if ahead > DUE_AHEAD_MS {
            let days = ahead / (24 * 60 * 60 * 1000);
            return Err(format!(
                "due is {days} days ahead: at most 100 years (36525 days) are allowed"
            ));
        }
        self.check_expiry()?;
        link::check(&self.terms.then, bounds)?;
        self.terms.check()
    }

    fn check_expiry(&self) -> Result<(), String> {
        match self.terms.expires {
            Some(expires) if expires <= self.due.max(self.enqueued_at) => Err(format!(
                "it expires at {}, which is not after it is due ({}): it could never \
                 be begun",
                expires,
                self.due.max(self.enqueued_at)
            )),
            Some(expires) if expires.since(self.due) > DUE_AHEAD_MS => {
                Err("it expires more than 100 years after it is due: leave that out".into())
            }
            Some(_) | None => Ok(()),
        }
    }

    fn check_headers(&self) -> Result<(), String> {
        if self.headers.len() > HEADERS {
            let count = self.headers.len();
            return Err(format!(
                "there are {count} headers: at most {HEADERS} are allowed"
            ));
        }
        let mut total = 0_usize;
        for (key, value) in &self.headers {
            if key.is_empty() {
                return Err("a header has an empty key: give it at least one character".into());
            }
            check_controls("header key", key)?;
            total = total.saturating_add(key.len()).saturating_add(value.len());
        }
        check_length("header keys and values", total, HEADER_BYTES)
    }
}

impl Terms {
    /// Bytes it takes in a record, estimated from above.
    fn weight(&self) -> usize {
        let named = |named: &super::Named| named.says.len() + 24;
        let tags: usize = self.tags.iter().map(|tag| tag.len() + 2).sum();
        let unique = self.unique.as_ref().map_or(0, |one| one.says.len() + 48);
        let group = self.group.as_ref().map_or(0, String::len);
        let then: usize = self.then.iter().map(Link::weight).sum();
        tags + then + unique + self.idempotency.as_ref().map_or(0, named) + group + 64
    }

    fn check(&self) -> Result<(), String> {
        if let Some(group) = &self.group {
            if group.is_empty() {
                return Err("the group is empty: leave it out or name it".into());
            }
            check_length("group", group.len(), NAME_BYTES)?;
            check_controls("group", group)?;
        }
        if let Some(ms) = self.retry_for_ms {
            check_range("retry_for in milliseconds", ms, 1..=BACKOFF_MS)?;
        }
        let count = self.tags.len();
        if count > TAGS {
            return Err(format!(
                "there are {count} tags: at most {TAGS} are allowed"
            ));
        }
        for tag in &self.tags {
            if tag.is_empty() || tag.contains(',') {
                return Err(format!("tag {tag:?}: it must not be empty or have a comma"));
            }
            check_length("tag", tag.len(), TAG_BYTES)?;
            check_controls("tag", tag)?;
        }
        Ok(())
    }
}

fn check_length(field: &str, length: usize, most: usize) -> Result<(), String> {
    if length > most {
        return Err(format!(
            "{field}: {length} bytes, at most {most} are allowed"
        ));
    }
    Ok(())
}

fn check_range(field: &str, value: u64, range: RangeInclusive<u64>) -> Result<(), String> {
    if range.contains(&value) {
        return Ok(());
    }
    let (low, high) = (range.start(), range.end());
    Err(format!("{field} is {value}: use {low} to {high}"))
}

fn check_controls(field: &str, text: &str) -> Result<(), String> {
    // Printable ASCII, which most is, at a glance.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Ok(());
    }
    match text.chars().find(|c| c.is_control()) {
        Some(found) => {
            let shown: String = text.chars().take(64).collect();
            Err(format!(
                "{field} {shown:?} has the control character {found:?}: leave it out"
            ))
        }
        None => Ok(()),
    }
}

/// The texts that name a kind or queue, as a regular expression.
pub const NAME_PATTERN: &str = "[A-Za-z0-9][A-Za-z0-9._:-]{0,127}";

/// Whether a text names a kind or queue.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let is_first = |byte: &u8| byte.is_ascii_alphanumeric();
    let is_next = |byte: u8| is_first(&byte) || matches!(byte, b'.' | b'_' | b':' | b'-');
    text.len() <= NAME_BYTES
        && text.as_bytes().first().is_some_and(is_first)
        && text.bytes().all(is_next)
}

/// What is wrong with a text that is to be a name of a kind or queue.
pub(crate) fn check_name(field: &str, name: &str) -> Result<(), String> {
    let allowed = "use 1 to 128 of A-Z, a-z, 0-9 and . _ : -, the first one a letter or digit";
    if name.is_empty() {
        return Err(format!("{field} is empty: {allowed}"));
    }
    check_length(field, name.len(), NAME_BYTES)?;
    if is_name(name) {
        return Ok(());
    }
    Err(format!("{field} {name:?} is no name: {allowed}"))
}
