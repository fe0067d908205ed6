//! The read side's shapes, put together from index entries and the records they point to.

use std::ops::Range;

use sandhog_model::{Attempt, FailureKind, JobId, Record, RecordAt, State};

use super::{
    history::{self, History, Origin},
    wish::Known,
};
use crate::store::{FailureRow, JobFilter, JobRow, JobView, StoreError, view::failure_row};

/// Whether a list with this filter shows the job, as far as the index knows: not the parent, nor the tags.
/// Which ids it shows is left to whoever walks.
pub(super) fn matches(filter: &JobFilter, kind: &str, queue: &str, state: State) -> bool {
    (filter.states.is_empty() || filter.states.contains(&state))
        && filter.queue.as_ref().is_none_or(|wanted| wanted == queue)
        && filter.kind.as_ref().is_none_or(|wanted| wanted == kind)
}

/// A row of a list. Reads the job's records back to its latest attempt and the one that accepted
/// it. What cannot be read is said in the row, so that one bad record spoils no list.
pub(super) fn row(known: &Known, read: impl Fn(RecordAt) -> Result<Record, StoreError>) -> JobRow {
    let mut row = bare_row(known);
    if let Err(error) = fill(&mut row, known, read) {
        row.failure = Some(FailureRow {
            kind: known.entry.failure.unwrap_or(FailureKind::HostError),
            cause: error.to_string(),
            hint: Some("run `sandhog log check`".to_owned()),
        });
    }
    row
}

/// What the index alone knows.
fn bare_row(known: &Known) -> JobRow {
    let entry = &known.entry;
    JobRow {
        id: known.id,
        kind: entry.kind.to_string(),
        queue: entry.queue.to_string(),
        state: known.state,
        attempt: entry.shown_attempt(),
        max_attempts: entry.max_attempts,
        priority: entry.priority,
        at: entry.status.at(),
        failure: None,
        digest: None,
        parent: None,
    }
}

fn fill(
    row: &mut JobRow,
    known: &Known,
    read: impl Fn(RecordAt) -> Result<Record, StoreError>,
) -> Result<(), StoreError> {
    let mut latest = None;
    let origin = history::walk(known.id, &known.entry, &read, |event| {
        latest = history::ended(&event).cloned();
        latest.is_none()
    })?;
    row.parent = match origin {
        Some(origin) => {
            if let (Origin::Carried(carried), None) = (&origin, &latest) {
                latest = carried.history.last().cloned();
            }
            origin.job().parent
        }
        None => history::accepted(known.id, &known.entry, &read)?.parent,
    };
    show_attempt(row, latest.as_ref());
    Ok(())
}

fn show_attempt(row: &mut JobRow, latest: Option<&Attempt>) {
    row.failure = latest
        .and_then(|attempt| attempt.failure.as_ref())
        .map(failure_row);
    row.digest = latest
        .map(|attempt| attempt.digest.clone())
        .filter(|digest| !digest.is_empty());
}

/// Everything about one job.
pub(super) fn view(
    known: &Known,
    read: impl Fn(RecordAt) -> Result<Record, StoreError>,
) -> Result<JobView, StoreError> {
    let history = History::read(known.id, &known.entry, read)?;
    let attempts = history.attempts();
    let mut row = bare_row(known);
    row.parent = history.job.parent;
    show_attempt(&mut row, attempts.last());
    let output = history
        .output()
        .filter(|_| known.state == State::Completed)
        .cloned();
    let reason = history
        .reason()
        .filter(|_| known.state == State::Discarded)
        .map(str::to_owned);
    let (cancel, children) = (history.cancel(&known.entry), history.children());
    let mut job = history.job;
    if known.entry.lifted {
        // Someone brought it back: it has no end any more.
        job.terms.expires = None;
    }
    Ok(JobView {
        row,
        output,
        reason,
        failure: attempts
            .iter()
            .rev()
            .find_map(|attempt| attempt.failure.clone()),
        cancel,
        children,
        losses: known.entry.losses,
        waiting_because: None,
        attempts,
        job,
    })
}

/// The children of a job with these ids, newest first.
pub(super) fn children(
    parent: &Known,
    wanted: &Range<JobId>,
    read: impl Fn(RecordAt) -> Result<Record, StoreError>,
) -> Result<Vec<JobId>, StoreError> {
    let mut ids = History::read(parent.id, &parent.entry, read)?.children();
    ids.retain(|id| wanted.contains(id));
    ids.sort_unstable_by(|a, b| b.cmp(a));
    Ok(ids)
}
