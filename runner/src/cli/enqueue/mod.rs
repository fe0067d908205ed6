//! `sandhog enqueue`: one job, or a file of them.

pub(super) mod bulk;
pub(super) mod chain;
mod payload;
mod printer;
mod terms;
mod wait;

use std::{path::PathBuf, time::Duration};

use clap::Args;
use sandhog_model::{NewJob, UnixMs};

use super::{
    door::Need,
    exit::{Exit, Fault, Outcome},
    session::{Session, wall},
    shapes, text, when,
};
use crate::{
    api::{Enqueued, Joined, Request, Response},
    json::new_job as ndjson,
};
use terms::Terms;

pub(super) use payload::{Given, by_ending, read_payload};
pub(super) use wait::{print, steps};

/// Most kinds named in one line.
const KINDS: usize = 10;

#[derive(Debug, Args)]
pub(super) struct EnqueueArgs {
    /// Which handler is to run it; with --bulk: for lines that name none
    #[arg(required_unless_present = "bulk")]
    kind: Option<String>,
    #[command(flatten)]
    given: Given,
    /// Many jobs: a file of JSON lines, `-` for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["payload", "file", "stdin", "content_type", "headers", "after", "at", "wait"])]
    bulk: Option<PathBuf>,
    #[command(flatten)]
    terms: Terms,
    /// Not to be run before this time has passed, such as 5m
    #[arg(long = "in", value_name = "TIME", value_parser = when::span, conflicts_with = "at")]
    after: Option<Duration>,
    /// Not to be run before this instant, such as 2030-01-31T08:00:00Z
    #[arg(long, value_name = "INSTANT", value_parser = when::instant)]
    at: Option<UnixMs>,
    /// Wait for the job's end and give its result
    #[arg(long)]
    wait: bool,
    /// With --wait: how long [default: until the job ends]
    #[arg(long, value_name = "TIME", value_parser = when::span, requires = "wait")]
    timeout: Option<Duration>,
    /// With --wait: write the result into this file
    #[arg(long, value_name = "FILE", requires = "wait")]
    output: Option<PathBuf>,
}

pub(super) fn run(session: &mut Session<'_, '_>, args: EnqueueArgs) -> Outcome<Exit> {
    if let Some(file) = &args.bulk {
        let pattern = args.terms.job(args.kind.clone().unwrap_or_default())?;
        return bulk::run(session, file, &pattern);
    }
    if let Some(path) = &args.output {
        // Found now rather than after the wait.
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        if folder.is_some_and(|folder| !folder.is_dir()) || path.is_dir() {
            let path = path.display();
            return Err(Fault::usage(format!(
                "cannot write {path}: no such folder, or it is one"
            )));
        }
    }
    let mut job = args.terms.job(args.kind.clone().unwrap_or_default())?;
    let payload = read_payload(session.io.input, &args.given)?;
    if let Some(doubt) = &payload.doubt {
        session.note(doubt);
    }
    job.payload = payload.bytes;
    job.content_type = payload.content_type;
    job.headers = args.given.headers.clone();
    job.due = args
        .at
        .or_else(|| Some(wall().plus(when::millis(args.after?))));
    let kind = job.kind.clone();
    let enqueued = one(session, job, args.wait)?;
    let id = enqueued.id;
    if let Some(told) = existing(&enqueued) {
        session.note(&told);
    }
    if let Some(replaced) = enqueued.replaced {
        session.note(&format!(
            "job {replaced} is cancelled: this one takes its place"
        ));
    }
    if args.wait {
        return wait::run(session, id, args.timeout, args.output.as_deref());
    }
    if session.is_json() {
        session.json(&shapes::enqueued(&enqueued))?;
    } else {
        session.say(&id.text())?;
    }
    where_they_wait(session, &[kind], "the job waits");
    Ok(Exit::Done)
}

/// What is to be known of a job that was there already.
fn existing(job: &Enqueued) -> Option<String> {
    let id = job.existing.then_some(job.id)?;
    let mut told = format!("job {id} was there already, and is the answer");
    if let Some(due) = job.due {
        told += &format!(", due at {due} now");
    }
    Some(match job.batch.filter(|batch| !batch.is_as_wished()) {
        None => told,
        Some(Joined { wished, is: None }) => {
            format!("{told}: it is in no batch, and batch {wished} goes on without it")
        }
        Some(Joined {
            wished,
            is: Some(is),
        }) => format!("{told}: it stays in batch {is}, and batch {wished} goes on without it"),
    })
}

fn one(session: &mut Session<'_, '_>, job: NewJob, wait: bool) -> Outcome<Enqueued> {
    let need = if wait { Need::Runner } else { Need::Anything };
    session.door(need)?;
    let mut answers = send(session, vec![job])?;
    Ok(answers.pop().ok_or_else(Fault::mismatch)??)
}

/// Say what jobs that were enqueued and are not waited for lack: a runner, or plugins that serve
/// their kinds. They are enqueued all the same, so what cannot be found out is left unsaid.
pub(in crate::cli) fn where_they_wait<'k>(
    session: &mut Session<'_, '_>,
    kinds: impl IntoIterator<Item = &'k String>,
    they_wait: &str,
) {
    match session.door(Need::Anything).map(|door| door.is_runner()) {
        Ok(true) => {}
        Ok(false) => {
            let data = &session.config.runner.data;
            let data = std::path::absolute(data).unwrap_or_else(|_| data.clone());
            session.note(&format!(
                "no runner is up: {they_wait} in {} for `sandhog start`",
                data.display()
            ));
            return;
        }
        Err(_) => return,
    }
    let Ok(Response::Plugins(answer)) = session.call(Request::Plugins) else {
        return;
    };
    let catalog = answer.catalog;
    let unserved = |kind: &&String| catalog.serving(kind).is_none();
    let (held, names): (Vec<&String>, Vec<&String>) = kinds
        .into_iter()
        .filter(unserved)
        .partition(|kind| catalog.holding(kind).is_some());
    for told in held
        .iter()
        .filter_map(|kind| catalog.held_back(kind))
        .take(KINDS)
    {
        session.note(&format!("{they_wait}: {}", text::plain(&told)));
    }
    if names.is_empty() {
        return;
    }
    let named: Vec<&str> = names.iter().take(KINDS).map(|name| name.as_str()).collect();
    let mut told = named.join(", ");
    if names.len() > KINDS {
        told += &format!(" and {} more", names.len() - KINDS);
    }
    session.note(&format!(
        "no plugin serves {} yet: {they_wait}; see `sandhog plugin ls`",
        text::plain(&told)
    ));
}

type Answers = Vec<Result<Enqueued, crate::api::ApiError>>;

fn send(session: &mut Session<'_, '_>, jobs: Vec<NewJob>) -> Outcome<Answers> {
    let sent = jobs.len();
    match session
        .door(Need::Anything)?
        .call(Request::Enqueue { jobs })?
    {
        Response::Enqueued(answers) if answers.len() == sent => Ok(answers),
        _ => Err(Fault::mismatch()),
    }
}
