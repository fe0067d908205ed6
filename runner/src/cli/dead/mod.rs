//! `sandhog dead`.

mod args;
mod bulk;
mod export;
mod import;
mod purge;
mod show;

use super::{
    exit::{Exit, Outcome},
    job,
    session::{Session, ask, wall},
    text,
};
use crate::{
    api::Request,
    json::{dead as shapes, letter as ndjson},
    store::{DeadFilter, DeadRow, PageRequest, tries},
};

pub(super) use args::DeadCommand;

pub(super) fn run(session: &mut Session<'_, '_>, command: DeadCommand) -> Outcome<Exit> {
    match command {
        DeadCommand::Ls { filters, count, .. } if count => say_count(session, &filters.filter()),
        DeadCommand::Ls {
            filters, paging, ..
        } => list(session, &filters.filter(), paging.request()),
        DeadCommand::Show { name, raw, .. } if raw => show::raw(session, name),
        DeadCommand::Show {
            name,
            logs,
            payload,
            ..
        } => show::run(session, name, logs, payload),
        DeadCommand::Retry { which, rate } => bulk::retry(session, which, rate),
        DeadCommand::Rm { which } => bulk::remove(session, which),
        DeadCommand::Export { file, filters } => export::run(session, &file, filters.filter()),
        DeadCommand::Import { file, dry_run } => import::run(session, &file, dry_run),
        DeadCommand::Purge {
            keep,
            max_letters,
            max_bytes,
            dry_run,
        } => purge::run(session, keep, max_letters, max_bytes, dry_run),
    }
}

fn list(
    session: &mut Session<'_, '_>,
    filter: &DeadFilter,
    mut page: PageRequest,
) -> Outcome<Exit> {
    let limit = page.limit;
    let mut rows = Vec::new();
    // A page in search of a text may come with fewer rows than there are.
    loop {
        page.limit = limit - rows.len();
        let (filter, page_now) = (filter.clone(), page.clone());
        let page_now = Request::Dead {
            filter,
            page: page_now,
        };
        let got = ask!(session, page_now, Dead);
        rows.extend(got.rows);
        page.cursor = got.next;
        if page.cursor.is_none() || rows.len() >= limit {
            break;
        }
    }
    if session.is_json() {
        session.json(&rows.iter().map(shapes::row).collect())?;
    } else {
        session.say(&table(&rows))?;
    }
    job::more(session, page.cursor.as_deref());
    Ok(Exit::Done)
}

fn say_count(session: &mut Session<'_, '_>, filter: &DeadFilter) -> Outcome<Exit> {
    let (mut count, mut cursor) = (0, None);
    loop {
        let filter = filter.clone();
        let got = ask!(session, Request::CountDead { filter, cursor }, DeadCounted);
        count += got.count;
        cursor = got.next;
        if cursor.is_none() {
            break;
        }
    }
    if session.is_json() {
        session.json(&serde_json::json!({ "count": count }))?;
    } else {
        session.say(&count.to_string())?;
    }
    Ok(Exit::Done)
}

fn table(rows: &[DeadRow]) -> String {
    let now = wall();
    text::table(
        &["ID", "KIND", "QUEUE", "ATTEMPTS", "DIED", "FAILURE"],
        &[3],
        rows.iter().map(|row| {
            let known = row.died_at.0 > 0;
            let failure = match &row.unreadable {
                Some(why) => format!("unreadable, {}: {why}", text::size(row.bytes)),
                None => format!("{}: {}", row.failure.kind, row.failure.cause),
            };
            vec![
                row.name.to_string(),
                row.kind.clone(),
                row.queue.clone(),
                match known {
                    true => tries(row.last, row.max_attempts, row.attempts, 0),
                    false => String::new(),
                },
                match known {
                    true => text::ago(row.died_at, now),
                    false => String::new(),
                },
                text::cell(&failure),
            ]
        }),
    )
}
