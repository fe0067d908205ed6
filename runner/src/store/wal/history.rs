//! A job's whole history, read from disk by walking back from its latest record.

use sandhog_model::{
    Attempt, Cancellation, Carried, Entry, Event, Job, JobId, Letter, Output, Record, RecordAt,
    Status, UnixMs, Verdict,
};

use crate::store::StoreError;

/// Largest part of a letter that its attempts' log lines may take, in bytes. A frame holds 16 MiB.
const LOG_BYTES: usize = 8 << 20;

/// The job and what happened to it, oldest first.
pub(super) struct History {
    pub(super) job: Job,
    /// What came before the events, when the job was written anew.
    before: Option<Box<Carried>>,
    pub(super) events: Vec<Event>,
}

/// Where a job's chain of records begins.
pub(super) enum Origin {
    /// It was accepted there.
    Accepted(Box<Job>),
    /// It was written anew there.
    Carried(Box<Carried>),
}

impl Origin {
    pub(super) fn job(&self) -> &Job {
        match self {
            Self::Accepted(job) => job,
            Self::Carried(carried) => &carried.job,
        }
    }
}

impl History {
    /// Read every record of a job. Records of its past that cannot be read are left out with a
    /// warning; without the one that accepted it there is no history.
    pub(super) fn read(
        id: JobId,
        entry: &Entry,
        read: impl Fn(RecordAt) -> Result<Record, StoreError>,
    ) -> Result<Self, StoreError> {
        Self::read_as_far(id, entry, &read, |error| {
            tracing::warn!(%id, %error, "part of a job's history cannot be read");
            Ok(())
        })
    }

    /// The same, with an error when any of them cannot be read.
    pub(super) fn read_whole(
        id: JobId,
        entry: &Entry,
        read: impl Fn(RecordAt) -> Result<Record, StoreError>,
    ) -> Result<Self, StoreError> {
        Self::read_as_far(id, entry, &read, Err)
    }

    fn read_as_far(
        id: JobId,
        entry: &Entry,
        read: &dyn Fn(RecordAt) -> Result<Record, StoreError>,
        unreadable: impl FnOnce(StoreError) -> Result<(), StoreError>,
    ) -> Result<Self, StoreError> {
        let mut events = Vec::new();
        let walked = walk(id, entry, read, |event| {
            events.push(event);
            true
        });
        let origin = match walked {
            Ok(Some(origin)) => origin,
            Ok(None) => origin_at(id, entry.enqueued, read)?,
            Err(error) => {
                let origin = origin_at(id, entry.enqueued, read)?;
                unreadable(error)?;
                origin
            }
        };
        events.reverse();
        let (job, before) = match origin {
            Origin::Accepted(job) => (*job, None),
            Origin::Carried(carried) => (carried.job.clone(), Some(carried)),
        };
        Ok(Self {
            job,
            before,
            events,
        })
    }

    /// Every attempt that ran and ended, oldest first.
    pub(super) fn attempts(&self) -> Vec<Attempt> {
        let before = self.before.iter().flat_map(|carried| &carried.history);
        let since = self.events.iter().filter_map(ended);
        before.chain(since).cloned().collect()
    }

    /// The latest result.
    pub(super) fn output(&self) -> Option<&Output> {
        let since = self.events.iter().rev().find_map(|event| match event {
            Event::Settled {
                verdict: Verdict::Completed(output),
                ..
            } => Some(output),
            _ => None,
        });
        since.or_else(|| self.before.as_ref()?.output.as_ref())
    }

    /// The latest reason its handler, or someone from outside, gave for dropping it.
    pub(super) fn reason(&self) -> Option<&str> {
        let since = self.events.iter().rev().find_map(|event| match event {
            Event::Settled {
                verdict: Verdict::Discarded { reason },
                ..
            }
            | Event::Dropped { reason, .. } => Some(reason.as_str()),
            _ => None,
        });
        since.or_else(|| self.before.as_ref()?.reason.as_deref())
    }

    /// Who called it off last, and why, when it ended so or is asked to.
    pub(super) fn cancel(&self, entry: &Entry) -> Option<Cancellation> {
        if entry.asked.is_none() && !matches!(entry.status, Status::Cancelled(_)) {
            return None;
        }
        let since = self.events.iter().rev().find_map(|event| match event {
            Event::CancelAsked { cancel, .. } | Event::Cancelled { cancel, .. } => {
                Some((**cancel).clone())
            }
            Event::Replaced { job, .. } => Some(Cancellation::replaced(job.id, job.enqueued_at)),
            _ => None,
        });
        since.or_else(|| self.before.as_ref()?.cancel.clone())
    }

    /// The jobs its attempts enqueued.
    pub(super) fn children(&self) -> Vec<JobId> {
        let before = self.before.iter().flat_map(|carried| &carried.children);
        let since = self
            .events
            .iter()
            .filter_map(|event| match event {
                Event::Settled { children, .. } => Some(children),
                _ => None,
            })
            .flatten()
            .map(|job| job.id);
        before.copied().chain(since).collect()
    }

    /// The letter of the job as the index knows it.
    pub(super) fn into_letter(self, entry: &Entry, died_at: UnixMs) -> Letter {
        let mut attempts = self.attempts();
        bound_logs(&mut attempts);
        Letter {
            job: self.job,
            attempts,
            died_at,
            token: entry.token,
            losses: entry.losses,
        }
    }
}

/// The attempt a fact ended, if one ran.
pub(super) fn ended(event: &Event) -> Option<&Attempt> {
    match event {
        Event::Settled {
            verdict: Verdict::PutBack { .. },
            ..
        } => None,
        Event::Settled { attempt, .. }
        | Event::Lost {
            buried: Some(attempt),
            ..
        } => Some(attempt),
        Event::Lost { buried: None, .. }
        | Event::Enqueued(_)
        | Event::Cron { .. }
        | Event::CronForgotten { .. }
        | Event::Batch { .. }
        | Event::BatchForgotten { .. }
        | Event::Leased { .. }
        | Event::Checkpointed { .. }
        | Event::Requeued { .. }
        | Event::Hastened { .. }
        | Event::Deleted { .. }
        | Event::CancelAsked { .. }
        | Event::Cancelled { .. }
        | Event::Postponed { .. }
        | Event::Expired { .. }
        | Event::Dropped { .. }
        | Event::Replaced { .. }
        | Event::Unlocked { .. }
        | Event::Steered { .. }
        | Event::Carried(_)
        | Event::Pruned { .. }
        | Event::Trimmed { .. }
        | Event::Merged { .. } => None,
    }
}

/// Tell a job's facts newest first, until `tell` says that it has enough or the one that accepted
/// the job, or wrote it anew, is reached: then that one.
pub(super) fn walk(
    id: JobId,
    entry: &Entry,
    read: impl Fn(RecordAt) -> Result<Record, StoreError>,
    mut tell: impl FnMut(Event) -> bool,
) -> Result<Option<Origin>, StoreError> {
    let mut next = Some(entry.latest);
    while let Some(at) = next {
        let record = read(at)?;
        let event = match origin(id, record.event) {
            Ok(origin) => return Ok(Some(origin)),
            Err(event) => event,
        };
        // Places only grow, so a chain that does not go back is no chain.
        next = record.previous.filter(|previous| *previous < at);
        if !tell(event) {
            return Ok(None);
        }
    }
    Ok(None)
}

/// The job as a fact accepted it or wrote it anew, or the fact when it did neither.
fn origin(id: JobId, event: Event) -> Result<Origin, Event> {
    match event {
        Event::Carried(carried) if carried.job.id == id => Ok(Origin::Carried(carried)),
        Event::Enqueued(job) if job.id == id => Ok(Origin::Accepted(job)),
        event => match event.accepted(id) {
            Some(job) => Ok(Origin::Accepted(Box::new(job.clone()))),
            None => Err(event),
        },
    }
}

/// The job as it was accepted.
pub(super) fn accepted(
    id: JobId,
    entry: &Entry,
    read: impl Fn(RecordAt) -> Result<Record, StoreError>,
) -> Result<Job, StoreError> {
    job_at(id, entry.enqueued, read)
}

/// The job that the record at `at` accepted or wrote anew.
pub(super) fn job_at(
    id: JobId,
    at: RecordAt,
    read: impl Fn(RecordAt) -> Result<Record, StoreError>,
) -> Result<Job, StoreError> {
    Ok(match origin_at(id, at, read)? {
        Origin::Accepted(job) => *job,
        Origin::Carried(carried) => carried.job,
    })
}

fn origin_at(
    id: JobId,
    at: RecordAt,
    read: impl Fn(RecordAt) -> Result<Record, StoreError>,
) -> Result<Origin, StoreError> {
    origin(id, read(at)?.event).map_err(|_| {
        let (segment, offset) = super::layout::segment_and_offset(at);
        StoreError::Damaged {
            path: format!("segment {segment}"),
            offset,
            why: format!("the record there does not accept job {id}"),
        }
    })
}

/// Leave out the log lines of the oldest attempts until the rest fits in a letter. How many is
/// kept in `dropped_lines`.
fn bound_logs(attempts: &mut [Attempt]) {
    let mut left = LOG_BYTES;
    for attempt in attempts.iter_mut().rev() {
        let bytes: usize = attempt.logs.iter().map(line_bytes).sum();
        if bytes > left {
            attempt.dropped_lines += attempt.logs.len() as u64;
            attempt.logs.clear();
            left = 0;
        } else {
            left -= bytes;
        }
    }
}

fn line_bytes(line: &sandhog_model::LogLine) -> usize {
    let fields: usize = line
        .fields
        .iter()
        .map(|(key, value)| key.len() + value.len() + 10)
        .sum();
    line.text.len() + fields + 20
}
