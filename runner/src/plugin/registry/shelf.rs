//! Which of the files seen are served: one plugin a kind, and a good version until a better one.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    path::PathBuf,
    sync::Arc,
};

use super::{Fault, folder::Stamp};
use crate::plugin::{Catalog, Plugin, Problem};

/// What is known of every file, and what is served.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    files: BTreeMap<String, Known>,
    served: BTreeMap<String, Arc<Plugin>>,
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
}

impl Shelf {
    /// Whether the file was read in this state.
    pub(crate) fn knows(&self, name: &str, stamp: Stamp) -> bool {
        self.files
            .get(name)
            .is_some_and(|known| known.stamp == stamp)
    }

    /// Take what a file turned out to be.
    pub(crate) fn put(
        &mut self,
        name: &str,
        path: PathBuf,
        stamp: Stamp,
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
            }),
        };
        match found {
            Ok(plugin) => {
                // A copy of the same bytes is no change.
                if known
                    .good
                    .as_ref()
                    .is_none_or(|good| good.digest != plugin.digest)
                {
                    known.good = Some(Arc::new(plugin));
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
    }

    /// Decide what is served. Of two files with one kind the one that is served stays; at a start
    /// the first by name.
    pub(crate) fn catalog(&mut self) -> Catalog {
        let mut catalog = Catalog::default();
        let (served, others): (Vec<&String>, Vec<&String>) = self
            .files
            .keys()
            .partition(|name| self.served.contains_key(*name));
        for name in served.into_iter().chain(others) {
            let known = &self.files[name];
            let before = self.served.get(name);
            let good = known.good.as_ref();
            let clash = good.and_then(|plugin| clash(&catalog, plugin));
            let chosen = match &clash {
                None => good,
                // Its earlier version may still fit, unless it clashes as well.
                Some(_) => before.filter(|before| self::clash(&catalog, before).is_none()),
            };
            let fault = known.fault.clone().or(clash);
            if let Some(Fault { cause, hint }) = fault {
                catalog.problems.push(Problem {
                    file: known.path.clone(),
                    cause,
                    hint,
                    earlier_served: chosen.is_some(),
                });
            }
            if let Some(plugin) = chosen {
                catalog.plugins.insert(name.clone(), Arc::clone(plugin));
            }
        }
        catalog.problems.sort_by(|a, b| a.file.cmp(&b.file));
        self.served.clone_from(&catalog.plugins);
        catalog
    }
}

fn clash(catalog: &Catalog, plugin: &Plugin) -> Option<Fault> {
    plugin.kinds.iter().find_map(|info| {
        let (other, _) = catalog.serving(&info.kind)?;
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
