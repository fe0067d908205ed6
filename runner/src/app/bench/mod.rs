//! A component measured: its jobs drained by a runner without sockets on a data directory that is thrown away, beside
//! bare attempts of it.

mod bare;
mod watch;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use sandhog_model::{Job, JobId, NewJob, RetryPolicy};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::{
    control_threads, engine_options, outside, registry_options,
    reload::InForce,
    sandbox_options,
    settings::{Operator, book},
    wal_options,
};
use crate::{
    cli::{self, Drained, Trial},
    clock::{Clock, SystemClock},
    config::Config,
    engine::{Engine, EngineParts, Running, Settings, door_defaults},
    metrics::Metrics,
    plugin::{Halt, Live, Outside, Plugin, Plugins, Problem, Registry, WasmHostFactory},
    store::{Inspect, Store, wal},
};
use watch::{Counting, WatchedHosts};

pub use watch::{AttemptEnd, AttemptWatch};

/// Jobs enqueued in one wish.
const BATCH: usize = 1_000;
/// Longer than the last reports of a round take.
const END: Duration = Duration::from_secs(600);

/// Plugins served, with room on a disk for stores that are thrown away.
pub struct Stand {
    config: Arc<Config>,
    operator: Arc<Operator>,
    registry: Arc<Registry>,
    outside: Arc<Outside>,
    runtime: Runtime,
    // Gone with all in it when this is.
    dir: TempDir,
}

/// A runner without sockets.
pub struct Stage {
    /// Its store.
    pub store: Arc<wal::Wal>,
    /// Its engine.
    pub engine: Arc<Engine>,
    data: PathBuf,
}

impl Stand {
    /// Copy components, each with the grants beside it, into a folder made in `place`, and take them in as a start
    /// does. The settings count but for where things lie, and for versions that break, which are not held back.
    pub fn set_up(config: &Config, files: &[PathBuf], place: &Path) -> anyhow::Result<Self> {
        let dir = tempfile::Builder::new()
            .prefix("sandhog-bench-")
            .tempdir_in(place)
            .with_context(|| format!("cannot make a folder in {}", place.display()))?;
        let mut config = config.clone();
        config.runner.plugins = dir.path().join("plugins");
        config.runner.data = dir.path().join("runner");
        config.plugins.quarantine_after = 0;
        fs::create_dir(&config.runner.plugins).context("cannot make a plugin folder")?;
        for file in files {
            copy(file, &config.runner.plugins)?;
        }
        let runtime = control_threads()?;
        let registry = Registry::start(registry_options(&config), Halt::default())?;
        let scratch = dir.path().join("scratch");
        fs::create_dir(&scratch).context("cannot make a folder for scratch directories")?;
        Ok(Self {
            outside: outside(&config, Some(scratch), &Metrics::default()),
            operator: Arc::new(Operator::new(InForce::new(config.clone()))),
            config: Arc::new(config),
            registry: Arc::new(registry),
            runtime,
            dir,
        })
    }

    /// What is served, and what is not.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Run something on the control threads.
    pub fn run<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// A runner on a new data directory, whose attempts' ends are told to `watch`. Call within [`run`](Self::run).
    pub async fn start(&self, watch: Arc<dyn AttemptWatch>) -> anyhow::Result<Stage> {
        let mut config = (*self.config).clone();
        config.runner.data = self.dir.path().join("data");
        let options = wal::WalOptions {
            // Nothing is forgotten while it is measured.
            keep_ended_ms: None,
            max_ended: None,
            ..wal_options(&config, "sandhog bench")
        };
        let store = wal::open(options).context("cannot open a data directory")?;
        let hosts = WasmHostFactory::new(sandbox_options(&config));
        let hosts = hosts.map_err(|cause| anyhow::anyhow!("cannot set up the sandbox: {cause}"))?;
        let hosts = hosts.reaching(Arc::clone(&self.outside));
        let parts = EngineParts {
            store: store.clone(),
            plugins: self.registry.clone(),
            hosts: Arc::new(WatchedHosts { hosts, watch }),
            settings: self.operator.clone(),
            crons: Arc::new(book(&Config::default())),
            clock: Arc::new(SystemClock::default()),
        };
        Ok(Stage {
            engine: Engine::start(engine_options(&config), parts).await?,
            store,
            data: config.runner.data,
        })
    }

    /// A job as a door would accept it. It is tried once.
    #[must_use]
    pub fn job(&self, id: JobId, new: NewJob) -> Job {
        let new = NewJob {
            retry: RetryPolicy {
                max_attempts: Some(1),
                ..RetryPolicy::default()
            },
            ..new
        };
        let catalog = self.registry.catalog();
        let defaults = door_defaults(self.operator.as_ref(), &catalog, &new.kind);
        let now = SystemClock::default().now().wall;
        new.accept(id, now, &defaults)
            .expect("its parts were checked")
    }

    /// The operator's rule and what the handler says for a kind that is served.
    fn served(&self, kind: &str) -> anyhow::Result<(Arc<Plugin>, crate::plugin::Limits)> {
        let catalog = self.registry.catalog();
        let (plugin, info) = catalog
            .serving(kind)
            .with_context(|| format!("kind {kind} is not served"))?;
        let rule = self.operator.rule(kind);
        let mut limits = rule.limits;
        limits.timeout_ms = rule
            .timeout_ms
            .or(info.timeout_ms)
            .unwrap_or(limits.timeout_ms);
        Ok((Arc::clone(plugin), limits))
    }

    /// Drain so many jobs that waited before, to the last durable report.
    pub fn drain(&self, job: &NewJob, jobs: usize, live: &Live) -> anyhow::Result<Drained> {
        // Jobs that nothing serves would wait for ever.
        self.served(&job.kind)?;
        let counting = Arc::new(Counting::default());
        self.run(async {
            let stage = self.start(counting.clone()).await?;
            let drained = self.drain_on(&stage, &counting, job, jobs, live).await;
            // What runs and holds the store is stopped also when something went wrong.
            stage.close().await?;
            drained
        })
    }

    async fn drain_on(
        &self,
        stage: &Stage,
        counting: &Counting,
        job: &NewJob,
        jobs: usize,
        live: &Live,
    ) -> anyhow::Result<Drained> {
        let engine = &stage.engine;
        // Pages touched, code linked, slots made: on every worker.
        let warm = self.config.runner.workers * self.config.runner.slots;
        self.fill(stage, job, warm).await?;
        counting.until(warm, live).await?;
        engine.be_quiet(true);
        self.fill(stage, job, jobs).await?;
        let (waits, syncs) = (engine.waits(), stage.syncs().await?);
        let running = counting.running();
        let begun = Instant::now();
        engine.be_quiet(false);
        counting.until(warm + jobs, live).await?;
        // Ended once the last reports are answered.
        engine.stop(END, std::future::pending()).await;
        let seconds = begun.elapsed().as_secs_f64();
        let after = engine.waits();
        Ok(Drained {
            jobs,
            seconds,
            workers: self.config.runner.workers,
            running: counting.running() - running,
            claiming: after.claiming - waits.claiming,
            reporting: after.reporting - waits.reporting,
            reports: after.reports - waits.reports,
            syncs: stage.syncs().await? - syncs,
        })
    }

    async fn fill(&self, stage: &Stage, job: &NewJob, jobs: usize) -> anyhow::Result<()> {
        let mut left = jobs;
        while left > 0 {
            let many = left.min(BATCH);
            let batch = (0..many).map(|_| self.job(stage.store.mint(), job.clone()));
            let answers = stage.store.enqueue(batch.collect()).await?;
            answers.into_iter().collect::<Result<Vec<_>, _>>()?;
            left -= many;
        }
        Ok(())
    }
}

impl Stage {
    async fn syncs(&self) -> anyhow::Result<u64> {
        Ok(self.store.stats().await?.syncs)
    }

    /// Stop at once and remove the data directory.
    pub async fn close(self) -> anyhow::Result<()> {
        let Self {
            store,
            engine,
            data,
        } = self;
        engine.stop(Duration::ZERO, std::future::pending()).await;
        store.close().await?;
        drop(store);
        fs::remove_dir_all(&data).with_context(|| format!("cannot remove {}", data.display()))
    }
}

/// Copy a component and the file with its grants, if there is one.
fn copy(file: &Path, folder: &Path) -> anyhow::Result<()> {
    let name = file.file_name().context("a component has a file name")?;
    let name = folder.join(name);
    let failed = |file: &Path| format!("cannot copy {}", file.display());
    fs::copy(file, &name).with_context(|| failed(file))?;
    let grants = file.with_extension("toml");
    match fs::copy(&grants, name.with_extension("toml")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| failed(&grants))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// A component ready to be measured, on the disk on which the data directory lies.
pub(super) fn open(config: &Config, file: &Path) -> Result<Box<dyn cli::Measure>, Problem> {
    let problem = |cause: String, hint: &str| Problem {
        file: file.to_owned(),
        cause,
        hint: hint.to_owned(),
        earlier_served: false,
    };
    let place = config.runner.data.parent().filter(|dir| dir.is_dir());
    let place = place.unwrap_or_else(|| Path::new("."));
    let place = fs::canonicalize(place).unwrap_or_else(|_| place.to_owned());
    let stand = Stand::set_up(config, &[file.to_owned()], &place).map_err(|error| {
        problem(
            format!("it cannot be set up: {error:#}"),
            "a folder beside the data directory must be writable",
        )
    })?;
    let catalog = stand.registry.catalog();
    if let Some(found) = catalog.problems.first() {
        return Err(problem(found.cause.clone(), &found.hint));
    }
    let plugin = catalog.plugins.values().next().ok_or_else(|| {
        problem(
            "it is not taken in as a plugin".to_owned(),
            "name a file that ends in .wasm",
        )
    })?;
    let plugin = Arc::clone(plugin);
    Ok(Box::new(Measured {
        stand,
        plugin,
        place,
    }))
}

struct Measured {
    stand: Stand,
    plugin: Arc<Plugin>,
    place: PathBuf,
}

impl cli::Measure for Measured {
    fn plugin(&self) -> &Plugin {
        &self.plugin
    }

    fn place(&self) -> &Path {
        &self.place
    }

    fn drain(&self, trial: &Trial, jobs: usize) -> anyhow::Result<Drained> {
        self.stand.drain(&new_job(trial), jobs, &trial.live)
    }

    fn bare(&self, trial: &Trial, jobs: usize) -> anyhow::Result<cli::Bared> {
        self.stand.bare(&new_job(trial), jobs, &trial.live)
    }
}

fn new_job(trial: &Trial) -> NewJob {
    NewJob {
        kind: trial.kind.clone(),
        payload: trial.payload.clone(),
        content_type: trial.content_type.clone(),
        headers: trial.headers.clone(),
        ..NewJob::default()
    }
}
