//! A context for native tests: facts chosen by the test, calls kept for it to look at. A component
//! holds nothing of it.
//!
//! | of the host | in a test |
//! |---|---|
//! | the clock | stands at 2026-01-01T00:00:00Z until time is let pass: [`FakeContext::with_now`], [`FakeContext::with_tick`], [`FakeContext::pass`], and the handler's own [`Context::sleep`], which takes no time |
//! | a cancel | [`FakeContext::cancelled_already`], [`FakeContext::cancelled_after`], [`FakeContext::cancel`], or the deadline that comes near |
//! | settings | [`FakeContext::with_config`] |
//! | services | [`FakeContext::with_answer`] scripts them, [`FakeContext::requests`] shows what they were asked |
//! | secrets | [`FakeContext::with_secret`] for placeholders in headers, [`FakeContext::with_signature`] for signing; a test needs no real one |
//! | new jobs | [`FakeContext::enqueued`], or refused: [`FakeContext::refusing_jobs`] |
//! | log and progress | [`FakeContext::logs`], [`FakeContext::progress_reports`] |
//! | checkpoints | [`FakeContext::checkpoints`], handed on by [`FakeContext::next_attempt`] |
//!
//! ```
//! use sandhog_sdk::{Context, Error, testing::FakeContext};
//! use std::time::Duration;
//!
//! /// Counts as far as its time allows, and goes on there the next time.
//! #[sandhog_sdk::job]
//! fn count(to: u8, ctx: &Context) -> Result<u8, Error> {
//!     let mut done = ctx.last_checkpoint().map_or(0, |state| state[0]);
//!     while done < to {
//!         if ctx.cancelled() {
//!             ctx.checkpoint(&[done])?;
//!             return Err(Error::retryable("out of time"));
//!         }
//!         done += 1;
//!     }
//!     Ok(done)
//! }
//!
//! // Each look at the clock finds a second gone, so ten seconds do not suffice for twenty steps.
//! let first = FakeContext::new().with_remaining(Duration::from_secs(10)).with_tick(Duration::from_secs(1));
//! assert!(count(20, &first).is_err());
//! assert_eq!(first.checkpoints().last().unwrap(), &[8]);
//! let second = first.next_attempt();
//! assert!(count(20, &second).is_err());
//! assert_eq!(count(20, &second.next_attempt()), Ok(20));
//! ```

mod clock;
mod record;
mod recorder;

use std::ops::Deref;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::context::{Host, Job};
use crate::handler::Handler;
use crate::http::Request;
use crate::{Bytes, Context, EnqueueError, Error, Level};

pub(crate) use record::Record;
pub use record::{EnqueuedJob, LogLine, ProgressReport};
pub use recorder::Answer;

/// 2026-01-01T00:00:00Z, in milliseconds since 1970.
const NOW_MS: u64 = 1_767_225_600_000;
/// How long an attempt has, unless the test says otherwise.
const LENGTH: Duration = Duration::from_secs(30);

/// A [`Context`] without a host. Lends itself wherever `&Context` is wanted.
///
/// ```
/// use sandhog_sdk::testing::FakeContext;
///
/// let ctx = FakeContext::new().with_header("width", "320").with_attempt(2);
/// assert_eq!(ctx.header("width"), Some("320"));
/// ctx.progress(1, 2, "half");
/// assert_eq!(ctx.progress_reports()[0].done, 1);
/// ```
#[derive(Debug)]
pub struct FakeContext {
    context: Context,
}

impl FakeContext {
    /// A first attempt of 25, in queue `default`, enqueued now, with 30 s to go and nothing else.
    pub fn new() -> Self {
        let record = Record::new(NOW_MS, LENGTH);
        let job = Job {
            id: "01KDVDRC000000000000000000".into(),
            kind: "test".into(),
            queue: "default".into(),
            attempt: 1,
            max_attempts: 25,
            enqueued_at_ms: NOW_MS,
            deadline_ms: millis(record.clock.deadline()),
            idempotency_key: "01KDVDRC000000000000000000".into(),
            headers: Vec::new(),
            content_type: "application/json".into(),
            checkpoint: None,
        };
        Self {
            context: Context {
                job,
                host: Host::Fake(Box::new(record)),
            },
        }
    }

    /// Of this kind.
    #[must_use]
    pub fn with_kind(mut self, kind: impl Into<String>) -> Self {
        self.context.job.kind = kind.into();
        self
    }

    /// From this queue.
    #[must_use]
    pub fn with_queue(mut self, queue: impl Into<String>) -> Self {
        self.context.job.queue = queue.into();
        self
    }

    /// The attempt of this number, from 1.
    #[must_use]
    pub fn with_attempt(mut self, attempt: u32) -> Self {
        self.context.job.attempt = attempt;
        self
    }

    /// Of this many attempts.
    #[must_use]
    pub fn with_max_attempts(mut self, attempts: u32) -> Self {
        self.context.job.max_attempts = attempts;
        self
    }

    /// With one more header.
    #[must_use]
    pub fn with_header(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.context.job.headers.push((key.into(), value.into()));
        self
    }

    /// With what an earlier attempt left.
    #[must_use]
    pub fn with_checkpoint(mut self, state: impl Into<Vec<u8>>) -> Self {
        self.context.job.checkpoint = Some(state.into());
        self
    }

    /// With a setting of the operator.
    #[must_use]
    pub fn with_config(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.record_mut().config.push((key.into(), value.into()));
        self
    }

    /// With this answer to a request; further ones follow in their order. A request that no answer
    /// is left for is denied, as one that is not granted.
    #[must_use]
    pub fn with_answer(mut self, answer: impl Into<Answer>) -> Self {
        self.record_mut().http.add(answer.into());
        self
    }

    /// With this secret granted for headers, where `{{secret:NAME}}` stands for it. Requests keep the
    /// placeholder; those with other secrets are denied.
    #[must_use]
    pub fn with_secret(mut self, name: impl Into<String>) -> Self {
        self.record_mut().http.grant(name.into());
        self
    }

    /// With this as every signature made with a secret. Signing with others is denied.
    #[must_use]
    pub fn with_signature(mut self, secret: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        let signature = (secret.into(), value.into());
        self.record_mut().signatures.push(signature);
        self
    }

    /// Starting at this time, with as long to go as before. The job's own time of enqueueing stays.
    #[must_use]
    pub fn with_now(mut self, now: SystemTime) -> Self {
        self.record_mut().clock.move_to(now);
        self.deadline_moved()
    }

    /// Enqueued at this time.
    #[must_use]
    pub fn with_enqueued_at(mut self, time: SystemTime) -> Self {
        self.context.job.enqueued_at_ms = millis(time);
        self
    }

    /// With this long to go.
    #[must_use]
    pub fn with_remaining(mut self, remaining: Duration) -> Self {
        self.record_mut().clock.start(remaining);
        self.deadline_moved()
    }

    /// With this much time gone after each look at the clock: [`Context::now`],
    /// [`Context::remaining`], [`Context::cancelled`] and the one before a [`Context::sleep`].
    #[must_use]
    pub fn with_tick(mut self, time: Duration) -> Self {
        self.record_mut().clock.tick(time);
        self
    }

    /// With [`Context::log_enabled`] true from this level on; every line is kept all the same.
    #[must_use]
    pub fn with_log_level(mut self, level: Level) -> Self {
        self.record_mut().log_level = level;
        self
    }

    /// As after a cancel.
    #[must_use]
    pub fn cancelled_already(self) -> Self {
        self.cancel();
        self
    }

    /// Called off after [`Context::cancelled`] said no this many times.
    #[must_use]
    pub fn cancelled_after(mut self, looks: u32) -> Self {
        self.record_mut().looks_left.set(Some(looks));
        self
    }

    /// With every enqueue refused.
    #[must_use]
    pub fn refusing_jobs(mut self, error: EnqueueError) -> Self {
        self.record_mut().refuse_jobs = Some(error);
        self
    }

    /// With every checkpoint refused.
    #[must_use]
    pub fn refusing_checkpoints(mut self, reason: impl Into<String>) -> Self {
        self.record_mut().refuse_checkpoints = Some(reason.into());
        self
    }

    /// The same job's next attempt: one more in number, as long to go, the last checkpoint at hand.
    /// What the attempt before logged, asked for and added is gone, and so is a cancel.
    #[must_use]
    pub fn next_attempt(mut self) -> Self {
        self.context.job.attempt += 1;
        let kept = self.record().seen.checkpoints.borrow().last().cloned();
        if let Some(kept) = kept {
            self.context.job.checkpoint = Some(kept);
        }
        let record = self.record_mut();
        record.seen = record::Seen::default();
        record.http.forget_requests();
        record.cancelled.set(false);
        record.looks_left.set(None);
        record.clock.again();
        self.deadline_moved()
    }

    /// Time goes by.
    pub fn pass(&self, time: Duration) {
        self.record().clock.pass(time);
    }

    /// Someone calls the job off.
    pub fn cancel(&self) {
        self.record().cancelled.set(true);
    }

    /// The lines logged so far.
    pub fn logs(&self) -> Vec<LogLine> {
        self.record().seen.logs.borrow().clone()
    }

    /// The jobs added so far. The host takes them when the attempt succeeds, and only then.
    pub fn enqueued(&self) -> Vec<EnqueuedJob> {
        self.record().seen.jobs.borrow().clone()
    }

    /// The reports made so far.
    pub fn progress_reports(&self) -> Vec<ProgressReport> {
        self.record().seen.reports.borrow().clone()
    }

    /// The checkpoints kept so far.
    pub fn checkpoints(&self) -> Vec<Vec<u8>> {
        self.record().seen.checkpoints.borrow().clone()
    }

    /// The requests asked for so far, those that were denied among them.
    pub fn requests(&self) -> Vec<Request> {
        self.record().http.requests()
    }

    /// How many answers no request took.
    pub fn answers_left(&self) -> usize {
        self.record().http.answers_left()
    }

    /// The texts signed so far, each with the secret's name.
    pub fn signed(&self) -> Vec<(String, Vec<u8>)> {
        self.record().seen.signed.borrow().clone()
    }

    fn deadline_moved(mut self) -> Self {
        self.context.job.deadline_ms = millis(self.record().clock.deadline());
        self
    }

    fn record(&self) -> &Record {
        let Host::Fake(record) = &self.context.host;
        record
    }

    fn record_mut(&mut self) -> &mut Record {
        let Host::Fake(record) = &mut self.context.host;
        record
    }
}

/// Milliseconds since 1970; 0 for what was before.
fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl Default for FakeContext {
    fn default() -> Self {
        Self::new()
    }
}

impl Deref for FakeContext {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.context
    }
}

/// Runs a handler from payload to payload as a component would, reading and writing included.
///
/// ```
/// # use sandhog_sdk::{Bytes, testing};
/// #[sandhog_sdk::job]
/// fn double(n: u32) -> u32 {
///     n * 2
/// }
///
/// let ctx = testing::FakeContext::new();
/// let out = testing::attempt::<double>(Bytes::new("application/json", "21"), &ctx).unwrap();
/// assert_eq!(out.bytes, b"42");
/// ```
pub fn attempt<H: Handler>(payload: Bytes, context: &Context) -> Result<Bytes, Error> {
    H::run(payload, context)
}
