//! What a batch gathers until its commit: who is to be told, and whether a sync is needed.

use sandhog_model::{Event, JobId, Verdict};

/// What a batch gathers until its commit.
#[derive(Default)]
pub(super) struct Batch {
    /// Whether something in it is answered only once durable.
    pub(super) wants_sync: bool,
    /// Whether something in it is relied on at once, in every durability setting.
    pub(super) must_sync: bool,
    pub(super) changed: Vec<JobId>,
    /// Whether a job may have become claimable.
    pub(super) readied: bool,
    /// Letters that the log's records take out.
    pub(super) unburied: Vec<JobId>,
    pub(super) body: Vec<u8>,
}

impl Batch {
    pub(super) fn accepted(&mut self, id: JobId) {
        self.changed.push(id);
        self.wants_sync = true;
        self.readied = true;
    }

    pub(super) fn note(&mut self, event: &Event) {
        match event {
            // What is written anew is no change.
            Event::Carried(_) => {}
            _ => self.changed.extend(event.ids()),
        }
        match event {
            // What is forgotten once more, when that was lost, harms nobody.
            Event::Leased { .. } | Event::Pruned { .. } => {}
            Event::Carried(_) | Event::Merged { .. } => self.wants_sync = true,
            Event::Trimmed { .. } => self.must_sync = true,
            Event::Cron { job: None, .. } | Event::CronForgotten { .. } => self.wants_sync = true,
            // It is forgotten once more, when that was lost.
            Event::BatchForgotten { .. } => {}
            Event::Batch { jobs, .. } => {
                self.wants_sync = true;
                self.readied |= !jobs.is_empty();
            }
            Event::Enqueued(_)
            | Event::Replaced { .. }
            | Event::Cron { job: Some(_), .. }
            | Event::Hastened { .. }
            | Event::Postponed { .. }
            | Event::Steered { .. }
            | Event::Lost { .. } => {
                self.wants_sync = true;
                self.readied = true;
            }
            Event::Settled {
                verdict, children, ..
            } => {
                self.wants_sync = true;
                self.readied |= !children.is_empty()
                    || match verdict {
                        Verdict::Retry { .. }
                        | Verdict::Snoozed { .. }
                        | Verdict::PutBack { .. } => true,
                        Verdict::Completed(_)
                        | Verdict::Discarded { .. }
                        | Verdict::Dead
                        | Verdict::Cancelled => false,
                    };
            }
            Event::Checkpointed { .. }
            | Event::CancelAsked { .. }
            | Event::Cancelled { .. }
            | Event::Dropped { .. }
            | Event::Unlocked { .. } => self.wants_sync = true,
            // It is noticed again, when that was lost.
            Event::Expired { .. } => {}
            Event::Requeued { id, from_dead, .. } => {
                self.wants_sync = true;
                self.readied = true;
                if *from_dead {
                    self.unburied.push(*id);
                }
            }
            Event::Deleted { id, .. } => {
                self.wants_sync = true;
                self.unburied.push(*id);
            }
        }
    }
}
