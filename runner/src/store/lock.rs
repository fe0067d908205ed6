//! One owner per directory: a lock file that names its holder.
//!
//! The lock is the system's (`flock`), so it goes with its process; the text is only for people.

use std::{
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use sandhog_model::UnixMs;
use serde::{Deserialize, Serialize};

use crate::disk::{Disk, DiskError, DiskLock, OpenMode, read_all};

/// Name of the lock file.
pub const LOCK_FILE: &str = "LOCK";

/// Tries before giving up on a holder that stays, and on one that is about to end; the pause between
/// two.
const TRIES: u32 = 10;
const TRIES_PASSING: u32 = 200;
const PAUSE: Duration = Duration::from_millis(50);

/// Who holds a lock. Written as JSON into the lock file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Process id.
    pub pid: u32,
    /// The kernel's id of this boot: after another boot the pid means nothing.
    pub boot_id: String,
    /// When it took the lock.
    pub since: UnixMs,
    /// What it runs, such as `sandhog start`.
    pub command: String,
    /// Whether it ends by itself within moments, as a command does that looks something up.
    #[serde(default)]
    pub passing: bool,
}

impl Holder {
    /// This process.
    #[must_use]
    pub fn this_process(since: UnixMs, command: &str) -> Self {
        Self {
            pid: std::process::id(),
            boot_id: std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
                .map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned()),
            since,
            command: command.to_owned(),
            passing: false,
        }
    }
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let since = std::time::UNIX_EPOCH + Duration::from_millis(self.since.0);
        write!(
            f,
            "`{}` (pid {}, since {})",
            self.command,
            self.pid,
            humantime::format_rfc3339_seconds(since)
        )
    }
}

/// Why a lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process, or another store of this one, has it.
    #[error(
        "{} is held by {}: stop it first, or speak to it through its socket",
        path.display(),
        .holder.as_ref().map_or_else(|| "another process".to_owned(), Holder::to_string)
    )]
    Held {
        /// The lock file.
        path: PathBuf,
        /// Its holder, when the file tells.
        holder: Option<Holder>,
    },
    /// The file system refused.
    #[error(transparent)]
    Disk(#[from] DiskError),
}

/// A held lock; dropping it lets go.
pub struct HeldLock {
    _lock: Box<dyn DiskLock>,
}

/// Take `dir`'s lock, or say who has it: after about half a second, or after ten when the holder is
/// one that is about to end.
pub fn take(disk: &dyn Disk, dir: &Path, holder: &Holder) -> Result<HeldLock, LockError> {
    let path = dir.join(LOCK_FILE);
    let mut again = 0;
    loop {
        if let Some(lock) = disk.try_lock(&path)? {
            let text = serde_json::to_string(holder).unwrap_or_default();
            lock.describe(&text)?;
            return Ok(HeldLock { _lock: lock });
        }
        again += 1;
        let holder = read_holder(disk, &path);
        let passing = holder.as_ref().is_some_and(|holder| holder.passing);
        if again >= if passing { TRIES_PASSING } else { TRIES } {
            return Err(LockError::Held { holder, path });
        }
        thread::sleep(PAUSE);
    }
}

/// What a lock file says of its holder, who may be gone.
#[must_use]
pub fn read_holder(disk: &dyn Disk, path: &Path) -> Option<Holder> {
    let file = disk.open(path, OpenMode::Read).ok()?;
    serde_json::from_slice(&read_all(&*file).ok()?).ok()
}

/// The holder of `dir`'s lock when one lives now. Takes nothing and makes nothing, so that a
/// read-only directory can be looked at.
pub fn living_holder(disk: &dyn Disk, dir: &Path) -> Result<Option<Holder>, LockError> {
    let path = dir.join(LOCK_FILE);
    if !disk.is_locked(&path)? {
        return Ok(None);
    }
    Ok(Some(read_holder(disk, &path).unwrap_or_else(|| Holder {
        pid: 0,
        boot_id: "unknown".to_owned(),
        passing: false,
        since: UnixMs(0),
        command: "another process".to_owned(),
    })))
}
