//! The dead letters: a store of its own, one append-only file.
//!
//! Knows nothing of the log; whoever buries a job writes the letter here first and the log's record
//! after it. The latest entry of an id wins: a letter, or a tombstone that takes it out. An entry
//! that cannot be read is listed too, and stays until someone deletes it.

mod file;
mod head;
mod index;
mod list;
mod load;
mod mend;
mod names;
mod read;
mod rewrite;
mod scan;
mod shorten;
mod view;
mod wanted;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
};

use sandhog_model::{JobId, Letter, Token};
use serde::{Deserialize, Serialize};

use self::{
    file::{DeadEntry, LettersFile, TOO_LARGE},
    head::EntryHead,
    index::{Entering, Index},
};
use super::{
    frames,
    lock::{self, HeldLock, Holder, LockError},
};
use crate::disk::{Disk, DiskError};

pub use file::LETTERS_FILE;
pub use mend::{LettersMended, mend};
pub use view::{
    DeadCount, DeadFilter, DeadRow, DeadWish, Imported, LetterBounds, LetterName, LetterRef,
    NotALetter, PurgeCounts, PurgeReason, Purged, RawLetter,
};
pub use wanted::BadList;

/// Why the dead letters could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum DeadOpenError {
    /// Another process changes them.
    #[error(transparent)]
    Locked(#[from] LockError),
    /// The file system refused.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The file is not one of ours, or of a newer format.
    #[error("{} holds no dead letters this version can read: {why}; it was left as it is", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What is wrong with its header.
        why: String,
    },
}

/// An entry that cannot be read. Its bytes stay in the file, through every rewrite, until someone
/// deletes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadDamage {
    /// Where the bad bytes start.
    pub offset: u64,
    /// How many they are.
    pub bytes: u64,
    /// What is wrong.
    pub why: String,
}

/// What an open found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DeadReport {
    /// Letters in the store.
    pub letters: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Entries that cannot be read.
    pub damage: Vec<DeadDamage>,
    /// Bytes of an entry that was being written at its end; cut when opened to write, after a copy.
    pub torn_tail_bytes: u64,
}

struct Inner {
    index: Index,
    /// Letters written since the last sync; shown to nobody yet.
    staged: Vec<Entering>,
    file: LettersFile,
    /// `None` when opened to read, and after the close.
    lock: Option<HeldLock>,
    /// Whether the file is being written anew.
    rewriting: bool,
}

/// The dead letters.
pub struct DeadStore {
    inner: Mutex<Inner>,
    report: DeadReport,
    /// The thread that writes the file anew, while there is one.
    rewriter: Mutex<Option<JoinHandle<()>>>,
}

/// About how many bytes a letter takes in the file, in whole blocks of a disk.
pub(in crate::store) fn letter_bytes(letter: &Letter) -> u64 {
    let body = frames::encode_entry(&DeadEntry::Letter(Box::new(letter.clone())));
    (frames::framed_len(body.len()) as u64).next_multiple_of(BLOCK)
}

/// Bytes of a disk's block, as most have it.
const BLOCK: u64 = 4096;

/// Where a data directory keeps its dead letters.
#[must_use]
pub fn dir(data: &Path) -> PathBuf {
    data.join("dead")
}

impl DeadStore {
    /// Open the letters in `dir` to change them, alone. Ends with an error naming the holder when
    /// the lock is not free within half a second.
    pub fn open(disk: Arc<dyn Disk>, dir: &Path, holder: &Holder) -> Result<Self, DeadOpenError> {
        crate::disk::create_dir_durably(&*disk, dir)?;
        let lock = lock::take(&*disk, dir, holder)?;
        // A name a killed run made but did not sync is relied on from here on.
        disk.sync_dir(dir)?;
        Ok(Self::of(load::load(disk, dir, true)?, Some(lock)))
    }

    /// Open the letters in `dir` to read them, whether or not another process changes them. What is
    /// half written is left alone.
    pub fn open_to_read(disk: Arc<dyn Disk>, dir: &Path) -> Result<Self, DeadOpenError> {
        Ok(Self::of(load::load(disk, dir, false)?, None))
    }

    fn of((file, index, report): (LettersFile, Index, DeadReport), lock: Option<HeldLock>) -> Self {
        Self {
            inner: Mutex::new(Inner {
                index,
                staged: Vec::new(),
                file,
                lock,
                rewriting: false,
            }),
            report,
            rewriter: Mutex::new(None),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the open found.
    #[must_use]
    pub fn report(&self) -> &DeadReport {
        &self.report
    }

    /// Let the directory go. What was opened is read on; nothing is written any more.
    pub fn close(&self) {
        self.inner().file.close();
        let thread = self.rewriter().take();
        if let Some(thread) = thread {
            // It sees the close at its next step. Its panic, if any, was told when it happened.
            let _ = thread.join();
        }
        self.inner().lock = None;
    }

    fn rewriter(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.rewriter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Write the file anew on a thread of its own, if most of it no longer counts.
    pub fn rewrite_behind(self: &Arc<Self>) {
        if !self.wants_rewrite() {
            return;
        }
        let dead = self.clone();
        let thread = std::thread::Builder::new().name("letters".to_owned());
        let thread = thread.spawn(move || match dead.rewrite() {
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "the dead letters cannot be written anew yet"),
        });
        match thread {
            Ok(thread) => *self.rewriter() = Some(thread),
            Err(error) => tracing::warn!(%error, "no thread to write the dead letters anew"),
        }
    }

    /// Letters in the store.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner().index.len()
    }

    /// Bytes of the file.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.inner().file.end
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Letters written and not yet shown.
    #[must_use]
    pub fn staged(&self) -> usize {
        self.inner().staged.len()
    }

    /// Every letter's id and the lease that buried it.
    #[must_use]
    pub fn tokens(&self) -> Vec<(JobId, Token)> {
        self.inner().index.tokens()
    }

    /// The lease that buried a job, when there is a letter for it.
    #[must_use]
    pub fn token(&self, id: JobId) -> Option<Token> {
        self.inner().index.get(id).map(|(_, facts)| facts.token)
    }

    /// Write a letter. Shown, and kept for sure, after [`Self::sync`]. Without room nothing
    /// changes.
    pub fn stage(&self, letter: &Letter) -> Result<(), DiskError> {
        let mut inner = self.inner();
        let bytes = |letter: Letter| frames::encode_entry(&DeadEntry::Letter(Box::new(letter)));
        let mut body = bytes(letter.clone());
        let place = match inner.file.append_body(&body) {
            Err(error) if error.kind == TOO_LARGE => {
                tracing::warn!(id = %letter.id(), "a dead letter's history is shortened to fit");
                body = bytes(shorten::shortened(letter));
                inner.file.append_body(&body)?
            }
            other => other?,
        };
        // As a reader of the file would see it.
        if let Ok(EntryHead::Letter(head)) = head::head(&body) {
            let entering = Entering::new(&head, place, &mut inner.index.names);
            inner.staged.push(entering);
        }
        Ok(())
    }

    /// Make every staged letter durable and show it. Gives whether there was any. After an error
    /// nothing more can be written. Readers go on meanwhile.
    pub fn sync(&self, durably: bool) -> Result<bool, DiskError> {
        if self.inner().staged.is_empty() {
            return Ok(false);
        }
        if durably {
            self.sync_all()?;
        }
        let mut inner = self.inner();
        for letter in std::mem::take(&mut inner.staged) {
            inner.index.insert(letter);
        }
        Ok(true)
    }

    /// Make everything appended so far durable, tombstones too. After an error nothing more can be
    /// written.
    pub fn sync_all(&self) -> Result<(), DiskError> {
        let (file, to) = {
            let inner = self.inner();
            if !inner.file.is_unsynced() {
                return Ok(());
            }
            (inner.file.writable("sync")?, inner.file.next_sequence)
        };
        let synced = file.sync();
        let mut inner = self.inner();
        if let Err(error) = synced {
            inner.file.broken = true;
            return Err(error);
        }
        // A rewrite that put a new file in its place has synced all that is in there.
        let is_same = inner
            .file
            .file
            .as_ref()
            .is_some_and(|now| Arc::ptr_eq(now, &file));
        if is_same {
            inner.file.unsynced_from = inner.file.unsynced_from.max(to);
        }
        Ok(())
    }

    /// Take letters out. Those that are not there are passed over. Gives how many were there.
    ///
    /// Not synced: whoever takes a letter out has said so in the log before, and the next open of
    /// the log takes it out again.
    pub fn remove(&self, ids: &[JobId]) -> Result<usize, DiskError> {
        let mut inner = self.inner();
        let mut removed = 0;
        for id in ids {
            if inner.index.order(*id).is_none() && inner.index.hole_of(*id).is_none() {
                continue;
            }
            let place = inner.file.append(&DeadEntry::Tombstone { id: *id })?;
            inner.index.remove(*id);
            inner.index.add_garbage(place.len);
            removed += 1;
        }
        Ok(removed)
    }

    /// Leave out what cannot be read. Whoever calls this has a copy of the file.
    pub fn leave_out_damage(&self) -> Result<(), DiskError> {
        let names: Vec<LetterName> = {
            let inner = self.inner();
            let holes = inner.index.holes();
            holes.map(|(at, _)| LetterName::Place(at)).collect()
        };
        self.clear(&names).map(|_| ())
    }

    /// Delete what no log knows: unreadable entries, by name or by the id they seem to be about, and
    /// letters. Durable when done: no log says it again. Gives for each whether it was there.
    pub fn clear(&self, names: &[LetterName]) -> Result<Vec<bool>, DiskError> {
        let mut cleared = Vec::with_capacity(names.len());
        for name in names {
            let mut inner = self.inner();
            let entry = match *name {
                LetterName::Place(at) => {
                    let is_there = inner.index.hole(at).is_some();
                    is_there.then_some(DeadEntry::Cleared { at })
                }
                LetterName::Job(id) => {
                    let is_there = inner.index.order(id).is_some();
                    let is_there = is_there || inner.index.hole_of(id).is_some();
                    is_there.then_some(DeadEntry::Tombstone { id })
                }
            };
            if let Some(entry) = &entry {
                let place = inner.file.append(entry)?;
                inner.index.add_garbage(place.len);
            }
            match entry {
                Some(DeadEntry::Cleared { at }) => drop(inner.index.remove_hole(at)),
                Some(DeadEntry::Tombstone { id }) => inner.index.remove(id),
                Some(DeadEntry::Letter(_) | DeadEntry::Unreadable(_)) | None => {}
            }
            cleared.push(entry.is_some());
        }
        self.sync_all()?;
        Ok(cleared)
    }
}

/// What frames of letters are sealed with, for tests that write their own.
#[cfg(test)]
pub(in crate::store) fn tests_seed() -> frames::Seed {
    file::seed()
}
