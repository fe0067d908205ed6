//! What of the cache goes: what was not used for long, and the oldest over a number and a size.

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use super::{Cache, whole};

/// What the cache may hold beside what is in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheBounds {
    /// How long an entry is kept that nothing uses.
    pub age: Duration,
    /// Bytes in all, what is in use included.
    pub bytes: u64,
    /// Entries in all, what is in use included.
    pub entries: usize,
}

impl Default for CacheBounds {
    fn default() -> Self {
        Self {
            age: Duration::from_secs(30 * 24 * 60 * 60),
            bytes: 1 << 30,
            entries: 4_096,
        }
    }
}

/// The files of one digest with one engine's settings.
#[derive(Debug, Default)]
struct Entry {
    files: Vec<PathBuf>,
    bytes: u64,
    used: Option<SystemTime>,
}

impl Cache {
    /// Delete what is over the bounds, never a digest that is in use. The number deleted.
    pub(crate) fn sweep(&self, bounds: &CacheBounds, in_use: impl Fn(&str) -> bool) -> usize {
        let entries = match self.entries() {
            Ok(entries) => entries,
            Err(error) => {
                tracing::debug!(%error, "cannot look through the code cache");
                return 0;
            }
        };
        let now = SystemTime::now();
        let mut bytes: u64 = entries.values().map(|entry| entry.bytes).sum();
        let mut left = entries.len();
        let mut idle: Vec<Entry> = entries
            .into_iter()
            .filter(|(stem, _)| !self.is_used(stem, &in_use))
            .map(|(_, entry)| entry)
            .collect();
        idle.sort_by_key(|entry| entry.used);
        let mut gone = 0;
        for entry in idle {
            let old = entry
                .used
                .is_none_or(|used| now.duration_since(used).is_ok_and(|age| age > bounds.age));
            if !old && bytes <= bounds.bytes && left <= bounds.entries {
                // The others were used later.
                break;
            }
            for file in &entry.files {
                // Another command may have swept as well.
                let _ = fs::remove_file(file);
            }
            bytes -= entry.bytes;
            left -= 1;
            gone += 1;
        }
        if gone > 0 {
            tracing::info!(entries = gone, bytes, "swept the code cache");
        }
        gone
    }

    /// Whether an entry is code that this engine can load, of a digest that is in use.
    fn is_used(&self, stem: &str, in_use: impl Fn(&str) -> bool) -> bool {
        stem.split_once('-')
            .is_some_and(|(digest, settings)| settings == self.settings && in_use(digest))
    }

    fn entries(&self) -> std::io::Result<BTreeMap<String, Entry>> {
        let mut entries: BTreeMap<String, Entry> = BTreeMap::new();
        for file in fs::read_dir(&self.dir)? {
            let file = file?;
            // It may be gone again between the listing and here.
            let Ok(about) = file.metadata() else { continue };
            let (path, modified) = (file.path(), about.modified()?);
            let name = file.file_name().to_string_lossy().into_owned();
            if whole::is_left_behind(&name, modified) {
                let _ = fs::remove_file(&path);
            }
            let Some((stem, "cwasm" | "json" | "refused")) = name.rsplit_once('.') else {
                continue;
            };
            let entry = entries.entry(stem.to_owned()).or_default();
            entry.files.push(path);
            entry.bytes += about.len();
            entry.used = entry.used.max(Some(modified));
        }
        Ok(entries)
    }
}
