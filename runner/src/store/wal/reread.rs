//! Reading the records of jobs that may be written anew meanwhile: whoever comes too late looks once
//! more.

#[cfg(test)]
#[cfg(test)]
use super::wish::Wish;
use super::{
    Wal,
    handle::on_blocking_thread,
    history::job_at,
    segments::SegmentFiles,
    views,
    wish::{Known, LeaseRef},
};
use crate::store::{JobFilter, JobRow, LeasedJob, StoreError};
use sandhog_model::JobId;

/// Tries to read a job whose records are written anew and removed again and again. Each needs
/// another pass of the compaction in between.
const REREADS: usize = 8;

impl Wal {
    /// A parent's jobs stand in its own record, so no index of parents is needed.
    pub(super) async fn children(
        &self,
        parent: JobId,
        filter: &JobFilter,
        before: Option<JobId>,
    ) -> Result<Vec<Known>, StoreError> {
        let below = before.into_iter().chain(filter.below()).min();
        let wanted = filter.first()..below.unwrap_or(JobId(u128::MAX));
        let ids = self
            .read_known(parent, move |known, files| {
                views::children(known, &wanted, |at| files.read(at))
            })
            .await?;
        let mut found = self.look(ids.unwrap_or_default()).await?;
        found.retain(|Known { entry, state, .. }| {
            views::matches(filter, &entry.kind, &entry.queue, *state)
                && filter.batch.is_none_or(|batch| entry.batch == Some(batch))
        });
        Ok(found)
    }

    /// Look a job up and read its records, once more when they were written anew meanwhile and the
    /// old ones removed.
    pub(super) async fn read_known<T: Send + 'static>(
        &self,
        id: JobId,
        read: impl Fn(&Known, &SegmentFiles) -> Result<T, StoreError> + Clone + Send + 'static,
    ) -> Result<Option<T>, StoreError> {
        let mut tries = 1;
        loop {
            let Some(known) = self.look(vec![id]).await?.pop() else {
                return Ok(None);
            };
            let place = known.entry.enqueued;
            let (files, read) = (self.files.clone(), read.clone());
            match on_blocking_thread(move || read(&known, &files)).await {
                Err(_) if self.files.is_gone(place) && tries < REREADS => tries += 1,
                other => return other.map(Some),
            }
        }
    }

    /// Rows as they are shown; those of which the records went meanwhile are put together anew.
    pub(super) async fn rows(&self, mut found: Vec<Known>) -> Result<Vec<JobRow>, StoreError> {
        let mut rows = Vec::new();
        for _ in 0..REREADS {
            let files = self.files.clone();
            (rows, found) = on_blocking_thread(move || {
                let row = |known| views::row(known, |at| files.read(at));
                Ok((found.iter().map(row).collect(), found))
            })
            .await?;
            let gone = |known: &Known| self.files.is_gone(known.entry.enqueued);
            if !found.iter().any(gone) {
                break;
            }
            found = self
                .look(found.iter().map(|known| known.id).collect())
                .await?;
        }
        Ok(rows)
    }

    /// The job of a lease, looked up again when its records were written anew meanwhile.
    pub(super) async fn leased_job(&self, mut lease: LeaseRef) -> Result<LeasedJob, StoreError> {
        let mut tries = 1;
        loop {
            let error = match self.leased(&lease) {
                Ok(job) => return Ok(job),
                Err(error) => error,
            };
            if !self.files.is_gone(lease.enqueued) || tries == REREADS {
                return Err(error);
            }
            tries += 1;
            let known = self.look(vec![lease.id]).await?.pop();
            let Some(known) = known.filter(|known| known.entry.token == lease.token) else {
                return Err(error);
            };
            lease.enqueued = known.entry.enqueued;
            lease.checkpoint = known.entry.checkpoint;
        }
    }

    fn leased(&self, lease: &LeaseRef) -> Result<LeasedJob, StoreError> {
        let read = |at| self.files.read(at);
        let job = job_at(lease.id, lease.enqueued, read)?;
        let checkpoint = match lease.checkpoint.map(read).transpose()? {
            Some(record) => record.event.into_checkpoint(),
            None => None,
        };
        Ok(LeasedJob {
            // No job waits before it is there, whatever instant it was enqueued for.
            due: lease.due.max(job.enqueued_at),
            job,
            token: lease.token,
            attempt: lease.attempt,
            checkpoint,
        })
    }
}

#[cfg(test)]
impl Wal {
    /// Come back when the compaction finds nothing more to do.
    pub(in crate::store) fn compacted(&self) {
        let freed = || {
            let (reply, answer) = super::reply::reply();
            let _ = self.mailbox.put(Wish::Stats(reply));
            answer.wait().ok()?.ok().map(|stats| stats.freed_segments)
        };
        for _ in 0..500 {
            let before = freed();
            let (done, told) = super::reply::reply();
            let woken = self.compaction.send(super::compact::Wake::Tell(done));
            if woken.is_err() || told.wait().is_err() || freed() == before {
                return;
            }
        }
        panic!("the compaction goes round in circles");
    }
}
