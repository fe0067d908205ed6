//! A runner: store, plugins, workers and socket, from start to stop.

use std::{fs, io, net::SocketAddr, path::PathBuf, process::ExitCode, sync::Arc, time::Duration};

use anyhow::Context;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::{
    control_threads, engine_options,
    http::{self, Http},
    logging::{self, LogLevel},
    offline::context,
    outside, registry_options,
    reload::{Followers, InForce, Reloader, label_queues},
    sandbox_options, service,
    signals::{StopSignals, Told},
    traces,
};
use super::{
    settings::{Operator, book, tell_strays},
    wal_options,
};
use crate::{
    api,
    cli::ReadSettings,
    clock::SystemClock,
    config::{self, Config},
    engine::{Engine, EngineParts, Running},
    metrics::Metrics,
    plugin::{Catalog, Halt, Plugins, Registry, RegistryOptions, WasmHostFactory},
    store::{
        Observed, Store, StoreError,
        wal::{self, Wal, WalOptions},
    },
    traces::Traces,
};

/// How long a start waits for plugins that were never compiled here before jobs run.
const FIRST_SCAN: Duration = Duration::from_secs(20);

/// Be a runner until told to stop. Ends with 1 when the store could not go on.
pub(super) fn start(config: Config, read: ReadSettings) -> anyhow::Result<ExitCode> {
    let level = logging::start(&config)?;
    raise_open_files();
    let runtime = control_threads()?;
    let code = runtime.block_on(run(&config, read, level))?;
    // Nothing of ours is left running; what a guest's file calls left behind is not waited for.
    runtime.shutdown_background();
    Ok(code)
}

/// Every segment of the log holds an open file, and many systems allow 1024 unless one asks.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    if limit.current != limit.maximum
        && let Err(error) = setrlimit(Resource::Nofile, raised)
    {
        tracing::warn!(%error, allowed = limit.current, "cannot allow more open files");
    }
}

async fn run(config: &Config, read: ReadSettings, level: LogLevel) -> anyhow::Result<ExitCode> {
    // From here on a signal asks for a stop instead of ending the process.
    let mut signals = StopSignals::listen().context("cannot listen for signals")?;
    let export = traces::export(config)?;
    let Opened {
        metrics,
        wal,
        store,
    } = open_store(config, export.traces())?;
    let http = http::bind(config).await?;
    let Some(registry) = start_registry(config, &mut signals).await? else {
        store.close().await.context("cannot close the store")?;
        tracing::info!("stopped before anything ran");
        return Ok(ExitCode::SUCCESS);
    };
    registry.went_away(wal.lost());
    let registry = Arc::new(registry);
    let followers = Followers {
        in_force: InForce::new(config.clone()),
        store: store.clone(),
        registry: registry.clone(),
        outside: outside(config, Some(clear_scratch(config)?), &metrics),
        crons: Arc::new(book(config)),
        metrics: metrics.clone(),
        level,
        guard: http.as_ref().map(|bound| bound.guard.clone()),
    };
    let in_force = Arc::clone(&followers.in_force);
    let engine = start_engine(config, &store, &followers).await?;
    tell_strays(config, &*store).await;

    let (server, socket) = api::Server::bind(api::Options::new(&config.runner.data))?;
    let running: Arc<dyn Running> = engine.clone();
    let offered = registry.clone();
    let mut ctx = context(in_force.clone(), store.clone(), Some(running), move |_| {
        offered.catalog()
    });
    ctx.desk = Some(registry.clone());
    ctx.metrics = Some(metrics);
    ctx.crons = Arc::clone(&followers.crons);
    let reloader = Reloader::new(read, followers);
    ctx.reload = Some(reloader.clone());
    let http = http.map(|bound| bound.serve(&ctx));
    let serving = tokio::spawn(server.run(ctx));
    let address = http.as_ref().map(Http::address);
    tell_ready(config, &registry.catalog(), address);
    let watchdog = service::watchdog(store.clone());

    let broken = broken(&*store, &engine, &mut signals, &reloader, &in_force).await;
    // What is broken is left to a restart at once: with a poisoned store no outcome can be written.
    let grace = match broken {
        None => in_force.now().runner.shutdown_grace,
        Some(_) => Duration::ZERO,
    };
    service::stopping();
    engine.stop(grace, hurry(&mut signals)).await;
    drop(watchdog);
    socket.stop();
    serving.await.context("the socket's task broke")?;
    if let Some(http) = http {
        http.stop().await?;
    }
    let closed = close(&*store, export).await;
    if let Some(cause) = broken {
        anyhow::bail!(cause);
    }
    closed.context("cannot close the store")?;
    tracing::info!("stopped");
    Ok(ExitCode::SUCCESS)
}

/// Let the store go, and tell the last spans.
async fn close(store: &dyn Store, export: traces::Export) -> Result<(), StoreError> {
    let closed = store.close().await;
    export.stop().await;
    closed
}

/// A second signal, while the runner stops.
async fn hurry(signals: &mut StopSignals) {
    let signal = signals.next().await;
    tracing::info!(%signal, "stopping at once");
}

/// Resolves when the runner is to stop: what broke, if something did.
async fn broken(
    store: &dyn Store,
    engine: &Engine,
    signals: &mut StopSignals,
    reloader: &Reloader,
    in_force: &InForce,
) -> Option<String> {
    tokio::select! {
        signal = stop_signal(signals, engine, reloader) => {
            let grace = in_force.now().runner.shutdown_grace;
            tracing::info!(%signal, ?grace, "stopping: no new jobs are claimed");
            None
        }
        cause = store.poisoned() => {
            tracing::error!(%cause, "the store takes nothing more: stopping");
            Some(format!("the store failed: {cause}"))
        }
        () = engine.worker_lost() => {
            tracing::error!("a worker thread broke: stopping");
            Some("a worker thread broke: its log has the panic".to_owned())
        }
    }
}

/// What asks for a stop: a signal, or someone at the socket. Meanwhile a `SIGTSTP` has the workers claim
/// nothing more, and a `SIGHUP` the settings read again.
async fn stop_signal(
    signals: &mut StopSignals,
    engine: &Engine,
    reloader: &Reloader,
) -> &'static str {
    loop {
        tokio::select! {
            told = signals.any() => match told {
                Told::Stop(signal) => return signal,
                Told::Quiet => {
                    engine.be_quiet(true);
                    tracing::info!("quiet: no new jobs are claimed until `sandhog worker resume`");
                }
                // What came of it is told in the log.
                Told::Reload => {
                    service::reloading();
                    drop(reloader.reload_and_tell().await);
                    service::ready("settings read again");
                }
            },
            () = engine.stop_asked() => return "`sandhog worker stop`",
        }
    }
}

fn tell_ready(config: &Config, catalog: &Catalog, http: Option<SocketAddr>) {
    tracing::info!(
        data = %config.runner.data.display(),
        plugins = %config.runner.plugins.display(),
        kinds = catalog.kinds().len(),
        workers = config.runner.workers,
        slots = config.runner.slots,
        pid = std::process::id(),
        http = %config::Listen(http),
        "ready"
    );
    service::ready(&format!("{} kinds of jobs run", catalog.kinds().len()));
    if catalog.plugins.is_empty() {
        let folder = config.runner.plugins.display();
        tracing::warn!("no plugin is served: drop NAME.wasm files into {folder}");
    }
}

/// The store, and what goes in and out of it counted.
struct Opened {
    metrics: Arc<Metrics>,
    wal: Arc<Wal>,
    store: Arc<dyn Store>,
}

fn open_store(config: &Config, traces: Traces) -> anyhow::Result<Opened> {
    let metrics = Arc::new(Metrics::default());
    label_queues(&metrics, config);
    let options = WalOptions {
        watch: metrics.log.clone(),
        ..wal_options(config, "sandhog start")
    };
    let wal = wal::open(options).with_context(|| {
        let data = config.runner.data.display();
        format!("cannot open the data directory {data}")
    })?;
    let clock = Arc::new(SystemClock::default());
    let store = Arc::new(Observed::new(wal.clone(), metrics.clone(), traces, clock));
    Ok(Opened {
        metrics,
        wal,
        store,
    })
}

/// The plugin folder, looked through; `None` when a signal came meanwhile.
async fn start_registry(
    config: &Config,
    signals: &mut StopSignals,
) -> anyhow::Result<Option<Registry>> {
    let options = RegistryOptions {
        first_scan: Some(FIRST_SCAN),
        ..registry_options(config)
    };
    let halt = Halt::default();
    let mut starting = tokio::task::spawn_blocking({
        let halt = halt.clone();
        move || Registry::start(options, halt)
    });
    tokio::select! {
        started = &mut starting => Ok(Some(started??)),
        signal = signals.next() => {
            tracing::info!(%signal, "stopping while plugins are taken in");
            halt.stop();
            starting.await??;
            Ok(None)
        }
    }
}

/// The place for scratch directories, without those of a runner that was killed.
fn clear_scratch(config: &Config) -> anyhow::Result<PathBuf> {
    let scratch = config.runner.data.join("scratch");
    let cleared = match fs::remove_dir_all(&scratch) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::create_dir(&scratch),
    };
    cleared.with_context(|| format!("cannot clear {}", scratch.display()))?;
    Ok(scratch)
}

async fn start_engine(
    config: &Config,
    store: &Arc<dyn Store>,
    followers: &Followers,
) -> anyhow::Result<Arc<Engine>> {
    let hosts = WasmHostFactory::new(sandbox_options(config));
    let hosts = hosts.map_err(|cause| anyhow::anyhow!("cannot set up the sandbox: {cause}"))?;
    let hosts = hosts.reaching(Arc::clone(&followers.outside));
    let parts = EngineParts {
        store: store.clone(),
        plugins: followers.registry.clone(),
        hosts: Arc::new(hosts),
        settings: Arc::new(Operator::new(Arc::clone(&followers.in_force))),
        crons: followers.crons.clone(),
        clock: Arc::new(SystemClock::default()),
    };
    Ok(Engine::start(engine_options(config), parts).await?)
}
