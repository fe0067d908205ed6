//! A context for native tests: facts chosen by the test, calls kept for it to look at.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Deref;
use std::time::Duration;

use crate::context::{Host, Job};
use crate::handler::Handler;
use crate::http::{HttpError, HttpErrorKind, Request, Response};
use crate::{Bytes, CheckpointError, Context, EnqueueError, Error, Level, SignError};

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

/// A line the handler logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// How much it matters.
    pub level: Level,
    /// Its text.
    pub line: String,
    /// Its fields.
    pub fields: Vec<(String, String)>,
}

/// A report the handler made with [`Context::progress`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgressReport {
    /// Steps done.
    pub done: u64,
    /// Of how many.
    pub total: Option<u64>,
    /// The note.
    pub note: Option<String>,
}

/// A job the handler added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnqueuedJob {
    /// The id it was given.
    pub id: String,
    /// Its kind.
    pub kind: String,
    /// Its payload.
    pub payload: Bytes,
    /// Its headers.
    pub headers: Vec<(String, String)>,
    /// Its options by their names in the contract, such as `delay-ms`.
    pub options: Vec<(String, String)>,
}

/// What a fake knows and keeps.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) remaining: Duration,
    pub(crate) cancelled: bool,
    pub(crate) log_level: Level,
    config: Vec<(String, String)>,
    refuse_jobs: Option<EnqueueError>,
    refuse_checkpoints: Option<String>,
    logs: RefCell<Vec<LogLine>>,
    jobs: RefCell<Vec<EnqueuedJob>>,
    reports: RefCell<Vec<ProgressReport>>,
    checkpoints: RefCell<Vec<Vec<u8>>>,
    signatures: Vec<(String, Vec<u8>)>,
    signed: RefCell<Vec<(String, Vec<u8>)>>,
    answers: RefCell<VecDeque<Result<Response, HttpError>>>,
    requests: RefCell<Vec<Request>>,
}

impl FakeContext {
    /// A first attempt of 25, in queue `default`, with 30 s to go and nothing else.
    pub fn new() -> Self {
        let enqueued_at_ms = 1_767_225_600_000; // 2026-01-01T00:00:00Z
        let job = Job {
            id: "01KDVDRC000000000000000000".into(),
            kind: "test".into(),
            queue: "default".into(),
            attempt: 1,
            max_attempts: 25,
            enqueued_at_ms,
            deadline_ms: enqueued_at_ms + 30_000,
            idempotency_key: "01KDVDRC000000000000000000".into(),
            headers: Vec::new(),
            content_type: "application/json".into(),
            checkpoint: None,
        };
        let record = Record {
            remaining: Duration::from_secs(30),
            cancelled: false,
            log_level: Level::Trace,
            config: Vec::new(),
            refuse_jobs: None,
            refuse_checkpoints: None,
            logs: RefCell::default(),
            jobs: RefCell::default(),
            reports: RefCell::default(),
            checkpoints: RefCell::default(),
            signatures: Vec::new(),
            signed: RefCell::default(),
            answers: RefCell::default(),
            requests: RefCell::default(),
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

    /// With this answer to the next request; further ones follow in their order. A request that no
    /// answer is left for is denied.
    #[must_use]
    pub fn with_answer(mut self, answer: Result<Response, HttpError>) -> Self {
        self.record_mut().answers.get_mut().push_back(answer);
        self
    }

    /// With this as every signature made with a secret. Signing with others is denied.
    #[must_use]
    pub fn with_signature(mut self, secret: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        let signature = (secret.into(), value.into());
        self.record_mut().signatures.push(signature);
        self
    }

    /// With this long to go.
    #[must_use]
    pub fn with_remaining(mut self, remaining: Duration) -> Self {
        self.record_mut().remaining = remaining;
        let left = u64::try_from(remaining.as_millis()).unwrap_or(u64::MAX);
        let job = &mut self.context.job;
        job.deadline_ms = job.enqueued_at_ms.saturating_add(left);
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
    pub fn cancelled_already(mut self) -> Self {
        self.record_mut().cancelled = true;
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

    /// The lines logged so far.
    pub fn logs(&self) -> Vec<LogLine> {
        self.record().logs.borrow().clone()
    }

    /// The jobs added so far.
    pub fn enqueued(&self) -> Vec<EnqueuedJob> {
        self.record().jobs.borrow().clone()
    }

    /// The reports made so far.
    pub fn progress_reports(&self) -> Vec<ProgressReport> {
        self.record().reports.borrow().clone()
    }

    /// The checkpoints kept so far.
    pub fn checkpoints(&self) -> Vec<Vec<u8>> {
        self.record().checkpoints.borrow().clone()
    }

    /// The requests sent so far.
    pub fn requests(&self) -> Vec<Request> {
        self.record().requests.borrow().clone()
    }

    /// The texts signed so far, each with the secret's name.
    pub fn signed(&self) -> Vec<(String, Vec<u8>)> {
        self.record().signed.borrow().clone()
    }

    fn record(&self) -> &Record {
        match &self.context.host {
            Host::Fake(record) => record,
            #[cfg(target_family = "wasm")]
            Host::Imports => unreachable!("a fake is built with a record"),
        }
    }

    fn record_mut(&mut self) -> &mut Record {
        match &mut self.context.host {
            Host::Fake(record) => record,
            #[cfg(target_family = "wasm")]
            Host::Imports => unreachable!("a fake is built with a record"),
        }
    }
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

impl Record {
    pub(crate) fn checkpoint(&self, state: &[u8]) -> Result<(), CheckpointError> {
        if let Some(reason) = &self.refuse_checkpoints {
            return Err(CheckpointError(reason.clone()));
        }
        self.checkpoints.borrow_mut().push(state.to_vec());
        Ok(())
    }

    pub(crate) fn progress(&self, done: u64, total: Option<u64>, note: Option<&str>) {
        let note = note.map(str::to_owned);
        self.reports
            .borrow_mut()
            .push(ProgressReport { done, total, note });
    }

    pub(crate) fn log(&self, level: Level, line: &str, fields: &[(&str, &str)]) {
        let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let fields = fields.iter().map(own).collect();
        self.logs.borrow_mut().push(LogLine {
            level,
            line: line.to_owned(),
            fields,
        });
    }

    pub(crate) fn enqueue(
        &self,
        kind: String,
        payload: Bytes,
        headers: Vec<(String, String)>,
        options: Vec<(String, String)>,
    ) -> Result<String, EnqueueError> {
        if let Some(error) = &self.refuse_jobs {
            return Err(error.clone());
        }
        let mut jobs = self.jobs.borrow_mut();
        let id = format!("01KDVDRC00000000000000CH{:02}", jobs.len() + 1);
        jobs.push(EnqueuedJob {
            id: id.clone(),
            kind,
            payload,
            headers,
            options,
        });
        Ok(id)
    }

    pub(crate) fn send(&self, request: Request) -> Result<Response, HttpError> {
        self.requests.borrow_mut().push(request);
        let denied = || HttpError::new(HttpErrorKind::Denied, "the test has no answer to it");
        let answer = self.answers.borrow_mut().pop_front();
        answer.unwrap_or_else(|| Err(denied()))
    }

    pub(crate) fn hmac_sha256(&self, secret: &str, text: &[u8]) -> Result<Vec<u8>, SignError> {
        let found = self.signatures.iter().find(|(name, _)| name == secret);
        let Some((_, value)) = found else {
            return Err(SignError::Denied(format!(
                "the test has no secret {secret}"
            )));
        };
        let signed = (secret.to_owned(), text.to_vec());
        self.signed.borrow_mut().push(signed);
        Ok(value.clone())
    }

    pub(crate) fn config(&self, key: &str) -> Option<String> {
        let found = self.config.iter().rev().find(|(known, _)| known == key);
        found.map(|(_, value)| value.clone())
    }
}
