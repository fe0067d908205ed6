//! The versions each plugin had: the components themselves, kept to go back to, and a ledger of which
//! are held back and what is served in their place. All of it survives a restart.

mod ledger;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use sandhog_model::{JobId, UnixMs};

use self::ledger::{Back, Crashes, History, Ledger};
use super::whole::{self, DirError};
use crate::plugin::Plugin;

pub use self::ledger::{Quarantine, Version};

/// Largest ledger read, in bytes.
const LEDGER_BYTES: u64 = 16 << 20;
/// Most digests that are remembered as held back.
const HELD: usize = 1_000;
/// How long the versions of a plugin are kept whose file is gone, in milliseconds.
const GONE_MS: u64 = 30 * 24 * 60 * 60 * 1_000;

/// How long a ledger that could not be written is left alone.
const AGAIN: Duration = Duration::from_secs(10);

/// The directory: `DIGEST.wasm` for each version, and `ledger.json`.
#[derive(Debug)]
pub(crate) struct Versions {
    dir: PathBuf,
    /// How many of each plugin are kept; `None` when the directory is only looked at.
    keep: Option<usize>,
    ledger: Ledger,
    /// Whether the ledger on disk is older than this one.
    stale: bool,
    /// Not before then is it tried again to write one that could not be written.
    save_again: Option<Instant>,
}

/// Why a version is not to be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoVersion {
    /// The plugin had no other version that is kept.
    #[error("no earlier version of {name} is kept that is not held back: drop a better file")]
    NoneKept {
        /// The plugin.
        name: String,
    },
    /// No kept version's digest begins so, or several do.
    #[error(
        "{count} kept versions of {name} have a digest that begins with {digest:?}: see `sandhog plugin show {name}`"
    )]
    NotOne {
        /// The plugin.
        name: String,
        /// What was asked for.
        digest: String,
        /// How many there are.
        count: usize,
    },
    /// It is held back itself.
    #[error("version {digest} of {name} is held back: {why}")]
    HeldBack {
        /// The plugin.
        name: String,
        /// Its digest.
        digest: String,
        /// Why.
        why: String,
    },
}

impl Versions {
    /// Open or make the directory; at most `keep` versions of each plugin are kept. With `None` it
    /// is another process's, and nothing in it is changed. A ledger that cannot be read is put
    /// aside: the plugins matter more than their past.
    pub(crate) fn open(dir: &Path, keep: Option<usize>) -> Result<Self, DirError> {
        if keep.is_some() {
            whole::private(dir)?;
        }
        let path = dir.join("ledger.json");
        let read = whole::read(&path, LEDGER_BYTES);
        let ledger = match read.and_then(|bytes| Ledger::read(&bytes)) {
            Ok(ledger) => ledger,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ledger::default(),
            Err(error) if keep.is_none() => {
                tracing::warn!("{} cannot be read: {error}", path.display());
                Ledger::default()
            }
            Err(error) => {
                let aside = dir.join("ledger.unreadable");
                tracing::error!(
                    "{} cannot be read ({error}): which versions were held back is not known any more; it is kept as {}",
                    path.display(),
                    aside.display()
                );
                // It is in the way only when it cannot be moved, and then the next write says so.
                let _ = fs::rename(&path, &aside);
                Ledger::default()
            }
        };
        Ok(Self {
            dir: dir.to_owned(),
            keep,
            ledger,
            stale: false,
            save_again: None,
        })
    }

    /// Where a version lies, or would.
    pub(crate) fn path(&self, digest: &str) -> PathBuf {
        self.dir.join(format!("{digest}.wasm"))
    }

    /// Note that a file has this version now, and keep its bytes. True when that is news.
    pub(crate) fn took(&mut self, plugin: &Plugin, bytes: &[u8], now: UnixMs) -> bool {
        let Some(keep) = self.keep else { return false };
        let path = self.path(&plugin.digest);
        let latest = self.of(&plugin.name).last();
        if latest.is_some_and(|latest| latest.digest == plugin.digest) && path.is_file() {
            return false;
        }
        if !path.is_file()
            && let Err(error) = whole::write(&path, bytes)
        {
            tracing::warn!(
                plugin = plugin.name,
                "this version cannot be kept to go back to: {error}"
            );
        }
        let history = self.ledger.history(&plugin.name);
        let earlier = history.remove(&plugin.digest);
        history.versions.push(Version {
            digest: plugin.digest.clone(),
            size: plugin.size,
            sdk: plugin.sdk.clone(),
            taken_at: now,
            proven: earlier.is_some_and(|earlier| earlier.proven),
        });
        // Another file is another wish.
        if (history.back.as_ref()).is_some_and(|back| back.instead_of != plugin.digest) {
            history.back = None;
        }
        history.shorten(keep);
        self.stale = true;
        true
    }

    /// Note that a version completed a job. True when that ends a row of crashes, and is to be written
    /// down before the next one.
    pub(crate) fn proved(&mut self, name: &str, digest: &str) -> bool {
        if let Some(version) = self.ledger.history(name).version(digest)
            && !version.proven
        {
            version.proven = true;
            self.stale = true;
        }
        let ends_a_row = self.ledger.crashes.remove(digest).is_some();
        self.stale |= ends_a_row;
        ends_a_row
    }

    /// The version of each plugin that was served last, as far as it was written down.
    pub(crate) fn served_last(&self) -> BTreeMap<String, String> {
        let histories = self.ledger.plugins.iter();
        let served = histories.filter_map(|(name, history)| {
            let back = history.back.as_ref().map(|back| &back.digest);
            let last = history.versions.last().map(|version| &version.digest);
            Some((name.clone(), back.or(last)?.clone()))
        });
        served.collect()
    }

    /// Note that the runner went away while it ran these jobs of a version. What is known of such ends
    /// in a row, with no job completed by that version in between.
    pub(crate) fn crashed(&mut self, digest: &str, jobs: &BTreeSet<JobId>) -> &Crashes {
        self.stale = true;
        let crashes = self.ledger.crashes.entry(digest.to_owned()).or_default();
        match crashes.count {
            0 => crashes.jobs.clone_from(jobs),
            _ => crashes.jobs.retain(|job| jobs.contains(job)),
        }
        crashes.count = crashes.count.saturating_add(1);
        crashes
    }

    /// What is served in place of a file's version, if another one is.
    pub(crate) fn instead_of(&self, name: &str, digest: &str) -> Option<&str> {
        let back = self.ledger.plugins.get(name)?.back.as_ref()?;
        (back.instead_of == digest).then_some(back.digest.as_str())
    }

    /// Why a version is held back, if it is.
    pub(crate) fn quarantine(&self, digest: &str) -> Option<&Quarantine> {
        self.ledger.quarantined.get(digest)
    }

    /// Hold a version back.
    pub(crate) fn hold_back(&mut self, digest: &str, quarantine: Quarantine) {
        self.ledger
            .quarantined
            .insert(digest.to_owned(), quarantine);
        self.ledger.forget_oldest_held(HELD);
        self.stale = true;
    }

    /// Let a file's version run again: neither held back nor replaced. False when it was neither.
    pub(crate) fn release(&mut self, name: &str, digest: &str) -> bool {
        let held = self.ledger.quarantined.remove(digest).is_some();
        self.stale |= self.ledger.crashes.remove(digest).is_some();
        let history = self.ledger.history(name);
        let back = history.back.take_if(|back| back.instead_of == digest);
        let changed = held || back.is_some();
        self.stale |= changed;
        changed
    }

    /// Choose what is served in place of `of_file`, the version the file has, from now on: the kept
    /// version whose digest begins with `wanted`, or the last good one before the one served now.
    pub(crate) fn go_back(
        &mut self,
        name: &str,
        of_file: &str,
        served: &str,
        wanted: Option<&str>,
    ) -> Result<String, NoVersion> {
        let history = self.ledger.history(name).clone();
        let kept: Vec<&Version> = history
            .versions
            .iter()
            .filter(|version| self.path(&version.digest).is_file())
            .collect();
        let digest = match wanted {
            Some(wanted) => self.one(name, &kept, wanted)?,
            None => {
                let good = |version: &&&Version| {
                    version.digest != served
                        && version.digest != of_file
                        && self.quarantine(&version.digest).is_none()
                };
                let proven = kept
                    .iter()
                    .rev()
                    .filter(good)
                    .find(|version| version.proven);
                let last = proven.or_else(|| kept.iter().rev().find(good));
                last.ok_or_else(|| NoVersion::NoneKept { name: name.into() })?
                    .digest
                    .clone()
            }
        };
        self.ledger.history(name).back = (digest != of_file).then(|| Back {
            instead_of: of_file.to_owned(),
            digest: digest.clone(),
        });
        self.stale = true;
        Ok(digest)
    }

    fn one(&self, name: &str, kept: &[&Version], wanted: &str) -> Result<String, NoVersion> {
        let mut found = kept
            .iter()
            .filter(|version| version.digest.starts_with(wanted));
        let (Some(version), None) = (found.next(), found.next()) else {
            let all = kept
                .iter()
                .filter(|version| version.digest.starts_with(wanted));
            return Err(NoVersion::NotOne {
                name: name.to_owned(),
                digest: wanted.to_owned(),
                count: all.count(),
            });
        };
        match self.quarantine(&version.digest) {
            Some(quarantine) => Err(NoVersion::HeldBack {
                name: name.to_owned(),
                digest: version.digest.clone(),
                why: quarantine.why.clone(),
            }),
            None => Ok(version.digest.clone()),
        }
    }

    /// The versions a plugin had that are known, the latest last.
    pub(crate) fn of(&self, name: &str) -> &[Version] {
        let history = self.ledger.plugins.get(name);
        history.map_or(&[], |history| &history.versions)
    }

    /// Whether some plugin may go back to a digest.
    pub(crate) fn keeps(&self, digest: &str) -> bool {
        let mut all = self.ledger.plugins.values().flat_map(History::digests);
        all.any(|one| one == digest)
    }

    /// Write the ledger when it changed. What cannot be written stays in force until the restart, and
    /// is tried again at the next call.
    pub(crate) fn save(&mut self) {
        let early = |at| Instant::now() < at;
        if self.keep.is_none() || !self.stale || self.save_again.is_some_and(early) {
            return;
        }
        self.save_again = None;
        let text = self.ledger.text();
        match whole::write(&self.dir.join("ledger.json"), text.as_bytes()) {
            Ok(()) => self.stale = false,
            Err(error) => {
                tracing::warn!(
                    "which versions are held back is not known after a restart, as it cannot be kept: {error}"
                );
                self.save_again = Some(Instant::now() + AGAIN);
            }
        }
    }

    /// Delete what no plugin goes back to: versions that fell out of every history, and histories of
    /// files that are long gone.
    pub(crate) fn sweep(&mut self, is_here: impl Fn(&str) -> bool, now: UnixMs) {
        if self.keep.is_none() {
            return;
        }
        let before = self.ledger.plugins.len();
        self.ledger.plugins.retain(|name, history| {
            let latest = history.versions.last();
            is_here(name) || latest.is_some_and(|one| now.since(one.taken_at) < GONE_MS)
        });
        self.stale |= self.ledger.plugins.len() != before;
        let histories = &self.ledger.plugins;
        let known =
            |digest: &str| (histories.values()).any(|one| one.digests().any(|one| one == digest));
        self.ledger.crashes.retain(|digest, _| known(digest));
        let kept: BTreeSet<PathBuf> = (self.ledger.plugins.values())
            .flat_map(History::digests)
            .map(|digest| self.path(digest))
            .collect();
        let Ok(entries) = fs::read_dir(&self.dir) else {
            return;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            let left = entry
                .metadata()
                .and_then(|about| about.modified())
                .is_ok_and(|at| whole::is_left_behind(&name, at));
            let version = path.extension().is_some_and(|ending| ending == "wasm");
            if left || (version && !kept.contains(&path)) {
                // Gone already is as good.
                let _ = fs::remove_file(&path);
            }
        }
    }
}
