//! `sandhog dead`.

use sandhog_model::{JobId, Letter};
use serde_json::json;

use super::{
    args::{Among, DeadCommand, Which},
    exit::{Exit, Fault, Outcome},
    job,
    session::{Session, ask, wall},
    shapes, text,
};
use crate::{
    api::Request,
    store::{DeadRow, JobFilter, PageRequest},
};

/// Letters asked for and changed at a time.
const BATCH: usize = 500;

pub(super) fn run(session: &mut Session<'_, '_>, command: DeadCommand) -> Outcome<Exit> {
    match command {
        DeadCommand::Ls {
            queue,
            kind,
            paging,
        } => {
            let filter = filter(kind, queue);
            let page = paging.request();
            let page = ask!(session, Request::Dead { filter, page }, Dead);
            if session.is_json() {
                session.json(&page.rows.iter().map(shapes::dead_row).collect())?;
            } else {
                session.say(&table(&page.rows))?;
            }
            job::more(session, page.next.as_deref());
            Ok(Exit::Done)
        }
        DeadCommand::Show { id } => {
            let letter = ask!(session, Request::Letter { id }, Letter);
            if session.is_json() {
                session.json(&shapes::letter(&letter))?;
            } else {
                session.say(&shown(&letter))?;
            }
            Ok(Exit::Done)
        }
        DeadCommand::Retry { which, among } => change(session, which, among, "requeued", |ids| {
            Request::Requeue { ids }
        }),
        DeadCommand::Rm { which, among } => change(session, which, among, "deleted", |ids| {
            Request::Delete { ids }
        }),
    }
}

fn filter(kind: Option<String>, queue: Option<String>) -> JobFilter {
    JobFilter {
        kind,
        queue,
        ..JobFilter::default()
    }
}

fn table(rows: &[DeadRow]) -> String {
    let now = wall();
    text::table(
        &["ID", "KIND", "QUEUE", "ATTEMPTS", "DIED", "FAILURE"],
        &[3],
        rows.iter().map(|row| {
            vec![
                row.id.text(),
                row.kind.clone(),
                row.queue.clone(),
                format!("{}/{}", row.attempts, row.max_attempts),
                text::ago(row.died_at, now),
                text::cell(&format!("{}: {}", row.failure.kind, row.failure.cause)),
            ]
        }),
    )
}

fn shown(letter: &Letter) -> String {
    let (job, now) = (&letter.job, wall());
    let size = text::size(job.payload.len() as u64);
    let mut fields = vec![
        ("id", job.id.text()),
        ("kind", job.kind.clone()),
        ("queue", job.queue.clone()),
        ("died", text::ago(letter.died_at, now)),
        ("enqueued", text::ago(job.enqueued_at, now)),
        (
            "payload",
            format!("{size} of {}", text::plain(&job.content_type)),
        ),
    ];
    for (key, value) in &job.headers {
        fields.push(("header", text::cell(&format!("{key}={value}"))));
    }
    if letter.losses > 0 {
        fields.push(("lost", format!("{} times with its runner", letter.losses)));
    }
    let mut shown = text::fields(&fields);
    job::history(&mut shown, &letter.attempts);
    shown
}

/// Change the letters that are meant, and print the ids of those that were.
fn change(
    session: &mut Session<'_, '_>,
    which: Which,
    among: Among,
    done: &str,
    request: fn(Vec<JobId>) -> Request,
) -> Outcome<Exit> {
    let ids = match which.all {
        true => all(session, filter(among.kind, among.queue))?,
        false => which.ids,
    };
    let mut changed = Vec::with_capacity(ids.len());
    let mut first = None;
    for batch in ids.chunks(BATCH) {
        let answers = ask!(session, request(batch.to_vec()), Amended);
        for (id, answer) in batch.iter().zip(answers) {
            match answer {
                Ok(id) => changed.push(id),
                Err(error) => {
                    let fault = Fault::from(error.clone());
                    session.note(&format!("{id}: {error}"));
                    first.get_or_insert(fault.exit);
                }
            }
        }
    }
    if session.is_json() {
        session.json(&json!(changed))?;
    } else {
        for id in &changed {
            session.say(&id.text())?;
        }
    }
    session.note(&format!("{} of {} {done}", changed.len(), ids.len()));
    Ok(first.unwrap_or(Exit::Done))
}

/// The ids of all letters there are now. Taken together before any is changed, since changing them
/// moves the pages.
fn all(session: &mut Session<'_, '_>, filter: JobFilter) -> Outcome<Vec<JobId>> {
    let mut ids = Vec::new();
    let mut page = PageRequest {
        limit: BATCH,
        cursor: None,
    };
    loop {
        let request = Request::Dead {
            filter: filter.clone(),
            page: page.clone(),
        };
        let got = ask!(session, request, Dead);
        ids.extend(got.rows.iter().map(|row| row.id));
        match got.next {
            Some(next) => page.cursor = Some(next),
            None => return Ok(ids),
        }
    }
}
