//! Which jobs a fact is about.

use super::{Accepted, Fact};
use crate::id::JobId;

impl Fact<'_> {
    /// The job the fact is about, if it is about one.
    #[must_use]
    pub fn id(&self) -> Option<JobId> {
        match self {
            Self::Enqueued(job) => Some(job.id),
            Self::Carried(anew) => Some(anew.job.id),
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

    /// Every job the fact is about: the one it names, those it accepted besides, those it forgot.
    pub fn ids(&self) -> impl Iterator<Item = JobId> + '_ {
        let (children, pruned): (&[Accepted<'_>], &[JobId]) = match self {
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
