//! Jobs a handler adds.

use std::fmt;
use std::time::Duration;

use crate::payload::Output;

/// A job to add with [`Context::enqueue`](crate::Context::enqueue), when, and only when, the
/// attempt succeeds.
///
/// ```
/// # use sandhog_sdk::{Bytes, NewJob};
/// # use std::time::Duration;
/// NewJob::new("mail", ["a@example.org", "b@example.org"]).queue("slow").delay(Duration::from_secs(60));
/// NewJob::new("page", Bytes::new("text/markdown", "# Hello")).header("path", "hello.md");
/// ```
#[derive(Clone, Debug)]
#[must_use = "a job is added by `Context::enqueue`"]
pub struct NewJob {
    pub(crate) kind: String,
    /// The error waits here for the enqueue, so that building never fails.
    pub(crate) payload: Result<crate::Bytes, String>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) options: Vec<(String, String)>,
}

impl NewJob {
    /// A job of a kind. The payload is written as a handler's output is: JSON, or
    /// [`Bytes`](crate::Bytes) as they are.
    pub fn new(kind: impl Into<String>, payload: impl Output) -> Self {
        Self {
            kind: kind.into(),
            payload: payload.write(),
            headers: Vec::new(),
            options: Vec::new(),
        }
    }

    /// In this queue, not the kind's own.
    pub fn queue(self, queue: impl Into<String>) -> Self {
        self.option("queue", queue)
    }

    /// Due this long after the attempt succeeded; milliseconds count.
    pub fn delay(self, delay: Duration) -> Self {
        self.option("delay-ms", delay.as_millis().to_string())
    }

    /// With this priority inside its queue.
    pub fn priority(self, priority: i32) -> Self {
        self.option("priority", priority.to_string())
    }

    /// With this many attempts at most.
    pub fn max_attempts(self, attempts: u32) -> Self {
        self.option("max-attempts", attempts.to_string())
    }

    /// Not to be begun later than this after it is due; milliseconds count.
    pub fn expires_in(self, span: Duration) -> Self {
        self.option("expires-in-ms", span.as_millis().to_string())
    }

    /// With this long to go on failing, from its first failure on; milliseconds count.
    pub fn retry_for(self, span: Duration) -> Self {
        self.option("retry-for-ms", span.as_millis().to_string())
    }

    /// In this group, with which it takes turns in its queue and shares limits.
    pub fn group(self, group: impl Into<String>) -> Self {
        self.option("group", group)
    }

    /// With one more word to find it by.
    pub fn tag(mut self, word: impl Into<String>) -> Self {
        self.options.push(("tag".into(), word.into()));
        self
    }

    /// In the batch of the job that enqueues it, which has to be in one.
    pub fn in_batch(self) -> Self {
        self.option("batch", "own")
    }

    /// Not to be there twice: when a job of its kind with this key stands in the way as the attempt succeeds, that one
    /// is kept and this one is not added. Then the id that was given for it is nobody's.
    pub fn unique_key(self, key: impl Into<String>) -> Self {
        self.option("unique-key", key)
    }

    /// With this long at most to stand in the way of others by its unique key; milliseconds count.
    pub fn unique_for(self, span: Duration) -> Self {
        self.option("unique-for-ms", span.as_millis().to_string())
    }

    /// In these states alone in the way of others by its unique key, such as `waiting,retryable`; `unfinished` when
    /// not said.
    pub fn unique_while(self, states: impl Into<String>) -> Self {
        self.option("unique-while", states)
    }

    /// With a name for this wish: when a job of its kind is known by that name as the attempt succeeds, this one is
    /// not added.
    pub fn idempotency_key(self, key: impl Into<String>) -> Self {
        self.option("idempotency-key", key)
    }

    /// With one more header.
    pub fn header(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((key.into(), value.into()));
        self
    }

    /// With an option by its name in the contract. A host refuses names it does not know.
    pub fn option(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        let key = key.into();
        self.options.retain(|(known, _)| *known != key);
        self.options.push((key, value.into()));
        self
    }
}

/// Why a new job was not taken. Each text is for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EnqueueError {
    /// Something in the request is wrong: the text names it.
    Invalid(String),
    /// Over the attempt's cap on number or bytes of new jobs.
    Quota(String),
    /// This handler may not do that.
    Denied(String),
    /// A reason this SDK does not know.
    Other(String),
}

impl fmt::Display for EnqueueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(why) => write!(f, "the new job is not valid: {why}"),
            Self::Quota(why) => write!(f, "too many new jobs: {why}"),
            Self::Denied(why) => write!(f, "the new job is not allowed: {why}"),
            Self::Other(why) => write!(f, "the new job was not taken: {why}"),
        }
    }
}

impl std::error::Error for EnqueueError {}
