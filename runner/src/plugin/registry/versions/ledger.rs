//! What is written down of versions.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

use sandhog_model::{JobId, UnixMs};
use serde::{Deserialize, Serialize};

/// The file's layout.
const SCHEMA: u32 = 1;

/// All of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Ledger {
    schema: u32,
    /// By plugin name.
    #[serde(default)]
    pub(super) plugins: BTreeMap<String, History>,
    /// Versions that are held back, by digest: the same bytes under another name are no better.
    #[serde(default)]
    pub(super) quarantined: BTreeMap<String, Quarantine>,
    /// How often the runner went away while it ran jobs of a version, by digest.
    #[serde(default)]
    pub(super) crashes: BTreeMap<String, Crashes>,
}

/// The versions of one plugin.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct History {
    /// The latest last.
    #[serde(default)]
    pub(super) versions: Vec<Version>,
    /// What is served in place of the file's version.
    pub(super) back: Option<Back>,
}

/// A version that a plugin had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// SHA-256 of the file, in hex.
    pub digest: String,
    /// Its size in bytes.
    pub size: u64,
    /// What built it.
    pub sdk: String,
    /// When it was taken in last.
    pub taken_at: UnixMs,
    /// Whether it completed a job.
    pub proven: bool,
}

/// A choice to serve another version than the file's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Back {
    /// The version of the file. Any other file ends the choice.
    pub(super) instead_of: String,
    /// The version that is served.
    pub(super) digest: String,
}

/// Why a version is held back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quarantine {
    /// Since when.
    pub since: UnixMs,
    /// Why, in one line.
    pub why: String,
    /// Whether a person said so.
    pub by_hand: bool,
}

/// Ends of the runner in a row at which jobs of a version were running.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Crashes {
    pub(crate) count: u32,
    /// The jobs that were running at each of them.
    pub(crate) jobs: BTreeSet<JobId>,
}

impl Default for Ledger {
    fn default() -> Self {
        Self {
            schema: SCHEMA,
            plugins: BTreeMap::new(),
            quarantined: BTreeMap::new(),
            crashes: BTreeMap::new(),
        }
    }
}

impl Ledger {
    pub(super) fn read(bytes: &[u8]) -> io::Result<Self> {
        let ledger: Self = serde_json::from_slice(bytes)?;
        if ledger.schema != SCHEMA {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!(
                    "it has schema {}, this program knows {SCHEMA}",
                    ledger.schema
                ),
            ));
        }
        Ok(ledger)
    }

    pub(super) fn text(&self) -> String {
        serde_json::json!(self).to_string()
    }

    pub(super) fn history(&mut self, name: &str) -> &mut History {
        if !self.plugins.contains_key(name) {
            self.plugins.insert(name.to_owned(), History::default());
        }
        self.plugins.entry(name.to_owned()).or_default()
    }

    pub(super) fn forget_oldest_held(&mut self, most: usize) {
        while self.quarantined.len() > most {
            let oldest = self.quarantined.iter().min_by_key(|(_, held)| held.since);
            let Some((digest, _)) = oldest else { return };
            let digest = digest.clone();
            self.quarantined.remove(&digest);
        }
    }
}

impl History {
    pub(super) fn digests(&self) -> impl Iterator<Item = &str> {
        self.versions.iter().map(|version| version.digest.as_str())
    }

    pub(super) fn version(&mut self, digest: &str) -> Option<&mut Version> {
        self.versions.iter_mut().find(|one| one.digest == digest)
    }

    pub(super) fn remove(&mut self, digest: &str) -> Option<Version> {
        let at = self.versions.iter().position(|one| one.digest == digest)?;
        Some(self.versions.remove(at))
    }

    /// Forget the oldest over a number, but not what is served, nor the last one that completed a
    /// job: a row of bad versions must not push out the good one before them.
    pub(super) fn shorten(&mut self, keep: usize) {
        while self.versions.len() > keep.max(1) {
            let last = self.versions.len() - 1;
            let proven = self.versions.iter().rposition(|one| one.proven);
            let back = self.back.as_ref().map(|back| back.digest.as_str());
            let may_go = |(at, one): &(usize, &Version)| {
                *at != last && Some(*at) != proven && Some(one.digest.as_str()) != back
            };
            let Some((at, _)) = self.versions.iter().enumerate().find(may_go) else {
                return;
            };
            self.versions.remove(at);
        }
    }
}
