//! Which of the files seen are served: one plugin a kind, and a good version until a better one.

use std::{
    collections::{BTreeMap, HashMap, btree_map::Entry},
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use super::{Fault, desk::short, folder::Stamp, versions::Versions};
use crate::plugin::{Catalog, Held, Plugin, Problem};

/// What is known of every file, and what is served.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    files: BTreeMap<String, Known>,
    served: BTreeMap<String, Arc<Plugin>>,
    /// Kept versions that were loaded, by name, with their digests.
    backs: BTreeMap<String, (String, Result<Arc<Plugin>, Fault>)>,
}

/// A kept version that is to be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) name: String,
    /// The file in the plugin folder.
    pub(crate) file: PathBuf,
    pub(crate) digest: String,
    /// Whether it takes the place of a file's sound version.
    in_place: bool,
}

/// What is known of one file.
#[derive(Debug)]
pub(crate) struct Known {
    path: PathBuf,
    /// The state that was read last.
    stamp: Stamp,
    /// The last good version.
    good: Option<Arc<Plugin>>,
    /// What is wrong with the state read last.
    fault: Option<Fault>,
    /// When to read it again although nobody touched it.
    again: Option<Instant>,
}

impl Shelf {
    /// Whether the file was read in this state.
    pub(crate) fn knows(&self, name: &str, stamp: Stamp, now: Instant) -> bool {
        self.files.get(name).is_some_and(|known| {
            known.stamp == stamp && known.again.is_none_or(|again| now < again)
        })
    }

    /// Whether this very fault was found in the file before.
    pub(crate) fn has_fault(&self, name: &str, fault: &Fault) -> bool {
        let known = self.files.get(name);
        known.is_some_and(|known| known.fault.as_ref() == Some(fault))
    }

    /// Whether code of a digest is served, or would be if its file's kinds were free.
    pub(crate) fn uses(&self, digest: &str) -> bool {
        let good = self.files.values().filter_map(|known| known.good.as_ref());
        let backs = self
            .backs
            .values()
            .filter_map(|(_, found)| found.as_ref().ok());
        good.chain(backs)
            .chain(self.served.values())
            .any(|plugin| plugin.digest == digest)
    }

    /// Take what a file turned out to be in a state, and when to look again although it is the same.
    pub(crate) fn put(
        &mut self,
        name: &str,
        path: PathBuf,
        (stamp, again): (Stamp, Option<Instant>),
        found: Result<Plugin, Fault>,
    ) {
        let known = match self.files.entry(name.to_owned()) {
            Entry::Occupied(known) => {
                let known = known.into_mut();
                known.stamp = stamp;
                known
            }
            Entry::Vacant(slot) => slot.insert(Known {
                path,
                stamp,
                good: None,
                fault: None,
                again: None,
            }),
        };
        known.again = again;
        match found {
            Ok(plugin) => {
                // A copy of the same bytes is no change.
                if known
                    .good
                    .as_ref()
                    .is_none_or(|good| good.digest != plugin.digest)
                {
                    known.good = Some(Arc::new(plugin));
                    // What was gone back to from another version is needed no more.
                    self.backs.remove(name);
                }
                known.fault = None;
            }
            Err(fault) => known.fault = Some(fault),
        }
    }

    /// Forget files that are gone.
    pub(crate) fn keep_only(&mut self, seen: impl Fn(&str) -> bool) {
        self.files.retain(|name, _| seen(name));
        self.served.retain(|name, _| seen(name));
        self.backs.retain(|name, _| seen(name));
    }

    /// Decide what is served. Of two files with one kind the one that is served stays; at a start
    /// the first by name.
    pub(crate) fn catalog(&mut self, versions: &Versions) -> Catalog {
        let mut catalog = Catalog::default();
        let mut serving = HashMap::new();
        let (served, others): (Vec<&String>, Vec<&String>) = self
            .files
            .keys()
            .partition(|name| self.served.contains_key(*name));
        for name in served.into_iter().chain(others) {
            let known = &self.files[name];
            let before = self.served.get(name);
            let choice = self.choice(name, versions);
            let clash = match &choice {
                Choice::Serve(plugin) => clash(&serving, plugin),
                Choice::Hold(_) | Choice::Nothing => None,
            };
            let chosen = match (choice, &clash) {
                (Choice::Serve(plugin), None) => Some(plugin),
                // Its earlier version may still fit, unless it clashes as well.
                (Choice::Serve(_), Some(_)) => before
                    .filter(|before| self::clash(&serving, before).is_none())
                    .filter(|before| versions.quarantine(&before.digest).is_none())
                    .cloned(),
                (Choice::Hold(held), _) => {
                    catalog.held.insert(name.clone(), *held);
                    None
                }
                (Choice::Nothing, _) => None,
            };
            let fault = known.fault.clone().or(clash);
            if let Some(Fault { cause, hint, .. }) = fault {
                catalog.problems.push(Problem {
                    file: known.path.clone(),
                    cause,
                    hint,
                    earlier_served: chosen.is_some(),
                });
            }
            if let Some(plugin) = chosen {
                let good = known.good.as_ref().map(|good| &good.digest);
                if let Some(good) = good.filter(|good| **good != plugin.digest) {
                    catalog.replaced.insert(name.clone(), good.clone());
                }
                let kinds = plugin.kinds.iter().map(|info| info.kind.clone());
                serving.extend(kinds.map(|kind| (kind, Arc::clone(&plugin))));
                catalog.plugins.insert(name.clone(), plugin);
            }
        }
        catalog.problems.sort_by(|a, b| a.file.cmp(&b.file));
        self.served.clone_from(&catalog.plugins);
        catalog
    }

    /// What a file's name stands for, other files aside.
    fn choice(&self, name: &str, versions: &Versions) -> Choice {
        let Some(good) = self.files.get(name).and_then(|known| known.good.as_ref()) else {
            return Choice::Nothing;
        };
        let hold = |since, why: String, by_hand| {
            Choice::Hold(Box::new(Held {
                plugin: (**good).clone(),
                since,
                why,
                by_hand,
            }))
        };
        let chosen = match versions.instead_of(name, &good.digest) {
            None => good,
            Some(digest) => match self.backs.get(name) {
                Some((loaded, Ok(plugin))) if loaded == digest => plugin,
                Some((loaded, Err(fault))) if loaded == digest => {
                    let why = format!(
                        "version {} cannot be served in its place: {}",
                        short(digest),
                        fault.cause
                    );
                    return hold(None, why, false);
                }
                _ => {
                    let why = format!("version {} is being loaded", short(digest));
                    return hold(None, why, false);
                }
            },
        };
        match versions.quarantine(&chosen.digest) {
            None => Choice::Serve(Arc::clone(chosen)),
            Some(quarantine) => Choice::Hold(Box::new(Held {
                plugin: (**chosen).clone(),
                since: Some(quarantine.since),
                why: quarantine.why.clone(),
                by_hand: quarantine.by_hand,
            })),
        }
    }

    /// Versions that are to be loaded from where they are kept: those that were gone back to, and
    /// the last ones of files that could not be taken since the start.
    pub(crate) fn wanted(&self, versions: &Versions) -> Vec<Wanted> {
        let of = |name: &String, known: &Known, digest: &str, in_place| Wanted {
            name: name.clone(),
            file: known.path.clone(),
            digest: digest.to_owned(),
            in_place,
        };
        let wanted = self.files.iter().filter_map(|(name, known)| {
            let tried = self.backs.get(name).map(|(digest, _)| digest.as_str());
            match &known.good {
                Some(good) => {
                    let back = versions.instead_of(name, &good.digest)?;
                    (tried != Some(back)).then(|| of(name, known, back, true))
                }
                None => {
                    known.fault.as_ref()?;
                    let last = &versions.of(name).last()?.digest;
                    (tried != Some(last)).then(|| of(name, known, last, false))
                }
            }
        });
        wanted.collect()
    }

    /// Take what a kept version turned out to be.
    pub(crate) fn put_kept(&mut self, wanted: Wanted, found: Result<Plugin, Fault>) {
        let found = found.map(Arc::new);
        if let (false, Ok(plugin), Some(known)) =
            (wanted.in_place, &found, self.files.get_mut(&wanted.name))
        {
            known.good.get_or_insert_with(|| Arc::clone(plugin));
        }
        self.backs.insert(wanted.name, (wanted.digest, found));
    }

    /// The version that a plugin's file has, if it could be taken.
    pub(crate) fn of_file(&self, name: &str) -> Option<String> {
        let good = self.files.get(name)?.good.as_ref()?;
        Some(good.digest.clone())
    }

    /// A plugin's file.
    pub(crate) fn file(&self, name: &str) -> Option<&Path> {
        self.files.get(name).map(|known| known.path.as_path())
    }

    /// Every name there is.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.files.keys().map(String::as_str).collect()
    }
}

/// What a file's name stands for.
enum Choice {
    Serve(Arc<Plugin>),
    Hold(Box<Held>),
    Nothing,
}

/// What is wrong with a plugin beside those that serve kinds already.
fn clash(serving: &HashMap<String, Arc<Plugin>>, plugin: &Plugin) -> Option<Fault> {
    plugin.kinds.iter().find_map(|info| {
        let other = serving.get(&info.kind)?;
        Some(Fault::new(
            format!(
                "kind {:?} is served by {} already, so {} is not taken",
                info.kind,
                other.file.display(),
                plugin.file.display()
            ),
            "take one of the two files out of the folder, or give the kind another name",
        ))
    })
}
