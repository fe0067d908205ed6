//! The spans of jobs that go in and of attempts that are reported.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sandhog_model::{Job, JobId, Outcome, Settlement, UnixMs, limits};

use crate::traces::{About, HEADER, Span, Traces};

/// What is known of a job from its lease to its report.
#[derive(Debug, Default)]
pub(super) struct Leased {
    pub(super) kind: String,
    queue: String,
    /// The context it carries.
    within: Option<String>,
}

impl Leased {
    pub(super) fn of(job: &Job) -> Self {
        Self {
            kind: job.kind.clone(),
            queue: job.queue.clone(),
            within: context(job).map(str::to_owned),
        }
    }
}

fn context(job: &Job) -> Option<&str> {
    let header = job.headers.iter().find(|(key, _)| key == HEADER);
    header.map(|(_, value)| value.as_str())
}

/// Have a job carry this context, in place of the one that it came with.
fn carry(job: &mut Job, context: String) {
    match job.headers.iter().position(|(key, _)| key == HEADER) {
        Some(place) => job.headers[place].1 = context,
        None if job.headers.len() < limits::HEADERS => {
            job.headers.push((HEADER.to_owned(), context));
        }
        // As many as a job may have: its attempts begin a trace of their own.
        None => {}
    }
}

fn instant(at: UnixMs) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(at.0)
}

fn about(span: &mut Span, id: JobId, queue: &str) {
    span.set("messaging.message.id", id.text());
    span.set("messaging.destination.name", queue.to_owned());
}

/// Begin the span of a job that goes in; the job carries its context from here on.
pub(super) fn send(traces: &Traces, job: &mut Job, now: UnixMs) -> Option<Span> {
    let mut span = traces.begin(About::Send, &job.kind, context(job), instant(now))?;
    about(&mut span, job.id, &job.queue);
    carry(job, span.context());
    Some(span)
}

/// A job is in, or why not.
pub(super) fn sent(span: Option<Span>, refused: Option<(&str, String)>, now: UnixMs) {
    let Some(mut span) = span else { return };
    if let Some((kind, why)) = refused {
        span.fail(kind, why);
    }
    span.end(instant(now));
}

/// The span of an attempt. The jobs it leaves carry its context, or the one of its job when spans go nowhere.
pub(super) fn process(traces: &Traces, leased: &Leased, report: &mut Settlement, outcome: &str) {
    let attempt = &report.attempt;
    let mut within = leased.within.clone();
    if !matches!(report.outcome, Outcome::NotRun(_)) {
        let begun = instant(attempt.started_at);
        let span = traces.begin(
            About::Process,
            &leased.kind,
            leased.within.as_deref(),
            begun,
        );
        if let Some(mut span) = span {
            about(&mut span, report.id, &leased.queue);
            span.set("sandhog.job.attempt", i64::from(attempt.number));
            span.set("sandhog.job.outcome", outcome.to_owned());
            span.set("sandhog.plugin.name", attempt.plugin.clone());
            span.set("sandhog.plugin.digest", attempt.digest.clone());
            if let Some(failure) = &attempt.failure {
                span.fail(failure.kind.name(), failure.cause.clone());
            }
            within = Some(span.context());
            span.end(instant(attempt.ended_at));
        }
    }
    let Some(within) = within else { return };
    for child in &mut report.children {
        if context(child).is_none() {
            carry(child, within.clone());
        }
    }
}
