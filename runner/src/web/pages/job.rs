//! One job: its life, what it carries, what it logged, and what can be done with it.

use std::sync::Arc;

use maud::{Markup, html};
use sandhog_model::{Asked, Attempt, Failure, JobId, State};

use super::{
    back, field, form,
    frame::{self, Button},
    page, said, shown,
};
use crate::{
    api::{ApiError, JobAct, Request, Response},
    json::base64,
    store::{JobView, LetterName, LetterRef},
    web::{
        answer::Outcome,
        call::Call,
        form::{Form, Param, param},
        problem::Problem,
        route::{Route, run},
        site::{Site, ask, mismatch},
    },
};

const ID: &[Param] = &[param("id", Form::Id("job"), "The job.")];
/// Bytes of a payload, and lines of a log, that are shown.
const BYTES: usize = 16 << 10;
const LINES: usize = 500;
/// How long "later" is, in milliseconds.
const LATER_MS: u64 = 10 * 60 * 1_000;

pub(super) const ROUTES: &[Route] = &[
    page("/jobs/{id}", "jobPage", "One job.", run!(show)).at(ID),
    form("/jobs/{id}", "changeJobPage", "Change a job.", run!(act)).at(ID),
];

async fn show(site: Arc<Site>, call: Call) -> Outcome {
    let id: JobId = call.path("id")?;
    let view = ask!(site, call, Request::Job { id }, Job);
    let running = site.ctx.running.as_ref();
    let live = running
        .and_then(|running| running.live(id))
        .filter(|_| view.row.state == State::Running);
    let content = html! {
        (frame::actions(&site, &call, &format!("/jobs/{id}"), buttons(view.row.state)))
        (facts(&call, &view))
        @if let Some(progress) = live.as_ref().and_then(|live| live.progress.as_ref()) {
            p.note { "Progress: " (progress.done)
                @if let Some(total) = progress.total { " of " (total) }
                @if let Some(note) = &progress.note { " " (note) } }
        }
        @if let Some(failure) = &view.failure { h2 { "Why it failed last" } (told(failure)) }
        h2 { "Payload" }
        (bytes(&view.job.content_type, &view.job.payload))
        @if let Some(output) = &view.output { h2 { "Result" } (bytes(&output.content_type, &output.payload)) }
        @if let Some(live) = &live { h2 { "Log of the attempt that runs" } (lines(&live.logs, 0)) }
        h2 { "Attempts" }
        @if view.attempts.is_empty() { p.soft { "None ended yet." } }
        (all(&view.attempts))
    };
    let title = format!("{} {id}", view.row.kind);
    shown(frame::of_job(&site, &call, &id.text(), &title, content))
}

fn buttons(state: State) -> &'static [Button<'static>] {
    match state {
        State::Scheduled | State::Available | State::Retryable => &[
            ("Run now", "retry", false),
            ("In ten minutes", "snooze", false),
            ("Discard", "discard", true),
            ("Cancel", "cancel", true),
        ],
        State::Running => &[("Cancel", "cancel", true), ("Kill", "kill", true)],
        State::Completed | State::Cancelled | State::Discarded | State::Expired => {
            &[("Run again", "retry", false)]
        }
        State::Dead => &[("Bring back", "requeue", false)],
    }
}

fn facts(call: &Call, view: &JobView) -> Markup {
    let (row, job) = (&view.row, &view.job);
    html! {
        dl {
            dt { "State" } dd { (frame::state(row.state)) " " (frame::at(row.at)) }
            dt { "Attempt" } dd { (view.tries()) }
            @if let Some(why) = &view.waiting_because { dt { "Waits" } dd { "because " (why) } }
            dt { "Queue" } dd { a href={ (call.prefix) "/jobs?queue=" (row.queue) } { (row.queue) } ", priority " (row.priority) }
            dt { "Enqueued" } dd { (frame::at(job.enqueued_at)) ", due " (frame::at(job.due)) }
            @if let Some(parent) = row.parent { dt { "Parent" } dd { a href={ (call.prefix) "/jobs/" (parent) } { code { (parent) } } } }
            @if !view.children.is_empty() { dt { "Children" } dd {
                @for child in view.children.iter().take(20) { a href={ (call.prefix) "/jobs/" (child) } { code { (child) } } " " }
                @if view.children.len() > 20 { "and " (view.children.len() - 20) " more" }
            } }
            @for (key, value) in &job.headers { dt { "Header " (key) } dd { (value) } }
            @if !job.terms.tags.is_empty() { dt { "Tags" } dd { (job.terms.tags.join(", ")) } }
            @if let Some(reason) = &view.reason { dt { "Reason" } dd { (reason) } }
            @if let Some(cancel) = &view.cancel { dt { "Called off" } dd { (cancel.told()) ", " (frame::at(cancel.at)) } }
        }
    }
}

/// The beginning of bytes: text as it is, anything else in base64.
pub(super) fn bytes(content_type: &str, bytes: &[u8]) -> Markup {
    let part = &bytes[..bytes.len().min(BYTES)];
    let (text, what) = match str::from_utf8(bytes) {
        Ok(text) => (text[..text.floor_char_boundary(part.len())].to_owned(), ""),
        Err(_) => (base64::encode(part), ", in base64"),
    };
    html! {
        p.soft { (bytes.len()) " bytes of " (content_type) (what) @if part.len() < bytes.len() { ", the first " (BYTES) " shown" } }
        @if !bytes.is_empty() { pre { (text) } }
    }
}

pub(super) fn told(failure: &Failure) -> Markup {
    html! {
        p.note.fault { b { (failure.kind) } ": " (failure.cause) }
        @if let Some(hint) = &failure.hint { p { (hint) } }
        @if let Some(panic) = &failure.panic { pre { (panic) } }
        @if !failure.details.is_empty() { dl { @for (key, value) in &failure.details { dt { (key) } dd { (value) } } } }
        @if !failure.backtrace.is_empty() { details { summary { "Backtrace" } pre { (failure.backtrace.join("\n")) } } }
    }
}

/// All attempts, by their place among them; the number of one that has another one is told.
pub(super) fn all(attempts: &[Attempt]) -> Markup {
    html! {
        ol.attempts reversed { @for (attempt, in_all) in attempts.iter().zip(1..attempts.len() + 1).rev() { li value=(in_all) { (of(attempt, in_all)) } } }
    }
}

fn of(attempt: &Attempt, in_all: usize) -> Markup {
    html! {
        @if attempt.number as usize != in_all { div { "attempt " (attempt.number) ", number " (in_all) " in all" } }
        div { (frame::at(attempt.started_at)) ", " (attempt.duration_us / 1_000) " ms, processor " (attempt.cpu_us / 1_000) " ms, memory "
            (attempt.peak_memory >> 10) " KiB" @if !attempt.plugin.is_empty() { ", " (attempt.plugin) " " code { (attempt.digest.get(..12).unwrap_or(&attempt.digest)) } } }
        @match &attempt.failure {
            Some(failure) => div { b { (failure.kind) } ": " (failure.cause) },
            None => div.completed { "without a failure" },
        }
        (lines(&attempt.logs, attempt.dropped_lines))
    }
}

fn lines(logs: &[sandhog_model::LogLine], dropped: u64) -> Markup {
    let from = logs.len().saturating_sub(LINES);
    html! {
        @if !logs.is_empty() {
            details {
                summary { (logs.len()) @if logs.len() == 1 { " line" } @else { " lines" } @if dropped > 0 { ", " (dropped) " left out" } @if from > 0 { ", the last " (LINES) " shown" } }
                pre { @for line in &logs[from..] {
                    (line.at_ms) " ms " (line.text) @for (key, value) in &line.fields { " " (key) "=" (value) } "\n"
                } }
            }
        }
    }
}

async fn act(site: Arc<Site>, call: Call) -> Outcome {
    let fields = said(&site, &call)?;
    let id: JobId = call.path("id")?;
    let (ids, by, reason) = (vec![id], call.by(), None);
    let amend = |act| Request::AmendJobs {
        ids: vec![id],
        act,
        dry_run: false,
    };
    let call_off = |how| Request::CallOff {
        ids,
        how,
        by: by.clone(),
        reason: None,
        dry_run: false,
    };
    let request = match field(&fields, "do") {
        Some("retry") => amend(JobAct::Retry),
        Some("snooze") => amend(JobAct::Snooze {
            due: site.ctx.clock.now().wall.plus(LATER_MS),
        }),
        Some("discard") => amend(JobAct::Discard { by, reason }),
        Some("cancel") => call_off(Asked::Cancel),
        Some("kill") => call_off(Asked::Kill),
        Some("requeue") => Request::Requeue {
            letters: vec![LetterRef {
                name: LetterName::Job(id),
                token: None,
            }],
            dry_run: false,
        },
        _ => {
            return Err(Problem::malformed(
                "the form says nothing that can be done with a job",
            ));
        }
    };
    done(site.ask(request, &call.asking).await?)?;
    back(&call, &format!("/jobs/{id}"))
}

/// Whether the one job was changed.
fn done(response: Response) -> Result<(), Problem> {
    let first: Option<Result<(), ApiError>> = match response {
        Response::AmendedJobs(answers) => answers.into_iter().next().map(|one| one.map(drop)),
        Response::CalledOff(answers) => answers.into_iter().next().map(|one| one.map(drop)),
        Response::Amended(answers) => answers.into_iter().next().map(|one| one.map(drop)),
        other => return Err(mismatch(&other)),
    };
    Ok(first.unwrap_or(Ok(()))?)
}
