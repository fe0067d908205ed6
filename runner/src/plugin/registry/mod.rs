//! The plugin folder: watched, and turned into a catalog of components that can run.
//!
//! A file is taken when two looks in a row find it unchanged, read once, compiled off the workers,
//! linked, asked what it serves, and only then put in the catalog. A bad file never unseats a good
//! one.

mod ask;
mod cache;
mod child;
mod compile;
mod crashes;
mod description;
mod desk;
mod folder;
mod grants;
mod halt;
mod imports;
mod preamble;
mod room;
mod shelf;
mod tally;
#[cfg(test)]
mod tests;
mod trial;
mod verdict;
mod versions;
mod watch;
mod whole;
mod workshop;

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard,
        mpsc::{SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use sandhog_model::{JobId, Outcome};
use thiserror::Error;
use tokio::sync::watch as notice;
use wasmtime::Engine;

use self::{desk::Desk, grants::GrantFiles, tally::Tally, versions::Versions};
use super::{
    Catalog, Ceilings, Plugin, Plugins,
    sandbox::{SandboxOptions, engines::Engines},
};

pub use cache::CacheBounds;
pub use child::{COMPILE_VERB, CompileLimits};
pub use compile::compile_as_child;
pub use desk::{ActRefused, CheckRefused, PluginAct, PluginView, VersionView};
pub use folder::Stamp;
pub use halt::Halt;
pub use imports::MissingImport;
pub use trial::{Checked, OneJob, Trial, Tried, Tryout, check};
pub use versions::{NoVersion, Quarantine, Version};
pub use whole::DirError;

/// What the registry watches and where it keeps its code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryOptions {
    /// The folder in which `NAME.wasm` files are dropped. It is made when it is not there.
    pub plugins_dir: PathBuf,
    /// Where native code is kept, readable by the runner's user alone. Whoever can write here can
    /// run code as the runner, so it is never inside `plugins_dir`.
    pub cache_dir: PathBuf,
    /// Where earlier versions are kept, and which are held back. As private as `cache_dir`.
    pub versions_dir: PathBuf,
    /// Whether the data directory is this process's to change: else no version is noted or kept, and
    /// nothing is deleted.
    pub owns_data: bool,
    /// How many versions of each plugin are kept, at least 1.
    pub keep_versions: usize,
    /// After how many jobs in a row that break a version it is held back; never when 0.
    pub quarantine_after: usize,
    /// Time between two looks at the folder.
    pub poll: Duration,
    /// Time before what failed for want of something of the machine is tried again.
    pub again: Duration,
    /// Largest file taken, in bytes.
    pub max_file: u64,
    /// What the workers' sandboxes are built for: what cannot run there is refused at load.
    pub sandbox: SandboxOptions,
    /// What plugins may be granted.
    pub ceilings: Arc<Ceilings>,
    /// Who compiles.
    pub compiler: Compiler,
    /// What the code cache may hold.
    pub cache: CacheBounds,
    /// How long a start waits for components that were never compiled here; the others are compiled
    /// while jobs run. Without a bound, the first scan is complete when the start returns.
    pub first_scan: Option<Duration>,
}

/// Who turns components into native code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Compiler {
    /// A child process that runs this program as [`compile_as_child`], one at a time, within limits.
    Child {
        /// The program.
        program: PathBuf,
        /// What one compilation may use.
        limits: CompileLimits,
    },
    /// This process. A component can take it down.
    #[cfg(test)]
    Here,
}

impl Compiler {
    /// This very program, in a child process.
    #[must_use]
    pub fn child(limits: CompileLimits) -> Self {
        Self::Child {
            program: child::own_program(),
            limits,
        }
    }
}

impl RegistryOptions {
    /// The defaults for three directories.
    #[must_use]
    pub fn new(
        plugins_dir: impl Into<PathBuf>,
        cache_dir: impl Into<PathBuf>,
        versions_dir: impl Into<PathBuf>,
    ) -> Self {
        Self {
            plugins_dir: plugins_dir.into(),
            cache_dir: cache_dir.into(),
            versions_dir: versions_dir.into(),
            owns_data: true,
            keep_versions: 5,
            quarantine_after: 10,
            poll: Duration::from_millis(200),
            again: Duration::from_secs(10),
            max_file: 64 << 20,
            sandbox: SandboxOptions::default(),
            ceilings: Arc::default(),
            compiler: Compiler::child(CompileLimits::default()),
            cache: CacheBounds::default(),
            first_scan: None,
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
    /// A directory of the registry's own cannot be used.
    #[error(transparent)]
    Dir(#[from] DirError),
    /// A directory of the registry's own would be where plugins are dropped.
    #[error(
        "{} lies in the plugin folder, where everyone who drops plugins can write: keep the data directory out of it",
        path.display()
    )]
    OwnDirInPlugins {
        /// The directory.
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
    /// Whether it is a fault of the machine, which may pass without the file being touched.
    pub(crate) passing: bool,
}

impl Fault {
    pub(crate) fn new(cause: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            cause: cause.into(),
            hint: hint.into(),
            passing: false,
        }
    }

    pub(crate) fn passing(cause: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            passing: true,
            ..Self::new(cause, hint)
        }
    }
}

/// Bytes as hex digits.
fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The plugin folder, watched by a thread of its own until this is dropped.
#[derive(Debug)]
pub struct Registry {
    shared: Arc<Shared>,
    wake: Option<SyncSender<()>>,
    halt: Halt,
    /// What loads the code of plugins to look at it.
    engine: Engine,
    options: Mutex<RegistryOptions>,
    /// Held by the one look at a file that is under way.
    checking: Mutex<()>,
    thread: Option<JoinHandle<()>>,
}

/// What the watching thread and its readers share.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Taken before the catalog, never after it.
    desk: Mutex<Desk>,
    tally: Mutex<Tally>,
    quarantine_after: usize,
    catalog: Mutex<Arc<Catalog>>,
    changed: notice::Sender<u64>,
}

impl Registry {
    /// Watch a folder. The first scan is complete when this returns, as far as the options give it
    /// time: it may take seconds for components that were never compiled here. `halt` cuts it short.
    pub fn start(options: RegistryOptions, halt: Halt) -> Result<Self, RegistryError> {
        let engines = Engines::start().map_err(RegistryError::Engine)?;
        let keep = options.owns_data.then_some(options.keep_versions);
        let versions = Versions::open(&options.versions_dir, keep)?;
        let grants = GrantFiles::new(options.plugins_dir.clone(), Arc::clone(&options.ceilings));
        let shared = Arc::new(Shared {
            desk: Mutex::new(Desk::new(versions, grants)),
            tally: Mutex::default(),
            quarantine_after: options.quarantine_after,
            catalog: Mutex::default(),
            changed: notice::Sender::new(0),
        });
        let mut watcher =
            watch::Watcher::new(options.clone(), &engines, Arc::clone(&shared), halt.clone())?;
        let engine = watcher.engine().clone();
        // One wish to look is enough: more would look at the same folder.
        let (wake, woken) = sync_channel(1);
        let (scanned, first_scan) = sync_channel(1);
        // The first scan too: a compiler ends with the thread that started it, and may be needed after.
        let thread = thread::Builder::new()
            .name("plugins".into())
            .spawn(move || {
                // The engine's clock runs as long as someone holds it.
                let _engines = engines;
                let scan = watcher.first_scan();
                let goes_on = scan.is_ok();
                // Nobody waits for it when the start was given up.
                let _ = scanned.send(scan);
                if goes_on {
                    watcher.run(&woken);
                }
            })
            .map_err(|error| RegistryError::Engine(error.to_string()))?;
        first_scan.recv().unwrap_or_else(|_| {
            Err(RegistryError::Engine(
                "the first look at the plugin folder broke off".to_owned(),
            ))
        })?;
        Ok(Self {
            shared,
            wake: Some(wake),
            halt,
            engine,
            options: Mutex::new(options),
            checking: Mutex::default(),
            thread: Some(thread),
        })
    }

    /// Tell that the process before this one went away while it ran these jobs, each with its kind: a
    /// version to which that happens again and again is held back. To be called once, before jobs
    /// run.
    pub fn went_away(&self, jobs: &[(JobId, String)]) {
        self.shared.went_away(jobs);
    }

    /// Hold what plugins ask for against other ceilings from now on. Attempts that run keep what they had.
    pub fn bound_by(&self, ceilings: Arc<Ceilings>) {
        let options = self.options.lock();
        options.unwrap_or_else(|held| held.into_inner()).ceilings = Arc::clone(&ceilings);
        self.shared.desk().grants.bound_by(ceilings);
        self.shared.refresh(false);
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

    fn ended(&self, plugin: &Plugin, kind: &str, job: JobId, outcome: &Outcome) {
        self.shared.ended(plugin, kind, job, outcome);
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.halt.stop();
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

    fn desk(&self) -> MutexGuard<'_, Desk> {
        // Nothing that holds the lock leaves it half changed.
        self.desk.lock().unwrap_or_else(|held| held.into_inner())
    }

    /// Put what follows from the desk in place of the catalog, when it is another. `look`: also see
    /// whether the files of grants changed. False while one of them is waiting to be seen unchanged twice.
    fn refresh(&self, look: bool) -> bool {
        let mut desk = self.desk();
        let (catalog, settled) = desk.catalog(look);
        let mut held = self.catalog.lock().unwrap_or_else(|held| held.into_inner());
        if **held == catalog {
            return settled;
        }
        *held = Arc::new(catalog);
        drop(held);
        drop(desk);
        self.changed.send_modify(|count| *count += 1);
        settled
    }
}

/// A workshop for tests of the sandbox, which take their plugins from it.
#[cfg(test)]
pub(crate) fn workshop_for_tests(
    cache_dir: &std::path::Path,
    engines: &Engines,
) -> workshop::Workshop {
    let options = SandboxOptions::default();
    workshop::Workshop::open(
        cache_dir,
        &options,
        engines,
        Compiler::Here,
        Halt::default(),
    )
    .expect("a workshop in a directory of our own")
}
