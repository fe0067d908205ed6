//! The dead letters: a store of its own, one append-only file.
//!
//! Knows nothing of the log; whoever buries a job writes the letter here first and the log's record
//! after it. The latest entry of an id wins: a letter, or a tombstone that takes it out.

mod file;
mod index;
mod mend;
mod scan;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use sandhog_model::{JobId, Letter, Token, UnixMs};
use serde::{Deserialize, Serialize};

use self::{
    file::{DeadEntry, LettersFile, TOO_LARGE},
    index::{Index, Place},
};
use super::{
    JobFilter, Page, PageRequest, StoreError,
    lock::{self, HeldLock, Holder, LockError},
};
use crate::{
    disk::{Disk, DiskError},
    store::DeadRow,
};

pub use file::LETTERS_FILE;
pub use index::BadCursor;
pub use mend::{LettersMended, mend};

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

/// An entry that cannot be read. It was skipped; its bytes stay in the file, and are copied aside
/// before a rewrite.
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
    staged: Vec<(DeadRow, Token, Place)>,
    file: LettersFile,
    /// `None` when opened to read, and after the close.
    lock: Option<HeldLock>,
}

/// The dead letters.
pub struct DeadStore {
    inner: Mutex<Inner>,
    report: DeadReport,
}

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
        Self::load(disk, dir, Some(lock))
    }

    /// Open the letters in `dir` to read them, whether or not another process changes them. What is
    /// half written is left alone.
    pub fn open_to_read(disk: Arc<dyn Disk>, dir: &Path) -> Result<Self, DeadOpenError> {
        Self::load(disk, dir, None)
    }

    fn load(
        disk: Arc<dyn Disk>,
        dir: &Path,
        lock: Option<HeldLock>,
    ) -> Result<Self, DeadOpenError> {
        let mut index = Index::default();
        let (file, report) =
            LettersFile::open(disk, dir, lock.is_some(), |entry, place| match entry {
                DeadEntry::Letter(letter) => index.insert(row(&letter), letter.token, place),
                DeadEntry::Tombstone { id } => {
                    index.remove(id);
                    index.add_garbage(place.len);
                }
            })?;
        let report = DeadReport {
            letters: index.len() as u64,
            ..report
        };
        for damage in &report.damage {
            tracing::warn!(
                dir = %dir.display(), offset = damage.offset, bytes = damage.bytes, why = damage.why,
                "a dead letter cannot be read and was skipped"
            );
        }
        Ok(Self {
            inner: Mutex::new(Inner {
                index,
                staged: Vec::new(),
                file,
                lock,
            }),
            report,
        })
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
        let mut inner = self.inner();
        inner.file.close();
        inner.lock = None;
    }

    /// Letters in the store.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner().index.len()
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
        self.inner().index.get(id).map(|known| known.token)
    }

    /// The oldest letters beyond the newest `keep`.
    #[must_use]
    pub fn beyond(&self, keep: usize) -> Vec<JobId> {
        self.inner().index.beyond(keep)
    }

    /// Write a letter. Shown, and kept for sure, after [`Self::sync`]. Without room nothing
    /// changes.
    pub fn stage(&self, letter: &Letter) -> Result<(), DiskError> {
        let mut inner = self.inner();
        let entry = DeadEntry::Letter(Box::new(letter.clone()));
        let place = match inner.file.append(&entry) {
            Err(error) if error.kind == TOO_LARGE => {
                tracing::warn!(id = %letter.id(), "a dead letter's history is shortened to fit");
                let entry = DeadEntry::Letter(Box::new(shortened(letter)));
                inner.file.append(&entry)?
            }
            other => other?,
        };
        inner.staged.push((row(letter), letter.token, place));
        Ok(())
    }

    /// Make every staged letter durable and show it. Gives whether there was any. After an error
    /// nothing more can be written.
    pub fn sync(&self, durably: bool) -> Result<bool, DiskError> {
        let mut inner = self.inner();
        if inner.staged.is_empty() {
            return Ok(false);
        }
        if durably {
            inner.file.sync()?;
        }
        for (row, token, place) in std::mem::take(&mut inner.staged) {
            inner.index.insert(row, token, place);
        }
        Ok(true)
    }

    /// Take letters out. Those that are not there are passed over. Gives how many were there.
    ///
    /// Not synced: whoever takes a letter out has said so in the log before, and the next open of
    /// the log takes it out again.
    pub fn remove(&self, ids: &[JobId]) -> Result<usize, DiskError> {
        let mut inner = self.inner();
        let mut removed = 0;
        for id in ids {
            if inner.index.get(*id).is_none() {
                continue;
            }
            let place = inner.file.append(&DeadEntry::Tombstone { id: *id })?;
            inner.index.remove(*id);
            inner.index.add_garbage(place.len);
            removed += 1;
        }
        let Inner {
            index,
            file,
            staged,
            lock: _,
        } = &mut *inner;
        if staged.is_empty() && index.wants_rewrite() {
            file.rewrite(index, &self.report.damage)?;
        }
        Ok(removed)
    }

    /// Write the file anew without what cannot be read in it, after copies of that.
    pub fn leave_out_damage(&self) -> Result<(), DiskError> {
        let mut inner = self.inner();
        let Inner { index, file, .. } = &mut *inner;
        file.rewrite(index, &self.report.damage)
    }

    /// Letters, newest first by the time of death. Every filter but `parent` applies; a `state`
    /// other than dead shows nothing.
    pub fn list(&self, filter: &JobFilter, page: &PageRequest) -> Result<Page<DeadRow>, BadCursor> {
        self.inner().index.list(filter, page)
    }

    /// One letter.
    pub fn letter(&self, id: JobId) -> Result<Option<Letter>, StoreError> {
        let inner = self.inner();
        match inner.index.get(id) {
            None => Ok(None),
            Some(known) => inner.file.read(known.place).map(Some),
        }
    }
}

/// The letter with what a person needs least left out: log lines, backtraces and details of every
/// attempt, and all but the latest attempts.
fn shortened(letter: &Letter) -> Letter {
    let mut letter = letter.clone();
    let oldest = letter.attempts.len().saturating_sub(SHORT_HISTORY);
    letter.attempts.drain(..oldest);
    for attempt in &mut letter.attempts {
        attempt.dropped_lines += attempt.logs.len() as u64;
        attempt.logs.clear();
        if let Some(failure) = &mut attempt.failure {
            failure.backtrace.clear();
            failure.details.clear();
        }
    }
    letter
}

/// Attempts kept in a letter that would otherwise not fit in a frame.
const SHORT_HISTORY: usize = 25;

fn row(letter: &Letter) -> DeadRow {
    let last = letter.attempts.last();
    DeadRow {
        id: letter.job.id,
        kind: letter.job.kind.clone(),
        queue: letter.job.queue.clone(),
        died_at: letter.died_at,
        attempts: letter.attempts.len() as u32,
        max_attempts: letter.job.retry.max_attempts(),
        failure: last
            .and_then(|attempt| attempt.failure.as_ref())
            .map_or_else(unknown_failure, super::view::failure_row),
        digest: last
            .map(|attempt| attempt.digest.clone())
            .filter(|digest| !digest.is_empty()),
    }
}

fn unknown_failure() -> super::FailureRow {
    super::FailureRow {
        kind: sandhog_model::FailureKind::Lost,
        cause: "the letter holds no failed attempt".to_owned(),
        hint: None,
    }
}

/// The order of letters, newest first.
fn newest_first(
    died_at: UnixMs,
    id: JobId,
) -> (std::cmp::Reverse<UnixMs>, std::cmp::Reverse<JobId>) {
    (std::cmp::Reverse(died_at), std::cmp::Reverse(id))
}
