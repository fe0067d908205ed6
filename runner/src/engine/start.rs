//! Starting and stopping the engine.

use std::{sync::Arc, thread, time::Duration};

use sandhog_model::{Cancellation, JobId, Token};
use tokio::sync::{oneshot, watch};

use super::{
    MemoryUse, Mode, Running,
    budget::Budget,
    cron::{Clockwork, CronBook},
    idle::IdleWorkers,
    lease::Heartbeat,
    live::{CallingOff, LiveTable, WorkerCount},
    run::RunContext,
    services::EngineServices,
    settings::Settings,
    view::{Waits, WorkerRow},
    worker::{Phase, Worker},
};
use crate::{
    clock::Clock,
    plugin::{Catalog, HostFactory, LiveView, Plugins},
    store::Store,
};

/// How the engine works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineOptions {
    /// Worker threads, at least 1.
    pub workers: usize,
    /// Attempts a worker thread runs at a time, at least 1.
    pub slots: usize,
    /// Memory that the attempts which run at a time may have together by their limits, in bytes.
    pub memory_budget: u64,
    /// The largest memory limit of any kind, in bytes.
    pub memory_ceiling: u64,
    /// How long a lease lasts without a renewal, in milliseconds.
    pub lease_ms: u64,
    /// How long a handler whose job was called off may go on before it is stopped.
    pub cancel_grace: Duration,
}

/// What the engine is built from.
#[derive(Clone)]
pub struct EngineParts {
    /// Where jobs are kept.
    pub store: Arc<dyn Store>,
    /// Who serves which kind.
    pub plugins: Arc<dyn Plugins>,
    /// Makes each worker's sandbox host.
    pub hosts: Arc<dyn HostFactory>,
    /// The operator's settings.
    pub settings: Arc<dyn Settings>,
    /// The schedules.
    pub crons: Arc<CronBook>,
    /// The clocks.
    pub clock: Arc<dyn Clock>,
}

/// Why the engine did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A worker thread could not make its sandbox host.
    #[error("worker {worker} cannot make its sandboxes: {cause}")]
    Host {
        /// The worker's number.
        worker: usize,
        /// Why.
        cause: String,
    },
    /// The system gives no more threads.
    #[error("cannot start the thread of worker {worker}: {cause}")]
    Thread {
        /// The worker's number.
        worker: usize,
        /// Why.
        cause: std::io::Error,
    },
}

/// A running engine.
pub struct Engine {
    options: EngineOptions,
    plugins: Arc<dyn Plugins>,
    live: Arc<LiveTable>,
    budget: Arc<Budget>,
    idle: Arc<IdleWorkers>,
    counts: Vec<Arc<WorkerCount>>,
    phase: watch::Sender<Phase>,
    stopped: watch::Sender<bool>,
    /// Whether someone asked the runner to stop.
    stop_asked: watch::Sender<bool>,
    /// Counts workers that have ended.
    ended: watch::Receiver<usize>,
}

impl Engine {
    /// Start the workers and the heartbeat. Call on a tokio runtime that guests do not share.
    pub async fn start(
        options: EngineOptions,
        parts: EngineParts,
    ) -> Result<Arc<Self>, StartError> {
        let live = Arc::new(LiveTable::default());
        let (phase, _) = watch::channel(Phase::Run);
        let (stopped, stop_seen) = watch::channel(false);
        let (ended_count, ended) = watch::channel(0);
        let mut engine = Self {
            plugins: parts.plugins.clone(),
            live: live.clone(),
            budget: Budget::new(options.memory_budget),
            idle: IdleWorkers::new(options.workers),
            counts: Vec::new(),
            phase,
            stopped,
            stop_asked: watch::Sender::new(false),
            ended,
            options,
        };
        for number in 0..engine.options.workers {
            engine
                .add_worker(number, &parts, ended_count.clone())
                .await?;
        }
        let clockwork = Clockwork {
            store: parts.store.clone(),
            plugins: parts.plugins,
            settings: parts.settings,
            clock: parts.clock.clone(),
            book: parts.crons,
            calling_off: engine.calling_off(),
        };
        tokio::spawn(clockwork.run(engine.phase.subscribe()));
        let heartbeat = Heartbeat {
            store: parts.store,
            live,
            clock: parts.clock,
            lease_ms: engine.options.lease_ms,
        };
        tokio::spawn(heartbeat.run(stop_seen));
        Ok(Arc::new(engine))
    }

    async fn add_worker(
        &mut self,
        number: usize,
        parts: &EngineParts,
        ended: watch::Sender<usize>,
    ) -> Result<(), StartError> {
        let count = Arc::new(WorkerCount::default());
        self.counts.push(count.clone());
        let worker = Worker {
            context: Arc::new(RunContext {
                worker: number,
                plugins: parts.plugins.clone(),
                settings: parts.settings.clone(),
                services: Arc::new(EngineServices {
                    store: parts.store.clone(),
                    plugins: parts.plugins.clone(),
                    settings: parts.settings.clone(),
                    clock: parts.clock.clone(),
                }),
                clock: parts.clock.clone(),
                live: self.live.clone(),
                budget: self.budget.clone(),
            }),
            store: parts.store.clone(),
            slots: self.options.slots,
            memory_ceiling: self.options.memory_ceiling,
            count,
            idle: self.idle.clone(),
            phase: self.phase.subscribe(),
        };
        let (started, starting) = oneshot::channel();
        let hosts = parts.hosts.clone();
        // Not joined: `stop` waits for its end up to a bound.
        thread::Builder::new()
            .name(format!("worker-{number}"))
            .spawn(move || {
                // Counted also when the thread ends by a panic.
                let _ended = Ended(ended);
                worker_thread(worker, hosts.as_ref(), started);
            })
            .map_err(|cause| StartError::Thread {
                worker: number,
                cause,
            })?;
        let answer = starting.await;
        answer
            .unwrap_or_else(|_| Err("its thread ended at once".to_owned()))
            .map_err(|cause| StartError::Host {
                worker: number,
                cause,
            })
    }

    fn calling_off(&self) -> CallingOff {
        CallingOff {
            live: self.live.clone(),
            grace: self.options.cancel_grace,
        }
    }

    /// What the workers waited for of the store.
    pub fn waits(&self) -> Waits {
        let mut waits = Waits::default();
        self.counts
            .iter()
            .for_each(|count| count.add_to(&mut waits));
        waits
    }

    /// Resolves when a worker thread is gone although nobody asked it to stop.
    pub async fn worker_lost(&self) {
        let mut ended = self.ended.clone();
        // The sender is gone only when the last worker thread is.
        let _ = ended.wait_for(|ended| *ended > 0).await;
    }

    /// Resolves when someone asked the runner to stop.
    pub async fn stop_asked(&self) {
        let mut asked = self.stop_asked.subscribe();
        // The sender is ours.
        let _ = asked.wait_for(|asked| *asked).await;
    }

    /// Claim nothing more, wait up to `grace` for what runs, then interrupt it: those jobs go back
    /// without using an attempt. `hurry` cuts the grace short. Stopping twice is harmless.
    pub async fn stop(&self, grace: Duration, hurry: impl Future<Output = ()>) {
        self.phase.send_replace(Phase::Drain);
        let workers = self.counts.len();
        let mut ended = self.ended.clone();
        let all = async {
            // The sender lives as long as any worker thread does.
            let _ = ended.wait_for(|ended| *ended >= workers).await;
        };
        tokio::pin!(all);
        tokio::select! {
            () = &mut all => {}
            () = async { tokio::select! { () = tokio::time::sleep(grace) => {}, () = hurry => {} } } => {
                tracing::info!(running = self.live.len(), "interrupting what still runs");
                self.live.interrupt_all();
                if tokio::time::timeout(Duration::from_secs(10), all).await.is_err() {
                    tracing::error!(running = self.live.len(), "attempts did not end: their leases are left to the next start");
                }
            }
        }
        self.stopped.send_replace(true);
    }
}

impl Running for Engine {
    fn live(&self, id: JobId) -> Option<LiveView> {
        self.live.view(id)
    }

    fn call_off(&self, id: JobId, lease: Token, cancel: Cancellation) {
        self.calling_off().call_off(id, lease, cancel);
    }

    fn mode(&self) -> Mode {
        match *self.phase.borrow() {
            Phase::Run => Mode::Running,
            Phase::Quiet => Mode::Quiet,
            Phase::Drain => Mode::Stopping,
        }
    }

    fn be_quiet(&self, quiet: bool) -> Mode {
        let wanted = if quiet { Phase::Quiet } else { Phase::Run };
        self.phase.send_if_modified(|phase| {
            let changes = *phase != Phase::Drain && *phase != wanted;
            if changes {
                *phase = wanted;
            }
            changes
        });
        self.mode()
    }

    fn ask_to_stop(&self) {
        self.stop_asked.send_replace(true);
    }

    fn workers(&self) -> Vec<WorkerRow> {
        self.counts
            .iter()
            .enumerate()
            .map(|(number, count)| count.row(number, self.options.slots, &self.live))
            .collect()
    }

    fn memory(&self) -> MemoryUse {
        self.budget.usage()
    }

    fn catalog(&self) -> Arc<Catalog> {
        self.plugins.catalog()
    }
}

/// Counts a worker thread's end when it is dropped.
struct Ended(watch::Sender<usize>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.send_modify(|ended| *ended += 1);
    }
}

fn worker_thread(
    worker: Worker,
    hosts: &dyn HostFactory,
    started: oneshot::Sender<Result<(), String>>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = started.send(Err(error.to_string()));
            return;
        }
    };
    let tasks = tokio::task::LocalSet::new();
    tasks.block_on(&runtime, async move {
        match hosts.host() {
            Ok(host) => {
                let _ = started.send(Ok(()));
                worker.run(host).await;
            }
            Err(cause) => {
                let _ = started.send(Err(cause));
            }
        }
    });
}
