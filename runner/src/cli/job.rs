//! `sandhog job`.

mod args;
mod bulk;

use std::fmt::Write as _;

use sandhog_model::{Asked, Attempt, Failure, JobId, Link, LogLevel, LogLine, State, Terms};
use serde_json::json;

use super::{
    args::Paging,
    door::Need,
    enqueue::steps,
    exit::{Exit, Fault, Outcome},
    session::{Session, ask, wall},
    shapes, text, when,
};
use crate::{
    api::{Nth, Request},
    plugin::Progress,
    store::{JobFilter, JobRow, JobView, PageRequest},
};

pub(super) use args::{JobCommand, Said};
use bulk::Verb;

pub(super) fn run(session: &mut Session<'_, '_>, command: JobCommand) -> Outcome<Exit> {
    match command {
        JobCommand::Ls { filters, paging } => list(session, &filters.filter(), paging.request())?,
        JobCommand::Show { id } => {
            let view = ask!(session, Request::Job { id }, Job);
            let progress = progress(session, &view)?;
            if session.is_json() {
                let mut value = shapes::job(&view);
                value["progress"] = json!(progress);
                session.json(&value)?;
            } else {
                session.say(&shown(&view, progress.as_ref()))?;
            }
        }
        JobCommand::Logs {
            id,
            attempt,
            in_all,
        } => {
            let attempt = in_all.map(Nth::InAll).or(attempt.map(Nth::Number));
            logs(session, id, attempt)?;
        }
        JobCommand::Cancel { which, said } => {
            return bulk::run(session, which, &Verb::call_off(Asked::Cancel, said));
        }
        JobCommand::Kill { which, said } => {
            return bulk::run(session, which, &Verb::call_off(Asked::Kill, said));
        }
        JobCommand::Retry { which } => return bulk::run(session, which, &Verb::retry()),
        JobCommand::Snooze {
            ids,
            span,
            until,
            choice,
            all,
            dry_run,
        } => {
            if choice.is_some() || all {
                return Err(Fault::usage(
                    "`job snooze` takes ids and no choice among all: `job ls` lists those that fit, and \
                     --for or --until says how long they are to wait",
                ));
            }
            let after = |span| wall().plus(when::millis(span));
            let due = until.or(span.map(after)).unwrap_or_else(wall);
            let act = match dry_run {
                true => bulk::weigh,
                false => bulk::apply,
            };
            return act(session, &ids, &Verb::snooze(due), false);
        }
        JobCommand::Discard { which, said } => {
            return bulk::run(session, which, &Verb::discard(said));
        }
        JobCommand::Rm { which, force } => {
            return bulk::run(session, which, &Verb::remove(force));
        }
    }
    Ok(Exit::Done)
}

fn list(session: &mut Session<'_, '_>, filter: &JobFilter, mut page: PageRequest) -> Outcome<()> {
    let limit = page.limit;
    let mut rows = Vec::new();
    // A page in search of few among many may come with fewer rows than there are.
    loop {
        page.limit = limit - rows.len();
        let request = Request::Jobs {
            filter: filter.clone(),
            page: page.clone(),
        };
        let got = ask!(session, request, Jobs);
        rows.extend(got.rows);
        page.cursor = got.next;
        if page.cursor.is_none() || rows.len() >= limit {
            break;
        }
    }
    if session.is_json() {
        session.json(&rows.iter().map(shapes::job_row).collect())?;
    } else {
        session.say(&table(&rows))?;
    }
    more(session, page.cursor.as_deref());
    Ok(())
}

impl Paging {
    pub(super) fn request(&self) -> PageRequest {
        PageRequest {
            limit: usize::from(self.limit),
            cursor: self.cursor.clone(),
        }
    }
}

/// Say how to go on.
pub(super) fn more(session: &mut Session<'_, '_>, next: Option<&str>) {
    if let Some(next) = next {
        session.note(&format!("more with --cursor {}", text::plain(next)));
    }
}

fn table(rows: &[JobRow]) -> String {
    let now = wall();
    let header = ["ID", "KIND", "QUEUE", "STATE", "ATTEMPT", "WHEN", "FAILURE"];
    text::table(
        &header,
        &[4],
        rows.iter().map(|row| {
            vec![
                row.id.text(),
                row.kind.clone(),
                row.queue.clone(),
                row.state.to_string(),
                format!("{}/{}", row.attempt, row.max_attempts),
                text::ago(row.at, now),
                row.failure.as_ref().map_or_else(String::new, |failure| {
                    text::cell(&format!("{}: {}", failure.kind, failure.cause))
                }),
            ]
        }),
    )
}

/// What the running attempt last reported.
fn progress(session: &mut Session<'_, '_>, view: &JobView) -> Outcome<Option<Progress>> {
    if view.row.state != State::Running || !session.door(Need::Jobs)?.is_runner() {
        return Ok(None);
    }
    let (id, timeout_ms) = (view.row.id, 0);
    let waited = ask!(session, Request::Wait { id, timeout_ms }, Waited);
    Ok(waited.progress)
}

fn shown(view: &JobView, progress: Option<&Progress>) -> String {
    let (row, job, now) = (&view.row, &view.job, wall());
    let mut fields = vec![
        ("id", row.id.text()),
        ("kind", row.kind.clone()),
        ("queue", row.queue.clone()),
        (
            "state",
            format!("{}, {}", row.state, text::ago(row.at, now)),
        ),
        ("attempt", view.tries()),
        ("priority", row.priority.to_string()),
        ("enqueued", text::ago(job.enqueued_at, now)),
        ("payload", payload(&job.content_type, job.payload.len())),
    ];
    if let Some(why) = &view.waiting_because {
        fields.push(("waiting", format!("because {}", text::plain(why))));
    }
    if let Some(progress) = progress {
        fields.push(("progress", steps(progress)));
    }
    for (key, value) in &job.headers {
        fields.push(("header", text::cell(&format!("{key}={value}"))));
    }
    if let Some(parent) = row.parent {
        fields.push(("parent", parent.text()));
    }
    terms(&mut fields, &job.terms);
    if !job.terms.then.is_empty() {
        fields.push(("then", then(&job.terms.then, row.state)));
    }
    if let Some(output) = &view.output {
        fields.push((
            "result",
            payload(&output.content_type, output.payload.len()),
        ));
    }
    if let Some(reason) = &view.reason {
        fields.push(("reason", text::plain(reason).into_owned()));
    }
    if let Some(cancel) = &view.cancel {
        let told = format!("{}, {}", cancel.told(), text::ago(cancel.at, now));
        fields.push(("cancel", text::cell(&told)));
    }
    for child in &view.children {
        fields.push(("child", child.text()));
    }
    let mut shown = text::fields(&fields);
    history(&mut shown, &view.attempts);
    shown
}

/// What few jobs say.
fn terms(fields: &mut Vec<(&str, String)>, terms: &Terms) {
    let now = wall();
    if let Some(expires) = terms.expires {
        fields.push(("expires", text::ago(expires, now)));
    }
    if let Some(ms) = terms.retry_for_ms {
        fields.push(("retry for", text::span(ms)));
    }
    if let Some(group) = &terms.group {
        fields.push(("group", text::cell(group)));
    }
    for tag in &terms.tags {
        fields.push(("tag", text::cell(tag)));
    }
    if let Some(batch) = terms.batch {
        fields.push(("batch", batch.text()));
    }
    if let Some(unique) = &terms.unique {
        let says = text::cell(&unique.says);
        let told = format!("{says}, while {}", unique.scope);
        fields.push(("unique", told));
    }
    if let Some(named) = &terms.idempotency {
        fields.push(("idempotency", text::cell(&named.says)));
    }
}

/// What is to follow, and whether it will.
fn then(chain: &[Link], state: State) -> String {
    let kinds: Vec<&str> = chain.iter().map(|link| link.kind.as_str()).collect();
    let kinds = kinds.join(", then ");
    match state {
        State::Completed => format!("{kinds} (enqueued: see child)"),
        State::Dead | State::Cancelled | State::Discarded | State::Expired => {
            format!("{kinds} (the chain ended here: this job is {state})")
        }
        State::Scheduled | State::Available | State::Running | State::Retryable => kinds,
    }
}

fn payload(content_type: &str, bytes: usize) -> String {
    format!(
        "{} of {}",
        text::size(bytes as u64),
        text::plain(content_type)
    )
}

/// Every attempt, oldest first, with the lines of the last.
pub(super) fn history(shown: &mut String, attempts: &[Attempt]) {
    let now = wall();
    for (attempt, in_all) in attempts.iter().zip(1..) {
        let name = numbered(attempt.number, in_all);
        if attempt.digest.is_empty() {
            // It never began, or nobody saw its end.
            let ended = text::ago(attempt.ended_at, now);
            let _ = writeln!(shown, "\n{name} ended {ended}");
            attempt
                .failure
                .iter()
                .for_each(|failure| failed(shown, failure));
            continue;
        }
        let verdict = if attempt.failure.is_some() {
            "failed"
        } else {
            "ended"
        };
        let _ = writeln!(
            shown,
            "\n{name} {verdict} {} after {}, {} of it at work, at most {} of memory, on {} {}",
            text::ago(attempt.ended_at, now),
            text::span(attempt.duration_us / 1_000),
            text::span(attempt.cpu_us / 1_000),
            text::size(attempt.peak_memory),
            text::plain(&attempt.plugin),
            attempt.digest.get(..12).unwrap_or_default(),
        );
        if let Some(failure) = &attempt.failure {
            failed(shown, failure);
        }
        for line in &attempt.logs {
            let _ = writeln!(shown, "  | {}", log_line(line));
        }
        if attempt.dropped_lines > 0 {
            let _ = writeln!(shown, "  | {} lines left out", attempt.dropped_lines);
        }
    }
}

/// An attempt by its number, which begins anew when the job is brought back, and then by its place among all.
fn numbered(number: u32, in_all: u32) -> String {
    match number == in_all {
        true => format!("attempt {number}"),
        false => format!("attempt {number}, number {in_all} in all,"),
    }
}

/// A failure in one line: its kind, its code where that says more, and the cause.
pub(super) fn told(failure: &Failure) -> String {
    let (kind, cause) = (failure.kind.to_string(), text::plain(&failure.cause));
    let name = kind.rsplit(':').next().unwrap_or_default();
    if failure.code.is_empty() || failure.code == name || failure.code == kind {
        return format!("{kind}: {cause}");
    }
    format!("{kind} ({}): {cause}", text::plain(&failure.code))
}

/// A failure, indented.
pub(super) fn failed(shown: &mut String, failure: &Failure) {
    let _ = writeln!(shown, "  {}", told(failure));
    let more = [("hint", &failure.hint), ("panic", &failure.panic)];
    for (name, value) in more {
        if let Some(value) = value {
            let _ = writeln!(shown, "  {name}: {}", text::plain(value));
        }
    }
    for (key, value) in &failure.details {
        let _ = writeln!(shown, "  {}: {}", text::plain(key), text::plain(value));
    }
    for frame in &failure.backtrace {
        let _ = writeln!(shown, "    at {}", text::plain(frame));
    }
}

/// A log line for a person.
pub(super) fn log_line(line: &LogLine) -> String {
    let level = match line.level {
        LogLevel::Trace => "trace",
        LogLevel::Debug => "debug",
        LogLevel::Info => "info",
        LogLevel::Warn => "warn",
        LogLevel::Error => "error",
    };
    let seconds = line.at_ms as f64 / 1_000.0;
    let mut shown = format!("{seconds:8.3}s {level:5} {}", text::plain(&line.text));
    for (key, value) in &line.fields {
        let _ = write!(shown, " {}={}", text::plain(key), text::plain(value));
    }
    shown
}

fn logs(session: &mut Session<'_, '_>, id: JobId, attempt: Option<Nth>) -> Outcome<()> {
    let logs = ask!(session, Request::Logs { id, attempt }, Logs);
    if session.is_json() {
        return session.json(&shapes::logs(&logs));
    }
    for line in &logs.lines {
        session.say(&log_line(line))?;
    }
    if logs.dropped > 0 {
        session.note(&format!(
            "{} lines left out: over `limits.log`",
            logs.dropped
        ));
    } else if logs.lines.is_empty() {
        let so_far = if logs.running { " so far" } else { "" };
        session.note(&format!("attempt {} logged nothing{so_far}", logs.attempt));
    }
    // One that was asked for by a number that others have, too.
    if matches!(attempt, Some(Nth::Number(_))) && !logs.also.is_empty() {
        let also: Vec<String> = logs.also.iter().map(u32::to_string).collect();
        session.note(&format!(
            "this is attempt {}, number {} in all: see number {} with --in-all",
            logs.attempt,
            logs.in_all,
            also.join(" or ")
        ));
    }
    Ok(())
}
