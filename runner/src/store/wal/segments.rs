//! The files of one log: appending frames to the last segment, reading a record anywhere.
//!
//! The next segment is zero-filled and synced ahead of its use, so that appending never meets a
//! full disk, and a sync need not write the file's length. A file gets a segment's name only with
//! its header in it, and only after all before it is on the device.

mod front;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use sandhog_model::{Record, RecordAt};

use super::layout::{self, LogId};
use crate::{
    disk::{Disk, DiskError, DiskFile, OpenMode},
    store::{StoreError, frames},
};

/// Bytes zeroed at once when a segment is prepared.
const ZEROS: usize = 1 << 20;
/// Milliseconds after which a full disk is asked for room again: each try writes until it fails.
const FULL_MS: u64 = 500;
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
    file: Arc<dyn DiskFile>,
    /// Where the next byte goes, pending ones not counted.
    end: u64,
    len: u64,
}

struct Spare {
    file: Arc<dyn DiskFile>,
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
    spare: Option<Spare>,
    next_sequence: u64,
    /// The first sequence that may not be on the device.
    unsynced_from: u64,
    /// Frames that follow `current.end` and are not written yet.
    pending: Vec<u8>,
    bytes_on_disk: u64,
    /// After a full disk, when to look for room again, by the steady clock.
    full_until: u64,
    full: Option<DiskError>,
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
                    file,
                    end,
                    len,
                })
            }
        };
        Ok(Self {
            log: files.log,
            disk,
            dir: dir.to_path_buf(),
            files,
            segment_bytes,
            current,
            spare: None,
            next_sequence: tail.next_sequence,
            unsynced_from: tail.next_sequence,
            pending: Vec::new(),
            bytes_on_disk: tail.bytes_on_disk,
            full_until: 0,
            full: None,
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

    /// Make room for a frame around a body of `body` bytes, so that appending it cannot meet a
    /// full disk. With `keep_reserve` the next segment has to be there too: new work is refused
    /// while outcomes still find room. A full disk is asked again only after a while.
    pub(super) fn reserve(
        &mut self,
        body: usize,
        keep_reserve: bool,
        mono: u64,
    ) -> Result<(), DiskError> {
        let frame = frames::framed_len(body) as u64;
        let fits = self
            .current
            .as_ref()
            .is_some_and(|current| current.end + self.pending.len() as u64 + frame <= current.len);
        if fits && !keep_reserve {
            return Ok(());
        }
        let wanted = if fits {
            self.segment_bytes
        } else {
            self.segment_bytes
                .max(frames::SEGMENT_HEADER as u64 + frame)
        };
        if self.spare.as_ref().is_some_and(|spare| spare.len >= wanted) {
            return Ok(());
        }
        if let Some(error) = &self.full
            && mono < self.full_until
        {
            return Err(error.clone());
        }
        let made = self.make_spare(wanted);
        self.full = match &made {
            Err(error) if error.is_full() => Some(error.clone()),
            Err(_) | Ok(()) => None,
        };
        self.full_until = mono.saturating_add(FULL_MS);
        made
    }

    fn make_spare(&mut self, wanted: u64) -> Result<(), DiskError> {
        match &mut self.spare {
            Some(spare) => {
                zero(&*spare.file, spare.len, wanted)?;
                spare.file.sync()?;
                spare.len = wanted;
            }
            None => self.spare = Some(prepare(&*self.disk, &self.dir, wanted)?),
        }
        Ok(())
    }

    /// Append a frame around `body`, for which [`Self::reserve`] made room. The bytes wait for
    /// [`Self::write`].
    pub(super) fn append(&mut self, body: &[u8]) -> Result<RecordAt, DiskError> {
        let frame = frames::framed_len(body.len()) as u64;
        let fits = self
            .current
            .as_ref()
            .is_some_and(|current| current.end + self.pending.len() as u64 + frame <= current.len);
        if !fits {
            self.roll()?;
        }
        let Some(current) = &self.current else {
            unreachable!("rolling gives a segment");
        };
        let at = layout::place(current.number, current.end + self.pending.len() as u64);
        frames::put(
            &mut self.pending,
            frames::seed(self.log, current.number),
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
        let Some(spare) = self.spare.take() else {
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
            file,
            end: frames::SEGMENT_HEADER as u64,
            len: spare.len,
        });
        Ok(())
    }
}

/// Make a zero-filled file. Nothing of it is left when there is no room.
fn prepare(disk: &dyn Disk, dir: &Path, len: u64) -> Result<Spare, DiskError> {
    let path = layout::spare_path(dir);
    let file = disk.open(&path, OpenMode::Replace)?;
    let filled = zero(&*file, 0, len).and_then(|()| file.sync());
    match filled {
        Ok(()) => Ok(Spare { file, len }),
        Err(error) => {
            // A half-filled spare would only take room from others; when it cannot be removed the
            // next open does it.
            let _ = disk.remove(&path);
            Err(error)
        }
    }
}

fn zero(file: &dyn DiskFile, from: u64, to: u64) -> Result<(), DiskError> {
    let zeros = vec![0; ZEROS.min((to - from) as usize)];
    let mut at = from;
    while at < to {
        let more = zeros.len().min((to - at) as usize);
        file.write_at(at, &zeros[..more])?;
        at += more as u64;
    }
    Ok(())
}
