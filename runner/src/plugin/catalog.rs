//! What the plugin folder offers at one moment: which plugin serves a kind, and which would.

use std::{collections::BTreeMap, sync::Arc};

use sandhog_model::UnixMs;
use serde::{Deserialize, Serialize};

use super::{KindInfo, Plugin, Problem};

/// Everything the plugin folder offers at one moment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Catalog {
    /// Plugins by name.
    pub plugins: BTreeMap<String, Arc<Plugin>>,
    /// Files that cannot be used.
    pub problems: Vec<Problem>,
    /// Plugins that are held back, by name: their jobs wait.
    #[serde(default)]
    pub held: BTreeMap<String, Held>,
    /// Plugins of which another version than their file's is served: the file's digest, by name.
    #[serde(default)]
    pub replaced: BTreeMap<String, String>,
}

/// A plugin that is held back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// The version that would be served.
    pub plugin: Plugin,
    /// Since when; `None` when it is about to be served.
    pub since: Option<UnixMs>,
    /// Why, in one line.
    pub why: String,
    /// Whether a person said so.
    pub by_hand: bool,
}

impl Catalog {
    /// The plugin that serves a kind, and what it says of it.
    #[must_use]
    pub fn serving(&self, kind: &str) -> Option<(&Arc<Plugin>, &KindInfo)> {
        self.plugins.values().find_map(|plugin| {
            let info = plugin.kinds.iter().find(|info| info.kind == kind)?;
            Some((plugin, info))
        })
    }

    /// What is known of a kind: of the plugin that serves it, or would if it were not held back.
    #[must_use]
    pub fn describing(&self, kind: &str) -> Option<&KindInfo> {
        let held = || {
            let held = self.held.values().flat_map(|held| &held.plugin.kinds);
            held.into_iter().find(|info| info.kind == kind)
        };
        self.serving(kind).map(|(_, info)| info).or_else(held)
    }

    /// The plugin that would serve a kind if it were not held back.
    #[must_use]
    pub fn holding(&self, kind: &str) -> Option<(&String, &Held)> {
        let serves = |held: &Held| held.plugin.kinds.iter().any(|info| info.kind == kind);
        self.held.iter().find(|(_, held)| serves(held))
    }

    /// What is said of a kind whose plugin is held back: which version, why, and how it comes back.
    #[must_use]
    pub fn held_back(&self, kind: &str) -> Option<String> {
        let (name, held) = self.holding(kind)?;
        let (digest, why) = (&held.plugin.digest, &held.why);
        let digest = digest.get(..12).unwrap_or(digest);
        Some(match held.since {
            // About to be served: what is known is what it waits for.
            None => format!("{kind} is served by plugin {name}, version {digest}: {why}"),
            Some(_) => format!(
                "{kind} is served by plugin {name}, whose version {digest} is quarantined: {why}; `sandhog \
                 plugin release {name}` brings it back, `sandhog plugin rollback {name}` serves the last good one"
            ),
        })
    }

    /// Every kind served, in order.
    #[must_use]
    pub fn kinds(&self) -> Vec<String> {
        let mut kinds: Vec<String> = self
            .plugins
            .values()
            .flat_map(|plugin| plugin.kinds.iter().map(|info| info.kind.clone()))
            .collect();
        kinds.sort();
        kinds
    }
}
