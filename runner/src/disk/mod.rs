//! The handful of file operations the store needs, so that a simulated disk can stand in for the
//! real one.
//!
//! Knows nothing of jobs, records or frames.

mod real;
pub mod sim;

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

pub use real::RealDisk;

/// A file operation that failed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("cannot {wish} {}: {cause}", path.display())]
pub struct DiskError {
    /// What was wished, as a verb.
    pub wish: &'static str,
    /// The file or directory.
    pub path: PathBuf,
    /// The kind of cause, for rules.
    pub kind: io::ErrorKind,
    /// The operating system's words.
    pub cause: String,
}

impl DiskError {
    /// The failure of `wish` on `path`.
    #[must_use]
    pub fn new(wish: &'static str, path: &Path, cause: &io::Error) -> Self {
        Self {
            wish,
            path: path.to_path_buf(),
            kind: cause.kind(),
            cause: cause.to_string(),
        }
    }

    /// Whether there is no room left: the disk or a quota is full.
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(
            self.kind,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
        )
    }

    /// Whether the file is not there.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.kind == io::ErrorKind::NotFound
    }
}

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// To read; it must be there.
    Read,
    /// To read and write; it must be there.
    Write,
    /// To read and write; made empty when it is not there, left as it is when it is.
    Create,
    /// To read and write; emptied when it is there.
    Replace,
}

/// An open file. All offsets are in bytes from its start.
pub trait DiskFile: Send + Sync {
    /// The path it was opened by.
    fn path(&self) -> &Path;
    /// Its length now.
    fn len(&self) -> Result<u64, DiskError>;
    /// Whether it has no bytes.
    fn is_empty(&self) -> Result<bool, DiskError> {
        Ok(self.len()? == 0)
    }
    /// Fill `into` from `offset`; fewer bytes than asked for only at the end of the file.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<usize, DiskError>;
    /// Write all of `bytes` at `offset`; what lies between the old end and `offset` reads as zeros.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError>;
    /// Cut or extend with zeros to `len` bytes.
    fn truncate(&self, len: u64) -> Result<(), DiskError>;
    /// Bytes and length are on the device when this returns. After an error nothing is known of
    /// what was not synced before, and a second call proves nothing: never retry.
    fn sync(&self) -> Result<(), DiskError>;
}

/// A lock on a file; let go when dropped, and by the system when the process dies.
pub trait DiskLock: Send + Sync {
    /// Replace the lock file's text, which says who holds it.
    fn describe(&self, text: &str) -> Result<(), DiskError>;
}

/// A file system.
pub trait Disk: Send + Sync + 'static {
    /// Make a directory and those above it, readable by their owner only. One that is there is
    /// left as it is. Gives the directories whose entries need a sync, outermost first.
    fn create_dir(&self, path: &Path) -> Result<Vec<PathBuf>, DiskError>;
    /// Open a file.
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn DiskFile>, DiskError>;
    /// The names in a directory, sorted.
    fn list(&self, dir: &Path) -> Result<Vec<String>, DiskError>;
    /// Whether a file or directory is there.
    fn exists(&self, path: &Path) -> Result<bool, DiskError>;
    /// Give a file another name, replacing what has that name, or a directory one that is free.
    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError>;
    /// Remove a file.
    fn remove(&self, path: &Path) -> Result<(), DiskError>;
    /// Remove an empty directory.
    fn remove_dir(&self, path: &Path) -> Result<(), DiskError>;
    /// The directory's entries are on the device when this returns.
    fn sync_dir(&self, dir: &Path) -> Result<(), DiskError>;
    /// Take the lock on a file, making it when it is not there, without waiting. `None` when
    /// another holds it.
    fn try_lock(&self, path: &Path) -> Result<Option<Box<dyn DiskLock>>, DiskError>;
    /// Whether another holds the lock on a file. Makes nothing, and needs no right to write.
    fn is_locked(&self, path: &Path) -> Result<bool, DiskError>;
}

/// All bytes of a file.
pub fn read_all(file: &dyn DiskFile) -> Result<Vec<u8>, DiskError> {
    let mut bytes = Vec::new();
    read_pieces(file, &mut bytes, usize::MAX, |_| ())?;
    Ok(bytes)
}

/// All bytes of a file into `bytes`, instead of what they were, at most `piece` at once. After each, `so_far`
/// hears all that were read.
pub fn read_pieces(
    file: &dyn DiskFile,
    bytes: &mut Vec<u8>,
    piece: usize,
    mut so_far: impl FnMut(&[u8]),
) -> Result<(), DiskError> {
    // What is there already is overwritten, and needs no zeros before.
    bytes.resize(file.len()? as usize, 0);
    let mut filled = 0;
    while filled < bytes.len() {
        let end = bytes.len().min(filled.saturating_add(piece));
        let more = file.read_at(filled as u64, &mut bytes[filled..end])?;
        if more == 0 {
            bytes.truncate(filled);
        }
        filled += more;
        so_far(&bytes[..filled]);
    }
    Ok(())
}

/// Make a directory and sync every entry that made it.
pub fn create_dir_durably(disk: &dyn Disk, path: &Path) -> Result<(), DiskError> {
    for parent in disk.create_dir(path)? {
        disk.sync_dir(&parent)?;
    }
    Ok(())
}
