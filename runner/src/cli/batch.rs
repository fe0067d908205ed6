//! `sandhog batch`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use sandhog_model::{Callback, JobId, Link, NewJob};
use serde_json::Value;

use super::{
    args::Paging,
    door::Need,
    each::Each,
    enqueue::{bulk, chain},
    exit::{Exit, Fault, Outcome},
    job::{Said, more},
    session::{Session, ask, wall},
    text,
    who::this_user,
};
use crate::{
    api::{BatchRequest, BatchResponse, NewBatch, Request},
    json::batch::{shape, status},
    store::BatchRow,
};

/// What a batch is, and what follows it.
#[derive(Debug, Args)]
pub(super) struct New {
    /// What it is, for people
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// The job that follows when all of its jobs completed; it is told how many there were, and its JSON
    #[arg(long, value_name = "KIND[=JSON]", value_parser = chain::link)]
    on_success: Option<Link>,
    /// The job that follows when all of its jobs ended, however
    #[arg(long, value_name = "KIND[=JSON]", value_parser = chain::link)]
    on_complete: Option<Link>,
}

#[derive(Debug, Subcommand)]
pub(super) enum BatchCommand {
    /// Batches, newest first
    Ls {
        #[command(flatten)]
        paging: Paging,
    },
    /// One batch with how its jobs stand; `job ls --batch` lists them
    Show {
        /// Which
        id: JobId,
    },
    /// Open a batch; `enqueue --batch` puts jobs in, as their handlers can, until it is sealed
    Open {
        #[command(flatten)]
        new: New,
    },
    /// Open a batch, put the jobs of a file of JSON lines in, and seal it
    Enqueue {
        /// The file; `-` for standard input
        file: PathBuf,
        #[command(flatten)]
        new: New,
        /// Leave it open, for more jobs
        #[arg(long)]
        keep_open: bool,
    },
    /// Take in no more jobs from outside: what follows is enqueued once all of its jobs ended
    Seal {
        /// Which
        #[arg(required = true, value_name = "ID")]
        ids: Vec<JobId>,
    },
    /// Call batches off: jobs that wait end, those that run are asked to, and no more are taken in
    Cancel {
        /// Which
        #[arg(required = true, value_name = "ID")]
        ids: Vec<JobId>,
        #[command(flatten)]
        said: Said,
    },
}

pub(super) fn run(session: &mut Session<'_, '_>, command: BatchCommand) -> Outcome<Exit> {
    match command {
        BatchCommand::Ls { paging } => list(session, &paging),
        BatchCommand::Show { id } => {
            let row = one(session, BatchRequest::Show { id })?;
            say(session, &row)
        }
        BatchCommand::Open { new } => {
            let row = open(session, new)?;
            if session.is_json() {
                session.json(&shape(&row))?;
            } else {
                session.say(&row.id.text())?;
            }
            Ok(Exit::Done)
        }
        BatchCommand::Enqueue {
            file,
            new,
            keep_open,
        } => {
            let checked = bulk::prepare(session, &file, &NewJob::default(), true)?;
            let id = open(session, new)?.id;
            session.note(&format!("batch {id}"));
            let pattern = NewJob {
                batch: Some(id),
                ..NewJob::default()
            };
            let exit = match bulk::enqueue(session, &checked, &file, &pattern) {
                Ok(exit @ Exit::Done) => exit,
                Ok(exit) => {
                    session.note(&left_open(id));
                    return Ok(exit);
                }
                Err(fault) => return Err(fault.adding(&left_open(id))),
            };
            if !keep_open {
                let sealed = one(session, BatchRequest::Seal { id });
                sealed.map_err(|fault| fault.adding(&left_open(id)))?;
            }
            Ok(exit)
        }
        BatchCommand::Seal { ids } => {
            change(session, &ids, "sealed", |id| BatchRequest::Seal { id })
        }
        BatchCommand::Cancel { ids, said } => {
            let by = said.by.unwrap_or_else(this_user);
            change(session, &ids, "cancelled", |id| BatchRequest::Cancel {
                id,
                by: by.clone(),
                reason: said.reason.clone(),
            })
        }
    }
}

/// What is to be known of a batch that not all of its jobs went into.
fn left_open(id: JobId) -> String {
    format!(
        "batch {id} is open: put in what is missing with `sandhog enqueue --bulk FILE --batch {id}` and seal it \
         with `sandhog batch seal {id}`, or call it off with `sandhog batch cancel {id}`"
    )
}

fn open(session: &mut Session<'_, '_>, new: New) -> Outcome<BatchRow> {
    session.door(Need::Anything)?;
    let new = NewBatch {
        name: new.name,
        on_success: new.on_success,
        on_complete: new.on_complete,
    };
    one(session, BatchRequest::Open(Box::new(new)))
}

fn one(session: &mut Session<'_, '_>, request: BatchRequest) -> Outcome<BatchRow> {
    asked(session, request).map(|(row, _)| row)
}

/// A batch, and whether it was otherwise before.
fn asked(session: &mut Session<'_, '_>, request: BatchRequest) -> Outcome<(BatchRow, bool)> {
    match ask!(session, Request::Batch(request), Batch) {
        BatchResponse::One(row) => Ok((*row, false)),
        BatchResponse::Changed { row, is_new } => Ok((*row, is_new)),
        BatchResponse::Page(_) => Err(Fault::mismatch()),
    }
}

/// Change batches, each answered for itself.
fn change(
    session: &mut Session<'_, '_>,
    ids: &[JobId],
    done: &str,
    request: impl Fn(JobId) -> BatchRequest,
) -> Outcome<Exit> {
    let (mut rows, mut each) = (Vec::<Value>::new(), Each::default());
    for id in ids {
        let (row, is_new) = match asked(session, request(*id)) {
            Ok(answer) => answer,
            Err(fault) => match each.fault(session, fault) {
                true => continue,
                false => break,
            },
        };
        each.done();
        match is_new {
            _ if session.is_json() => rows.push(shape(&row)),
            true => session.say(&format!("{id} {done}"))?,
            false => session.say(&format!("{id} {done} already"))?,
        }
    }
    if session.is_json() {
        session.json(&rows.into())?;
    }
    each.end()
}

fn list(session: &mut Session<'_, '_>, paging: &Paging) -> Outcome<Exit> {
    let page = paging.request();
    let request = Request::Batch(BatchRequest::List { page });
    let BatchResponse::Page(page) = ask!(session, request, Batch) else {
        return Err(Fault::mismatch());
    };
    if session.is_json() {
        session.json(&page.rows.iter().map(shape).collect())?;
    } else {
        session.say(&table(&page.rows))?;
    }
    more(session, page.next.as_deref());
    Ok(Exit::Done)
}

fn table(rows: &[BatchRow]) -> String {
    let now = wall();
    let header = [
        "ID",
        "NAME",
        "STATUS",
        "JOBS",
        "LEFT",
        "COMPLETED",
        "FAILED",
        "OPENED",
    ];
    text::table(
        &header,
        &[3, 4, 5, 6],
        rows.iter().map(|row| {
            let count = row.count;
            vec![
                row.id.text(),
                text::cell(row.state.name.as_deref().unwrap_or_default()),
                status(row).to_owned(),
                count.total().to_string(),
                count.unfinished().to_string(),
                count.ended.completed.to_string(),
                count.ended.failed().to_string(),
                text::ago(row.state.opened_at, now),
            ]
        }),
    )
}

fn say(session: &mut Session<'_, '_>, row: &BatchRow) -> Outcome<Exit> {
    if session.is_json() {
        session.json(&shape(row))?;
        return Ok(Exit::Done);
    }
    let (now, state, count) = (wall(), &row.state, row.count);
    let mut fields = vec![("id", row.id.text())];
    if let Some(name) = &state.name {
        fields.push(("name", text::cell(name)));
    }
    fields.push(("status", status(row).to_owned()));
    fields.push(("opened", text::ago(state.opened_at, now)));
    if let Some(at) = state.sealed_at {
        fields.push(("sealed", text::ago(at, now)));
    }
    if let Some(at) = state.ended_at {
        fields.push(("ended", text::ago(at, now)));
    }
    if let Some(cancel) = &state.cancelled {
        let told = format!("{}, {}", cancel.told(), text::ago(cancel.at, now));
        fields.push(("cancel", text::cell(&told)));
    }
    let ended = count.ended;
    let counts = [
        ("jobs", count.total()),
        ("waiting", count.waiting),
        ("running", count.running),
        ("completed", ended.completed),
        ("dead", ended.dead),
        ("cancelled", ended.cancelled),
        ("discarded", ended.discarded),
        ("expired", ended.expired),
        ("deleted", ended.deleted),
    ];
    let counts = counts.into_iter();
    fields.extend(counts.map(|(name, count)| (name, count.to_string())));
    for (name, callback) in [
        ("on success", &state.success),
        ("on complete", &state.complete),
    ] {
        if let Some(callback) = callback {
            fields.push((name, follows(row, callback, name == "on success")));
        }
    }
    session.say(&text::fields(&fields))?;
    Ok(Exit::Done)
}

fn follows(row: &BatchRow, callback: &Callback, on_success: bool) -> String {
    let (kind, id, ended) = (&callback.link.kind, callback.id, row.count.ended);
    if let Some(at) = callback.fired_at {
        return format!("{kind}, job {id}, enqueued {}", text::ago(at, wall()));
    }
    match ended.failed() {
        _ if !on_success => format!("{kind}, will be job {id}"),
        _ if row.state.cancelled.is_some() => {
            format!("{kind}, will not follow: the batch was called off")
        }
        0 => format!("{kind}, will be job {id}"),
        _ if ended.deleted > 0 => {
            let jobs = text::count(ended.deleted, "job");
            format!("{kind}, will not follow: {jobs} deleted before the end")
        }
        1 => format!("{kind}, will not follow unless 1 job that did not complete is run again"),
        failed => {
            format!(
                "{kind}, will not follow unless {failed} jobs that did not complete are run again"
            )
        }
    }
}
