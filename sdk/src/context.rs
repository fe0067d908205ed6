//! One attempt as its handler sees it.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[cfg(not(target_family = "wasm"))]
use crate::testing::Record;
use crate::{EnqueueError, NewJob};

/// One attempt at a job: what it was given, and what it may ask of the host.
///
/// In a sandbox the host stands behind it, in a native test a
/// [`FakeContext`](crate::testing::FakeContext).
pub struct Context {
    pub(crate) job: Job,
    pub(crate) host: Host,
}

/// The attempt's facts, without the payload.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) queue: String,
    pub(crate) attempt: u32,
    pub(crate) max_attempts: u32,
    pub(crate) enqueued_at_ms: u64,
    pub(crate) deadline_ms: u64,
    pub(crate) idempotency_key: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) content_type: String,
    pub(crate) checkpoint: Option<Vec<u8>>,
}

/// Who answers. An enum and no trait object, so that a component imports only what it calls.
pub(crate) enum Host {
    /// The contract's imports.
    #[cfg(target_family = "wasm")]
    Imports,
    /// A test's record. Not in a component: it would be carried along for nothing.
    #[cfg(not(target_family = "wasm"))]
    Fake(Box<Record>),
}

/// How much a log line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Every step, for whoever follows one attempt closely.
    Trace,
    /// What helps to find a fault.
    Debug,
    /// What went as it should.
    Info,
    /// What someone should look at some day.
    Warn,
    /// What went wrong.
    Error,
}

/// Why a checkpoint was not kept: too large, or the attempt is no longer the job's owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointError(pub(crate) String);

impl fmt::Display for CheckpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the checkpoint was not kept: {}", self.0)
    }
}

impl std::error::Error for CheckpointError {}

/// The attempt is to end: its job was called off, or its deadline is near.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stopped waiting, as the attempt is to end")
    }
}

impl std::error::Error for Cancelled {}

/// Why there is no signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignError {
    /// The handler may not sign with that secret; the job's log says how to grant it.
    Denied(String),
    /// It may, but the secret cannot be had now.
    Unavailable(String),
}

impl fmt::Display for SignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(why) | Self::Unavailable(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for SignError {}

impl Context {
    /// The job's id, the same for every attempt.
    pub fn job_id(&self) -> &str {
        &self.job.id
    }

    /// The kind that chose this handler.
    pub fn kind(&self) -> &str {
        &self.job.kind
    }

    /// The queue the job came through.
    pub fn queue(&self) -> &str {
        &self.job.queue
    }

    /// This attempt's number, from 1. Attempts lost with their host do not count.
    pub fn attempt(&self) -> u32 {
        self.job.attempt
    }

    /// How many attempts the job may use.
    pub fn max_attempts(&self) -> u32 {
        self.job.max_attempts
    }

    /// Whether a failure of this attempt is the job's end.
    pub fn is_last_attempt(&self) -> bool {
        self.job.attempt >= self.job.max_attempts
    }

    /// Stable over all attempts of the job: hand it to services that know such keys.
    pub fn idempotency_key(&self) -> &str {
        &self.job.idempotency_key
    }

    /// The header's value; the first when the key repeats.
    pub fn header(&self, key: &str) -> Option<&str> {
        let found = self.job.headers.iter().find(|(known, _)| known == key);
        found.map(|(_, value)| value.as_str())
    }

    /// All headers in their order; keys may repeat.
    pub fn headers(&self) -> &[(String, String)] {
        &self.job.headers
    }

    /// Media type of the payload.
    pub fn content_type(&self) -> &str {
        &self.job.content_type
    }

    /// When the job was accepted.
    pub fn enqueued_at(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.job.enqueued_at_ms)
    }

    /// The time now, by the host's clock; in a test by the fake's, which stands still until the test
    /// lets time pass.
    pub fn now(&self) -> SystemTime {
        match &self.host {
            #[cfg(target_family = "wasm")]
            Host::Imports => SystemTime::now(),
            #[cfg(not(target_family = "wasm"))]
            Host::Fake(record) => record.now(),
        }
    }

    /// When this attempt will be interrupted.
    pub fn deadline(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.job.deadline_ms)
    }

    /// How long until the attempt is interrupted.
    pub fn remaining(&self) -> Duration {
        match &self.host {
            #[cfg(target_family = "wasm")]
            Host::Imports => crate::guest::remaining(),
            #[cfg(not(target_family = "wasm"))]
            Host::Fake(record) => record.remaining(),
        }
    }

    /// True once the attempt should end soon: cancelled, or its deadline is near.
    pub fn cancelled(&self) -> bool {
        match &self.host {
            #[cfg(target_family = "wasm")]
            Host::Imports => crate::guest::cancelled(),
            #[cfg(not(target_family = "wasm"))]
            Host::Fake(record) => record.cancelled(),
        }
    }

    /// Waits so long. An error as soon as [`Context::cancelled`] is true, however much of the wait is
    /// left; with `?` it ends the attempt. `std::thread::sleep` waits to its end whatever happens.
    ///
    /// ```
    /// # use sandhog_sdk::{Context, Error};
    /// # use std::time::Duration;
    /// # fn look() -> bool { true }
    /// # fn handler(ctx: &Context) -> Result<(), Error> {
    /// while !look() {
    ///     ctx.sleep(Duration::from_secs(5))?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn sleep(&self, span: Duration) -> Result<(), Cancelled> {
        let whole = match &self.host {
            #[cfg(target_family = "wasm")]
            Host::Imports => crate::guest::sleep(span),
            #[cfg(not(target_family = "wasm"))]
            Host::Fake(record) => record.sleep(span),
        };
        if whole { Ok(()) } else { Err(Cancelled) }
    }

    /// Keeps bytes for the next attempt; they are durable when this returns.
    pub fn checkpoint(&self, state: &[u8]) -> Result<(), CheckpointError> {
        match &self.host {
            #[cfg(target_family = "wasm")]
            Host::Imports => crate::guest::checkpoint(state),
            #[cfg(not(target_family = "wasm"))]
            Host::Fake(record) => record.checkpoint(state),
        }
    }

    /// What the last checkpoint of an earlier attempt held.
    pub fn last_checkpoint(&self) -> Option<&[u8]> {
        self.job.checkpoint.as_deref()
    }

    /// Says how far the attempt has come: steps done, of how many when known, and a short note.
    /// Only the latest report is kept.
    pub fn progress<'a>(
        &self,
        done: u64,
        total: impl Into<Option<u64>>,
        note: impl Into<Option<&'a str>>,
    ) {
        let (total, note) = (total.into(), note.into());
        match &self.host {
            #[cfg(target_family = "wasm")]
            Host::Imports => crate::guest::progress(done, total, note),
            #[cfg(not(target_family = "wasm"))]
            Host::Fake(record) => record.progress(done, total, note),
        }
    }

    /// Writes a line with fields to the attempt's log. Never fails: what is too long is cut, what
    /// is too much is dropped and counted.
    pub fn log(&self, level: Level, line: &str, fields: &[(&str, &str)]) {
        match &self.host {
            #[cfg(target_family = "wasm")]
            Host::Imports => crate::guest::log(level, line, fields),
            #[cfg(not(target_family = "wasm"))]
            Host::Fake(record) => record.log(level, line, fields),
        }
    }

    /// Whether a line of this level is kept; ask before building a costly one.
    pub fn log_enabled(&self, level: Level) -> bool {
        match &self.host {
            #[cfg(target_family = "wasm")]
            Host::Imports => crate::guest::log_enabled(level),
            #[cfg(not(target_family = "wasm"))]
            Host::Fake(record) => level >= record.log_level,
        }
    }

    /// [`Context::log`] at level trace, without fields.
    pub fn trace(&self, line: impl AsRef<str>) {
        self.log(Level::Trace, line.as_ref(), &[]);
    }

    /// [`Context::log`] at level debug, without fields.
    pub fn debug(&self, line: impl AsRef<str>) {
        self.log(Level::Debug, line.as_ref(), &[]);
    }

    /// [`Context::log`] at level info, without fields.
    pub fn info(&self, line: impl AsRef<str>) {
        self.log(Level::Info, line.as_ref(), &[]);
    }

    /// [`Context::log`] at level warn, without fields.
    pub fn warn(&self, line: impl AsRef<str>) {
        self.log(Level::Warn, line.as_ref(), &[]);
    }

    /// [`Context::log`] at level error, without fields.
    pub fn error(&self, line: impl AsRef<str>) {
        self.log(Level::Error, line.as_ref(), &[]);
    }

    /// Adds a job. It is written in one record with this attempt's success, its id given back at
    /// once; an attempt that fails leaves none behind.
    pub fn enqueue(&self, job: NewJob) -> Result<String, EnqueueError> {
        let NewJob {
            kind,
            payload,
            headers,
            options,
        } = job;
        let payload = payload.map_err(|why| {
            EnqueueError::Invalid(format!("the payload cannot be written as JSON: {why}"))
        })?;
        match &self.host {
            #[cfg(target_family = "wasm")]
            Host::Imports => crate::guest::enqueue(kind, payload, headers, options),
            #[cfg(not(target_family = "wasm"))]
            Host::Fake(record) => record.enqueue(kind, payload, headers, options),
        }
    }

    /// HMAC with SHA-256 over a text, 32 bytes. The host makes it with the operator's secret of that
    /// name; the handler never holds the key.
    pub fn hmac_sha256(&self, secret: &str, text: &[u8]) -> Result<Vec<u8>, SignError> {
        match &self.host {
            #[cfg(target_family = "wasm")]
            Host::Imports => crate::guest::hmac_sha256(secret, text),
            #[cfg(not(target_family = "wasm"))]
            Host::Fake(record) => record.hmac_sha256(secret, text),
        }
    }

    /// A setting the operator gave this handler.
    pub fn config(&self, key: &str) -> Option<String> {
        match &self.host {
            #[cfg(target_family = "wasm")]
            Host::Imports => crate::guest::config(key),
            #[cfg(not(target_family = "wasm"))]
            Host::Fake(record) => record.config(key),
        }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.job.fmt(f)
    }
}
