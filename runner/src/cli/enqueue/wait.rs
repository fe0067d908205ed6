//! `--wait`: follow a job to its end and give its result.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::anyhow;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sandhog_model::{JobId, Output, State};

use crate::{
    api::{Request, WAIT_MS, Waited},
    cli::{
        exit::{Exit, Fault, Outcome},
        file, job,
        session::{Session, ask, wall},
        shapes, text,
        when::rfc3339,
    },
    plugin::Progress,
    store::{JobRow, JobView, tries},
};

/// How often a person sees the progress line change.
const LOOK: Duration = Duration::from_millis(200);

pub(super) fn run(
    session: &mut Session<'_, '_>,
    id: JobId,
    timeout: Option<Duration>,
    output: Option<&Path>,
) -> Outcome<Exit> {
    // A time too long to add is no limit.
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let line = line(session, id);
    let (mut told, mut failures) = (None, 0);
    let waited = loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let look = match session.io.err_is_terminal {
            true => LOOK,
            false => Duration::from_millis(WAIT_MS),
        };
        let timeout_ms = left.unwrap_or(look).min(look).as_millis() as u64;
        let request = Request::Wait { id, timeout_ms };
        let waited = match look_at(session, request) {
            Ok(waited) => waited,
            Err(fault) => {
                line.finish_and_clear();
                return Err(accepted_all_the_same(session, id, fault));
            }
        };
        if waited.ended.is_some() || left == Some(Duration::ZERO) {
            break waited;
        }
        line.set_message(said(&waited));
        if let Some((number, failed)) = failed(&waited.row).filter(|(one, _)| *one > failures) {
            failures = number;
            line.suspend(|| session.note(&failed));
        }
        if waited.reason != told {
            told.clone_from(&waited.reason);
            if let Some(reason) = &told {
                line.suspend(|| session.note(&format!("job {id} waits: {}", text::plain(reason))));
            }
        }
    };
    line.finish_and_clear();
    match waited.ended {
        Some(view) => ended(session, &view, output),
        None => timed_out(session, &waited),
    }
}

fn look_at(session: &mut Session<'_, '_>, request: Request) -> Outcome<Box<Waited>> {
    Ok(ask!(session, request, Waited))
}

/// The job is kept, whatever became of the runner: whoever enqueues it again has it twice.
fn accepted_all_the_same(session: &mut Session<'_, '_>, id: JobId, fault: Fault) -> Fault {
    if session.is_json() {
        // What keeps the answer from being written is no worse than the fault.
        let _ = session.json(&serde_json::json!({ "id": id }));
    }
    let say = format!("job {id} is accepted, its end is unknown: `sandhog job show {id}`");
    Fault {
        exit: fault.exit,
        error: fault.error.map(|error| error.context(say)),
    }
}

fn line(session: &mut Session<'_, '_>, id: JobId) -> ProgressBar {
    if !session.io.err_is_terminal {
        return ProgressBar::hidden();
    }
    let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix} {msg}") {
        line.set_style(style);
    }
    line.set_prefix(id.text());
    line.enable_steady_tick(Duration::from_millis(100));
    line
}

/// The number of the attempt that failed last, and what is to be known of it while others follow.
fn failed(row: &JobRow) -> Option<(u32, String)> {
    let failure = row.failure.as_ref()?;
    let (number, then) = match row.state {
        State::Running => (
            row.attempt.checked_sub(1)?,
            "it is tried again now".to_owned(),
        ),
        State::Retryable => {
            let (at, span) = (rfc3339(row.at), text::ago(row.at, wall()));
            (row.attempt, format!("it is tried again {span}, at {at}"))
        }
        _ => (
            row.attempt,
            "it is tried again once there is room".to_owned(),
        ),
    };
    let told = format!(
        "job {}: attempt {} failed: {}: {}; {then}",
        row.id,
        tries(number, row.max_attempts, 0, 0),
        failure.kind,
        text::cell(&failure.cause)
    );
    (number > 0).then_some((number, told))
}

/// The progress line.
fn said(waited: &Waited) -> String {
    let mut line = waited.row.state.to_string();
    if waited.row.attempt > 1 {
        line += &format!(
            ", attempt {} of {}",
            waited.row.attempt, waited.row.max_attempts
        );
    }
    if let Some(progress) = &waited.progress {
        line += &format!(", {}", steps(progress));
    }
    line
}

/// Progress for a person: steps, of how many, and the note.
pub(in crate::cli) fn steps(progress: &Progress) -> String {
    let mut shown = progress.done.to_string();
    if let Some(total) = progress.total {
        shown += &format!("/{total}");
    }
    if let Some(note) = &progress.note {
        shown += &format!(" {}", text::cell(note));
    }
    shown
}

fn timed_out(session: &mut Session<'_, '_>, waited: &Waited) -> Outcome<Exit> {
    let row = &waited.row;
    if session.is_json() {
        session.json(&shapes::job_row(row))?;
    }
    let why = anyhow!(
        "job {} is still {} and goes on without you: `sandhog job show {}`",
        row.id,
        row.state,
        row.id
    );
    Err(Fault::new(Exit::TimedOut, why))
}

fn ended(session: &mut Session<'_, '_>, view: &JobView, output: Option<&Path>) -> Outcome<Exit> {
    let completed = view.row.state == State::Completed;
    let nothing = Output::default();
    let result = view.output.as_ref().unwrap_or(&nothing);
    if let Some(path) = output.filter(|_| completed) {
        file::replace(path, &result.payload)?;
        let size = text::size(result.payload.len() as u64);
        session.note(&format!("{size} written to {}", path.display()));
    }
    if session.is_json() {
        let mut value = shapes::job(view);
        if let Some(path) = output.filter(|_| completed) {
            value["output"] = path.to_string_lossy().into();
            for field in ["result", "result_base64"] {
                value.as_object_mut().map(|object| object.remove(field));
            }
        }
        session.json(&value)?;
    } else if completed && output.is_none() {
        print(session, result)?;
    }
    if completed {
        return Ok(Exit::Done);
    }
    if !session.is_json() {
        return Err(Fault::failed(ending(view)));
    }
    Ok(Exit::Failed)
}

/// The result on standard output: as it is for a program, only what a terminal can show for a
/// person.
pub(in crate::cli) fn print(session: &mut Session<'_, '_>, result: &Output) -> Outcome<()> {
    let bytes = &result.payload;
    if !session.io.out_is_terminal {
        session.io.out.write_all(bytes)?;
        return Ok(());
    }
    match str::from_utf8(bytes) {
        Ok(words) if shapes::is_text(&result.content_type) || bytes.is_empty() => {
            session.say(&text::plain_lines(words))
        }
        _ => {
            let size = text::size(bytes.len() as u64);
            let content_type = text::plain(&result.content_type);
            session.note(&format!(
                "the result is {size} of {content_type}: write it to a file with --output"
            ));
            Ok(())
        }
    }
}

/// Why there is no result.
fn ending(view: &JobView) -> String {
    let row = &view.row;
    if let Some(reason) = &view.reason {
        return format!("job {} is {}: {}", row.id, row.state, text::plain(reason));
    }
    let Some(failure) = &view.failure else {
        return format!("job {} is {}", row.id, row.state);
    };
    let mut lines = format!(
        "job {} is {} after attempt {}: {}",
        row.id,
        row.state,
        view.tries(),
        job::told(failure)
    );
    if let Some(hint) = &failure.hint {
        lines += &format!("\n  {}", text::plain(hint));
    }
    lines += &format!("\n  all of it: `sandhog job show {}`", row.id);
    lines
}
