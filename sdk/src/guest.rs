//! The sandbox side: the contract's exports lead here, and its imports are called from here only.

use std::panic::PanicHookInfo;
use std::sync::Once;
use std::time::Duration;

use crate::bindings::exports::sandhog::job::handler;
use crate::bindings::sandhog::job::{config, context, enqueue, log, progress, signing};
use crate::context::{Host, Job};
use crate::handler::{Entry, dispatch};
use crate::{Bytes, CheckpointError, Context, EnqueueError, Error, Level, SignError, Verdict};

/// The body of the contract's `handle`.
pub fn handle(entries: &[Entry], job: handler::Job) -> Result<handler::Output, handler::JobError> {
    static HOOK: Once = Once::new();
    HOOK.call_once(report_panics);
    let payload = Bytes::new(job.content_type.clone(), job.payload);
    let context = Context {
        job: Job {
            id: job.id,
            kind: job.kind,
            queue: job.queue,
            attempt: job.attempt,
            max_attempts: job.max_attempts,
            enqueued_at_ms: job.enqueued_at_ms,
            deadline_ms: job.deadline_ms,
            idempotency_key: job.idempotency_key,
            headers: job.headers,
            content_type: job.content_type,
            checkpoint: job.checkpoint,
        },
        host: Host::Imports,
    };
    match dispatch(entries, payload, &context) {
        Ok(Bytes {
            content_type,
            bytes,
        }) => Ok(handler::Output {
            content_type,
            payload: bytes,
        }),
        Err(error) => Err(job_error(&error)),
    }
}

fn job_error(error: &Error) -> handler::JobError {
    let failure = || crate::bindings::sandhog::job::types::Failure {
        code: error.code().to_owned(),
        message: error.message().to_owned(),
        details: error.details().to_vec(),
    };
    match error.verdict() {
        Verdict::Retryable => handler::JobError::Retryable(failure()),
        Verdict::RetryAfter(wait) => handler::JobError::RetryAfter((millis(wait), failure())),
        Verdict::Permanent => handler::JobError::Permanent(failure()),
        Verdict::Snooze(wait) => handler::JobError::Snooze(millis(wait)),
        Verdict::Discard => handler::JobError::Discard(error.message().to_owned()),
    }
}

fn millis(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)
}

/// Puts a panic's text and place into the attempt's log as well; std's own lines on stderr stay.
fn report_panics() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic: &PanicHookInfo<'_>| {
        before(panic);
        let text = panic.payload_as_str().unwrap_or("a panic without a text");
        let place = panic
            .location()
            .map(ToString::to_string)
            .unwrap_or_default();
        log(
            Level::Error,
            &format!("panicked: {text}"),
            &[("location", &place)],
        );
    }));
}

pub(crate) fn remaining() -> Duration {
    Duration::from_millis(context::remaining_ms())
}

pub(crate) fn cancelled() -> bool {
    context::cancelled()
}

/// Whether all of it passed.
pub(crate) fn sleep(span: Duration) -> bool {
    // Up to the next millisecond: never shorter than asked for.
    let ms = u64::try_from(span.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
    context::sleep(ms)
}

pub(crate) fn checkpoint(state: &[u8]) -> Result<(), CheckpointError> {
    context::checkpoint(state).map_err(CheckpointError)
}

pub(crate) fn progress(done: u64, total: Option<u64>, note: Option<&str>) {
    progress::report(done, total, note);
}

fn host_level(level: Level) -> log::Level {
    match level {
        Level::Trace => log::Level::Trace,
        Level::Debug => log::Level::Debug,
        Level::Info => log::Level::Info,
        Level::Warn => log::Level::Warn,
        Level::Error => log::Level::Error,
    }
}

pub(crate) fn log(level: Level, line: &str, fields: &[(&str, &str)]) {
    let fields: Vec<(String, String)> = fields
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    log::log(host_level(level), line, &fields);
}

pub(crate) fn log_enabled(level: Level) -> bool {
    log::enabled(host_level(level))
}

pub(crate) fn enqueue(
    kind: String,
    payload: Bytes,
    headers: Vec<(String, String)>,
    options: Vec<(String, String)>,
) -> Result<String, EnqueueError> {
    let Bytes {
        content_type,
        bytes,
    } = payload;
    let job = enqueue::NewJob {
        kind,
        payload: bytes,
        content_type,
        headers,
        options,
    };
    enqueue::enqueue(&job).map_err(|error| match error {
        enqueue::EnqueueError::Invalid(why) => EnqueueError::Invalid(why),
        enqueue::EnqueueError::Quota(why) => EnqueueError::Quota(why),
        enqueue::EnqueueError::Denied(why) => EnqueueError::Denied(why),
        enqueue::EnqueueError::Other(why) => EnqueueError::Other(why),
    })
}

pub(crate) fn hmac_sha256(secret: &str, text: &[u8]) -> Result<Vec<u8>, SignError> {
    signing::hmac_sha256(secret, text).map_err(|error| match error {
        signing::SignError::Denied(why) => SignError::Denied(why),
        signing::SignError::Unavailable(why) | signing::SignError::Other(why) => {
            SignError::Unavailable(why)
        }
    })
}

pub(crate) fn config(key: &str) -> Option<String> {
    config::get(key)
}
