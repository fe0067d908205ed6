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
    time::{Instant, SystemTime},
};

use sha2::{Digest, Sha256};

use super::{
    Fault, RegistryError, RegistryOptions, Shared,
    folder::{self, Reading, Sighting},
    halt::Halt,
    hex,
    shelf::Wanted,
    whole,
    workshop::{NotMade, Workshop},
};
use crate::plugin::{Plugin, sandbox::engines::Engines};

/// Looks the first scan waits for files that are still being written.
const FIRST_LOOKS: u32 = 10;

pub(crate) struct Watcher {
    options: RegistryOptions,
    workshop: Workshop,
    /// The folder at the last look.
    seen: BTreeMap<String, Sighting>,
    shared: Arc<Shared>,
    halt: Halt,
    /// Whether the folder could be read at the last look, so that a loss is said once.
    readable: bool,
    /// When what was not kept is offered again.
    keep_again: Option<Instant>,
}

impl Watcher {
    pub(crate) fn new(
        options: RegistryOptions,
        engines: &Engines,
        shared: Arc<Shared>,
        halt: Halt,
    ) -> Result<Self, RegistryError> {
        make_folder(&options.plugins_dir)?;
        for dir in [&options.cache_dir, &options.versions_dir] {
            if inside(dir, &options.plugins_dir) {
                return Err(RegistryError::OwnDirInPlugins { path: dir.clone() });
            }
        }
        let workshop = Workshop::open(
            &options.cache_dir,
            &options.sandbox,
            engines,
            options.compiler.clone(),
            halt.clone(),
        )?;
        Ok(Self {
            options,
            workshop,
            seen: BTreeMap::new(),
            shared,
            halt,
            readable: true,
            keep_again: None,
        })
    }

    /// Take in the folder as it is, on every core: no job runs yet.
    pub(crate) fn first_scan(&mut self) -> Result<(), RegistryError> {
        let until = self.options.first_scan.map(|time| Instant::now() + time);
        self.workshop.be_patient(until);
        for _ in 0..FIRST_LOOKS {
            let settled = self.look().map_err(|source| RegistryError::Folder {
                path: self.options.plugins_dir.clone(),
                source,
            })?;
            let late = until.is_some_and(|until| Instant::now() >= until);
            if settled || late || self.halt.is_stopped() {
                break;
            }
            thread::sleep(self.options.poll);
        }
        self.workshop.jobs_run();
        self.tidy_up();
        Ok(())
    }

    /// Keep what could not be kept before, and delete what nobody needs.
    fn tidy_up(&mut self) {
        let all = self.workshop.keep_again();
        self.keep_again = (!all).then(|| Instant::now() + self.options.again);
        if !self.options.owns_data {
            return;
        }
        let mut desk = self.shared.desk();
        let (now, seen) = (desk.now(), &self.seen);
        desk.versions.sweep(|name| seen.contains_key(name), now);
        desk.versions.save();
        self.workshop
            .sweep(&self.options.cache, |digest| desk.uses(digest));
    }

    pub(crate) fn engine(&self) -> &wasmtime::Engine {
        self.workshop.engine()
    }

    /// Look again and again, until the other end of `woken` is gone.
    pub(crate) fn run(mut self, woken: &Receiver<()>) {
        loop {
            match woken.recv_timeout(self.options.poll) {
                Ok(()) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.halt.is_stopped() {
                return;
            }
            if self.keep_again.is_some_and(|at| Instant::now() >= at) {
                self.tidy_up();
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
        self.halt.go_on();
        let now = folder::look(&self.options.plugins_dir)?;
        let before = std::mem::replace(&mut self.seen, now);
        let mut settled = self.load_wanted();
        let mut news = false;
        for (name, sighting) in self.seen.clone() {
            if self.halt.asked() {
                settled = false;
                break;
            }
            if self.knows(&name, &sighting) {
                continue;
            }
            let unchanged = match before.get(&name) {
                Some(before) => before.stamp == sighting.stamp,
                None => sighting.stamp.rests(SystemTime::now()),
            };
            if sighting.fault.is_none() && !unchanged {
                settled = false;
                continue;
            }
            match self.take(&name, &sighting) {
                Some(found) => news |= self.put(&name, sighting, found),
                None => settled = false,
            }
        }
        let seen = &self.seen;
        self.shared
            .desk()
            .shelf
            .keep_only(|name| seen.contains_key(name));
        settled &= self.load_wanted();
        settled &= self.shared.refresh(true);
        if news {
            self.tidy_up();
        } else {
            self.shared.desk().versions.save();
        }
        Ok(settled)
    }

    fn knows(&self, name: &str, sighting: &Sighting) -> bool {
        let now = Instant::now();
        self.shared.desk().shelf.knows(name, sighting.stamp, now)
    }

    /// Take what a file turned out to be, and serve it at once: the next one may take its time. True
    /// when it is a version that the file did not have before.
    fn put(&mut self, name: &str, sighting: Sighting, found: Result<Taken, Fault>) -> bool {
        let mut desk = self.shared.desk();
        let mut news = false;
        let found = match found {
            Ok((plugin, bytes)) => {
                let now = desk.now();
                news = desk.versions.took(&plugin, &bytes, now);
                Ok(plugin)
            }
            Err(fault) => {
                if !desk.shelf.has_fault(name, &fault) {
                    let path = sighting.path.display();
                    tracing::warn!("{path}: {}; {}", fault.cause, fault.hint);
                }
                Err(fault)
            }
        };
        let passing = found.as_ref().is_err_and(|fault| fault.passing);
        let again = passing.then(|| Instant::now() + self.options.again);
        desk.shelf
            .put(name, sighting.path, (sighting.stamp, again), found);
        drop(desk);
        self.shared.refresh(false);
        news
    }

    /// Read a file and make a plugin of it; `None` when it was changed meanwhile, or has to wait.
    fn take(&self, name: &str, sighting: &Sighting) -> Option<Result<Taken, Fault>> {
        if let Some(fault) = &sighting.fault {
            return Some(Err(fault.clone()));
        }
        let reading = folder::read(&sighting.path, Some(sighting.stamp), self.options.max_file);
        match reading {
            Reading::Whole(bytes) => match self.workshop.make(name, &sighting.path, &bytes) {
                Ok(plugin) => Some(Ok((plugin, bytes))),
                Err(NotMade::Fault(fault)) => Some(Err(fault)),
                Err(NotMade::Halted) => None,
            },
            Reading::Faulty(fault) => Some(Err(fault)),
            Reading::Unsettled => None,
        }
    }

    /// Load the versions that are served in place of their files'. False when one has to wait.
    fn load_wanted(&self) -> bool {
        let wanted = {
            let desk = self.shared.desk();
            desk.shelf.wanted(&desk.versions)
        };
        for wanted in wanted {
            let found = match self.kept(&wanted) {
                Err(NotMade::Halted) => return false,
                Err(NotMade::Fault(fault)) => {
                    let digest = &wanted.digest;
                    tracing::error!(
                        plugin = wanted.name,
                        digest,
                        "cannot go back: {}",
                        fault.cause
                    );
                    Err(fault)
                }
                Ok(plugin) => Ok(plugin),
            };
            self.shared.desk().shelf.put_kept(wanted, found);
            self.shared.refresh(false);
        }
        true
    }

    /// A kept version, made a plugin again.
    fn kept(&self, wanted: &Wanted) -> Result<Plugin, NotMade> {
        let path = self.shared.desk().versions.path(&wanted.digest);
        let fault = |why: String| {
            let hint = "drop a better file into the plugin folder";
            Fault::new(format!("{}: {why}", path.display()), hint)
        };
        let bytes = whole::read(&path, self.options.max_file)
            .map_err(|error| fault(format!("cannot be read: {error}")))?;
        if hex(&Sha256::digest(&bytes)) != wanted.digest {
            return Err(fault("is damaged: its SHA-256 is another".to_owned()).into());
        }
        self.workshop.make(&wanted.name, &wanted.file, &bytes)
    }
}

/// A plugin and the bytes it was made of.
type Taken = (Plugin, Vec<u8>);

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
