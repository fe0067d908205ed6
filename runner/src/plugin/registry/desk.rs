//! What is known of files and versions together, and every change of it: what is served follows from
//! both.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use sandhog_model::{JobId, Outcome, UnixMs};
use serde::{Deserialize, Serialize};

use super::{
    Registry,
    grants::GrantFiles,
    shelf::Shelf,
    tally::Verdict,
    trial,
    versions::{NoVersion, Quarantine, Version, Versions},
    workshop,
};
use crate::{
    clock::{Clock, SystemClock},
    plugin::{Catalog, Checked, Held, Plugin, PluginDesk, Problem},
};

/// Digits of a digest that a person is shown.
const SHORT: usize = 12;

/// Files and versions, behind one lock.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) shelf: Shelf,
    pub(crate) versions: Versions,
    /// The folder's files of grants.
    pub(crate) grants: GrantFiles,
    /// The version of each plugin that the process before this one served, by name.
    pub(super) served_before: BTreeMap<String, String>,
    clock: SystemClock,
}

/// What a person asks of a plugin's versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PluginAct {
    /// Serve an earlier version in place of the file's, until the file is another.
    Rollback {
        /// The beginning of its digest; the last good one when `None`.
        to: Option<String>,
    },
    /// Hold back the version that is served: its jobs wait.
    Quarantine {
        /// Why, in one line.
        why: Option<String>,
    },
    /// Let the file's version run, whatever was said of it before.
    Release,
}

/// Why an act is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ActRefused {
    /// There is no such plugin.
    #[error("no plugin {name}: {}", if known.is_empty() { "there is none".to_owned() } else { format!("known are {known}") })]
    NoPlugin {
        /// What was asked for.
        name: String,
        /// The plugins there are.
        known: String,
    },
    /// The version is not to be had.
    #[error(transparent)]
    NoVersion(#[from] NoVersion),
    /// Nothing is served that could be held back.
    #[error("{name} serves nothing now: see `sandhog plugin show {name}`")]
    NotServed {
        /// The plugin.
        name: String,
    },
    /// Nothing is held back or replaced.
    #[error("{name} is neither held back nor rolled back: its file's version is served")]
    NotHeld {
        /// The plugin.
        name: String,
    },
}

/// A plugin with its past.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PluginView {
    /// Its name.
    pub name: String,
    /// Its file.
    pub file: PathBuf,
    /// What is served, if anything is.
    pub served: Option<Plugin>,
    /// The version the file has, if it could be taken.
    pub of_file: Option<String>,
    /// What is held back now.
    pub held: Option<Held>,
    /// What is wrong with the file.
    pub problem: Option<Problem>,
    /// The versions that are kept, the latest first.
    pub versions: Vec<VersionView>,
    /// The interfaces that the version which is served, or held back, imports.
    #[serde(default)]
    pub imports: Vec<String>,
}

impl PluginView {
    /// The version that is served, or would be if it were not held back.
    #[must_use]
    pub fn plugin(&self) -> Option<&Plugin> {
        let held = || self.held.as_ref().map(|held| &held.plugin);
        self.served.as_ref().or_else(held)
    }
}

/// Why a plugin's file is not looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CheckRefused {
    /// There is no such plugin.
    #[error("see `sandhog plugin ls`")]
    NoPlugin,
    /// A look compiles, and one at a time is enough.
    #[error("another plugin is being checked: try again shortly")]
    Underway,
}

/// A version that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionView {
    /// What is known of it.
    pub version: Version,
    /// Why it is held back, if it is.
    pub quarantine: Option<Quarantine>,
}

/// The beginning of a digest, for a person.
pub(crate) fn short(digest: &str) -> &str {
    digest.get(..SHORT).unwrap_or(digest)
}

impl Desk {
    pub(crate) fn new(versions: Versions, grants: GrantFiles) -> Self {
        Self {
            shelf: Shelf::default(),
            served_before: versions.served_last(),
            versions,
            grants,
            clock: SystemClock::default(),
        }
    }

    pub(crate) fn now(&self) -> UnixMs {
        self.clock.now().wall
    }

    /// What is served, each with what it is granted, and whether the files that say so are settled.
    /// `look`: see whether these changed.
    pub(crate) fn catalog(&mut self, look: bool) -> (Catalog, bool) {
        let mut catalog = self.shelf.catalog(&self.versions);
        let settled = self.grants.apply(&mut catalog, look);
        (catalog, settled)
    }

    /// Whether code or bytes of a digest may be wanted again.
    pub(crate) fn uses(&self, digest: &str) -> bool {
        self.shelf.uses(digest) || self.versions.keeps(digest)
    }

    /// Act on what the tally says of an attempt's end. True when what is served may change.
    pub(crate) fn mind(&mut self, plugin: &Plugin, verdict: Verdict) -> bool {
        match verdict {
            Verdict::Nothing => false,
            Verdict::Proven => {
                if self.versions.proved(&plugin.name, &plugin.digest) {
                    self.versions.save();
                }
                false
            }
            Verdict::HoldBack(why) => {
                self.say_held_back(&plugin.name, &plugin.digest, &why);
                self.hold_back(&plugin.digest, why, false);
                true
            }
        }
    }

    pub(super) fn say_held_back(&self, name: &str, digest: &str, why: &str) {
        tracing::error!(
            plugin = name,
            digest = short(digest),
            "held back: {why}. Its jobs wait; `sandhog plugin rollback {name}` serves the last good version, `sandhog plugin release {name}` lets this one run again"
        );
    }

    pub(super) fn hold_back(&mut self, digest: &str, why: String, by_hand: bool) {
        let quarantine = Quarantine {
            since: self.now(),
            why,
            by_hand,
        };
        self.versions.hold_back(digest, quarantine);
        self.versions.save();
    }

    /// Do what a person asks. The digest that is affected.
    pub(crate) fn act(&mut self, name: &str, act: PluginAct) -> Result<String, ActRefused> {
        let of_file = self
            .shelf
            .of_file(name)
            .ok_or_else(|| ActRefused::NoPlugin {
                name: name.to_owned(),
                known: self.shelf.names().join(", "),
            })?;
        let chosen = self.versions.instead_of(name, &of_file);
        let chosen = chosen.unwrap_or(&of_file).to_owned();
        let digest = match act {
            PluginAct::Rollback { to } => {
                let to = self
                    .versions
                    .go_back(name, &of_file, &chosen, to.as_deref())?;
                tracing::warn!(
                    plugin = name,
                    from = short(&chosen),
                    to = short(&to),
                    "rolled back"
                );
                to
            }
            PluginAct::Quarantine { why } => {
                if self.versions.quarantine(&chosen).is_some() {
                    return Err(ActRefused::NotServed { name: name.into() });
                }
                let why = why.unwrap_or_else(|| "someone said so".to_owned());
                tracing::warn!(
                    plugin = name,
                    digest = short(&chosen),
                    "held back by hand: {why}"
                );
                self.hold_back(&chosen, why, true);
                chosen
            }
            PluginAct::Release => {
                let replaced = self.versions.release(name, &of_file);
                let served = chosen != of_file && self.versions.release(name, &chosen);
                if !replaced && !served {
                    return Err(ActRefused::NotHeld { name: name.into() });
                }
                tracing::warn!(plugin = name, digest = short(&of_file), "released");
                of_file
            }
        };
        self.versions.save();
        Ok(digest)
    }

    /// A plugin with its past, `catalog` being what is served now.
    pub(crate) fn view(&self, name: &str, catalog: &Catalog) -> Option<PluginView> {
        let file = self.shelf.file(name)?.to_owned();
        let versions = self.versions.of(name).iter().rev();
        Some(PluginView {
            name: name.to_owned(),
            served: catalog.plugins.get(name).map(|plugin| (**plugin).clone()),
            of_file: self.shelf.of_file(name),
            held: catalog.held.get(name).cloned(),
            problem: catalog
                .problems
                .iter()
                .find(|one| one.file == file)
                .cloned(),
            versions: versions
                .map(|version| VersionView {
                    quarantine: self.versions.quarantine(&version.digest).cloned(),
                    version: version.clone(),
                })
                .collect(),
            imports: Vec::new(),
            file,
        })
    }
}

impl PluginDesk for Registry {
    fn view(&self, name: &str) -> Option<PluginView> {
        let mut view = self.shared.view(name)?;
        if let Some(plugin) = view.plugin() {
            // Code that cannot be loaded is told where it is to run.
            let imports = workshop::imports(&self.engine, plugin);
            view.imports = imports.unwrap_or_default();
        }
        Some(view)
    }

    fn check(&self, name: &str) -> Result<Result<Checked, Problem>, CheckRefused> {
        let view = self.shared.view(name).ok_or(CheckRefused::NoPlugin)?;
        let Ok(_one) = self.checking.try_lock() else {
            return Err(CheckRefused::Underway);
        };
        let options = self.options.lock();
        let options = options.unwrap_or_else(|held| held.into_inner()).clone();
        Ok(trial::check(&view.file, &options))
    }

    fn act(&self, name: &str, act: PluginAct) -> Result<PluginView, ActRefused> {
        let view = self.shared.act(name, act)?;
        if view.served.is_none() {
            // What is to be served instead may have to be loaded; that is urgent.
            self.halt.step_aside();
            self.look();
        }
        Ok(view)
    }
}

impl super::Shared {
    /// Count an attempt's end.
    pub(crate) fn ended(&self, plugin: &Plugin, kind: &str, job: JobId, outcome: &Outcome) {
        let verdict = {
            let mut tally = self.tally.lock().unwrap_or_else(|held| held.into_inner());
            tally.count(&plugin.digest, kind, job, outcome, self.quarantine_after)
        };
        if verdict != Verdict::Nothing && self.desk().mind(plugin, verdict) {
            self.refresh(false);
        }
    }

    /// Do what a person asks; the plugin as it is then.
    pub(crate) fn act(&self, name: &str, act: PluginAct) -> Result<PluginView, ActRefused> {
        let digest = self.desk().act(name, act)?;
        self.tally
            .lock()
            .unwrap_or_else(|held| held.into_inner())
            .forget(&digest);
        self.refresh(false);
        self.view(name).ok_or_else(|| ActRefused::NoPlugin {
            name: name.to_owned(),
            known: String::new(),
        })
    }

    pub(crate) fn view(&self, name: &str) -> Option<PluginView> {
        let catalog: Arc<Catalog> = self.catalog();
        self.desk().view(name, &catalog)
    }
}
