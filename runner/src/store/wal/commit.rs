//! The end of a batch: written, synced here or beside the writer, and told.

use std::{
    io,
    path::Path,
    time::{Duration, Instant},
};

use sandhog_model::{JobId, Now};

use super::{
    Durability,
    flush::{Flush, Landed, Waiting},
    writer::Writer,
};
use crate::{disk::DiskError, store::JobChange};

/// A sync that takes longer is one of a slow device.
const SLOW_SYNC_US: u64 = 20_000;

/// A batch that was written.
pub(super) struct Written {
    /// Whether a sync is wanted before anyone hears of it.
    sync: bool,
    /// Letters that the log's records take out.
    unburied: Vec<JobId>,
    /// What is to be told once it is as safe as the setting says.
    pub(super) changes: Vec<JobChange>,
}

impl Writer {
    /// Write the batch, sync it when it has to be, and tell what changed.
    pub(super) fn commit(&mut self, now: Now) -> Result<(), DiskError> {
        let written = self.write(now)?;
        self.finish(written)
    }

    /// Sync what was written when it has to be, and tell what changed.
    ///
    /// The order is what makes a burial whole: letters are durable before the log says so, and
    /// are taken out only after the log does.
    pub(super) fn finish(&mut self, written: Written) -> Result<(), DiskError> {
        if written.sync {
            self.sync()?;
        }
        if !written.unburied.is_empty() {
            match self.dead.remove(&written.unburied) {
                Ok(_) => {}
                // The log has said it; the next open takes the letters out.
                Err(error) if error.is_full() => tracing::warn!(%error, "a letter stays listed"),
                Err(error) => return Err(error),
            }
            self.dead.rewrite_behind();
        }
        self.bell.tell(written.changes);
        Ok(())
    }

    /// Write the batch, and call those who would claim what it makes claimable.
    pub(super) fn write(&mut self, now: Now) -> Result<Written, DiskError> {
        let sync = self.batch.must_sync || self.syncs_next();
        self.dead.sync(self.durability != Durability::None)?;
        self.appender.write()?;
        self.written_to = self.mark();
        self.batch.wants_sync = false;
        self.batch.must_sync = false;
        let listened = self.bell.changes.receiver_count() > 0;
        let changed = self.batch.changed.drain(..).filter(|_| listened);
        let changes = changed.filter_map(|id| {
            let state = self.ledger.state(id, now.wall)?;
            Some(JobChange { id, state })
        });
        let changes = changes.collect();
        if std::mem::take(&mut self.batch.readied) {
            self.bell.ring();
        }
        Ok(Written {
            sync,
            unburied: std::mem::take(&mut self.batch.unburied),
            changes,
        })
    }

    /// Whether the batch that is made is answered once it is synced.
    pub(super) fn syncs_next(&self) -> bool {
        self.batch.wants_sync && self.durability == Durability::Commit
    }

    /// Whether the last sync took so long that whoever only looks would feel it.
    pub(super) fn syncs_are_slow(&self) -> bool {
        self.counters.last_sync_us > SLOW_SYNC_US
    }

    /// Whether a batch needs nothing but a sync, and there is a thread for it.
    pub(super) fn can_flush_beside(&self, written: &Written) -> bool {
        self.flusher.is_some()
            && written.sync
            && written.unburied.is_empty()
            && self.durability == Durability::Commit
    }

    /// Have the written batch synced and answered beside this thread.
    pub(super) fn flush_beside(&mut self, changes: Vec<JobChange>, waiting: Vec<Waiting>) {
        let here = (self.appender.next_sequence(), self.mark());
        if let (Some(flusher), Some(file)) = (&mut self.flusher, self.appender.file()) {
            self.flushing_to = here;
            flusher.send(Flush {
                file,
                changes,
                waiting,
            });
        }
    }

    /// Take the flush beside this thread back; with `wait`, also when it goes on. Whether none is
    /// away now; the cause when it failed.
    pub(super) fn land(&mut self, wait: bool) -> Result<bool, String> {
        let flusher = self.flusher.as_mut();
        match flusher.map_or(Landed::Idle, |flusher| flusher.land(wait)) {
            Landed::Idle => Ok(true),
            Landed::Away => Ok(false),
            Landed::Synced(took) => {
                let (sequence, mark) = self.flushing_to;
                self.appender.is_synced_to(sequence);
                self.synced_to = mark;
                self.synced(took, sequence);
                Ok(true)
            }
            // The bell has the cause already, unless the thread broke.
            Landed::Failed => Err("a sync beside the writer broke off".to_owned()),
        }
    }

    /// Sync the log.
    pub(super) fn sync(&mut self) -> Result<(), DiskError> {
        self.land(true).map_err(|cause| {
            let file = self.appender.file();
            let path = file
                .as_ref()
                .map_or(Path::new("the log"), |file| file.path());
            DiskError::new("sync", path, &io::Error::other(cause))
        })?;
        if self.appender.is_unsynced() {
            let before = Instant::now();
            let mark = self.mark();
            self.appender.sync()?;
            self.synced_to = mark;
            let sequence = self.appender.next_sequence();
            self.synced(before.elapsed().as_micros() as u64, sequence);
        }
        Ok(())
    }

    /// A sync took so many microseconds and made safe what lies before a sequence.
    fn synced(&mut self, took: u64, sequence: u64) {
        self.last_sync = Instant::now();
        self.counters.syncs += 1;
        let before = std::mem::replace(&mut self.counted_to, sequence);
        let records = sequence.saturating_sub(before);
        self.watch.synced(Duration::from_micros(took), records);
        self.counters.last_sync_us = took;
    }
}
