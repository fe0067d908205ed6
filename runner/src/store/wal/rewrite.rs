//! A new log, written whole before it gets a log's name.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use sandhog_model::{Event, Record};

use super::{
    layout::{self, LogId},
    room::Room,
    segments::{Appender, SegmentFiles, Tail},
};
use crate::{
    disk::{Disk, DiskError, create_dir_durably},
    store::frames,
};

/// Bytes appended before they are written.
const BATCH_BYTES: usize = 4 << 20;

/// A log that nobody reads yet.
pub(super) struct NewLog {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    appender: Appender,
    body: Vec<u8>,
}

impl NewLog {
    /// Begin one in a directory that is made anew.
    pub(super) fn begin(
        disk: Arc<dyn Disk>,
        dir: &Path,
        log: LogId,
        segment_bytes: u64,
    ) -> Result<Self, DiskError> {
        clear(&*disk, dir)?;
        create_dir_durably(&*disk, dir)?;
        let tail = Tail {
            last: None,
            next_sequence: 1,
            bytes_on_disk: 0,
        };
        let files = Arc::new(SegmentFiles::new(log));
        let appender = Appender::resume(disk.clone(), dir, files, segment_bytes, &tail, false)?;
        Ok(Self {
            disk,
            dir: dir.to_path_buf(),
            appender,
            body: Vec::new(),
        })
    }

    /// Append a fact. `false` when it fits in no record.
    pub(super) fn append(&mut self, event: Event) -> Result<bool, DiskError> {
        self.body.clear();
        let record = Record {
            previous: None,
            event,
        };
        if frames::encode(&record, &mut self.body).is_err() {
            return Ok(false);
        }
        self.appender.reserve(self.body.len(), Room::Outcome, 0)?;
        self.appender.append(&self.body)?;
        if self.appender.pending_bytes() > BATCH_BYTES {
            self.appender.write()?;
        }
        Ok(true)
    }

    /// Make it durable.
    pub(super) fn finish(mut self) -> Result<(), DiskError> {
        self.appender.write()?;
        self.appender.sync()?;
        let spare = layout::spare_path(&self.dir);
        if self.disk.exists(&spare)? {
            self.disk.remove(&spare)?;
        }
        self.disk.sync_dir(&self.dir)
    }
}

/// Remove a directory and the files in it, when it is there.
pub(super) fn clear(disk: &dyn Disk, dir: &Path) -> Result<(), DiskError> {
    if !disk.exists(dir)? {
        return Ok(());
    }
    for name in disk.list(dir)? {
        disk.remove(&dir.join(name))?;
    }
    disk.sync_dir(dir)?;
    disk.remove_dir(dir)
}
