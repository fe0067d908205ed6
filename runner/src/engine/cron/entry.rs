//! What a schedule does.

use std::hash::{DefaultHasher, Hash, Hasher};

use sandhog_cron::{Schedule, SignedDuration, plan::CatchUp, plan::timestamp};
use sandhog_model::{NewJob, UnixMs, cron::Overlap};

/// The header that names a job's schedule.
pub const CRON_HEADER: &str = "cron";
/// The header that names a job's slot, an instant as in RFC 3339.
pub const SLOT_HEADER: &str = "cron-slot";

/// A schedule, and the job that each of its slots gets.
#[derive(Debug, Clone, PartialEq)]
pub struct CronEntry {
    /// When.
    pub schedule: Schedule,
    /// The job, without what its slot adds to it.
    pub job: NewJob,
    /// What a slot does while the job of an earlier one has not ended.
    pub overlap: CronOverlap,
    /// What becomes of slots that were missed.
    pub catch_up: CatchUp,
    /// How far back missed slots count.
    pub window: SignedDuration,
    /// Up to how long after its slot a job becomes due, in milliseconds.
    pub jitter_ms: u64,
}

/// What a slot does while the job of an earlier one has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CronOverlap {
    /// It is left out.
    Skip,
    /// Its job waits until the earlier one has ended; further slots are left out.
    BufferOne,
    /// It gets its job all the same.
    Allow,
    /// It cancels the earlier job and gets its own.
    CancelOther,
}

impl CronEntry {
    /// The job of a slot, or one outside of every slot.
    #[must_use]
    pub fn job_of(&self, name: &str, slot: Option<UnixMs>) -> NewJob {
        let mut job = self.job.clone();
        job.headers.push((CRON_HEADER.to_owned(), name.to_owned()));
        if let Some(slot) = slot {
            let shown = timestamp(slot).map(|at| at.to_string());
            job.headers
                .push((SLOT_HEADER.to_owned(), shown.unwrap_or_default()));
            job.due = Some(slot.plus(self.delay(name, slot)));
        }
        job
    }

    /// How long after a slot its job is due: the same however often it is asked, and another for each
    /// schedule and slot.
    fn delay(&self, name: &str, slot: UnixMs) -> u64 {
        let mut hasher = DefaultHasher::new();
        (name, slot).hash(&mut hasher);
        hasher.finish() % (self.jitter_ms + 1)
    }

    pub(super) fn overlap(&self, name: &str) -> Overlap {
        match self.overlap {
            CronOverlap::Skip => Overlap::Skip,
            CronOverlap::BufferOne => Overlap::BufferOne,
            CronOverlap::Allow => Overlap::Allow,
            CronOverlap::CancelOther => Overlap::CancelOther {
                by: format!("schedule {name}"),
                reason: Some("the next slot came".to_owned()),
            },
        }
    }
}
