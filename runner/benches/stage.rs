//! Where a bench writes, and the jobs and stores it uses.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use sandhog::store::{
    Store,
    wal::{Durability, Wal, WalOptions, open},
};
use sandhog_model::{Job, KindDefaults, NewJob, UnixMs};

/// Bytes of a job's payload.
pub(crate) const PAYLOAD: usize = 256;
/// The kind of all jobs.
pub(crate) const KIND: &str = "thumbnail";

/// A folder that is gone when the bench is.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    /// A new one in `dir`, on whose disk it lies.
    pub(crate) fn new(dir: &Path) -> Result<Self, String> {
        tempfile::Builder::new()
            .prefix("sandhog-bench-")
            .tempdir_in(dir)
            .map(Self)
            .map_err(|error| format!("cannot make a folder in {}: {error}", dir.display()))
    }

    /// A folder for one measure, empty.
    pub(crate) fn fresh(&self, name: &str) -> Result<PathBuf, String> {
        let dir = self.0.path().join(name);
        clear(&dir)?;
        std::fs::create_dir(&dir)
            .map_err(|error| format!("cannot make {}: {error}", dir.display()))?;
        Ok(dir)
    }
}

/// Remove a folder with all in it.
pub(crate) fn clear(dir: &Path) -> Result<(), String> {
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("cannot remove {}: {error}", dir.display()))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The store as a runner opens it, with room in its mailbox for every caller of a bench.
pub(crate) fn store(data: &Path, durability: Durability) -> Result<Arc<Wal>, String> {
    open(WalOptions {
        durability,
        ..WalOptions::new(data, "the bench")
    })
    .map_err(|error| format!("cannot open {}: {error}", data.display()))
}

/// A job with a payload of [`PAYLOAD`] bytes, due at once.
pub(crate) fn job(store: &dyn Store, now: UnixMs) -> Job {
    job_in(store, now, 0)
}

/// The same in a queue by its number; the first is the one of jobs that name none.
pub(crate) fn job_in(store: &dyn Store, now: UnixMs, queue: usize) -> Job {
    let new = NewJob {
        kind: KIND.to_owned(),
        queue: (queue > 0).then(|| format!("queue-{queue}")),
        payload: vec![7; PAYLOAD],
        ..NewJob::default()
    };
    new.accept(store.mint(), now, &KindDefaults::default())
        .expect("the job is within bounds")
}

/// Milliseconds since 1970.
pub(crate) fn now() -> UnixMs {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    UnixMs(since.map_or(0, |since| since.as_millis() as u64))
}

/// A producer's runtime: one thread.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime of one thread needs nothing")
}

/// All files below a folder with their lengths.
pub(crate) fn files(dir: &Path) -> Result<Vec<(PathBuf, u64)>, String> {
    let failed = |error: std::io::Error| format!("cannot list {}: {error}", dir.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let meta = entry.metadata().map_err(failed)?;
        if meta.is_dir() {
            found.extend(files(&entry.path())?);
        } else {
            found.push((entry.path(), meta.len()));
        }
    }
    found.sort();
    Ok(found)
}
