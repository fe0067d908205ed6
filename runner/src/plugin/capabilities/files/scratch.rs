//! The scratch directory: one for each attempt, and what it may take of the disk.

use std::{
    collections::HashSet,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use sandhog_model::LogLevel;
use tempfile::TempDir;
use wasmtime_wasi::{FsPerms, WasiCtxBuilder};

use super::ENTRY;
use crate::plugin::{
    capabilities::grants::{Grants, SCRATCH},
    sandbox::journal::Journal,
};

/// A scratch directory; gone with its attempt.
pub(crate) struct Scratch {
    dir: TempDir,
    quota: Arc<Quota>,
    /// Descriptors that are open: what they lead to takes room though it has no name any more.
    open: HashSet<u32>,
    /// Something was taken away since the last look.
    freed: bool,
    /// What was there at the last look.
    looked: u64,
}

/// How much is taken, as far as it is known.
pub(crate) struct Quota {
    taken: AtomicU64,
    limit: u64,
    /// A stream was let go with bytes in it that may still be on their way to the disk.
    pub(crate) loose: AtomicBool,
    full: Full,
    said_full: AtomicBool,
}

/// Whom to tell that a directory is full.
pub(crate) struct Full {
    pub(crate) journal: Arc<Journal>,
    pub(crate) plugin: String,
}

/// Give a guest the directories it is granted, and make its scratch directory below `root`. The
/// error is for a person.
pub(crate) fn prepare(
    grants: &Grants,
    root: Option<&Path>,
    full: Full,
    wasi: &mut WasiCtxBuilder,
) -> Result<Option<Scratch>, String> {
    for mount in &grants.mounts {
        wasi.preopened_dir(&mount.host, &mount.guest, FsPerms::ReadOnly)
            .map_err(|error| format!("cannot mount {}: {error:#}", mount.host.display()))?;
    }
    let Some(limit) = grants.scratch else {
        return Ok(None);
    };
    let root = root.map_or_else(std::env::temp_dir, PathBuf::from);
    let wrong = |why: String| format!("no scratch directory in {}: {why}", root.display());
    let dir = tempfile::Builder::new()
        .prefix("scratch-")
        .tempdir_in(&root)
        .map_err(|error| wrong(error.to_string()))?;
    wasi.preopened_dir(dir.path(), SCRATCH, FsPerms::ReadWrite)
        .map_err(|error| wrong(format!("{error:#}")))?;
    let quota = Quota {
        taken: AtomicU64::new(0),
        limit,
        loose: AtomicBool::new(false),
        full,
        said_full: AtomicBool::new(false),
    };
    Ok(Some(Scratch {
        dir,
        quota: Arc::new(quota),
        open: HashSet::new(),
        freed: false,
        looked: 0,
    }))
}

impl Quota {
    /// Take room, if there is some; otherwise the job's log says so, once.
    pub(crate) fn charge(&self, bytes: u64) -> bool {
        let more = |taken: u64| {
            let taken = taken.checked_add(bytes)?;
            (taken <= self.limit).then_some(taken)
        };
        let charged = self
            .taken
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        if charged.is_err() && !self.said_full.swap(true, Ordering::Relaxed) {
            let text = format!(
                "the scratch directory is full: raise `scratch` in {}.toml",
                self.full.plugin
            );
            self.full.journal.log(LogLevel::Warn, &text, Vec::new());
        }
        charged.is_ok()
    }
}

impl Scratch {
    pub(super) fn quota(&self) -> Arc<Quota> {
        Arc::clone(&self.quota)
    }

    pub(super) fn opened(&mut self, descriptor: u32) {
        self.open.insert(descriptor);
    }

    pub(super) fn closed(&mut self, descriptor: u32) {
        self.open.remove(&descriptor);
    }

    pub(super) fn freed(&mut self) {
        self.freed = true;
    }

    /// Take room. What is written adds up; what was removed is looked at once nothing is open that
    /// could still hold it, and not before a sixteenth of the quota was taken since the last look:
    /// a look costs as much as there are files.
    pub(super) fn charge(&mut self, bytes: u64) -> bool {
        let taken = self.quota.taken.load(Ordering::Relaxed);
        let due = taken.saturating_sub(self.looked) >= self.quota.limit / 16
            || taken.saturating_add(bytes) > self.quota.limit;
        if self.freed && due && self.is_idle() {
            self.freed = false;
            self.looked = measure(self.dir.path());
            self.quota.taken.store(self.looked, Ordering::Relaxed);
        }
        self.quota.charge(bytes)
    }

    /// Whether nothing is open, and nothing on its way to the disk.
    fn is_idle(&self) -> bool {
        self.open.is_empty()
            && Arc::strong_count(&self.quota) == 1
            && !self.quota.loose.load(Ordering::Relaxed)
    }

    #[cfg(test)]
    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }
}

/// What a directory takes of the disk, at least. What cannot be read counts for all there is.
fn measure(path: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(path) else {
        return u64::MAX;
    };
    let mut taken = 0_u64;
    for entry in entries {
        let Ok((entry, data)) = entry.and_then(|entry| Ok((entry.path(), entry.metadata()?)))
        else {
            return u64::MAX;
        };
        let inner = match data.is_dir() {
            true => measure(&entry),
            false => data.len().max(data.blocks() * 512),
        };
        taken = taken.saturating_add(ENTRY).saturating_add(inner);
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(limit: u64) -> Scratch {
        let grants = Grants {
            scratch: Some(limit),
            ..Grants::default()
        };
        let full = Full {
            journal: Journal::new(Arc::default(), std::time::Instant::now(), 1_000),
            plugin: "p".into(),
        };
        let made = prepare(&grants, None, full, &mut WasiCtxBuilder::new());
        made.unwrap().unwrap()
    }

    #[test]
    fn what_was_removed_counts_again_once_nothing_is_open() {
        let mut scratch = scratch(10 * ENTRY);
        assert!(scratch.charge(10 * ENTRY));
        assert!(!scratch.charge(1));
        scratch.freed();
        scratch.opened(7);
        assert!(!scratch.charge(1), "an open file may hold what was removed");
        scratch.closed(7);
        let stream = scratch.quota();
        assert!(!scratch.charge(1), "so may a stream");
        drop(stream);
        assert!(scratch.charge(1));
    }

    #[test]
    fn a_look_finds_what_is_still_there() {
        let mut scratch = scratch(10 * ENTRY);
        fs::create_dir(scratch.path().join("a")).unwrap();
        fs::write(scratch.path().join("a/b"), vec![1; 3 * ENTRY as usize]).unwrap();
        assert!(scratch.charge(10 * ENTRY));
        scratch.freed();
        // Two entries and three blocks are left of what was taken.
        assert!(scratch.charge(5 * ENTRY));
        assert!(!scratch.charge(1));
        assert!(!scratch.charge(1), "nothing was removed since");
    }

    #[test]
    fn bytes_that_may_be_on_their_way_are_not_forgotten() {
        let mut scratch = scratch(ENTRY);
        assert!(scratch.charge(ENTRY));
        scratch.freed();
        scratch.quota.loose.store(true, Ordering::Relaxed);
        assert!(!scratch.charge(1));
    }

    #[test]
    fn the_directory_goes_with_the_attempt() {
        let scratch = scratch(ENTRY);
        let path = scratch.path().to_owned();
        fs::write(path.join("a"), "x").unwrap();
        drop(scratch);
        assert!(!path.exists());
    }
}
