//! Which jobs a fact is about, and what it holds of them.

use alloc::vec::Vec;

use super::Event;
use crate::{id::JobId, job::Job};

impl Event {
    /// The job the fact is about, if it is about one.
    #[must_use]
    pub fn id(&self) -> Option<JobId> {
        match self {
            Self::Enqueued(job) => Some(job.id),
            Self::Carried(carried) => Some(carried.job.id),
            Self::Leased { id, .. }
            | Self::Checkpointed { id, .. }
            | Self::Settled { id, .. }
            | Self::Lost { id, .. }
            | Self::Requeued { id, .. }
            | Self::Hastened { id, .. }
            | Self::Deleted { id, .. }
            | Self::CancelAsked { id, .. }
            | Self::Cancelled { id, .. }
            | Self::Postponed { id, .. }
            | Self::Expired { id, .. }
            | Self::Dropped { id, .. }
            | Self::Replaced { id, .. }
            | Self::Unlocked { id, .. } => Some(*id),
            Self::Cron { .. }
            | Self::CronForgotten { .. }
            | Self::Batch { .. }
            | Self::BatchForgotten { .. }
            | Self::Pruned { .. }
            | Self::Trimmed { .. }
            | Self::Merged { .. }
            | Self::Steered { .. } => None,
        }
    }

    /// The job `id` as this fact accepted it, or wrote it anew: on its own, or among the jobs an
    /// attempt enqueued, or as that of a schedule.
    #[must_use]
    pub fn accepted(&self, id: JobId) -> Option<&Job> {
        match self {
            Self::Enqueued(job) | Self::Replaced { job, .. } => {
                Some(&**job).filter(|job| job.id == id)
            }
            Self::Carried(carried) => Some(&carried.job).filter(|job| job.id == id),
            Self::Settled { children: jobs, .. } | Self::Batch { jobs, .. } => {
                jobs.iter().find(|job| job.id == id)
            }
            Self::Cron { job, .. } => job.as_deref().filter(|job| job.id == id),
            Self::CronForgotten { .. }
            | Self::BatchForgotten { .. }
            | Self::Leased { .. }
            | Self::Checkpointed { .. }
            | Self::Lost { .. }
            | Self::Requeued { .. }
            | Self::Hastened { .. }
            | Self::Deleted { .. }
            | Self::CancelAsked { .. }
            | Self::Cancelled { .. }
            | Self::Postponed { .. }
            | Self::Expired { .. }
            | Self::Dropped { .. }
            | Self::Unlocked { .. }
            | Self::Steered { .. }
            | Self::Pruned { .. }
            | Self::Trimmed { .. }
            | Self::Merged { .. } => None,
        }
    }

    /// The checkpoint that this fact holds, if it holds one.
    #[must_use]
    pub fn into_checkpoint(self) -> Option<Vec<u8>> {
        match self {
            Self::Checkpointed { bytes, .. } => Some(bytes),
            Self::Carried(carried) => carried.checkpoint,
            Self::Enqueued(_)
            | Self::Cron { .. }
            | Self::CronForgotten { .. }
            | Self::Batch { .. }
            | Self::BatchForgotten { .. }
            | Self::Leased { .. }
            | Self::Settled { .. }
            | Self::Lost { .. }
            | Self::Requeued { .. }
            | Self::Hastened { .. }
            | Self::Deleted { .. }
            | Self::CancelAsked { .. }
            | Self::Cancelled { .. }
            | Self::Postponed { .. }
            | Self::Expired { .. }
            | Self::Dropped { .. }
            | Self::Replaced { .. }
            | Self::Unlocked { .. }
            | Self::Steered { .. }
            | Self::Pruned { .. }
            | Self::Trimmed { .. }
            | Self::Merged { .. } => None,
        }
    }

    /// Every job the fact is about: the one it names, those it accepted besides, those it forgot.
    pub fn ids(&self) -> impl Iterator<Item = JobId> + '_ {
        let (children, pruned): (&[Job], &[JobId]) = match self {
            Self::Settled { children: jobs, .. } | Self::Batch { jobs, .. } => (jobs, &[]),
            Self::Cron { job: Some(job), .. } | Self::Replaced { job, .. } => {
                (core::slice::from_ref(job), &[])
            }
            Self::Pruned { ids, .. } => (&[], ids),
            Self::Enqueued(_)
            | Self::Cron { job: None, .. }
            | Self::CronForgotten { .. }
            | Self::BatchForgotten { .. }
            | Self::Leased { .. }
            | Self::Checkpointed { .. }
            | Self::Lost { .. }
            | Self::Requeued { .. }
            | Self::Hastened { .. }
            | Self::Deleted { .. }
            | Self::CancelAsked { .. }
            | Self::Cancelled { .. }
            | Self::Postponed { .. }
            | Self::Expired { .. }
            | Self::Dropped { .. }
            | Self::Unlocked { .. }
            | Self::Steered { .. }
            | Self::Carried(_)
            | Self::Trimmed { .. }
            | Self::Merged { .. } => (&[], &[]),
        };
        self.id()
            .into_iter()
            .chain(children.iter().map(|job| job.id))
            .chain(pruned.iter().copied())
    }
}
