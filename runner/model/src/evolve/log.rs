//! Facts that are about no one job: queues, schedules, what was forgotten, and the log itself.

use super::Written;
use crate::{
    batch::BatchState,
    event::RecordAt,
    fact::{Accepted, Fact},
    id::JobId,
    index::Told,
    ledger::{Ledger, Unsound},
};

impl Ledger {
    pub(super) fn follow_of_log(
        &mut self,
        fact: &Fact<'_>,
        at: RecordAt,
        mono: u64,
    ) -> Result<(), Unsound> {
        match *fact {
            Fact::Steered {
                queue,
                at: on,
                by,
                to,
            } => {
                let told = Told {
                    to,
                    at: on,
                    by: by.into(),
                    place: at,
                };
                self.index.steer(queue, told, mono, &mut self.names);
            }
            Fact::Cron {
                name,
                at: on,
                ref state,
                ref job,
            } => {
                if let Some(job) = job {
                    self.unknown(job.id)?;
                    self.accept(job, Written { on, at, mono });
                }
                self.know_cron(name, state, at);
            }
            Fact::CronForgotten { name, .. } => self.forget_cron(name),
            Fact::Batch {
                id,
                at: on,
                ref state,
                ref jobs,
            } => self.follow_batch(id, state, jobs, Written { on, at, mono })?,
            Fact::BatchForgotten { id, .. } => {
                self.index.batches.forget(id);
            }
            Fact::Pruned { ref ids, .. } => self.prune(ids, mono)?,
            Fact::Trimmed {
                before,
                last_id,
                last_token,
                ..
            } => {
                self.trimmed = self.trimmed.max(before);
                self.last_id = self.last_id.max(last_id);
                self.last_token = self.last_token.max(last_token);
            }
            Fact::Merged { last_token, .. } => {
                self.last_token = self.last_token.max(last_token);
            }
            // All others are about a job.
            _ => {}
        }
        Ok(())
    }

    fn follow_batch(
        &mut self,
        id: JobId,
        state: &BatchState,
        jobs: &[Accepted<'_>],
        written: Written,
    ) -> Result<(), Unsound> {
        for job in jobs {
            self.unknown(job.id)?;
        }
        for job in jobs {
            self.accept(job, written);
        }
        self.index.batches.know(id, state, written.at);
        let ids = state.callbacks().map(|callback| callback.id);
        self.last_id = self.last_id.max(ids.chain([id]).max());
        Ok(())
    }
}
