//! The plugin folder: watched, and turned into a catalog of components that can run.
//!
//! A file is taken when two looks in a row find it unchanged, read once, compiled off the workers,
//! linked, asked what it serves, and only then put in the catalog. A bad file never unseats a good
//! one.

mod cache;
mod description;
mod folder;
mod grants;
mod imports;
mod preamble;
mod shelf;
#[cfg(test)]
mod tests;
mod trial;
mod watch;
mod workshop;

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex,
        mpsc::{SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use thiserror::Error;
use tokio::sync::watch as notice;

use super::{
    Catalog, Ceilings, Plugins,
    sandbox::{SandboxOptions, engines::Engines},
};

pub use cache::CacheError;
pub use trial::{Checked, Trial, Tried, check, run_once};

/// What the registry watches and where it keeps its code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryOptions {
    /// The folder in which `NAME.wasm` files are dropped. It is made when it is not there.
    pub plugins_dir: PathBuf,
    /// Where native code is kept, readable by the runner's user alone. Whoever can write here can
    /// run code as the runner, so it is never inside `plugins_dir`.
    pub cache_dir: PathBuf,
    /// Time between two looks at the folder.
    pub poll: Duration,
    /// Largest file taken, in bytes.
    pub max_file: u64,
    /// What the workers' sandboxes are built for: what cannot run there is refused at load.
    pub sandbox: SandboxOptions,
    /// What plugins may be granted.
    pub ceilings: Arc<Ceilings>,
}

impl RegistryOptions {
    /// The defaults for two directories.
    #[must_use]
    pub fn new(plugins_dir: impl Into<PathBuf>, cache_dir: impl Into<PathBuf>) -> Self {
        Self {
            plugins_dir: plugins_dir.into(),
            cache_dir: cache_dir.into(),
            poll: Duration::from_millis(200),
            max_file: 64 << 20,
            sandbox: SandboxOptions::default(),
            ceilings: Arc::default(),
        }
    }
}

/// Why the plugin folder cannot be served at all.
#[derive(Debug, Error)]
pub enum RegistryError {
    /// The folder cannot be made or read.
    #[error("cannot use the plugin folder {}: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The cache for native code cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The cache would be where plugins are dropped.
    #[error(
        "the code cache {} lies in the plugin folder: give it a directory that no one who drops plugins can write to",
        path.display()
    )]
    CacheInPlugins {
        /// The cache directory.
        path: PathBuf,
    },
    /// The compiler or the sandbox cannot be set up.
    #[error("cannot load plugins: {0}")]
    Engine(String),
}

/// What is wrong with a file, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) cause: String,
    pub(crate) hint: String,
}

impl Fault {
    pub(crate) fn new(cause: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            cause: cause.into(),
            hint: hint.into(),
        }
    }
}

/// The plugin folder, watched by a thread of its own until this is dropped.
#[derive(Debug)]
pub struct Registry {
    shared: Arc<Shared>,
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What the watching thread and its readers share.
#[derive(Debug)]
pub(crate) struct Shared {
    catalog: Mutex<Arc<Catalog>>,
    changed: notice::Sender<u64>,
}

impl Registry {
    /// Watch a folder. The first scan is complete when this returns: it may take seconds for
    /// components that were never compiled here.
    pub fn start(options: RegistryOptions) -> Result<Self, RegistryError> {
        let engines = Engines::start().map_err(RegistryError::Engine)?;
        let shared = Arc::new(Shared {
            catalog: Mutex::default(),
            changed: notice::Sender::new(0),
        });
        let mut watcher = watch::Watcher::new(options, &engines, Arc::clone(&shared))?;
        watcher.first_scan(&engines)?;
        // One wish to look is enough: more would look at the same folder.
        let (wake, woken) = sync_channel(1);
        let thread = thread::Builder::new()
            .name("plugins".into())
            .spawn(move || {
                // The engine's clock runs as long as someone holds it.
                let _engines = engines;
                watcher.run(&woken);
            })
            .map_err(|error| RegistryError::Engine(error.to_string()))?;
        Ok(Self {
            shared,
            wake: Some(wake),
            thread: Some(thread),
        })
    }

    /// Look at the folder now instead of at the next poll.
    pub fn look(&self) {
        if let Some(wake) = &self.wake {
            // Full means that a look is wished for already.
            let _ = wake.try_send(());
        }
    }
}

impl Plugins for Registry {
    fn catalog(&self) -> Arc<Catalog> {
        self.shared.catalog()
    }

    fn changed(&self) -> notice::Receiver<u64> {
        self.shared.changed.subscribe()
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take() {
            // A panic there was printed when it happened.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.catalog.lock().unwrap_or_else(|held| held.into_inner()))
    }

    /// Put a new catalog in place of the old one, when it is another.
    fn swap(&self, catalog: Catalog) {
        let mut held = self.catalog.lock().unwrap_or_else(|held| held.into_inner());
        if **held == catalog {
            return;
        }
        *held = Arc::new(catalog);
        drop(held);
        self.changed.send_modify(|count| *count += 1);
    }
}

/// A workshop for tests of the sandbox, which take their plugins from it.
#[cfg(test)]
pub(crate) fn workshop_for_tests(
    cache_dir: &std::path::Path,
    engines: &Engines,
) -> workshop::Workshop {
    workshop::Workshop::open(cache_dir, &SandboxOptions::default(), engines, true)
        .expect("a workshop in a directory of our own")
}
