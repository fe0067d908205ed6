//! A disk in memory that fails on demand. For tests, of this crate and of others.
//!
//! It keeps apart what a program sees and what would be left after power went: bytes are durable
//! after a sync of their file, names after a sync of their directory. A crash at the n-th operation
//! kills the program there ([`SimDisk::kill_at`]); [`SimDisk::after_crash`] then gives the disk the
//! next start finds. A failed sync behaves like Linux: the bytes stay visible, are lost to the
//! device, and a second sync claims success.

mod fault;
mod state;

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

pub use self::fault::{Fault, Op, Unsynced};
use self::state::State;
use super::{Disk, DiskError, DiskFile, DiskLock, OpenMode};

#[derive(Default)]
struct Inner {
    state: State,
    locks: BTreeSet<PathBuf>,
    ops: u64,
    kill_at: Option<u64>,
    fault: Option<(Fault, u64)>,
    capacity: Option<u64>,
}

/// A disk in memory. Clones are the same disk.
#[derive(Clone, Default)]
pub struct SimDisk(Arc<Mutex<Inner>>);

struct SimFile {
    disk: SimDisk,
    path: PathBuf,
    file: u64,
}

struct SimLock {
    disk: SimDisk,
    path: PathBuf,
}

impl SimDisk {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Operations done so far, reads not counted.
    #[must_use]
    pub fn ops(&self) -> u64 {
        self.inner().ops
    }

    /// Kill the program at its `op`-th operation from the start, counted from 1. A write in
    /// progress is left half done; from then on every call fails.
    pub fn kill_at(&self, op: u64) {
        self.inner().kill_at = Some(op);
    }

    /// Whether the program was killed.
    #[must_use]
    pub fn is_killed(&self) -> bool {
        let inner = self.inner();
        inner.kill_at.is_some_and(|at| inner.ops >= at)
    }

    /// Let an operation fail.
    pub fn fail(&self, fault: Fault) {
        self.inner().fault = Some((fault, 0));
    }

    /// Let nothing fail any more.
    pub fn heal(&self) {
        let mut inner = self.inner();
        inner.fault = None;
        inner.capacity = None;
    }

    /// Hold no more than this many bytes over all files.
    pub fn limit(&self, bytes: u64) {
        self.inner().capacity = Some(bytes);
    }

    /// Syncs of a file of which one had failed before: they claim what is not so.
    #[must_use]
    pub fn syncs_after_failure(&self) -> u64 {
        self.inner().state.syncs_after_failure()
    }

    /// Bytes of all files.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.inner().state.used()
    }

    /// What the next start finds: another disk, without locks, faults and open files.
    #[must_use]
    pub fn after_crash(&self, unsynced: Unsynced) -> Self {
        let state = self.inner().state.after_crash(unsynced);
        Self(Arc::new(Mutex::new(Inner {
            state,
            ..Inner::default()
        })))
    }

    /// What the next start finds after the process alone was killed: what was written is seen, and
    /// still lost when the power goes before a sync.
    #[must_use]
    pub fn after_kill(&self) -> Self {
        let state = self.inner().state.clone();
        Self(Arc::new(Mutex::new(Inner {
            state,
            ..Inner::default()
        })))
    }

    /// The paths of all files.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        self.inner().state.files()
    }

    /// The bytes a program would read from a file.
    #[must_use]
    pub fn bytes(&self, path: &Path) -> Option<Vec<u8>> {
        let inner = self.inner();
        let file = inner.state.find(path)?;
        Some(inner.state.bytes(file).to_vec())
    }

    /// Change a file's bytes behind everyone's back, durably.
    pub fn tamper(&self, path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
        let mut inner = self.inner();
        if let Some(file) = inner.state.find(path) {
            inner.state.tamper(file, change);
        }
    }
}

impl Inner {
    /// Count an operation and say whether it is done: `Err` when it fails or the program is dead.
    /// `Ok(true)` means that this very operation is the one cut off half-way.
    fn step(&mut self, op: Op, wish: &'static str, path: &Path) -> Result<bool, DiskError> {
        if self.kill_at.is_some_and(|at| self.ops >= at) {
            return Err(killed(wish, path));
        }
        self.ops += 1;
        if let Some((fault, seen)) = &mut self.fault
            && fault.op == op
        {
            *seen += 1;
            if *seen == fault.nth || (fault.lasting && *seen > fault.nth) {
                let cause = io::Error::new(fault.kind, "a fault of the simulated disk");
                return Err(DiskError::new(wish, path, &cause));
            }
        }
        Ok(self.kill_at == Some(self.ops))
    }

    fn alive(&self, wish: &'static str, path: &Path) -> Result<(), DiskError> {
        match self.kill_at {
            Some(at) if self.ops >= at => Err(killed(wish, path)),
            _ => Ok(()),
        }
    }

    fn room(&self, more: u64, wish: &'static str, path: &Path) -> Result<(), DiskError> {
        match self.capacity {
            Some(capacity) if more > 0 && self.state.used() + more > capacity => {
                let cause = io::Error::from(io::ErrorKind::StorageFull);
                Err(DiskError::new(wish, path, &cause))
            }
            _ => Ok(()),
        }
    }
}

fn killed(wish: &'static str, path: &Path) -> DiskError {
    let cause = io::Error::other("the simulated process was killed");
    DiskError::new(wish, path, &cause)
}

fn missing(wish: &'static str, path: &Path) -> DiskError {
    DiskError::new(wish, path, &io::Error::from(io::ErrorKind::NotFound))
}

impl DiskFile for SimFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn len(&self) -> Result<u64, DiskError> {
        let inner = self.disk.inner();
        inner.alive("read the length of", &self.path)?;
        Ok(inner.state.bytes(self.file).len() as u64)
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<usize, DiskError> {
        let inner = self.disk.inner();
        inner.alive("read", &self.path)?;
        let bytes = inner.state.bytes(self.file);
        let from = (offset as usize).min(bytes.len());
        let count = into.len().min(bytes.len() - from);
        into[..count].copy_from_slice(&bytes[from..from + count]);
        Ok(count)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        let mut inner = self.disk.inner();
        let cut = inner.step(Op::Write, "write", &self.path)?;
        let end = offset + bytes.len() as u64;
        let grows = end.saturating_sub(inner.state.bytes(self.file).len() as u64);
        inner.room(grows, "write", &self.path)?;
        let part = if cut { bytes.len() / 2 } else { bytes.len() };
        inner
            .state
            .write(self.file, offset as usize, &bytes[..part]);
        if cut {
            return Err(killed("write", &self.path));
        }
        Ok(())
    }

    fn truncate(&self, len: u64) -> Result<(), DiskError> {
        let mut inner = self.disk.inner();
        let cut = inner.step(Op::Write, "resize", &self.path)?;
        if cut {
            return Err(killed("resize", &self.path));
        }
        let grows = len.saturating_sub(inner.state.bytes(self.file).len() as u64);
        inner.room(grows, "resize", &self.path)?;
        inner.state.resize(self.file, len as usize);
        Ok(())
    }

    fn sync(&self) -> Result<(), DiskError> {
        let mut inner = self.disk.inner();
        match inner.step(Op::Sync, "sync", &self.path) {
            Ok(false) => {
                inner.state.sync(self.file);
                Ok(())
            }
            Ok(true) => Err(killed("sync", &self.path)),
            Err(fault) => {
                inner.state.forget_unsynced(self.file);
                Err(fault)
            }
        }
    }
}

impl DiskLock for SimLock {
    fn describe(&self, text: &str) -> Result<(), DiskError> {
        let file = self.disk.open(&self.path, OpenMode::Replace)?;
        file.write_at(0, text.as_bytes())
    }
}

impl Drop for SimLock {
    fn drop(&mut self) {
        self.disk.inner().locks.remove(&self.path);
    }
}

impl Disk for SimDisk {
    fn create_dir(&self, path: &Path) -> Result<Vec<PathBuf>, DiskError> {
        let mut to_sync = Vec::new();
        let dirs: Vec<&Path> = path.ancestors().collect();
        for dir in dirs.into_iter().rev() {
            let mut inner = self.inner();
            if dir.parent().is_none() || dir.as_os_str().is_empty() || inner.state.is_dir(dir) {
                continue;
            }
            if inner.step(Op::Name, "make the directory", dir)? {
                return Err(killed("make the directory", dir));
            }
            inner.state.make_dir(dir);
            to_sync.push(dir.parent().unwrap_or(dir).to_path_buf());
        }
        Ok(to_sync)
    }

    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn DiskFile>, DiskError> {
        let mut inner = self.inner();
        inner.alive("open", path)?;
        let found = inner.state.find(path);
        let file = match (found, mode) {
            (None, OpenMode::Read | OpenMode::Write) => return Err(missing("open", path)),
            (Some(file), OpenMode::Read | OpenMode::Write | OpenMode::Create) => file,
            (None, OpenMode::Create | OpenMode::Replace) => {
                if !path.parent().is_some_and(|dir| inner.state.is_dir(dir)) {
                    return Err(missing("open", path));
                }
                if inner.step(Op::Name, "open", path)? {
                    return Err(killed("open", path));
                }
                inner.state.make_file(path)
            }
            (Some(file), OpenMode::Replace) => {
                if inner.step(Op::Name, "open", path)? {
                    return Err(killed("open", path));
                }
                inner.state.resize(file, 0);
                file
            }
        };
        drop(inner);
        Ok(Arc::new(SimFile {
            disk: self.clone(),
            path: path.to_path_buf(),
            file,
        }))
    }

    fn list(&self, dir: &Path) -> Result<Vec<String>, DiskError> {
        let inner = self.inner();
        inner.alive("list", dir)?;
        if !inner.state.is_dir(dir) {
            return Err(missing("list", dir));
        }
        Ok(inner.state.list(dir))
    }

    fn exists(&self, path: &Path) -> Result<bool, DiskError> {
        let inner = self.inner();
        inner.alive("look for", path)?;
        Ok(inner.state.find(path).is_some() || inner.state.is_dir(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        let mut inner = self.inner();
        if inner.step(Op::Name, "rename", from)? {
            return Err(killed("rename", from));
        }
        inner
            .state
            .rename(from, to)
            .ok_or_else(|| missing("rename", from))
    }

    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        let mut inner = self.inner();
        if inner.step(Op::Name, "remove", path)? {
            return Err(killed("remove", path));
        }
        inner
            .state
            .remove(path)
            .ok_or_else(|| missing("remove", path))
    }

    fn remove_dir(&self, path: &Path) -> Result<(), DiskError> {
        let mut inner = self.inner();
        if inner.step(Op::Name, "remove", path)? {
            return Err(killed("remove", path));
        }
        if !inner.state.list(path).is_empty() {
            let cause = io::Error::from(io::ErrorKind::DirectoryNotEmpty);
            return Err(DiskError::new("remove", path, &cause));
        }
        inner
            .state
            .remove_dir(path)
            .ok_or_else(|| missing("remove", path))
    }

    fn sync_dir(&self, dir: &Path) -> Result<(), DiskError> {
        let mut inner = self.inner();
        if inner.step(Op::SyncDir, "sync the directory", dir)? {
            return Err(killed("sync the directory", dir));
        }
        inner.state.sync_dir(dir);
        Ok(())
    }

    fn try_lock(&self, path: &Path) -> Result<Option<Box<dyn DiskLock>>, DiskError> {
        self.open(path, OpenMode::Create)?;
        if !self.inner().locks.insert(path.to_path_buf()) {
            return Ok(None);
        }
        Ok(Some(Box::new(SimLock {
            disk: self.clone(),
            path: path.to_path_buf(),
        })))
    }

    fn is_locked(&self, path: &Path) -> Result<bool, DiskError> {
        let inner = self.inner();
        inner.alive("look for the holder of", path)?;
        Ok(inner.locks.contains(path))
    }
}
