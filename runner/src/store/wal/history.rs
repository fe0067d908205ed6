//! A job's whole history, read from disk by walking back from its latest record.

use sandhog_model::{
    Attempt, Entry, Event, Job, JobId, Letter, Output, Record, RecordAt, UnixMs, Verdict,
};

use crate::store::StoreError;

/// Largest part of a letter that its attempts' log lines may take, in bytes. A frame holds 16 MiB.
const LOG_BYTES: usize = 8 << 20;

/// The job and what happened to it, oldest first.
pub(super) struct History {
    pub(super) job: Job,
    pub(super) events: Vec<Event>,
}

impl History {
    /// Read every record of a job. Records of its past that cannot be read are left out with a
    /// warning; without the one that accepted it there is no history.
    pub(super) fn read(
        id: JobId,
        entry: &Entry,
        read: impl Fn(RecordAt) -> Result<Record, StoreError>,
    ) -> Result<Self, StoreError> {
        let mut events = Vec::new();
        let walked = walk(id, entry, &read, |event| {
            events.push(event);
            true
        });
        let job = match walked {
            Ok(Some(job)) => job,
            Ok(None) => accepted(id, entry, &read)?,
            Err(error) => {
                let job = accepted(id, entry, &read)?;
                tracing::warn!(%id, %error, "part of a job's history cannot be read");
                job
            }
        };
        events.reverse();
        Ok(Self { job, events })
    }

    /// Every attempt that ran and ended, oldest first.
    pub(super) fn attempts(&self) -> Vec<Attempt> {
        self.events.iter().filter_map(ended).cloned().collect()
    }

    /// The latest result.
    pub(super) fn output(&self) -> Option<&Output> {
        self.events.iter().rev().find_map(|event| match event {
            Event::Settled {
                verdict: Verdict::Completed(output),
                ..
            } => Some(output),
            _ => None,
        })
    }

    /// The latest reason its handler gave for dropping it.
    pub(super) fn reason(&self) -> Option<&str> {
        self.events.iter().rev().find_map(|event| match event {
            Event::Settled {
                verdict: Verdict::Discarded { reason },
                ..
            } => Some(reason.as_str()),
            _ => None,
        })
    }

    /// The jobs its attempts enqueued.
    pub(super) fn children(&self) -> Vec<JobId> {
        self.events
            .iter()
            .filter_map(|event| match event {
                Event::Settled { children, .. } => Some(children),
                _ => None,
            })
            .flatten()
            .map(|job| job.id)
            .collect()
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
        | Event::Leased { .. }
        | Event::Checkpointed { .. }
        | Event::Requeued { .. }
        | Event::Hastened { .. }
        | Event::Deleted { .. }
        | Event::Carried(_)
        | Event::Pruned { .. }
        | Event::Trimmed { .. }
        | Event::Merged { .. } => None,
    }
}

/// Tell a job's facts newest first, until `tell` says that it has enough or the one that accepted
/// the job is reached: then the job.
pub(super) fn walk(
    id: JobId,
    entry: &Entry,
    read: impl Fn(RecordAt) -> Result<Record, StoreError>,
    mut tell: impl FnMut(Event) -> bool,
) -> Result<Option<Job>, StoreError> {
    let mut next = Some(entry.latest);
    while let Some(at) = next {
        let record = read(at)?;
        if let Some(job) = record.event.accepted(id) {
            return Ok(Some(job.clone()));
        }
        // Places only grow, so a chain that does not go back is no chain.
        next = record.previous.filter(|previous| *previous < at);
        if !tell(record.event) {
            return Ok(None);
        }
    }
    Ok(None)
}

/// The job as it was accepted.
pub(super) fn accepted(
    id: JobId,
    entry: &Entry,
    read: impl Fn(RecordAt) -> Result<Record, StoreError>,
) -> Result<Job, StoreError> {
    job_at(id, entry.enqueued, read)
}

/// The job that the record at `at` accepted.
pub(super) fn job_at(
    id: JobId,
    at: RecordAt,
    read: impl Fn(RecordAt) -> Result<Record, StoreError>,
) -> Result<Job, StoreError> {
    let record = read(at)?;
    match record.event {
        Event::Enqueued(job) if job.id == id => Ok(*job),
        event => event.accepted(id).cloned().ok_or_else(|| {
            let (segment, offset) = super::layout::segment_and_offset(at);
            StoreError::Damaged {
                path: format!("segment {segment}"),
                offset,
                why: format!("the record there does not accept job {id}"),
            }
        }),
    }
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
