//! The file of letters and tombstones: reading it by windows, appending, cutting.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use sandhog_model::{JobId, Letter, limits::BODY_BYTES};
use serde::{Deserialize, Serialize};

use super::{
    DeadOpenError, DeadReport,
    head::{self, EntryHead, guess_id},
    index::Place,
    scan::{self, Piece, Scanned},
};
use crate::{
    disk::{Disk, DiskError, DiskFile, OpenMode},
    store::{StoreError, frames, wal::layout::LogId},
};

/// The kind of error that says that an entry fits in no frame.
pub(super) const TOO_LARGE: io::ErrorKind = io::ErrorKind::FileTooLarge;

/// Name of the file within its directory.
pub const LETTERS_FILE: &str = "letters";
pub(super) const NEW_FILE: &str = "letters.new";

/// What the file's frames are seeded with in place of a log's id and a segment's number, so that a
/// log's frame is never taken for a letter.
const LETTERS_ID: LogId = LogId(u128::from_be_bytes(*b"sandhog letters\0"));
const LETTERS_SEGMENT: u32 = 1;
pub(super) const START: u64 = frames::SEGMENT_HEADER as u64;
/// Bytes copied at a time when a tail is kept aside.
const COPY_BYTES: u64 = 1 << 20;
/// Bytes of a broken frame that are looked at for the id.
const GUESS_BYTES: u64 = 64;

/// One entry of the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum DeadEntry {
    Letter(Box<Letter>),
    Tombstone {
        id: JobId,
    },
    /// What a rewrite found in place of an entry, in a sound frame of its own.
    Unreadable(Unreadable),
    /// The unreadable entry with this name is gone.
    Cleared {
        at: u64,
    },
}

/// Bytes that are no entry, kept until someone deletes them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Unreadable {
    /// The id they seem to be about.
    pub(super) id: Option<JobId>,
    /// Where they were found first: their name.
    pub(super) at: u64,
    /// What is wrong with them.
    pub(super) why: String,
    #[serde(with = "serde_bytes")]
    pub(super) bytes: Vec<u8>,
}

/// A sound frame around something else than an entry of this version.
pub(super) struct Unknown {
    pub(super) why: String,
    /// The id it seems to be about.
    pub(super) id: Option<JobId>,
}

/// The open file.
pub(super) struct LettersFile {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) dir: PathBuf,
    /// `None` when opened to read and there is none yet.
    pub(super) file: Option<Arc<dyn DiskFile>>,
    pub(super) end: u64,
    pub(super) next_sequence: u64,
    pub(super) unsynced_from: u64,
    /// Set after a failure that leaves the file's end unknown, and by the close.
    pub(super) broken: bool,
}

pub(super) fn seed() -> frames::Seed {
    frames::seed(LETTERS_ID, LETTERS_SEGMENT)
}

/// The first bytes of a file of letters.
pub(super) fn header() -> [u8; frames::SEGMENT_HEADER] {
    frames::segment_header(LETTERS_ID, LETTERS_SEGMENT, 1)
}

impl LettersFile {
    /// Open and read the file, telling every piece in its order as `read` understood it, a broken one
    /// with the id it seems to be about. To write it
    /// is made when missing, and a torn tail is copied aside and cut.
    pub(super) fn open<T>(
        disk: Arc<dyn Disk>,
        dir: &Path,
        to_write: bool,
        mut read: impl FnMut(Place, Result<EntryHead<'_>, Unknown>) -> T,
        mut tell: impl FnMut(Piece<T>, Option<JobId>),
    ) -> Result<(Self, DeadReport), DeadOpenError> {
        let path = dir.join(LETTERS_FILE);
        let mut letters = Self {
            disk,
            dir: dir.to_path_buf(),
            file: None,
            end: START,
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
        let mode = [OpenMode::Read, OpenMode::Write][usize::from(to_write)];
        let file = letters.disk.open(&path, mode)?;
        let mut first = [0; frames::SEGMENT_HEADER];
        let filled = file.read_at(0, &mut first)?;
        frames::check_header(&first[..filled], LETTERS_ID, LETTERS_SEGMENT)
            .map_err(|why| DeadOpenError::Foreign { path, why })?;
        let scanned = scan::scan(
            &*file,
            START,
            seed(),
            |place, body| {
                let entry = head::head(body).map_err(|why| Unknown {
                    why,
                    id: guess_id(body),
                });
                read(place, entry)
            },
            |piece| {
                let id = match &piece {
                    Piece::Hole { place, .. } => guess(&*file, *place),
                    Piece::Entry { .. } => None,
                };
                tell(piece, id);
            },
        )?;
        let report = DeadReport {
            bytes: scanned.end,
            torn_tail_bytes: scanned.torn,
            ..DeadReport::default()
        };
        if to_write {
            if file.len()? > scanned.end {
                letters.cut(&*file, &scanned)?;
            } else {
                // What a killed run wrote may be in the system's memory alone.
                file.sync()?;
            }
        }
        letters.file = Some(file);
        letters.end = scanned.end;
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
    fn cut(&self, file: &dyn DiskFile, scanned: &Scanned) -> Result<(), DiskError> {
        let (end, torn) = (scanned.end, scanned.torn);
        if torn > 0 {
            let path = self.dir.join(format!("torn-{end}.bin"));
            let copy = self.disk.open(&path, OpenMode::Replace)?;
            let mut done = 0;
            while done < torn {
                let len = COPY_BYTES.min(torn - done);
                let place = Place {
                    offset: end + done,
                    len,
                };
                copy.write_at(done, &raw(file, place)?)?;
                done += len;
            }
            copy.sync()?;
            self.disk.sync_dir(&self.dir)?;
            tracing::warn!(
                path = %file.path().display(), offset = end, bytes = torn, copy = %path.display(),
                "the last dead letter was not written to its end and is cut; it was never acknowledged"
            );
        }
        file.truncate(end)?;
        file.sync()
    }

    /// Append an entry. Without room for it, or when it fits in no frame, nothing changes.
    pub(super) fn append(&mut self, entry: &DeadEntry) -> Result<Place, DiskError> {
        self.append_body(&frames::encode_entry(entry))
    }

    /// The same with the entry's bytes.
    pub(super) fn append_body(&mut self, body: &[u8]) -> Result<Place, DiskError> {
        let file = self.writable("write")?;
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
            body,
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

    /// Whether something was appended that no sync covers.
    pub(super) fn is_unsynced(&self) -> bool {
        self.unsynced_from < self.next_sequence
    }

    /// Write nothing from now on: another may own the file.
    pub(super) fn close(&mut self) {
        self.broken = true;
    }

    pub(super) fn writable(&self, wish: &'static str) -> Result<Arc<dyn DiskFile>, DiskError> {
        match &self.file {
            Some(file) if !self.broken => Ok(file.clone()),
            Some(_) | None => {
                let path = self.dir.join(LETTERS_FILE);
                let cause = io::Error::other("it was closed, or an earlier write failed");
                Err(DiskError::new(wish, &path, &cause))
            }
        }
    }
}

/// The bytes at a place, fewer when the file ends there.
pub(super) fn raw(file: &dyn DiskFile, place: Place) -> Result<Vec<u8>, DiskError> {
    let mut bytes = vec![0; place.len as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        let more = file.read_at(place.offset + filled as u64, &mut bytes[filled..])?;
        if more == 0 {
            bytes.truncate(filled);
        }
        filled += more;
    }
    Ok(bytes)
}

/// The id that a broken frame seems to be about.
fn guess(file: &dyn DiskFile, place: Place) -> Option<JobId> {
    let len = place.len.min(GUESS_BYTES);
    let start = raw(file, Place { len, ..place }).ok()?;
    guess_id(start.get(frames::framed_len(0)..)?)
}

/// The body of the frame at a place, for `use_body`; why there is none otherwise.
pub(super) fn with_body<T>(
    file: &dyn DiskFile,
    place: Place,
    use_body: impl FnOnce(&[u8]) -> Result<T, String>,
) -> Result<T, String> {
    let bytes = raw(file, place).map_err(|error| error.to_string())?;
    match frames::first(&bytes, seed()) {
        frames::First::Frame(frame) => use_body(frame.body),
        frames::First::Short { .. } | frames::First::Empty | frames::First::Corrupt(_) => {
            Err("it no longer matches its checksum".to_owned())
        }
    }
}

/// Read the letter at a place.
pub(super) fn letter(file: &dyn DiskFile, place: Place) -> Result<Letter, StoreError> {
    let read = with_body(file, place, |body| match rmp_serde::from_slice(body) {
        Ok(DeadEntry::Letter(letter)) => Ok(*letter),
        Ok(DeadEntry::Tombstone { .. } | DeadEntry::Unreadable(_) | DeadEntry::Cleared { .. }) => {
            Err("an entry that is no letter".to_owned())
        }
        Err(error) => Err(error.to_string()),
    });
    read.map_err(|why| StoreError::Damaged {
        path: file.path().display().to_string(),
        offset: place.offset,
        why,
    })
}

/// The bytes an entry keeps of one that could not be read, when it is such an entry.
pub(super) fn kept(body: &[u8]) -> Result<Option<Vec<u8>>, String> {
    Ok(match head::head(body)? {
        EntryHead::Unreadable(kept) => Some(kept.bytes.to_vec()),
        EntryHead::Letter(_) | EntryHead::Tombstone { .. } | EntryHead::Cleared { .. } => None,
    })
}
