//! A disk whose syncs of segments wait at a gate, so that a test decides what happens during one.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use crate::disk::{Disk, DiskError, DiskFile, DiskLock, OpenMode, sim::SimDisk};

#[derive(Default)]
struct Inner {
    closed: bool,
    /// Syncs that may pass the closed gate.
    permits: usize,
    /// Syncs that stand before it.
    standing: usize,
    /// The next sync that passes fails.
    fails: bool,
    /// Syncs that passed after the one that failed.
    after_failure: Option<usize>,
}

/// The gate.
#[derive(Default)]
pub(super) struct Gate {
    inner: Mutex<Inner>,
    moved: Condvar,
}

impl Gate {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Let no sync pass.
    pub(super) fn close(&self) {
        self.lock().closed = true;
    }

    /// Let one sync pass.
    pub(super) fn pass_one(&self) {
        self.lock().permits += 1;
        self.moved.notify_all();
    }

    /// Let every sync pass.
    pub(super) fn open(&self) {
        self.lock().closed = false;
        self.moved.notify_all();
    }

    /// Wait until a sync stands before the gate.
    pub(super) fn wait_for_one(&self) {
        let mut inner = self.lock();
        while inner.standing == 0 || inner.permits > 0 {
            inner = self
                .moved
                .wait(inner)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Let the next sync that passes fail.
    pub(super) fn fail_next(&self) {
        self.lock().fails = true;
    }

    /// Syncs that passed after the one that failed; `None` when none failed.
    pub(super) fn syncs_after_failure(&self) -> Option<usize> {
        self.lock().after_failure
    }

    /// Wait to be let through. Whether the sync is to fail.
    fn stand(&self) -> bool {
        let mut inner = self.lock();
        inner.standing += 1;
        self.moved.notify_all();
        while inner.closed && inner.permits == 0 {
            inner = self
                .moved
                .wait(inner)
                .unwrap_or_else(PoisonError::into_inner);
        }
        inner.permits = inner.permits.saturating_sub(1);
        inner.standing -= 1;
        self.moved.notify_all();
        if let Some(after) = &mut inner.after_failure {
            *after += 1;
        }
        let fails = std::mem::take(&mut inner.fails);
        if fails {
            inner.after_failure = Some(0);
        }
        fails
    }
}

/// A simulated disk behind a gate.
pub(super) struct GatedDisk {
    pub(super) disk: SimDisk,
    pub(super) gate: Arc<Gate>,
}

struct GatedFile {
    file: Arc<dyn DiskFile>,
    gate: Arc<Gate>,
}

impl DiskFile for GatedFile {
    fn path(&self) -> &Path {
        self.file.path()
    }

    fn len(&self) -> Result<u64, DiskError> {
        self.file.len()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<usize, DiskError> {
        self.file.read_at(offset, into)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        self.file.write_at(offset, bytes)
    }

    fn truncate(&self, len: u64) -> Result<(), DiskError> {
        self.file.truncate(len)
    }

    fn sync(&self) -> Result<(), DiskError> {
        let is_segment = self.path().extension().is_some_and(|end| end == "seg");
        if is_segment && self.gate.stand() {
            let cause = io::Error::other("the gate's fault");
            return Err(DiskError::new("sync", self.path(), &cause));
        }
        self.file.sync()
    }
}

impl Disk for GatedDisk {
    fn create_dir(&self, path: &Path) -> Result<Vec<PathBuf>, DiskError> {
        self.disk.create_dir(path)
    }

    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn DiskFile>, DiskError> {
        Ok(Arc::new(GatedFile {
            file: self.disk.open(path, mode)?,
            gate: self.gate.clone(),
        }))
    }

    fn list(&self, dir: &Path) -> Result<Vec<String>, DiskError> {
        self.disk.list(dir)
    }

    fn exists(&self, path: &Path) -> Result<bool, DiskError> {
        self.disk.exists(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        self.disk.remove(path)
    }

    fn remove_dir(&self, path: &Path) -> Result<(), DiskError> {
        self.disk.remove_dir(path)
    }

    fn is_locked(&self, path: &Path) -> Result<bool, DiskError> {
        self.disk.is_locked(path)
    }

    fn sync_dir(&self, dir: &Path) -> Result<(), DiskError> {
        self.disk.sync_dir(dir)
    }

    fn try_lock(&self, path: &Path) -> Result<Option<Box<dyn DiskLock>>, DiskError> {
        self.disk.try_lock(path)
    }
}
