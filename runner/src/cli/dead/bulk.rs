//! `sandhog dead retry` and `sandhog dead rm`.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use serde_json::json;

use super::{
    super::{
        door::Need,
        each::Each,
        exit::{Exit, Fault, Outcome},
        interrupt::Interrupt,
        session::{Session, ask},
        text,
    },
    args::{Rate, Which, until_now},
};
use crate::{
    api::{ApiError, ErrorCode, Request},
    store::{DeadFilter, DeadRow, LetterName, LetterRef, PageRequest},
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
    request: fn(Vec<LetterRef>, bool) -> Request,
    /// Letters a second.
    rate: Option<u32>,
}

impl Change {
    fn ask(
        &self,
        session: &mut Session<'_, '_>,
        letters: &[LetterRef],
        dry_run: bool,
    ) -> Outcome<Vec<Result<LetterName, ApiError>>> {
        Ok(ask!(
            session,
            (self.request)(letters.to_vec(), dry_run),
            Amended
        ))
    }
}

pub(super) fn retry(session: &mut Session<'_, '_>, which: Which, rate: Rate) -> Outcome<Exit> {
    // With no runner nothing runs before one starts, and the directory is not to be held for long.
    let throttled = !which.dry_run && session.door(Need::Jobs)?.is_runner();
    let change = Change {
        done: "requeued",
        request: |letters, dry_run| Request::Requeue { letters, dry_run },
        rate: rate.0.filter(|_| throttled),
    };
    run(session, which, &change)
}

pub(super) fn remove(session: &mut Session<'_, '_>, which: Which) -> Outcome<Exit> {
    let change = Change {
        done: "deleted",
        request: |letters, dry_run| Request::Delete { letters, dry_run },
        rate: None,
    };
    run(session, which, &change)
}

fn run(session: &mut Session<'_, '_>, which: Which, change: &Change) -> Outcome<Exit> {
    let mut filter = which.filters.filter();
    let mut rows = Vec::new();
    let letters: Vec<LetterRef> = match (which.names.is_empty(), filter.is_empty()) {
        (false, true) if !which.all => {
            // Twice the same is once.
            let mut names: BTreeSet<&LetterName> = which.names.iter().collect();
            let named = which.names.iter().filter(|name| names.remove(name));
            named
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
            rows = all(session, &filter)?;
            let of = |row: &DeadRow| LetterRef {
                name: row.name,
                token: row.unreadable.is_none().then_some(row.token),
            };
            rows.iter().map(of).collect()
        }
    };
    if which.dry_run {
        return weigh(session, &letters, &rows, change);
    }
    apply(session, &letters, change)
}

/// The letters there are now. Taken together before any is changed: changing them moves the pages,
/// and a job that dies again meanwhile is known by its token.
fn all(session: &mut Session<'_, '_>, filter: &DeadFilter) -> Outcome<Vec<DeadRow>> {
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

/// Say what a command would do, and which letters it would be refused for. `rows` are those of a choice.
fn weigh(
    session: &mut Session<'_, '_>,
    letters: &[LetterRef],
    rows: &[DeadRow],
    change: &Change,
) -> Outcome<Exit> {
    let mut tally = Tally::default();
    for part in letters.chunks(BATCH) {
        let answers = change.ask(session, part, true)?;
        tally.take(session, part, answers);
    }
    let first: Vec<&LetterName> = tally.done.iter().take(SHOWN).collect();
    if session.is_json() {
        session.json(&json!({ "count": tally.done.len(), "first": first }))?;
    } else if rows.is_empty() {
        let names: Vec<String> = first.iter().map(ToString::to_string).collect();
        session.say(&names.join("\n"))?;
    } else {
        let is_first = |row: &&DeadRow| first.contains(&&row.name);
        let shown: Vec<DeadRow> = rows.iter().filter(is_first).cloned().collect();
        session.say(&super::table(&shown))?;
    }
    let count = text::count(tally.done.len() as u64, "letter");
    session.note(&format!(
        "{count} would be {}; nothing was changed",
        change.done
    ));
    tally.each.end()
}

/// What became of letters.
#[derive(Default)]
struct Tally {
    done: Vec<LetterName>,
    /// Brought back since they were listed.
    changed_since: u64,
    each: Each,
}

impl Tally {
    fn take(
        &mut self,
        session: &mut Session<'_, '_>,
        letters: &[LetterRef],
        answers: Vec<Result<LetterName, ApiError>>,
    ) {
        for (letter, answer) in letters.iter().zip(answers) {
            match answer {
                Ok(name) => {
                    self.each.done();
                    self.done.push(name);
                }
                Err(error) if error.code == ErrorCode::Changed => self.changed_since += 1,
                Err(error) => {
                    session.note(&format!("{}: {error}", letter.name));
                    self.each.refused(Fault::from(error).exit);
                }
            }
        }
    }
}

/// Change letters, and print the names of those that were.
fn apply(session: &mut Session<'_, '_>, letters: &[LetterRef], change: &Change) -> Outcome<Exit> {
    let interrupt = Interrupt::listen();
    let batch = match change.rate {
        Some(rate) => ((rate / 10) as usize).clamp(1, BATCH),
        None => BATCH,
    };
    let (start, mut sent) = (Instant::now(), 0_usize);
    let mut tally = Tally::default();
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
        let answers = match change.ask(session, part, false) {
            Ok(answers) => answers,
            Err(fault) => match tally.each.fault(session, fault) {
                true => continue,
                false => break,
            },
        };
        tally.take(session, part, answers);
    }
    let Tally {
        done,
        changed_since,
        mut each,
    } = tally;
    if session.is_json() {
        session.json(&json!(done))?;
    } else {
        for name in &done {
            session.say(&name.to_string())?;
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
    if interrupt.came() && sent < letters.len() {
        session.note("stopped before the end: the rest is as it was");
        each.refused(Exit::Failed);
    }
    each.end()
}
