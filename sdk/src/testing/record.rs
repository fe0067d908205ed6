//! What a fake knows, and what the handler did with it.

use std::cell::{Cell, RefCell};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::de::DeserializeOwned;

use super::clock::Clock;
use super::recorder::Recorder;
use crate::http::{HttpError, Request, Response};
use crate::{Bytes, CheckpointError, EnqueueError, Level, SignError};

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

/// A report the handler made with [`Context::progress`](crate::Context::progress).
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

impl EnqueuedJob {
    /// Its payload, read as its handler would read it.
    ///
    /// # Panics
    ///
    /// When the payload is not that JSON: the test fails with serde's text.
    #[track_caller]
    pub fn json<T: DeserializeOwned>(&self) -> T {
        match serde_json::from_slice(&self.payload.bytes) {
            Ok(value) => value,
            Err(why) => panic!("the payload of the new {} is another: {why}", self.kind),
        }
    }

    /// The value of an option by its name in the contract, such as `queue`.
    pub fn option(&self, name: &str) -> Option<&str> {
        let found = self.options.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// Behind a fake context what the host is behind a real one.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) clock: Clock,
    pub(crate) http: Recorder,
    pub(crate) cancelled: Cell<bool>,
    /// After how many more looks it is called off.
    pub(crate) looks_left: Cell<Option<u32>>,
    pub(crate) log_level: Level,
    pub(crate) config: Vec<(String, String)>,
    pub(crate) refuse_jobs: Option<EnqueueError>,
    pub(crate) refuse_checkpoints: Option<String>,
    pub(crate) signatures: Vec<(String, Vec<u8>)>,
    pub(crate) seen: Seen,
}

/// The calls of one attempt.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) logs: RefCell<Vec<LogLine>>,
    pub(crate) jobs: RefCell<Vec<EnqueuedJob>>,
    pub(crate) reports: RefCell<Vec<ProgressReport>>,
    pub(crate) checkpoints: RefCell<Vec<Vec<u8>>>,
    pub(crate) signed: RefCell<Vec<(String, Vec<u8>)>>,
}

impl Record {
    /// Nothing but a clock that stands at this many milliseconds since 1970.
    pub(crate) fn new(now_ms: u64, length: Duration) -> Self {
        Self {
            clock: Clock::new(UNIX_EPOCH + Duration::from_millis(now_ms), length),
            http: Recorder::default(),
            cancelled: Cell::default(),
            looks_left: Cell::default(),
            log_level: Level::Trace,
            config: Vec::new(),
            refuse_jobs: None,
            refuse_checkpoints: None,
            signatures: Vec::new(),
            seen: Seen::default(),
        }
    }

    pub(crate) fn now(&self) -> SystemTime {
        self.clock.look()
    }

    pub(crate) fn remaining(&self) -> Duration {
        self.clock.remaining()
    }

    /// A test does not wait: its clock goes on. `false` when the attempt is to end before that.
    pub(crate) fn sleep(&self, span: Duration) -> bool {
        if self.cancelled() {
            return false;
        }
        let free = self.clock.until_near();
        self.clock.pass(span.min(free));
        span < free
    }

    pub(crate) fn cancelled(&self) -> bool {
        match self.looks_left.get() {
            Some(0) => self.cancelled.set(true),
            Some(left) => self.looks_left.set(Some(left - 1)),
            None => {}
        }
        let near = self.clock.is_near();
        self.cancelled.get() || near
    }

    pub(crate) fn checkpoint(&self, state: &[u8]) -> Result<(), CheckpointError> {
        if let Some(reason) = &self.refuse_checkpoints {
            return Err(CheckpointError(reason.clone()));
        }
        self.seen.checkpoints.borrow_mut().push(state.to_vec());
        Ok(())
    }

    pub(crate) fn progress(&self, done: u64, total: Option<u64>, note: Option<&str>) {
        let note = note.map(str::to_owned);
        let report = ProgressReport { done, total, note };
        self.seen.reports.borrow_mut().push(report);
    }

    pub(crate) fn log(&self, level: Level, line: &str, fields: &[(&str, &str)]) {
        let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let fields = fields.iter().map(own).collect();
        self.seen.logs.borrow_mut().push(LogLine {
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
        let mut jobs = self.seen.jobs.borrow_mut();
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
        self.http.send(request, &self.clock)
    }

    pub(crate) fn hmac_sha256(&self, secret: &str, text: &[u8]) -> Result<Vec<u8>, SignError> {
        let found = self.signatures.iter().find(|(name, _)| name == secret);
        let Some((_, value)) = found else {
            return Err(SignError::Denied(format!(
                "the test has no secret {secret}"
            )));
        };
        let signed = (secret.to_owned(), text.to_vec());
        self.seen.signed.borrow_mut().push(signed);
        Ok(value.clone())
    }

    pub(crate) fn config(&self, key: &str) -> Option<String> {
        let found = self.config.iter().rev().find(|(known, _)| known == key);
        found.map(|(_, value)| value.clone())
    }
}
