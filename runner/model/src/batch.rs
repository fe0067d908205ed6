//! Batches: jobs that belong together, and the jobs that follow when all of them ended.

use alloc::{boxed::Box, format, string::String};

use serde::{Deserialize, Serialize};

use crate::{
    cancel::Cancellation,
    id::JobId,
    job::{Job, KindDefaults, Link, Output},
    ledger::Status,
    time::UnixMs,
};

/// All that is known of a batch besides its jobs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct BatchState {
    /// What it is, for people.
    pub name: Option<String>,
    /// When it was opened.
    pub opened_at: UnixMs,
    /// When it was sealed: only its own jobs add jobs to it since.
    pub sealed_at: Option<UnixMs>,
    /// Who called it off and why; it is sealed too.
    pub cancelled: Option<Box<Cancellation>>,
    /// What follows when all of its jobs completed and nobody called it off.
    pub success: Option<Box<Callback>>,
    /// What follows when all of its jobs ended, however.
    pub complete: Option<Box<Callback>>,
    /// Its jobs that are not known any more, by how they ended.
    pub gone: Tally,
    /// When all of its jobs had ended for the first time since it was sealed.
    pub ended_at: Option<UnixMs>,
}

/// A job that follows when a batch came to its end. It has its id from the beginning, so that it can never be
/// there twice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Callback {
    /// Its id.
    pub id: JobId,
    /// What it will be. Its payload is JSON, and goes once it was enqueued.
    pub link: Link,
    /// When it was enqueued.
    pub fired_at: Option<UnixMs>,
}

/// How jobs of a batch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tally {
    /// With a result.
    pub completed: u64,
    /// Called off.
    pub cancelled: u64,
    /// Dropped.
    pub discarded: u64,
    /// Dead, in the letters or deleted with theirs.
    pub dead: u64,
    /// Too late to begin.
    pub expired: u64,
    /// Deleted before they ended.
    pub deleted: u64,
}

/// How the jobs of a batch stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BatchCount {
    /// Those that wait.
    pub waiting: u64,
    /// Those that run.
    pub running: u64,
    /// Those that ended.
    pub ended: Tally,
}

/// A wish about a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchWish {
    /// The batch.
    pub id: JobId,
    /// What is wished.
    pub change: BatchChange,
}

/// What is wished of a batch.
#[derive(Debug, Clone, PartialEq)]
pub enum BatchChange {
    /// That it be there.
    Open {
        /// What it is, for people.
        name: Option<String>,
        /// What follows when all of its jobs completed.
        success: Option<Box<Callback>>,
        /// What follows when all of its jobs ended, however.
        complete: Option<Box<Callback>>,
    },
    /// That only its own jobs add jobs to it.
    Seal,
    /// That its jobs be called off: those that wait end by and by, and no more are taken in.
    Cancel {
        /// Who asks.
        by: String,
        /// Why.
        reason: Option<String>,
    },
}

impl Tally {
    /// All of them.
    #[must_use]
    pub fn total(self) -> u64 {
        self.completed + self.failed()
    }

    /// All but those that completed.
    #[must_use]
    pub fn failed(self) -> u64 {
        self.cancelled + self.discarded + self.dead + self.expired + self.deleted
    }

    /// Where a job as it stands is counted once it is gone.
    pub(crate) fn slot(&mut self, status: Status) -> &mut u64 {
        match status {
            Status::Waiting { .. } | Status::Running { .. } => &mut self.deleted,
            Status::Completed(_) => &mut self.completed,
            Status::Cancelled(_) => &mut self.cancelled,
            Status::Discarded(_) => &mut self.discarded,
            Status::Dead(_) => &mut self.dead,
            Status::Expired(_) => &mut self.expired,
        }
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            completed: self.completed + other.completed,
            cancelled: self.cancelled + other.cancelled,
            discarded: self.discarded + other.discarded,
            dead: self.dead + other.dead,
            expired: self.expired + other.expired,
            deleted: self.deleted + other.deleted,
        }
    }
}

impl BatchCount {
    /// Those that have not ended.
    #[must_use]
    pub fn unfinished(self) -> u64 {
        self.waiting + self.running
    }

    /// All of them.
    #[must_use]
    pub fn total(self) -> u64 {
        self.unfinished() + self.ended.total()
    }
}

impl BatchState {
    /// Every job that may follow.
    pub fn callbacks(&self) -> impl Iterator<Item = &Callback> {
        self.success.iter().chain(&self.complete).map(|one| &**one)
    }

    /// Whether jobs from outside are taken in.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.sealed_at.is_none()
    }

    /// Whether everything that there is to do for it now, its jobs being so, was done.
    fn is_served(&self, count: BatchCount) -> bool {
        let waits = |callback: &Option<Box<Callback>>| {
            callback
                .as_ref()
                .is_some_and(|callback| callback.fired_at.is_none())
        };
        self.ended_at.is_some()
            && !waits(&self.complete)
            && !(waits(&self.success) && self.succeeds(count))
    }

    /// Whether its jobs that ended all completed, and nobody called it off.
    fn succeeds(&self, count: BatchCount) -> bool {
        count.ended.failed() == 0 && self.cancelled.is_none()
    }

    /// Whether it came to an end that nobody wrote down yet.
    pub(crate) fn is_ripe(&self, count: BatchCount) -> bool {
        self.sealed_at.is_some() && count.unfinished() == 0 && !self.is_served(count)
    }

    /// Whether it may be forgotten: nothing can follow any more, unless someone brings jobs back that are not in
    /// the dead letters. One that was called off is needed as long as there are jobs of it, which nobody may bring
    /// back.
    pub(crate) fn is_over(&self, count: BatchCount, dead: u64, has_jobs: bool) -> bool {
        let succeeds = self.success.as_ref();
        let waits = succeeds.is_some_and(|callback| callback.fired_at.is_none());
        self.ended_at.is_some()
            && count.unfinished() == 0
            && match self.cancelled {
                Some(_) => !has_jobs,
                None => !(waits && dead > 0),
            }
    }

    /// The jobs that follow now; they are marked as enqueued.
    pub(crate) fn ripen(&mut self, id: JobId, count: BatchCount, now: UnixMs) -> [Option<Job>; 2] {
        self.ended_at.get_or_insert(now);
        let (tally, succeeds) = (count.ended, self.succeeds(count));
        let fire = |callback: &mut Option<Box<Callback>>, event| {
            let callback = callback.as_mut().filter(|one| one.fired_at.is_none())?;
            let payload = callback.link.payload.take();
            let link = callback.link.clone();
            let told = Output {
                content_type: "application/json".into(),
                payload: told(id, event, tally, payload.as_deref()).into_bytes(),
            };
            let job = link.accept(callback.id, now, &told, &KindDefaults::default());
            callback.fired_at = Some(now);
            // It was checked when the batch was opened.
            job.ok()
        };
        let complete = fire(&mut self.complete, "complete");
        let success = match succeeds {
            true => fire(&mut self.success, "success"),
            false => None,
        };
        [complete, success]
    }
}

/// What a callback is told, as JSON.
fn told(id: JobId, event: &str, tally: Tally, payload: Option<&[u8]>) -> String {
    let Tally {
        completed,
        cancelled,
        discarded,
        dead,
        expired,
        deleted,
    } = tally;
    let (total, failed) = (tally.total(), tally.failed());
    let payload = payload.and_then(|bytes| core::str::from_utf8(bytes).ok());
    let payload = payload.unwrap_or("null");
    format!(
        "{{\"batch\":\"{id}\",\"event\":\"{event}\",\"total\":{total},\"completed\":{completed},\
         \"failed\":{failed},\"dead\":{dead},\"cancelled\":{cancelled},\"discarded\":{discarded},\
         \"expired\":{expired},\"deleted\":{deleted},\"payload\":{payload}}}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tallies_are_added_field_by_field() {
        let tally = |[completed, cancelled, discarded, dead, expired, deleted]: [u64; 6]| Tally {
            completed,
            cancelled,
            discarded,
            dead,
            expired,
            deleted,
        };
        let sum = tally([1, 2, 3, 4, 5, 6]).and(tally([10, 20, 30, 40, 50, 60]));
        assert_eq!(sum, tally([11, 22, 33, 44, 55, 66]));
    }
}
