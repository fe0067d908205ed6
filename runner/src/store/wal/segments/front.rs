//! The front of a log: which segments are there, and what goes with the first ones.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError},
};

use sandhog_model::RecordAt;

use super::{Appender, SegmentFiles};
use crate::{
    disk::{DiskError, DiskFile},
    store::{frames, wal::layout},
};

impl SegmentFiles {
    /// Let go of every segment before `before`; readers that have one go on. Gives them in order.
    pub(in crate::store::wal) fn remove_before(
        &self,
        before: u32,
    ) -> BTreeMap<u32, Arc<dyn DiskFile>> {
        let mut files = self.files.write().unwrap_or_else(PoisonError::into_inner);
        let kept = files.split_off(&before);
        std::mem::replace(&mut *files, kept)
    }

    /// The first segment; 1 when there is none.
    pub(in crate::store::wal) fn first(&self) -> u32 {
        let files = self.files.read().unwrap_or_else(PoisonError::into_inner);
        files.keys().next().copied().unwrap_or(1)
    }

    /// Whether a place lies in a segment that was removed since the place was learnt: a job's
    /// entry then names another.
    pub(in crate::store::wal) fn is_gone(&self, at: RecordAt) -> bool {
        layout::segment_and_offset(at).0 < self.first()
    }
}

impl Appender {
    /// The first segment that is there.
    pub(in crate::store::wal) fn first_segment(&self) -> u32 {
        self.files.first()
    }

    /// The segment that is written to; 1 when there is none yet.
    pub(in crate::store::wal) fn current_segment(&self) -> u32 {
        self.current.as_ref().map_or(1, |current| current.number)
    }

    /// Segments of so many bytes were removed.
    pub(in crate::store::wal) fn removed(&mut self, bytes: u64) {
        self.bytes_on_disk = self.bytes_on_disk.saturating_sub(bytes);
        // There is room now.
        self.spares.ask_again();
    }

    /// Bytes that can be appended without asking the disk for more.
    pub(in crate::store::wal) fn room(&self) -> u64 {
        let header = frames::SEGMENT_HEADER as u64;
        self.free() + self.spares.bytes().saturating_sub(header)
    }

    /// Give room back to the disk for what has to be written elsewhere: from the spare, else from the
    /// end of the current segment. An eighth of a segment stays. Whether there was as much to give.
    pub(in crate::store::wal) fn lend(&mut self, bytes: u64) -> Result<bool, DiskError> {
        let least = self.segment_bytes / 8;
        if self.spares.lend(bytes, least)? {
            return Ok(true);
        }
        let has_room = self.free() >= bytes + least;
        let Some(current) = self.current.as_mut().filter(|_| has_room) else {
            return Ok(false);
        };
        current.file.truncate(current.len - bytes)?;
        current.len -= bytes;
        self.bytes_on_disk -= bytes;
        Ok(true)
    }

    /// See that the next segment is there or in the making. The disk's answer when it is full.
    pub(in crate::store::wal) fn spare_is_coming(
        &mut self,
        mono: u64,
    ) -> Result<Option<DiskError>, DiskError> {
        self.spares.begin(self.segment_bytes, mono)?;
        Ok(self.spares.missing())
    }

    /// Let the next record go into a new segment.
    pub(in crate::store::wal) fn close_segment(&mut self, mono: u64) -> Result<(), DiskError> {
        self.spares.need(self.segment_bytes, mono)?;
        self.roll()
    }
}
