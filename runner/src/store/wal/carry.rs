//! A job with all that its records say, put together to be written anew: by compaction, when another
//! log is taken over, and by a repair.

use sandhog_model::{Carried, Entry, Event, JobId, Record, RecordAt, UnixMs, limits::BODY_BYTES};

use super::history::History;
use crate::store::{StoreError, frames};

/// Attempts kept when all of them would not fit in a record.
const SHORT_HISTORY: usize = 25;

/// Everything the records of a job say, as a fact of `at`. An error when any of them cannot be
/// read: then they must stay where they are.
pub(super) fn carried(
    id: JobId,
    entry: &Entry,
    at: UnixMs,
    read: impl Fn(RecordAt) -> Result<Record, StoreError>,
) -> Result<Carried, StoreError> {
    let history = History::read_whole(id, entry, &read)?;
    let checkpoint = match entry.checkpoint {
        Some(place) => read(place)?.event.into_checkpoint(),
        None => None,
    };
    let mut carried = Carried {
        at,
        status: entry.status,
        attempts: entry.attempts,
        losses: entry.losses,
        token: entry.token,
        failure: entry.failure,
        history: history.attempts(),
        output: history.output().cloned(),
        reason: history.reason().map(str::to_owned),
        children: history.children(),
        checkpoint,
        cancel: history.cancel(entry),
        traps: entry.traps,
        lifted: entry.lifted,
        unlocked: entry.unlocked,
        failing_since: entry.failing_since,
        job: history.job,
    };
    fit(&mut carried);
    Ok(carried)
}

/// Leave out what a person needs least until the record fits in a frame: log lines and backtraces
/// of all attempts, then the oldest attempts.
pub(super) fn fit(carried: &mut Carried) {
    if fits(carried) {
        return;
    }
    for attempt in &mut carried.history {
        attempt.dropped_lines += attempt.logs.len() as u64;
        attempt.logs.clear();
        if let Some(failure) = &mut attempt.failure {
            failure.backtrace.clear();
            failure.details.clear();
        }
    }
    while !fits(carried) && !carried.history.is_empty() {
        let kept = carried.history.len().min(SHORT_HISTORY * 2) / 2;
        carried.history.drain(..carried.history.len() - kept);
    }
}

fn fits(carried: &Carried) -> bool {
    let record = Record {
        previous: None,
        event: Event::Carried(Box::new(carried.clone())),
    };
    frames::encode(&record, &mut Vec::with_capacity(1024.min(BODY_BYTES))).is_ok()
}
