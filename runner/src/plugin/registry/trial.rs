//! A file looked at or tried on its own, without a folder, a store or a runner.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    pin::Pin,
    sync::{Arc, Mutex},
};

use sandhog_model::{IdMint, Job, JobId, RetryPolicy, Terms, Token, UnixMs};
use serde::{Deserialize, Serialize};

use super::{
    Fault, RegistryError, RegistryOptions,
    folder::{self, Reading},
    grants,
    halt::Halt,
    workshop::{NotMade, Workshop},
};
use crate::{
    clock::{Clock, SystemClock},
    entropy::{Entropy, SystemEntropy},
    plugin::{
        AttemptRequest, Host, Limits, Live, Outside, Plugin, Problem, Report, Services,
        sandbox::{SandboxOptions, WasmHost, engines::Engines},
    },
};

/// One attempt at a job that no store knows.
#[derive(Debug, Clone)]
pub struct Trial {
    /// The kind to run.
    pub kind: String,
    /// The payload's bytes.
    pub payload: Vec<u8>,
    /// Media type of the payload; what the handler expects when `None`.
    pub content_type: Option<String>,
    /// The job's headers.
    pub headers: Vec<(String, String)>,
    /// What the attempt may use.
    pub limits: Limits,
    /// The operator's wall time for the kind in milliseconds. When `None` it is what the handler
    /// proposes, then what the limits say.
    pub timeout_ms: Option<u64>,
    /// What it reaches outside of the sandbox.
    pub outside: Arc<Outside>,
    /// The settings it may ask for.
    pub config: BTreeMap<String, String>,
    /// What others may see and do while it runs.
    pub live: Arc<Live>,
}

/// What came of a trial.
#[derive(Debug, Clone)]
pub struct Tried {
    /// How it ended.
    pub report: Report,
    /// What it was allowed to use.
    pub limits: Limits,
}

/// Everything the registry would look at in a file: what it is when it can be served. Compiles each
/// time; no code is kept on disk.
pub fn check(file: &Path, options: &RegistryOptions) -> Result<Checked, Problem> {
    let bench = Bench::set_up(file, &options.sandbox, options)?;
    let mut plugin = bench.make(file)?;
    plugin.grants = Arc::new(grants::beside(file, &options.ceilings)?);
    let imports = bench.workshop.imports(&plugin);
    let imports = imports.map_err(|fault| problem(file, fault))?;
    Ok(Checked { plugin, imports })
}

/// A component that was looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    /// What it is, asks for and is granted.
    pub plugin: Plugin,
    /// The interfaces it imports, with their versions.
    pub imports: Vec<String>,
}

/// A component on its own, compiled once and tried as often as one likes. It is granted what the
/// file beside it says.
pub struct Tryout {
    file: PathBuf,
    plugin: Arc<Plugin>,
    options: SandboxOptions,
    bench: Bench,
}

impl Tryout {
    /// Look at a file as [`check`] does, and keep what was made of it. `options` bound what its
    /// attempts may use.
    pub fn open(file: &Path, options: &RegistryOptions) -> Result<Self, Problem> {
        let sandbox = SandboxOptions {
            slots: 1,
            ..options.sandbox.clone()
        };
        let bench = Bench::set_up(file, &sandbox, options)?;
        let mut plugin = bench.make(file)?;
        plugin.grants = Arc::new(grants::beside(file, &options.ceilings)?);
        Ok(Self {
            file: file.to_owned(),
            plugin: Arc::new(plugin),
            options: sandbox,
            bench,
        })
    }

    /// What the file turned out to be.
    #[must_use]
    pub fn plugin(&self) -> &Plugin {
        &self.plugin
    }

    /// Run one attempt. The kind must be one the component serves. Blocks until the attempt's end.
    pub fn run(&self, trial: Trial) -> Result<Tried, Problem> {
        let broken = |why: String| {
            let fault = Fault::new(why, "this is a fault of the machine");
            problem(&self.file, fault)
        };
        let host = WasmHost::new(&self.options, Arc::clone(&self.bench.engines))
            .map_err(broken)?
            .reaching(Arc::clone(&trial.outside));
        let services = Arc::new(OneJob::default());
        let request = self.request(trial, &services)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .map_err(|error| broken(error.to_string()))?;
        let limits = request.limits.clone();
        let report = runtime.block_on(host.run(request, services));
        Ok(Tried { report, limits })
    }

    fn request(&self, trial: Trial, services: &OneJob) -> Result<AttemptRequest, Problem> {
        let kinds = &self.plugin.kinds;
        let Some(info) = kinds.iter().find(|info| info.kind == trial.kind) else {
            let kinds: Vec<&str> = kinds.iter().map(|info| info.kind.as_str()).collect();
            let fault = Fault::new(
                format!("it does not serve kind {:?}", trial.kind),
                format!("it serves {}", kinds.join(", ")),
            );
            return Err(problem(&self.file, fault));
        };
        let now = services.wall();
        let content_type = trial.content_type.or_else(|| info.content_type.clone());
        let mut limits = trial.limits;
        limits.timeout_ms = trial
            .timeout_ms
            .or(info.timeout_ms)
            .unwrap_or(limits.timeout_ms);
        Ok(AttemptRequest {
            job: Job {
                id: services.mint(),
                kind: trial.kind,
                queue: "default".to_owned(),
                priority: 0,
                payload: trial.payload,
                content_type: content_type.unwrap_or_default(),
                headers: trial.headers,
                enqueued_at: now,
                due: now,
                retry: RetryPolicy::default(),
                timeout_ms: Some(limits.timeout_ms),
                parent: None,
                terms: Terms::default(),
            },
            token: Token(1),
            number: 1,
            max_attempts: 1,
            checkpoint: None,
            started_at: now,
            plugin: Arc::clone(&self.plugin),
            limits,
            config: Arc::new(trial.config),
            live: trial.live,
        })
    }
}

impl fmt::Debug for Tryout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tryout").field("file", &self.file).finish()
    }
}

/// A workshop with a cache that goes with it.
struct Bench {
    workshop: Workshop,
    engines: Arc<Engines>,
    max_file: u64,
    _cache: tempfile::TempDir,
}

impl Bench {
    fn set_up(
        file: &Path,
        sandbox: &SandboxOptions,
        options: &RegistryOptions,
    ) -> Result<Self, Problem> {
        let broken = |why: String| {
            problem(
                file,
                Fault::new(why, "this is a fault of the machine, not of the file"),
            )
        };
        let cache = tempfile::Builder::new()
            .prefix("sandhog-code-")
            .tempdir()
            .map_err(|error| broken(format!("cannot make a directory for its code: {error}")))?;
        let engines = Engines::start().map_err(broken)?;
        let workshop = Workshop::open(
            cache.path(),
            sandbox,
            &engines,
            options.compiler.clone(),
            Halt::default(),
        )
        .map_err(|error: RegistryError| broken(error.to_string()))?;
        Ok(Self {
            workshop,
            engines,
            max_file: options.max_file,
            _cache: cache,
        })
    }

    fn make(&self, file: &Path) -> Result<Plugin, Problem> {
        let name = file
            .file_stem()
            .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        let found = match folder::read(file, None, self.max_file) {
            Reading::Whole(bytes) => {
                let made = self.workshop.make(&name, file, &bytes);
                made.map_err(|why| match why {
                    NotMade::Fault(fault) => fault,
                    NotMade::Halted => Fault::passing("it was not compiled", "try again"),
                })
            }
            Reading::Faulty(fault) => Err(fault),
            Reading::Unsettled => Err(Fault::new(
                "the file is being written",
                "try again when it is whole",
            )),
        };
        found.map_err(|fault| problem(file, fault))
    }
}

fn problem(file: &Path, fault: Fault) -> Problem {
    Problem {
        file: file.to_owned(),
        cause: fault.cause,
        hint: fault.hint,
        earlier_served: false,
    }
}

/// The services of a job that no store knows: checkpoints are taken and forgotten.
#[derive(Default)]
pub struct OneJob {
    clock: SystemClock,
    mint: Mutex<IdMint>,
}

impl fmt::Debug for OneJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OneJob").finish_non_exhaustive()
    }
}

impl Services for OneJob {
    fn checkpoint(
        &self,
        _: JobId,
        _: Token,
        _: Vec<u8>,
    ) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + '_>> {
        Box::pin(async { Ok(()) })
    }

    fn mint(&self) -> JobId {
        let mut mint = self.mint.lock().unwrap_or_else(|held| held.into_inner());
        mint.next(self.wall(), || SystemEntropy.next())
    }

    fn wall(&self) -> UnixMs {
        self.clock.now().wall
    }

    fn complete(&self, mut job: Job) -> Job {
        if job.queue.is_empty() {
            job.queue = "default".to_owned();
        }
        job
    }
}
