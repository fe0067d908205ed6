//! The file of letters and tombstones: reading it whole, appending, rewriting.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use sandhog_model::{JobId, Letter, limits::BODY_BYTES};
use serde::{Deserialize, Serialize};

use super::{
    DeadDamage, DeadOpenError, DeadReport,
    index::{Index, Place},
    scan::{self, Piece},
};
use crate::{
    disk::{Disk, DiskError, DiskFile, OpenMode, read_all},
    store::{StoreError, frames, wal::layout::LogId},
};

/// The kind of error that says that an entry fits in no frame.
pub(super) const TOO_LARGE: io::ErrorKind = io::ErrorKind::FileTooLarge;

/// Name of the file within its directory.
pub const LETTERS_FILE: &str = "letters";
const NEW_FILE: &str = "letters.new";

/// What the file's frames are seeded with in place of a log's id and a segment's number, so that a
/// log's frame is never taken for a letter.
const LETTERS_ID: LogId = LogId(u128::from_be_bytes(*b"sandhog letters\0"));
const LETTERS_SEGMENT: u32 = 1;

/// One entry of the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum DeadEntry {
    Letter(Box<Letter>),
    Tombstone { id: JobId },
}

/// The open file.
pub(super) struct LettersFile {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    /// `None` when opened to read and there is none yet.
    file: Option<Arc<dyn DiskFile>>,
    end: u64,
    next_sequence: u64,
    unsynced_from: u64,
    /// Set after a failure that leaves the file's end unknown, and by the close.
    broken: bool,
}

pub(super) fn seed() -> frames::Seed {
    frames::seed(LETTERS_ID, LETTERS_SEGMENT)
}

/// The file's first bytes.
pub(super) fn header() -> [u8; frames::SEGMENT_HEADER] {
    frames::segment_header(LETTERS_ID, LETTERS_SEGMENT, 1)
}

impl LettersFile {
    /// Open and read the file, telling every entry in its order. To write it is made when missing,
    /// and a torn tail is copied aside and cut.
    pub(super) fn open(
        disk: Arc<dyn Disk>,
        dir: &Path,
        to_write: bool,
        mut tell: impl FnMut(DeadEntry, Place),
    ) -> Result<(Self, DeadReport), DeadOpenError> {
        let path = dir.join(LETTERS_FILE);
        let mut letters = Self {
            disk,
            dir: dir.to_path_buf(),
            file: None,
            end: frames::SEGMENT_HEADER as u64,
            next_sequence: 1,
            unsynced_from: 1,
            broken: false,
        };
        if !letters.disk.exists(&path)? {
            if !to_write {
                return Ok((letters, DeadReport::default()));
            }
            letters.create(&path)?;
        }
        let mode = if to_write {
            OpenMode::Write
        } else {
            OpenMode::Read
        };
        let file = letters.disk.open(&path, mode)?;
        let bytes = read_all(&*file)?;
        frames::check_header(&bytes, LETTERS_ID, LETTERS_SEGMENT)
            .map_err(|why| DeadOpenError::Foreign { path, why })?;
        let scanned = scan::scan(&bytes, frames::SEGMENT_HEADER, seed());
        let mut report = DeadReport {
            bytes: scanned.end as u64,
            torn_tail_bytes: scanned.torn as u64,
            ..DeadReport::default()
        };
        for piece in &scanned.pieces {
            match piece {
                Piece::Frame { offset, len, body } => match rmp_serde::from_slice(body) {
                    Ok(entry) => tell(entry, place(*offset, *len)),
                    Err(error) => report.damage.push(DeadDamage {
                        offset: *offset as u64,
                        bytes: *len as u64,
                        why: format!("the entry is sound but says nothing known: {error}"),
                    }),
                },
                Piece::Hole { offset, len, why } => report.damage.push(DeadDamage {
                    offset: *offset as u64,
                    bytes: *len as u64,
                    why: (*why).to_owned(),
                }),
            }
        }
        if to_write {
            if bytes.len() > scanned.end {
                letters.cut(&*file, &bytes, scanned.end, scanned.torn)?;
            } else {
                // What a killed run wrote may be in the system's memory alone.
                file.sync()?;
            }
        }
        letters.file = Some(file);
        letters.end = scanned.end as u64;
        letters.next_sequence = scanned.last_sequence + 1;
        letters.unsynced_from = letters.next_sequence;
        Ok((letters, report))
    }

    /// An empty file: complete before it gets its name.
    fn create(&self, path: &Path) -> Result<(), DiskError> {
        let new = self.dir.join(NEW_FILE);
        let file = self.disk.open(&new, OpenMode::Replace)?;
        file.write_at(0, &header())?;
        file.sync()?;
        self.disk.rename(&new, path)?;
        self.disk.sync_dir(&self.dir)
    }

    /// Cut what follows the last sound entry, after a copy when it is more than zeros.
    fn cut(
        &self,
        file: &dyn DiskFile,
        bytes: &[u8],
        end: usize,
        torn: usize,
    ) -> Result<(), DiskError> {
        if torn > 0 {
            let path = self.dir.join(format!("torn-{end}.bin"));
            self.keep_aside(&path, &bytes[end..end + torn])?;
            tracing::warn!(
                path = %file.path().display(), offset = end, bytes = torn, copy = %path.display(),
                "the last dead letter was not written to its end and is cut; it was never acknowledged"
            );
        }
        file.truncate(end as u64)?;
        file.sync()
    }

    fn keep_aside(&self, path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
        let copy = self.disk.open(path, OpenMode::Replace)?;
        copy.write_at(0, bytes)?;
        copy.sync()?;
        self.disk.sync_dir(&self.dir)
    }

    /// Append an entry. Without room for it, or when it fits in no frame, nothing changes.
    pub(super) fn append(&mut self, entry: &DeadEntry) -> Result<Place, DiskError> {
        let file = self.writable("write")?;
        let body = frames::encode_entry(entry);
        if body.len() > BODY_BYTES {
            let cause = io::Error::from(TOO_LARGE);
            return Err(DiskError::new("write a letter to", file.path(), &cause));
        }
        let mut bytes = Vec::with_capacity(frames::framed_len(body.len()));
        frames::put(
            &mut bytes,
            seed(),
            self.next_sequence,
            self.unsynced_from,
            &body,
        );
        if let Err(error) = file.write_at(self.end, &bytes) {
            // What is left of the entry must not come before the next one.
            if !error.is_full() || file.truncate(self.end).is_err() {
                self.broken = true;
            }
            return Err(error);
        }
        let place = Place {
            offset: self.end,
            len: bytes.len() as u64,
        };
        self.end += place.len;
        self.next_sequence += 1;
        Ok(place)
    }

    /// Make what was appended durable.
    pub(super) fn sync(&mut self) -> Result<(), DiskError> {
        let file = self.writable("sync")?;
        if let Err(error) = file.sync() {
            self.broken = true;
            return Err(error);
        }
        self.unsynced_from = self.next_sequence;
        Ok(())
    }

    /// Write nothing from now on: another may own the file.
    pub(super) fn close(&mut self) {
        self.broken = true;
    }

    fn writable(&self, wish: &'static str) -> Result<Arc<dyn DiskFile>, DiskError> {
        match &self.file {
            Some(file) if !self.broken => Ok(file.clone()),
            Some(_) | None => {
                let path = self.dir.join(LETTERS_FILE);
                let cause = io::Error::other("it was closed, or an earlier write failed");
                Err(DiskError::new(wish, &path, &cause))
            }
        }
    }

    /// Read the letter at a place.
    pub(super) fn read(&self, place: Place) -> Result<Letter, StoreError> {
        let path = self.dir.join(LETTERS_FILE);
        let damaged = |why: String| StoreError::Damaged {
            path: path.display().to_string(),
            offset: place.offset,
            why,
        };
        let bytes = self
            .raw(place)
            .map_err(|error| damaged(error.to_string()))?;
        let frames::First::Frame(frame) = frames::first(&bytes, seed()) else {
            return Err(damaged(
                "the letter no longer matches its checksum".to_owned(),
            ));
        };
        match rmp_serde::from_slice(frame.body) {
            Ok(DeadEntry::Letter(letter)) => Ok(*letter),
            Ok(DeadEntry::Tombstone { .. }) => Err(damaged("a tombstone, no letter".to_owned())),
            Err(error) => Err(damaged(error.to_string())),
        }
    }

    fn raw(&self, place: Place) -> Result<Vec<u8>, DiskError> {
        let mut bytes = vec![0; place.len as usize];
        if let Some(file) = &self.file {
            let filled = file.read_at(place.offset, &mut bytes)?;
            bytes.truncate(filled);
        }
        Ok(bytes)
    }

    /// Write a file of the letters that count and put it in this one's place. Entries that could
    /// not be read are copied aside first.
    pub(super) fn rewrite(
        &mut self,
        index: &mut Index,
        damage: &[DeadDamage],
    ) -> Result<(), DiskError> {
        self.writable("rewrite")?;
        for hole in damage {
            let path = self.dir.join(format!("unreadable-{}.bin", hole.offset));
            if !self.disk.exists(&path)? {
                let bytes = self.raw(Place {
                    offset: hole.offset,
                    len: hole.bytes,
                })?;
                self.keep_aside(&path, &bytes)?;
            }
        }
        let new_path = self.dir.join(NEW_FILE);
        let new = self.disk.open(&new_path, OpenMode::Replace)?;
        match self.copy_to(&*new, index) {
            Ok(copied) => {
                let path = self.dir.join(LETTERS_FILE);
                let renamed = self
                    .disk
                    .rename(&new_path, &path)
                    .and_then(|()| self.disk.sync_dir(&self.dir))
                    .and_then(|()| self.disk.open(&path, OpenMode::Write));
                // Which of the two files a restart finds is not known after a failure here.
                self.broken = renamed.is_err();
                self.file = Some(renamed?);
                self.end = copied.end;
                self.next_sequence = copied.next_sequence;
                self.unsynced_from = copied.next_sequence;
                index.moved(&copied.places);
                Ok(())
            }
            Err(error) => {
                // The old file still has everything; a later removal tries again.
                let _ = self.disk.remove(&new_path);
                if error.is_full() { Ok(()) } else { Err(error) }
            }
        }
    }

    fn copy_to(&self, new: &dyn DiskFile, index: &Index) -> Result<Copied, DiskError> {
        let mut bytes = frames::segment_header(LETTERS_ID, LETTERS_SEGMENT, 1).to_vec();
        let mut written = 0;
        let mut places = Vec::with_capacity(index.len());
        let mut sequence = 1;
        for (id, place) in index.oldest_first() {
            let old = self.raw(place)?;
            let offset = written + bytes.len() as u64;
            if let frames::First::Frame(frame) = frames::first(&old, seed()) {
                frames::put(&mut bytes, seed(), sequence, 1, frame.body);
                sequence += 1;
            } else {
                // Rotted since the open: kept as it is, so that it is not lost silently.
                bytes.extend_from_slice(&old);
            }
            let len = written + bytes.len() as u64 - offset;
            places.push((id, Place { offset, len }));
            if bytes.len() >= WRITE_BYTES {
                new.write_at(written, &bytes)?;
                written += bytes.len() as u64;
                bytes.clear();
            }
        }
        new.write_at(written, &bytes)?;
        written += bytes.len() as u64;
        new.sync()?;
        Ok(Copied {
            places,
            end: written,
            next_sequence: sequence,
        })
    }
}

/// A file that a rewrite made.
struct Copied {
    places: Vec<(JobId, Place)>,
    end: u64,
    next_sequence: u64,
}

/// Bytes gathered before a write of a rewrite.
const WRITE_BYTES: usize = 1 << 20;

fn place(offset: usize, len: usize) -> Place {
    Place {
        offset: offset as u64,
        len: len as u64,
    }
}
