//! What the read side shows. These are the shapes of `-o json` and of the socket.

use sandhog_model::{
    Attempt, BatchCount, BatchState, Cancellation, Digest, Failure, FailureKind, Hold, Job, JobId,
    Output, QueueLimits, QueueMode, Rejected, State, Status, Unique, UnixMs, cron::CronState,
};
use serde::{Deserialize, Serialize};

use super::{LetterName, PurgeCounts};

/// A job in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobRow {
    /// Its id.
    pub id: JobId,
    /// Its kind.
    pub kind: String,
    /// Its queue.
    pub queue: String,
    /// The state now.
    pub state: State,
    /// The attempt that runs, or the number of attempts used.
    pub attempt: u32,
    /// Attempts it may use.
    pub max_attempts: u32,
    /// Higher runs first.
    pub priority: i16,
    /// When it is or was due, started or ended.
    pub at: UnixMs,
    /// How the latest ended attempt failed, if it did.
    pub failure: Option<FailureRow>,
    /// SHA-256 of the component the latest ended attempt ran on, in hex.
    pub digest: Option<String>,
    /// The job whose handler enqueued this one.
    pub parent: Option<JobId>,
}

/// The short of a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureRow {
    /// The kind.
    pub kind: FailureKind,
    /// One line in job terms.
    pub cause: String,
    /// What to do about it, when known.
    pub hint: Option<String>,
}

/// Everything about one job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobView {
    /// The short of it.
    pub row: JobRow,
    /// The job as it was accepted.
    pub job: Job,
    /// Every attempt that ended, oldest first.
    pub attempts: Vec<Attempt>,
    /// The result, once completed.
    pub output: Option<Output>,
    /// The handler's reason, once discarded.
    pub reason: Option<String>,
    /// Who called it off and why, when it ended so or is asked to.
    #[serde(default)]
    pub cancel: Option<Cancellation>,
    /// Why the latest failed attempt failed.
    pub failure: Option<Failure>,
    /// Jobs it enqueued, once completed.
    pub children: Vec<JobId>,
    /// How often its lease was lost with its worker.
    pub losses: u32,
    /// Why it waits; filled in by those who know more than the store.
    #[serde(default)]
    pub waiting_because: Option<String>,
}

impl JobView {
    /// Its attempts in words.
    #[must_use]
    pub fn tries(&self) -> String {
        let (row, running) = (&self.row, self.row.state == State::Running);
        let in_all = self.attempts.len() as u32 + u32::from(running);
        tries(row.attempt, row.max_attempts, in_all, self.losses)
    }
}

/// Attempts used of those allowed, in words. What was used before a job was brought back, and what used up none, such as one
/// that snoozed, counts in all; those that ended with their runner are told apart.
#[must_use]
pub fn tries(used: u32, most: u32, in_all: u32, losses: u32) -> String {
    let mut told = format!("{used} of {most}");
    if in_all > used.saturating_add(losses) {
        told += &format!(", {in_all} in all");
    }
    match losses {
        0 => told,
        1 => told + ", and 1 lost with its runner",
        _ => told + &format!(", and {losses} lost with their runner"),
    }
}

/// Which jobs a list shows. Empty fields do not filter.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct JobFilter {
    /// Only in one of these states.
    #[serde(default)]
    pub states: Vec<State>,
    /// Only in this queue.
    pub queue: Option<String>,
    /// Only of this kind.
    pub kind: Option<String>,
    /// Only enqueued by this job.
    pub parent: Option<JobId>,
    /// Only with this tag.
    #[serde(default)]
    pub tag: Option<String>,
    /// Only with this header.
    #[serde(default)]
    pub header: Option<(String, String)>,
    /// Only in this batch.
    #[serde(default)]
    pub batch: Option<JobId>,
    /// Only accepted at this instant or later, as their ids say.
    #[serde(default)]
    pub since: Option<UnixMs>,
    /// Only accepted before this instant, as their ids say.
    #[serde(default)]
    pub until: Option<UnixMs>,
    /// Only those that wait for an instant, and by that instant, the earliest first.
    #[serde(default)]
    pub by_due: bool,
}

impl JobFilter {
    /// No id below this one is shown.
    pub(super) fn first(&self) -> JobId {
        self.since.map_or(JobId(0), JobId::first_at)
    }

    /// Whether some of it stands in a job's own record alone: no index has the tags and headers.
    pub(super) fn is_of_records(&self) -> bool {
        self.tag.is_some() || self.header.is_some()
    }

    /// Whether a job fits, by what stands in its record alone.
    pub(super) fn fits_record(&self, job: &Job) -> bool {
        let has_tag = |tag: &String| job.terms.tags.contains(tag);
        let has_header = |header: &(String, String)| job.headers.contains(header);
        self.tag.as_ref().is_none_or(has_tag) && self.header.as_ref().is_none_or(has_header)
    }

    /// Only ids below this one are shown.
    pub(super) fn below(&self) -> Option<JobId> {
        self.until.map(JobId::first_at)
    }
}

/// Which part of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageRequest {
    /// Rows at most, 1 to 1000.
    pub limit: usize,
    /// The cursor a page before gave.
    pub cursor: Option<String>,
}

/// Part of a list, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Page<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// Where the next page starts, when there is one.
    pub next: Option<String>,
}

/// What became of a change of a dead letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Amended {
    /// It is done, and durable.
    Done,
    /// There is no such letter.
    NotFound,
    /// The job is not the dead one that was meant any more: it was brought back, and may have died
    /// again. Nothing changed.
    Changed,
    /// It cannot be read, so it can only be deleted.
    Unreadable(LetterName),
    /// The rules refuse it.
    Refused(Rejected),
}

/// A schedule as the log knows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CronRow {
    /// Its name.
    pub name: String,
    /// What is known of it.
    pub state: CronState,
    /// Where its latest job is in its life, while that is known.
    pub latest: Option<Status>,
}

/// A batch with how its jobs stand.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BatchRow {
    /// Its id.
    pub id: JobId,
    /// What is known of it besides its jobs.
    pub state: BatchState,
    /// How its jobs stand.
    pub count: BatchCount,
}

/// A queue's jobs by state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueRow {
    /// Its name.
    pub queue: String,
    /// Jobs in each state, states without jobs left out.
    pub counts: Vec<(State, u64)>,
    /// What it does with jobs.
    #[serde(default)]
    pub mode: QueueMode,
    /// The limits that count.
    #[serde(default)]
    pub limits: QueueLimits,
    /// Those of them that people set.
    #[serde(default)]
    pub set: QueueLimits,
    /// Its share beside other queues.
    #[serde(default)]
    pub weight: u32,
    /// Jobs that may wait in it.
    #[serde(default)]
    pub max_depth: Option<u64>,
    /// What keeps its due jobs from being begun, or those of one of its groups.
    #[serde(default)]
    pub hold: Option<Hold>,
    /// When the due job became due that has waited longest; `None` when none is due, and of a queue with more
    /// groups than are looked at.
    #[serde(default)]
    pub oldest_due: Option<UnixMs>,
    /// Kinds of its due jobs, some of many.
    #[serde(default)]
    pub kinds: Vec<String>,
}

/// What a queue is to do. What is `None` stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steer {
    /// The queue.
    pub queue: String,
    /// What it does with jobs.
    pub mode: Option<QueueMode>,
    /// Its limits, all of them; without one the operator's settings count again.
    pub limits: Option<QueueLimits>,
    /// Who says so, as they call themselves.
    pub by: String,
}

/// A unique job that stands in the way of others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UniqueRow {
    /// The key.
    pub key: Digest,
    /// The job.
    pub id: JobId,
    /// Its kind.
    pub kind: String,
    /// Its state.
    pub state: State,
    /// From when on it does not stand in the way, whatever its state.
    pub until: Option<UnixMs>,
    /// The states in which it stands in the way, and the key's text.
    pub unique: Option<Unique>,
}

/// The store at a glance.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StoreStats {
    /// Jobs in each state over all queues, states without jobs left out.
    pub jobs: Vec<(State, u64)>,
    /// Letters in the dead-letter store.
    pub dead_letters: u64,
    /// Segments of the log.
    pub segments: u64,
    /// Bytes of the log on disk.
    pub log_bytes: u64,
    /// Records appended since the start.
    pub appended: u64,
    /// Syncs since the start.
    pub syncs: u64,
    /// The last sync's time in microseconds.
    pub last_sync_us: u64,
    /// The durability setting.
    pub durability: String,
    /// Why the store takes nothing more, if so.
    pub poisoned: Option<String>,
    /// The bytes of a torn tail that the open cut away, after copying them aside.
    pub torn_tail_bytes: u64,
    /// Other logs in the directory that the open took over.
    #[serde(default)]
    pub merged_logs: u64,
    /// Jobs of theirs that this log did not know, or knew less of.
    #[serde(default)]
    pub merged_jobs: u64,
    /// Dead letters deleted since the start because of the operator's bounds.
    #[serde(default)]
    pub purged_letters: u64,
    /// The same by reason.
    #[serde(default)]
    pub purged: PurgeCounts,
    /// Bytes of the dead letters' file.
    #[serde(default)]
    pub dead_bytes: u64,
    /// Bytes of the log that are needed; the rest goes by and by.
    #[serde(default)]
    pub live_bytes: u64,
    /// Jobs forgotten since the start because of their age or number.
    #[serde(default)]
    pub pruned_jobs: u64,
    /// Segments removed since the start because nothing in them was needed any more.
    #[serde(default)]
    pub freed_segments: u64,
    /// Their bytes.
    #[serde(default)]
    pub reclaimed_bytes: u64,
    /// The first segment, when it cannot be freed: the log grows until that is mended.
    #[serde(default)]
    pub stuck_segment: Option<u32>,
}

/// The short of a failure.
pub(super) fn failure_row(failure: &Failure) -> FailureRow {
    FailureRow {
        kind: failure.kind,
        cause: failure.cause.clone(),
        hint: failure.hint.clone(),
    }
}
