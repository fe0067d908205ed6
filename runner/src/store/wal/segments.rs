//! The files of one log: appending frames to the last segment, reading a record anywhere.
//!
//! The next segment is zero-filled and synced ahead of its use (see `spare`), so that appending never
//! meets a full disk, and a sync need not write the file's length. A file gets a segment's name only
//! with its header in it, and only after all before it is on the device.

mod front;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use sandhog_model::{Record, RecordAt};

use super::{
    layout::{self, LogId},
    room::Room,
    spare::Spares,
};
use crate::{
    disk::{Disk, DiskError, DiskFile, OpenMode},
    store::{StoreError, frames},
};

/// Bytes read at once for a record; most records need one read.
const FIRST_READ: usize = 2048;

/// The open segments, shared by the writer and all readers.
pub(super) struct SegmentFiles {
    log: LogId,
    files: RwLock<BTreeMap<u32, Arc<dyn DiskFile>>>,
}

impl SegmentFiles {
    pub(super) fn new(log: LogId) -> Self {
        Self {
            log,
            files: RwLock::default(),
        }
    }

    pub(super) fn insert(&self, number: u32, file: Arc<dyn DiskFile>) {
        self.files
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(number, file);
    }

    pub(super) fn count(&self) -> u64 {
        self.files
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .len() as u64
    }

    /// Read the record that lies at `at` on disk.
    pub(super) fn read(&self, at: RecordAt) -> Result<Record, StoreError> {
        let (segment, offset) = layout::segment_and_offset(at);
        let file = self
            .files
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&segment)
            .cloned();
        let Some(file) = file else {
            return Err(StoreError::Damaged {
                path: format!("segment {segment}"),
                offset,
                why: "the segment is not there".to_owned(),
            });
        };
        let damaged = |why: String| StoreError::Damaged {
            path: file.path().display().to_string(),
            offset,
            why,
        };
        let mut bytes = vec![0; FIRST_READ];
        loop {
            let filled = file
                .read_at(offset, &mut bytes)
                .map_err(|error| damaged(error.to_string()))?;
            match frames::first(&bytes[..filled], frames::seed(self.log, segment)) {
                frames::First::Frame(frame) => {
                    return frames::decode_record(frame.body).map_err(damaged);
                }
                frames::First::Short { need } if filled == bytes.len() => {
                    bytes.resize(need, 0);
                }
                frames::First::Short { .. } => {
                    return Err(damaged("the file ends inside the record".to_owned()));
                }
                frames::First::Empty => {
                    return Err(damaged("zeros where a record was".to_owned()));
                }
                frames::First::Corrupt(why) => return Err(damaged(why.to_owned())),
            }
        }
    }
}

struct Current {
    number: u32,
    seed: frames::Seed,
    file: Arc<dyn DiskFile>,
    /// Where the next byte goes, pending ones not counted.
    end: u64,
    len: u64,
}

/// The writing end of a log.
pub(super) struct Appender {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    log: LogId,
    files: Arc<SegmentFiles>,
    segment_bytes: u64,
    current: Option<Current>,
    spares: Spares,
    next_sequence: u64,
    /// The first sequence that may not be on the device.
    unsynced_from: u64,
    /// Frames that follow `current.end` and are not written yet.
    pending: Vec<u8>,
    bytes_on_disk: u64,
}

/// The segment that an appender goes on with.
#[derive(Debug, Clone, Copy)]
pub(super) struct LastSegment {
    pub(super) number: u32,
    /// Where its next frame goes.
    pub(super) end: u64,
    /// Whether it has an older format: then nothing is appended to it.
    pub(super) is_older: bool,
}

/// Where an appender goes on after recovery.
pub(super) struct Tail {
    /// The last segment; `None` in a new log.
    pub(super) last: Option<LastSegment>,
    /// The next frame's sequence.
    pub(super) next_sequence: u64,
    /// Bytes of all segments.
    pub(super) bytes_on_disk: u64,
}

impl Appender {
    /// Go on at `tail`. A spare left by an earlier run is removed: how far it was filled is not
    /// known.
    pub(super) fn resume(
        disk: Arc<dyn Disk>,
        dir: &Path,
        files: Arc<SegmentFiles>,
        segment_bytes: u64,
        tail: &Tail,
        background: bool,
    ) -> Result<Self, DiskError> {
        let spare = layout::spare_path(dir);
        if disk.exists(&spare)? {
            disk.remove(&spare)?;
        }
        let current = match tail.last {
            None => None,
            Some(LastSegment {
                number,
                end,
                is_older,
            }) => {
                let file = disk.open(&layout::segment_path(dir, number), OpenMode::Write)?;
                // One that is full makes the next record roll.
                let len = if is_older { end } else { file.len()? };
                Some(Current {
                    number,
                    seed: frames::seed(files.log, number),
                    file,
                    end,
                    len,
                })
            }
        };
        Ok(Self {
            log: files.log,
            spares: Spares::new(disk.clone(), dir, background),
            disk,
            dir: dir.to_path_buf(),
            files,
            segment_bytes,
            current,
            next_sequence: tail.next_sequence,
            unsynced_from: tail.next_sequence,
            pending: Vec::new(),
            bytes_on_disk: tail.bytes_on_disk,
        })
    }

    pub(super) fn bytes_on_disk(&self) -> u64 {
        self.bytes_on_disk
    }

    pub(super) fn segments(&self) -> u64 {
        self.files.count()
    }

    /// Bytes appended and not yet written.
    pub(super) fn pending_bytes(&self) -> usize {
        self.pending.len()
    }

    /// Whether something was appended that a sync has not covered.
    pub(super) fn is_unsynced(&self) -> bool {
        self.unsynced_from < self.next_sequence
    }

    /// The size at which a segment is closed.
    pub(super) fn segment_bytes(&self) -> u64 {
        self.segment_bytes
    }

    /// Make room for a frame around a body of `body` bytes, so that appending it cannot meet a
    /// full disk, and so that what is more important than it still finds room after it. While there
    /// is room, the next segment is made ready meanwhile. A full disk is asked again only after a
    /// while.
    pub(super) fn reserve(&mut self, body: usize, room: Room, mono: u64) -> Result<(), DiskError> {
        let frame = frames::framed_len(body) as u64;
        let kept = room.kept(self.segment_bytes);
        let free = self.free();
        if frame + kept <= free {
            return self.spares.begin(self.segment_bytes, mono);
        }
        // What fits is written here, and only what is kept has to be there.
        let least = if frame <= free {
            frame + kept - free
        } else {
            frames::SEGMENT_HEADER as u64 + frame + kept
        };
        match self.spares.need(self.segment_bytes.max(least), mono) {
            // One that gave room away is shorter than others, and does as well.
            Err(full) if full.is_full() && self.spares.bytes() >= least => Ok(()),
            other => other,
        }
    }

    /// Bytes left in the current segment.
    fn free(&self) -> u64 {
        self.current.as_ref().map_or(0, |current| {
            let end = current.end + self.pending.len() as u64;
            current.len.saturating_sub(end)
        })
    }

    /// Whether a frame around a body of `body` bytes begins the next segment.
    pub(super) fn will_roll(&self, body: usize) -> bool {
        frames::framed_len(body) as u64 > self.free()
    }

    /// The segment that is written.
    pub(super) fn file(&self) -> Option<Arc<dyn DiskFile>> {
        self.current.as_ref().map(|current| current.file.clone())
    }

    /// The sequence of the next frame.
    pub(super) fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// Where the next frame will lie, or before it.
    pub(super) fn next_place(&self) -> RecordAt {
        self.current.as_ref().map_or(RecordAt(0), |current| {
            layout::place(current.number, current.end + self.pending.len() as u64)
        })
    }

    /// Frames before this sequence were synced by another.
    pub(super) fn is_synced_to(&mut self, sequence: u64) {
        self.unsynced_from = self.unsynced_from.max(sequence);
    }

    /// Append a frame around `body`, for which [`Self::reserve`] made room. The bytes wait for
    /// [`Self::write`].
    pub(super) fn append(&mut self, body: &[u8]) -> Result<RecordAt, DiskError> {
        if self.will_roll(body.len()) {
            self.roll()?;
        }
        let Some(current) = &self.current else {
            unreachable!("rolling gives a segment");
        };
        let at = layout::place(current.number, current.end + self.pending.len() as u64);
        frames::put(
            &mut self.pending,
            current.seed,
            self.next_sequence,
            self.unsynced_from,
            body,
        );
        self.next_sequence += 1;
        Ok(at)
    }

    /// Hand what was appended to the operating system.
    pub(super) fn write(&mut self) -> Result<(), DiskError> {
        if let Some(current) = &mut self.current
            && !self.pending.is_empty()
        {
            current.file.write_at(current.end, &self.pending)?;
            current.end += self.pending.len() as u64;
            self.pending.clear();
        }
        Ok(())
    }

    /// Sync what was written.
    pub(super) fn sync(&mut self) -> Result<(), DiskError> {
        if let Some(current) = &self.current {
            current.file.sync()?;
        }
        self.unsynced_from = self.next_sequence;
        Ok(())
    }

    /// Read a record, also one that is not written yet.
    pub(super) fn read(&self, at: RecordAt) -> Result<Record, StoreError> {
        let (segment, offset) = layout::segment_and_offset(at);
        if let Some(current) = &self.current
            && current.number == segment
            && offset >= current.end
        {
            let from = (offset - current.end) as usize;
            let bytes = self.pending.get(from..).unwrap_or_default();
            if let frames::First::Frame(frame) =
                frames::first(bytes, frames::seed(self.log, segment))
                && let Ok(record) = frames::decode_record(frame.body)
            {
                return Ok(record);
            }
        }
        self.files.read(at)
    }

    /// Turn the spare into the next segment. All before it is synced first, in every durability
    /// setting, so that a named segment never follows a gap.
    fn roll(&mut self) -> Result<(), DiskError> {
        self.write()?;
        if self.is_unsynced() {
            self.sync()?;
        }
        let number = self
            .current
            .as_ref()
            .map_or(1, |current| current.number + 1);
        let Some(spare) = self.spares.take() else {
            unreachable!("room was reserved before a frame is appended");
        };
        let header = frames::segment_header(self.log, number, self.next_sequence);
        spare.file.write_at(0, &header)?;
        spare.file.sync()?;
        let path = layout::segment_path(&self.dir, number);
        self.disk.rename(spare.file.path(), &path)?;
        self.disk.sync_dir(&self.dir)?;
        let file = self.disk.open(&path, OpenMode::Write)?;
        self.files.insert(number, file.clone());
        self.bytes_on_disk += spare.len;
        self.current = Some(Current {
            number,
            seed: frames::seed(self.log, number),
            file,
            end: frames::SEGMENT_HEADER as u64,
            len: spare.len,
        });
        Ok(())
    }
}
