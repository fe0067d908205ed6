//! Versions that take the runner down with them: what a start makes of the jobs that ran when the
//! process before it went away.

use std::collections::{BTreeMap, BTreeSet};

use sandhog_model::JobId;

use super::desk::{Desk, short};
use crate::plugin::Catalog;

/// After so many ends of the runner in a row at which jobs of a version were running, without one that
/// completed in between, the version is held back; unless one and the same job ran at each of them: that
/// one is buried before long.
const CRASHES: u32 = 3;

impl Desk {
    /// Count the versions that ran these jobs when the process before this one went away, and hold back
    /// those to which that happened too often. True when what is served changes.
    fn blame(&mut self, catalog: &Catalog, jobs: &[(JobId, String)]) -> bool {
        let mut ran: BTreeMap<(&str, &str), BTreeSet<JobId>> = BTreeMap::new();
        for (job, kind) in jobs {
            let Some((plugin, _)) = catalog.serving(kind) else {
                continue;
            };
            // A version that came while no runner was up ran nothing.
            if self.served_before.get(&plugin.name) == Some(&plugin.digest) {
                let version = (plugin.name.as_str(), plugin.digest.as_str());
                ran.entry(version).or_default().insert(*job);
            }
        }
        let mut changes = false;
        for ((name, digest), jobs) in ran {
            let crashes = self.versions.crashed(digest, &jobs);
            let count = crashes.count;
            if count < CRASHES || !crashes.jobs.is_empty() {
                tracing::warn!(
                    plugin = name,
                    digest = short(digest),
                    "the runner went away while it ran jobs of this version, {count} times in a row"
                );
                continue;
            }
            let why = format!(
                "the runner went away {count} times in a row while it ran jobs of it, and it completed none in between"
            );
            self.say_held_back(name, digest, &why);
            self.hold_back(digest, why, false);
            changes = true;
        }
        self.versions.save();
        changes
    }
}

impl super::Shared {
    /// The process before this one went away while it ran these jobs.
    pub(crate) fn went_away(&self, jobs: &[(JobId, String)]) {
        if self.quarantine_after == 0 || jobs.is_empty() {
            return;
        }
        let catalog = self.catalog();
        if self.desk().blame(&catalog, jobs) {
            self.refresh(false);
        }
    }
}
