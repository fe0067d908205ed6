//! `sandhog plugin run`: one attempt, nothing kept.

use std::fmt::Write as _;

use sandhog_model::{Outcome as Ended, Output};
use serde_json::{Value, json};

use super::{RunArgs, present};
use crate::{
    cli::{
        enqueue::{print, read_payload},
        exit::{Exit, Outcome},
        file, job,
        rooms::Trial,
        session::Session,
        shapes, text,
    },
    plugin::{Limits, Report, Tried},
};

pub(super) fn run(session: &mut Session<'_, '_>, args: RunArgs) -> Outcome<Exit> {
    present(&args.component)?;
    let payload = read_payload(session.io.input, &args.given)?;
    if let Some(doubt) = &payload.doubt {
        session.note(doubt);
    }
    if session.io.err_is_terminal {
        session.note("compiling and running …");
    }
    let Tried { report, limits } = session.rooms.try_run(
        &session.config,
        Trial {
            file: args.component,
            kind: args.kind,
            payload: payload.bytes,
            content_type: payload.content_type,
            headers: args.given.headers,
        },
    )?;
    let output = match &report.outcome {
        Ended::Completed(output) => Some(output),
        _ => None,
    };
    if let (Some(path), Some(output)) = (&args.output, output) {
        file::replace(path, &output.payload)?;
    }
    if session.is_json() {
        session.json(&shape(&report, output.filter(|_| args.output.is_none())))?;
    } else {
        let beside = beside(&report, &limits);
        session.note(beside.trim_end());
        if let (Some(output), None) = (output, &args.output) {
            print(session, output)?;
        }
    }
    Ok(match output {
        Some(_) => Exit::Done,
        None => Exit::Failed,
    })
}

fn shape(report: &Report, output: Option<&Output>) -> Value {
    let mut value = shapes::attempt(&report.attempt);
    value["outcome"] = name(&report.outcome).into();
    value["children"] = report
        .children
        .iter()
        .map(|job| json!({ "kind": job.kind, "queue": job.queue, "payload_bytes": job.payload.len() }))
        .collect();
    match &report.outcome {
        Ended::Completed(_) => {}
        Ended::Failed { retry_after_ms, .. } => value["retry_after_ms"] = json!(retry_after_ms),
        Ended::Permanent(_) => value["permanent"] = true.into(),
        Ended::Snoozed { delay_ms } => value["delay_ms"] = json!(delay_ms),
        Ended::Discarded { reason } => value["reason"] = json!(reason),
        Ended::NotRun(why) => value["reason"] = json!(why),
    }
    if let Some(output) = output {
        shapes::result(&mut value, output);
    }
    value
}

const fn name(outcome: &Ended) -> &'static str {
    match outcome {
        Ended::Completed(_) => "completed",
        Ended::Failed { .. } => "failed",
        Ended::Permanent(_) => "permanent",
        Ended::Snoozed { .. } => "snoozed",
        Ended::Discarded { .. } => "discarded",
        Ended::NotRun(_) => "not-run",
    }
}

/// What a person wants to know beside the result.
fn beside(report: &Report, limits: &Limits) -> String {
    let attempt = &report.attempt;
    let mut shown = String::new();
    for line in &attempt.logs {
        let _ = writeln!(shown, "{}", job::log_line(line));
    }
    if attempt.dropped_lines > 0 {
        let _ = writeln!(
            shown,
            "{} lines left out: over `limits.log`",
            attempt.dropped_lines
        );
    }
    let (said, failure) = match &report.outcome {
        Ended::Completed(_) => (" in".into(), None),
        Ended::Failed { failure, .. } | Ended::Permanent(failure) => (" in".into(), Some(failure)),
        Ended::Snoozed { delay_ms } => (format!(" for {}, after", text::span(*delay_ms)), None),
        Ended::Discarded { reason } => (format!(": {}, after", text::plain(reason)), None),
        Ended::NotRun(why) => (format!(": {}, after", json!(why)), None),
    };
    let _ = writeln!(
        shown,
        "{}{said} {} of {}, {} of {} memory, {} enqueued",
        name(&report.outcome),
        fine_span(attempt.duration_us),
        text::span(limits.timeout_ms),
        text::size(attempt.peak_memory),
        text::size(limits.memory),
        text::count(report.children.len() as u64, "job"),
    );
    if let Some(failure) = failure {
        job::failed(&mut shown, failure);
    }
    shown
}

fn fine_span(us: u64) -> String {
    if us < 1_000_000 {
        let ms = format!("{}.{:03}", us / 1_000, us % 1_000);
        return format!("{}ms", ms.trim_end_matches('0').trim_end_matches('.'));
    }
    text::span(us / 1_000)
}
