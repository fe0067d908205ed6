//! One look at a runner.

use std::time::Instant;

use sandhog_model::{JobId, State, UnixMs};

use super::{
    super::{
        door::Door,
        exit::{Fault, Outcome},
        session::{ask, wall},
    },
    rates::Counted,
};
use crate::{
    api::{ErrorCode, QueueView, Request, Response, Stats},
    plugin::Progress,
    store::{DeadFilter, DeadRow, JobFilter, JobRow, PageRequest},
};

/// Most running jobs that are looked at; the number of them is told all the same.
const RUNNING: usize = 100;
/// Failures of each kind.
const FAILURES: usize = 50;

/// What was seen.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) at: Instant,
    pub(super) wall: UnixMs,
    pub(super) stats: Stats,
    pub(super) queues: Vec<QueueView>,
    pub(super) running: Vec<Running>,
    /// Jobs whose attempt failed and that will be tried again, newest first.
    pub(super) failing: Vec<JobRow>,
    /// Dead letters, newest first.
    pub(super) dead: Vec<DeadRow>,
    /// `None` where nothing is counted.
    pub(super) counted: Option<Counted>,
}

/// An attempt that runs.
#[derive(Debug, Clone)]
pub(super) struct Running {
    pub(super) worker: usize,
    pub(super) row: JobRow,
    pub(super) progress: Option<Progress>,
}

pub(super) fn look(door: &mut Door) -> Outcome<Seen> {
    let stats = *ask!(door, Request::Stats, Stats);
    let queues = ask!(door, Request::Queues, Queues);
    let workers = stats.runner.iter().flat_map(|runner| &runner.workers);
    let ids: Vec<(usize, JobId)> = workers
        .flat_map(|worker| worker.running.iter().map(|id| (worker.number, *id)))
        .take(RUNNING)
        .collect();
    let mut running = Vec::with_capacity(ids.len());
    for (worker, id) in ids {
        running.extend(one(door, id)?.map(|(row, progress)| Running {
            worker,
            row,
            progress,
        }));
    }
    let page = PageRequest {
        limit: FAILURES,
        cursor: None,
    };
    let filter = JobFilter {
        states: vec![State::Retryable],
        ..JobFilter::default()
    };
    let failing = Request::Jobs {
        filter,
        page: page.clone(),
    };
    let failing = ask!(door, failing, Jobs).rows;
    let filter = DeadFilter::default();
    let dead = ask!(door, Request::Dead { filter, page }, Dead).rows;
    Ok(Seen {
        at: Instant::now(),
        wall: wall(),
        counted: counted(door)?,
        stats,
        queues,
        running,
        failing,
        dead,
    })
}

/// A job that ran a moment ago, if it still does. Asked for as someone who waits for it does: without its payload.
fn one(door: &mut Door, id: JobId) -> Outcome<Option<(JobRow, Option<Progress>)>> {
    let asked = Request::Wait { id, timeout_ms: 0 };
    match door.call(asked) {
        Ok(Response::Waited(waited)) if waited.row.state == State::Running => {
            Ok(Some((waited.row, waited.progress)))
        }
        Ok(Response::Waited(_)) => Ok(None),
        Ok(_) => Err(Fault::mismatch()),
        // It ended and was forgotten since.
        Err(fault) if fault.code() == Some(ErrorCode::NotFound) => Ok(None),
        Err(fault) => Err(fault),
    }
}

fn counted(door: &mut Door) -> Outcome<Option<Counted>> {
    match door.call(Request::Metrics) {
        Ok(Response::Metrics(text)) => Ok(Some(Counted::read(&text))),
        Ok(_) => Err(Fault::mismatch()),
        Err(fault) if fault.code() == Some(ErrorCode::NotFound) => Ok(None),
        Err(fault) => Err(fault),
    }
}
