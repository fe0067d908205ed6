//! The loop that keeps the catalog equal to the folder.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError},
    },
    thread,
};

use super::{
    Fault, RegistryError, RegistryOptions, Shared,
    folder::{self, Reading, Sighting},
    grants::GrantFiles,
    shelf::Shelf,
    workshop::Workshop,
};
use crate::plugin::sandbox::engines::Engines;

/// Looks the first scan waits for files that are still being written.
const FIRST_LOOKS: u32 = 10;

pub(crate) struct Watcher {
    options: RegistryOptions,
    workshop: Workshop,
    shelf: Shelf,
    grants: GrantFiles,
    /// The folder at the last look.
    seen: BTreeMap<String, Sighting>,
    shared: Arc<Shared>,
    /// Whether the folder could be read at the last look, so that a loss is said once.
    readable: bool,
}

impl Watcher {
    pub(crate) fn new(
        options: RegistryOptions,
        engines: &Engines,
        shared: Arc<Shared>,
    ) -> Result<Self, RegistryError> {
        make_folder(&options.plugins_dir)?;
        if inside(&options.cache_dir, &options.plugins_dir) {
            return Err(RegistryError::CacheInPlugins {
                path: options.cache_dir,
            });
        }
        let workshop = Workshop::open(&options.cache_dir, &options.sandbox, engines, false)?;
        Ok(Self {
            grants: GrantFiles::new(Arc::clone(&options.ceilings)),
            options,
            workshop,
            shelf: Shelf::default(),
            seen: BTreeMap::new(),
            shared,
            readable: true,
        })
    }

    /// Take in the folder as it is, on every core: no job runs yet.
    pub(crate) fn first_scan(&mut self, engines: &Engines) -> Result<(), RegistryError> {
        let fast = Workshop::open(
            &self.options.cache_dir,
            &self.options.sandbox,
            engines,
            true,
        )?;
        let slow = std::mem::replace(&mut self.workshop, fast);
        for _ in 0..FIRST_LOOKS {
            let settled = self.look().map_err(|source| RegistryError::Folder {
                path: self.options.plugins_dir.clone(),
                source,
            })?;
            if settled {
                break;
            }
            thread::sleep(self.options.poll);
        }
        self.workshop = slow;
        Ok(())
    }

    /// Look again and again, until the other end of `woken` is gone.
    pub(crate) fn run(mut self, woken: &Receiver<()>) {
        loop {
            match woken.recv_timeout(self.options.poll) {
                Ok(()) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            match self.look() {
                Ok(_) => self.readable = true,
                Err(error) if self.readable => {
                    self.readable = false;
                    tracing::warn!(
                        "cannot read the plugin folder {}: {error}; what was loaded is still served",
                        self.options.plugins_dir.display()
                    );
                }
                Err(_) => {}
            }
        }
    }

    /// One look. True when no file is waiting to be seen unchanged twice.
    fn look(&mut self) -> std::io::Result<bool> {
        let now = folder::look(&self.options.plugins_dir)?;
        let before = std::mem::replace(&mut self.seen, now);
        let mut settled = true;
        for (name, sighting) in &self.seen {
            if self.shelf.knows(name, sighting.stamp) {
                continue;
            }
            let unchanged = before
                .get(name)
                .is_some_and(|before| before.stamp == sighting.stamp);
            let found = match &sighting.fault {
                Some(fault) => Err(fault.clone()),
                None if !unchanged => {
                    settled = false;
                    continue;
                }
                None => match self.take(name, sighting) {
                    Some(found) => found,
                    None => {
                        settled = false;
                        continue;
                    }
                },
            };
            if let Err(fault) = &found {
                tracing::warn!(
                    "{}: {}; {}",
                    sighting.path.display(),
                    fault.cause,
                    fault.hint
                );
            }
            self.shelf
                .put(name, sighting.path.clone(), sighting.stamp, found);
        }
        let seen = &self.seen;
        self.shelf.keep_only(|name| seen.contains_key(name));
        let mut catalog = self.shelf.catalog();
        settled &= self.grants.apply(&self.options.plugins_dir, &mut catalog);
        self.shared.swap(catalog);
        Ok(settled)
    }

    /// Read a file and make a plugin of it; `None` when it was changed meanwhile.
    fn take(
        &self,
        name: &str,
        sighting: &Sighting,
    ) -> Option<Result<crate::plugin::Plugin, Fault>> {
        let reading = folder::read(&sighting.path, Some(sighting.stamp), self.options.max_file);
        match reading {
            Reading::Whole(bytes) => Some(self.workshop.make(name, &sighting.path, &bytes)),
            Reading::Faulty(fault) => Some(Err(fault)),
            Reading::Unsettled => None,
        }
    }
}

fn make_folder(path: &Path) -> Result<(), RegistryError> {
    fs::create_dir_all(path).map_err(|source| RegistryError::Folder {
        path: path.to_owned(),
        source,
    })
}

/// Whether `inner` lies in `outer`, links resolved as far as they exist.
fn inside(inner: &Path, outer: &Path) -> bool {
    let resolve = |path: &Path| -> PathBuf {
        path.ancestors()
            .find_map(|known| {
                let real = known.canonicalize().ok()?;
                let rest = path.strip_prefix(known).ok()?;
                Some(real.join(rest))
            })
            .unwrap_or_else(|| path.to_owned())
    };
    resolve(inner).starts_with(resolve(outer))
}
