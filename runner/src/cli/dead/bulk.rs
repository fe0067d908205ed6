//! `sandhog dead retry` and `sandhog dead rm`.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{
    super::{
        door::Need,
        exit::{Exit, Fault, Outcome},
        interrupt::Interrupt,
        session::{Session, ask},
        text,
    },
    args::{Rate, Which, until_now},
};
use crate::{
    api::{ErrorCode, Request},
    store::{DeadFilter, DeadRow, LetterRef, PageRequest},
};

/// Letters asked for, and changed, at a time.
const BATCH: usize = 500;
/// Letters shown by a dry run.
const SHOWN: usize = 10;
/// Pauses of a throttled command: short enough for a smooth stream.
const TICK: Duration = Duration::from_millis(100);

/// What a command does to letters.
struct Change {
    /// As a participle.
    done: &'static str,
    request: fn(Vec<LetterRef>) -> Request,
    /// Letters a second.
    rate: Option<u32>,
}

pub(super) fn retry(session: &mut Session<'_, '_>, which: Which, rate: Rate) -> Outcome<Exit> {
    // With no runner nothing runs before one starts, and the directory is not to be held for long.
    let throttled = !which.dry_run && session.door(Need::Jobs)?.is_runner();
    let change = Change {
        done: "requeued",
        request: |letters| Request::Requeue { letters },
        rate: rate.0.filter(|_| throttled),
    };
    run(session, which, &change)
}

pub(super) fn remove(session: &mut Session<'_, '_>, which: Which) -> Outcome<Exit> {
    let change = Change {
        done: "deleted",
        request: |letters| Request::Delete { letters },
        rate: None,
    };
    run(session, which, &change)
}

fn run(session: &mut Session<'_, '_>, which: Which, change: &Change) -> Outcome<Exit> {
    let mut filter = which.filters.filter();
    let letters: Vec<LetterRef> = match (which.names.is_empty(), filter.is_empty()) {
        (false, true) if !which.all => {
            let names = which.names.iter();
            names
                .map(|name| LetterRef {
                    name: *name,
                    token: None,
                })
                .collect()
        }
        (false, _) => {
            return Err(Fault::usage(
                "letters and a choice among all: name letters, or use --all and filters",
            ));
        }
        (true, true) if !which.all => {
            return Err(Fault::usage(
                "which letters? name them, give a filter such as --kind, or --all",
            ));
        }
        (true, is_all) => {
            if !is_all && !filter.unreadable {
                until_now(&mut filter);
            }
            let rows = rows(session, &filter)?;
            if which.dry_run {
                return dry_run(session, &rows, change);
            }
            let of = |row: &DeadRow| LetterRef {
                name: row.name,
                token: row.unreadable.is_none().then_some(row.token),
            };
            rows.iter().map(of).collect()
        }
    };
    if which.dry_run {
        let names: Vec<String> = letters
            .iter()
            .map(|letter| letter.name.to_string())
            .collect();
        return say_dry(session, &names, change);
    }
    apply(session, &letters, change)
}

/// The letters there are now. Taken together before any is changed: changing them moves the pages,
/// and a job that dies again meanwhile is known by its token.
fn rows(session: &mut Session<'_, '_>, filter: &DeadFilter) -> Outcome<Vec<DeadRow>> {
    let mut rows = Vec::new();
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
        rows.extend(got.rows);
        match got.next {
            Some(next) => page.cursor = Some(next),
            None => return Ok(rows),
        }
    }
}

fn dry_run(session: &mut Session<'_, '_>, rows: &[DeadRow], change: &Change) -> Outcome<Exit> {
    if session.is_json() {
        let names: Vec<String> = rows.iter().map(|row| row.name.to_string()).collect();
        return say_dry(session, &names, change);
    }
    session.say(&super::table(&rows[..rows.len().min(SHOWN)]))?;
    note_dry(session, rows.len(), change);
    Ok(Exit::Done)
}

fn say_dry(session: &mut Session<'_, '_>, names: &[String], change: &Change) -> Outcome<Exit> {
    let first = &names[..names.len().min(SHOWN)];
    if session.is_json() {
        session.json(&json!({ "count": names.len(), "first": first }))?;
    } else {
        session.say(&first.join("\n"))?;
    }
    note_dry(session, names.len(), change);
    Ok(Exit::Done)
}

fn note_dry(session: &mut Session<'_, '_>, count: usize, change: &Change) {
    let letters = text::count(count as u64, "letter");
    session.note(&format!(
        "{letters} would be {}; nothing was changed",
        change.done
    ));
}

/// Change letters, and print the names of those that were.
fn apply(session: &mut Session<'_, '_>, letters: &[LetterRef], change: &Change) -> Outcome<Exit> {
    let interrupt = Interrupt::listen();
    let batch = match change.rate {
        Some(rate) => ((rate / 10) as usize).clamp(1, BATCH),
        None => BATCH,
    };
    let (start, mut sent) = (Instant::now(), 0_usize);
    let mut done = Vec::with_capacity(letters.len());
    let (mut changed_since, mut first) = (0_u64, None);
    for part in letters.chunks(batch) {
        if let Some(rate) = change.rate {
            let due = start + Duration::from_secs_f64(sent as f64 / f64::from(rate));
            while Instant::now() < due && !interrupt.came() {
                interrupt.wait(TICK.min(due.saturating_duration_since(Instant::now())));
            }
        }
        if interrupt.came() {
            break;
        }
        sent += part.len();
        let answers = ask!(session, (change.request)(part.to_vec()), Amended);
        for (letter, answer) in part.iter().zip(answers) {
            match answer {
                Ok(name) => done.push(name.to_string()),
                Err(error) if error.code == ErrorCode::Changed => changed_since += 1,
                Err(error) => {
                    let fault = Fault::from(error.clone());
                    session.note(&format!("{}: {error}", letter.name));
                    first.get_or_insert(fault.exit);
                }
            }
        }
    }
    if session.is_json() {
        session.json(&json!(done))?;
    } else {
        for name in &done {
            session.say(name)?;
        }
    }
    if changed_since > 0 {
        let jobs = text::count(changed_since, "job");
        session.note(&format!("{jobs} brought back meanwhile: left alone"));
    }
    session.note(&format!(
        "{} of {} {}",
        done.len(),
        letters.len(),
        change.done
    ));
    if sent < letters.len() {
        session.note("stopped before the end: the rest is as it was");
        return Ok(Exit::Failed);
    }
    Ok(first.unwrap_or(Exit::Done))
}
