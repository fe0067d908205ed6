//! `sandhog plugin run`: one attempt, nothing kept; or one for each change of what is tried.

use std::{fmt::Write as _, path::PathBuf, sync::Arc, time::Duration};

use sandhog_model::{Outcome as Ended, Output};
use serde_json::{Value, json};

use super::{
    RunArgs, build, present, serving,
    watch::{LOOK, Watch},
};
use crate::{
    cli::{
        enqueue::{print, read_payload},
        exit::{Exit, Fault, Outcome},
        file,
        interrupt::Interrupt,
        job,
        rooms::Trial,
        session::Session,
        shapes, text,
    },
    plugin::{Limits, Live, Report, Tried},
};

pub(super) fn run(session: &mut Session<'_, '_>, mut args: RunArgs) -> Outcome<Exit> {
    if let Some(payload) = args.text.take() {
        args.given.payload = Some(payload);
    }
    if !args.component.is_dir() {
        present(&args.component)?;
    }
    if !args.watch {
        // Without someone who listens, a signal ends the process as ever.
        return once(session, &args, &Interrupt::default());
    }
    let interrupt = Interrupt::listen();
    let mut pause = |time: Duration| {
        interrupt.wait(time);
        !interrupt.came()
    };
    rounds(session, watched(&args), &mut pause, &mut |session| {
        once(session, &args, &interrupt)
    })
}

/// What is looked at for changes: the component with what it is granted, or all of its source, and
/// the payload's file.
fn watched(args: &RunArgs) -> Vec<PathBuf> {
    let mut roots = vec![args.component.clone()];
    if !args.component.is_dir() {
        roots.push(args.component.with_extension("toml"));
    }
    roots.extend(args.given.file.clone());
    roots
}

/// A round at once, and one after each change, until `pause` says that it is enough.
fn rounds(
    session: &mut Session<'_, '_>,
    roots: Vec<PathBuf>,
    pause: &mut dyn FnMut(Duration) -> bool,
    round: &mut dyn FnMut(&mut Session<'_, '_>) -> Outcome<Exit>,
) -> Outcome<Exit> {
    let mut watch = Watch::new(roots);
    loop {
        match round(session) {
            Ok(_) => {}
            // Nobody is there any more to be told.
            Err(fault @ Fault { error: None, .. }) => return Err(fault),
            Err(Fault {
                error: Some(why), ..
            }) => {
                session.note(&format!(
                    "sandhog: {}",
                    text::plain_lines(&format!("{why:#}"))
                ));
            }
        }
        session.io.out.flush()?;
        let mut told = false;
        let changed = loop {
            if !pause(LOOK) {
                return Ok(Exit::Done);
            }
            if !told {
                session.note("waiting for a change; Ctrl-C ends it");
                told = true;
            }
            if let Some(changed) = watch.look() {
                break changed;
            }
        };
        session.note(&format!("changed: {}", changed.display()));
        watch.begin();
    }
}

/// Build if it is a folder, run one attempt, and show what came of it.
fn once(session: &mut Session<'_, '_>, args: &RunArgs, interrupt: &Interrupt) -> Outcome<Exit> {
    let payload = read_payload(session.io.input, &args.given)?;
    if let Some(doubt) = &payload.doubt {
        session.note(doubt);
    }
    let files = match args.component.is_dir() {
        true => {
            let built = build::build(session, &args.component, None)?;
            built.into_iter().map(|one| one.file).collect()
        }
        false => vec![args.component.clone()],
    };
    if session.io.err_is_terminal {
        session.note("compiling and running …");
    }
    let mut tryouts = Vec::new();
    for file in &files {
        tryouts.push(session.rooms.tryout(&session.config, file)?);
    }
    let wanted = args.kind.as_deref().or(args.named.as_deref());
    let (tryout, kind) = serving(&tryouts, wanted).map_err(Fault::usage)?;
    let live = Arc::new(Live::default());
    let trial = Trial {
        kind,
        payload: payload.bytes,
        content_type: payload.content_type,
        headers: args.given.headers.clone(),
        live: Arc::clone(&live),
    };
    let tried = interrupt.during(move || live.interrupt(), || tryout.run(trial))?;
    show(session, args, &tried)
}

fn show(session: &mut Session<'_, '_>, args: &RunArgs, tried: &Tried) -> Outcome<Exit> {
    let Tried { report, limits } = tried;
    let output = match &report.outcome {
        Ended::Completed(output) => Some(output),
        _ => None,
    };
    if let (Some(path), Some(output)) = (&args.output, output) {
        file::replace(path, &output.payload)?;
    }
    if session.is_json() {
        session.json(&shape(report, output.filter(|_| args.output.is_none())))?;
    } else {
        let beside = beside(report, limits);
        session.note(beside.trim_end());
        if let (Some(output), None) = (output, &args.output) {
            print(session, output)?;
            // The next one begins on a line of its own.
            if args.watch && !session.io.out_is_terminal && !output.payload.ends_with(b"\n") {
                session.io.out.write_all(b"\n")?;
            }
        }
    }
    Ok(match output {
        Some(_) => Exit::Done,
        None => Exit::Failed,
    })
}

fn shape(report: &Report, output: Option<&Output>) -> Value {
    let mut value = shapes::attempt(&report.attempt);
    value["outcome"] = outcome_name(&report.outcome).into();
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

/// What an attempt came to, in one word.
pub(super) const fn outcome_name(outcome: &Ended) -> &'static str {
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
        "{}{said} {} of {}, {} of processor time, {} of {} memory, {} enqueued",
        outcome_name(&report.outcome),
        fine_span(attempt.duration_us),
        text::span(limits.timeout_ms),
        fine_span(attempt.cpu_us),
        text::size(attempt.peak_memory),
        text::size(limits.memory),
        text::count(report.children.len() as u64, "job"),
    );
    if let Some(failure) = failure {
        job::failed(&mut shown, failure);
    }
    shown
}

/// A short time for people.
pub(super) fn fine_span(us: u64) -> String {
    if us < 1_000_000 {
        let ms = format!("{}.{:03}", us / 1_000, us % 1_000);
        return format!("{}ms", ms.trim_end_matches('0').trim_end_matches('.'));
    }
    text::span(us / 1_000)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::cli::tests::Desk;

    #[test]
    fn a_round_follows_each_change_until_someone_says_stop() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.wasm");
        fs::write(&file, "one").unwrap();
        let mut seen = Vec::new();
        // What is done at each pause: nothing, a change in two writes, nothing, another change.
        let mut script = vec![
            None,
            Some("two"),
            Some("three!"),
            None,
            None,
            Some("broken"),
            None,
            None,
        ];
        let mut pause = |_: Duration| match script.is_empty() {
            true => false,
            false => {
                if let Some(content) = script.remove(0) {
                    fs::write(&file, content).unwrap();
                }
                true
            }
        };
        let (exit, said) = Desk::new().within(|session| {
            rounds(session, vec![file.clone()], &mut pause, &mut |_| {
                seen.push(fs::read_to_string(&file).unwrap());
                match seen.len() {
                    2 => Err(Fault::failed("it does not build\u{1b}")),
                    _ => Ok(Exit::Failed),
                }
            })
        });
        assert_eq!(exit.ok(), Some(Exit::Done));
        assert_eq!(seen, ["one", "three!", "broken"]);
        assert_eq!(said.matches("changed: ").count(), 2, "{said}");
        assert!(said.contains("sandhog: it does not build\\u{1b}"), "{said}");
    }
}
