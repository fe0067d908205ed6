//! What each tab lists, as plain text: whatever a caller or a guest wrote gives the terminal no order.

use sandhog_model::{State, UnixMs};

use super::{
    super::{
        queue::running_and_waiting,
        text::{ago, cell, span},
    },
    columns::{Column, free, right, text},
    gather::Seen,
    rates::Rates,
    screen::Tab,
};
use crate::{
    json::when::millis,
    plugin::Progress,
    store::{DeadRow, FailureRow, JobRow, QueueRow},
};

/// Where the kind of a job stands in a row of what runs.
pub(super) const KIND_OF_RUNNING: usize = 1;

/// A row, and what it is known by.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) key: String,
    pub(super) cells: Vec<String>,
    /// Whether it is worth a second look.
    pub(super) is_bad: bool,
}

const QUEUES: &[Column] = &[
    text("QUEUE", 18, 0),
    text("MODE", 8, 60),
    right("DUE", 8, 0),
    right("RUNNING", 7, 0),
    right("LATER", 8, 90),
    right("RETRY", 7, 76),
    right("DEAD", 7, 110),
    right("IN/S", 8, 70),
    right("BEGUN/S", 8, 70),
    right("LATENCY", 8, 50),
    right("OLDEST", 8, 100),
    free("WAITS FOR", 120),
];
const RUNNING: &[Column] = &[
    text("JOB", 26, 66),
    text("KIND", 18, 0),
    text("QUEUE", 14, 100),
    right("WORKER", 6, 110),
    right("ATTEMPT", 7, 50),
    right("RUNS FOR", 9, 0),
    free("PROGRESS", 56),
];
const WORKERS: &[Column] = &[
    right("WORKER", 6, 0),
    right("SLOTS", 6, 0),
    right("BUSY", 6, 0),
    right("ENDED", 10, 0),
    free("RUNS", 60),
];
const FAILURES: &[Column] = &[
    right("WHEN", 11, 0),
    text("STATE", 9, 50),
    text("JOB", 26, 100),
    text("KIND", 16, 0),
    text("QUEUE", 12, 120),
    right("ATTEMPT", 7, 80),
    free("FAILURE", 0),
];

/// The columns of a tab, in the order of its cells.
pub(super) const fn columns(tab: Tab) -> &'static [Column] {
    match tab {
        Tab::Queues => QUEUES,
        Tab::Running => RUNNING,
        Tab::Workers => WORKERS,
        Tab::Failures => FAILURES,
    }
}

pub(super) fn of(tab: Tab, seen: &Seen, rates: &Rates, now: UnixMs) -> Vec<Row> {
    match tab {
        Tab::Queues => queues(seen, rates, now),
        Tab::Running => running(seen, now),
        Tab::Workers => workers(seen),
        Tab::Failures => failures(seen, now),
    }
}

/// Those with the most work first, so that what matters is in sight when there are many.
fn queues(seen: &Seen, rates: &Rates, now: UnixMs) -> Vec<Row> {
    let mut views: Vec<_> = seen.queues.iter().collect();
    let work = |row: &QueueRow| running_and_waiting(row).iter().sum::<u64>();
    views.sort_by(|one, other| {
        let by_work = work(&other.row).cmp(&work(&one.row));
        by_work.then_with(|| one.row.queue.cmp(&other.row.queue))
    });
    let rows = views.into_iter().map(|view| {
        let count = |state| {
            let found = view.row.counts.iter().find(|(one, _)| *one == state);
            found.map_or(0, |(_, count)| *count).to_string()
        };
        let rates = rates.queue(&view.row.queue);
        let rate = |of: Option<f64>| of.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.1}"));
        let latency = rates.and_then(|rates| rates.latency);
        Row {
            key: view.row.queue.clone(),
            cells: vec![
                cell(&view.row.queue),
                view.row.mode.name().to_owned(),
                count(State::Available),
                count(State::Running),
                count(State::Scheduled),
                count(State::Retryable),
                count(State::Dead),
                rate(rates.map(|rates| rates.enqueued)),
                rate(rates.map(|rates| rates.begun)),
                latency.map_or_else(|| "-".to_owned(), |latency| span(millis(latency))),
                view.row
                    .oldest_due
                    .map_or_else(|| "-".to_owned(), |due| span(now.since(due))),
                cell(view.reason.as_deref().unwrap_or_default()),
            ],
            is_bad: view.reason.is_some(),
        }
    });
    rows.collect()
}

fn running(seen: &Seen, now: UnixMs) -> Vec<Row> {
    let rows = seen.running.iter().map(|running| Row {
        key: running.row.id.text(),
        cells: vec![
            running.row.id.text(),
            cell(&running.row.kind),
            cell(&running.row.queue),
            running.worker.to_string(),
            attempt(&running.row),
            span(now.since(running.row.at)),
            running.progress.as_ref().map(progress).unwrap_or_default(),
        ],
        is_bad: false,
    });
    rows.collect()
}

fn attempt(row: &JobRow) -> String {
    format!("{}/{}", row.attempt, row.max_attempts)
}

fn progress(progress: &Progress) -> String {
    let done = match progress.total {
        Some(total) => format!("{}/{total}", progress.done),
        None => progress.done.to_string(),
    };
    match &progress.note {
        Some(note) => format!("{done} {}", cell(note)),
        None => done,
    }
}

fn workers(seen: &Seen) -> Vec<Row> {
    let workers = seen.stats.runner.iter().flat_map(|runner| &runner.workers);
    let rows = workers.map(|worker| {
        let ids: Vec<String> = worker.running.iter().map(|id| id.text()).collect();
        Row {
            key: worker.number.to_string(),
            cells: vec![
                worker.number.to_string(),
                worker.slots.to_string(),
                ids.len().to_string(),
                worker.ended.to_string(),
                ids.join(" "),
            ],
            is_bad: false,
        }
    });
    rows.collect()
}

/// What failed, the latest first: jobs that will be tried again, and dead letters.
fn failures(seen: &Seen, now: UnixMs) -> Vec<Row> {
    let mut rows: Vec<(UnixMs, Row)> = seen
        .failing
        .iter()
        .map(|row| (row.at, failing(row, now)))
        .collect();
    rows.extend(seen.dead.iter().map(|row| (row.died_at, dead(row, now))));
    rows.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    rows.into_iter().map(|(_, row)| row).collect()
}

fn failing(row: &JobRow, now: UnixMs) -> Row {
    Row {
        key: row.id.text(),
        cells: vec![
            ago(row.at, now),
            row.state.name().to_owned(),
            row.id.text(),
            cell(&row.kind),
            cell(&row.queue),
            attempt(row),
            row.failure.as_ref().map(failure).unwrap_or_default(),
        ],
        is_bad: false,
    }
}

fn dead(row: &DeadRow, now: UnixMs) -> Row {
    let when = match row.died_at {
        UnixMs(0) => "-".to_owned(),
        at => ago(at, now),
    };
    let why = match &row.unreadable {
        Some(why) => cell(why),
        None => failure(&row.failure),
    };
    Row {
        key: format!("dead {}", row.name),
        cells: vec![
            when,
            State::Dead.name().to_owned(),
            row.name.to_string(),
            cell(&row.kind),
            cell(&row.queue),
            format!("{}/{}", row.attempts, row.max_attempts),
            why,
        ],
        is_bad: true,
    }
}

fn failure(failure: &FailureRow) -> String {
    cell(&format!("{}: {}", failure.kind, failure.cause))
}
