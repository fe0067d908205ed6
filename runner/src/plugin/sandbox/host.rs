//! The host of a worker thread: runs attempts, each in a sandbox of its own.

use std::{
    cell::RefCell, collections::HashMap, fmt, future::Future, mem, pin::Pin, sync::Arc,
    time::Duration,
};

use sandhog_model::{Attempt, Failure, Outcome, Waiting};
use wasmtime::{Engine, Store, component::Linker};

use super::{
    bindings::{HandlerPluginPre, exports::sandhog::job::handler},
    cpu::measured,
    engines::{Engines, SandboxOptions},
    linker::linker,
    outcome::{Facts, host_panic, judge},
    run::{End, store, unwinding, visit},
    state::{Grant, State, Stop},
};
use crate::plugin::{
    AttemptRequest, Host, HostFactory, Outside, Plugin, Report, Services, capabilities::depth,
};

/// Makes the hosts of all worker threads, and keeps their clock.
#[derive(Debug)]
pub struct WasmHostFactory {
    options: SandboxOptions,
    engines: Arc<Engines>,
    outside: Arc<Outside>,
}

/// A worker thread's host: its own engine and pool, and the components it has linked.
pub struct WasmHost {
    pub(super) engine: Engine,
    linker: Linker<State>,
    /// By plugin name, so that a replaced component's code is let go.
    linked: RefCell<HashMap<String, Linked>>,
    pub(super) outside: Arc<Outside>,
    // Its clock runs as long as someone holds it.
    _engines: Arc<Engines>,
}

struct Linked {
    digest: String,
    plugin: HandlerPluginPre<State>,
}

impl WasmHostFactory {
    /// A factory; starts the clock's thread. The error is for a person.
    pub fn new(options: SandboxOptions) -> Result<Self, String> {
        Ok(Self {
            options,
            engines: Engines::start()?,
            outside: Arc::default(),
        })
    }

    /// With what its guests reach outside of the sandbox.
    #[must_use]
    pub fn reaching(mut self, outside: Arc<Outside>) -> Self {
        self.outside = outside;
        self
    }

    /// A host for the calling thread. The error is for a person.
    pub fn wasm_host(&self) -> Result<WasmHost, String> {
        let host = WasmHost::new(&self.options, Arc::clone(&self.engines))?;
        Ok(host.reaching(Arc::clone(&self.outside)))
    }
}

impl HostFactory for WasmHostFactory {
    fn host(&self) -> Result<Box<dyn Host>, String> {
        Ok(Box::new(self.wasm_host()?))
    }
}

impl Host for WasmHost {
    fn run<'a>(
        &'a self,
        request: AttemptRequest,
        services: Arc<dyn Services>,
    ) -> Pin<Box<dyn Future<Output = Report> + 'a>> {
        Box::pin(async move {
            let stub = Attempt::without_run(request.number, request.token, request.started_at);
            // The visit catches what panics inside a guest's calls; this is for what lies around it.
            unwinding(self.attempt(request, services))
                .await
                .unwrap_or_else(|text| Report {
                    outcome: Outcome::Failed {
                        failure: host_panic(&text),
                        retry_after_ms: None,
                    },
                    attempt: Attempt {
                        failure: Some(host_panic(&text)),
                        ..stub
                    },
                    children: Vec::new(),
                })
        })
    }
}

impl WasmHost {
    pub(crate) fn new(options: &SandboxOptions, engines: Arc<Engines>) -> Result<Self, String> {
        let (engine, allocator) = engines.worker(options)?;
        engines.tell(allocator);
        Ok(Self {
            linker: linker(&engine)?,
            engine,
            linked: RefCell::default(),
            outside: Arc::default(),
            _engines: engines,
        })
    }

    /// With what its guests reach outside of the sandbox.
    pub(crate) fn reaching(mut self, outside: Arc<Outside>) -> Self {
        self.outside = outside;
        self
    }

    async fn attempt(&self, request: AttemptRequest, services: Arc<dyn Services>) -> Report {
        let mut attempt = Attempt::without_run(request.number, request.token, request.started_at);
        let stop = Stop::new(Arc::clone(&request.live), request.limits.timeout_ms);
        let started = stop.started;
        let plugin = Arc::clone(&request.plugin);
        let linked = match self.link(&plugin) {
            Ok(linked) => linked,
            Err(why) => {
                // Its jobs come back again and again; one word for each state of its file is enough.
                if plugin.code.refusal_is_new() {
                    tracing::warn!(
                        plugin = plugin.name,
                        digest = plugin.digest,
                        "cannot load the plugin's code, so its jobs wait: {why}"
                    );
                }
                return not_run(attempt, &services);
            }
        };
        let own_timeout = request.job.timeout_ms.is_some();
        let (job, grant) = hand_over(request, &services, &self.outside);
        let kind = job.kind.clone();
        let state = match State::new(stop, grant) {
            Ok(state) => state,
            Err(why) => {
                tracing::warn!(plugin = plugin.name, "cannot give what is granted: {why}");
                return not_run(attempt, &services);
            }
        };
        let mut store = store(&self.engine, state);
        let visit = visit(&mut store, &linked, async |instance, store| {
            instance
                .sandhog_job_handler()
                .call_handle(store, &job)
                .await
        });
        let (end, used) = measured(visit).await;
        attempt.cpu_us = micros(used);
        let (outcome, children) = conclude(store, end, (&kind, own_timeout), &mut attempt);
        if outcome != Outcome::NotRun(Waiting::PoolFull) {
            attempt.digest.clone_from(&plugin.digest);
            attempt.plugin.clone_from(&plugin.name);
        }
        attempt.ended_at = services.wall().max(attempt.started_at);
        attempt.duration_us = micros(started.elapsed());
        Report {
            outcome,
            attempt,
            children,
        }
    }

    /// The plugin, loaded from its native code and linked, once for each digest.
    pub(super) fn link(&self, plugin: &Plugin) -> Result<HandlerPluginPre<State>, String> {
        if let Some(linked) = self.linked.borrow().get(&plugin.name)
            && linked.digest == plugin.digest
        {
            return Ok(linked.plugin.clone());
        }
        let linked = plugin
            .code
            .load(&self.engine)
            .and_then(|component| self.linker.instantiate_pre(&component))
            .and_then(HandlerPluginPre::new)
            .map_err(|error| format!("{error:#}"))?;
        self.linked.borrow_mut().insert(
            plugin.name.clone(),
            Linked {
                digest: plugin.digest.clone(),
                plugin: linked.clone(),
            },
        );
        Ok(linked)
    }

    #[cfg(test)]
    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }
}

impl fmt::Debug for WasmHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WasmHost")
            .field("linked", &self.linked.borrow().keys())
            .finish_non_exhaustive()
    }
}

/// The plugin cannot be run as it is now: the job waits.
fn not_run(mut attempt: Attempt, services: &Arc<dyn Services>) -> Report {
    attempt.ended_at = services.wall().max(attempt.started_at);
    Report {
        outcome: Outcome::NotRun(Waiting::PluginInvalid),
        attempt,
        children: Vec::new(),
    }
}

/// The job as the guest sees it, and what the guest may do for it.
pub(super) fn hand_over(
    request: AttemptRequest,
    services: &Arc<dyn Services>,
    outside: &Arc<Outside>,
) -> (handler::Job, Grant) {
    let job = request.job;
    let grant = Grant {
        job: job.id,
        batch: job.terms.batch,
        token: request.token,
        config: request.config,
        services: Arc::clone(services),
        children: Vec::new(),
        children_bytes: 0,
        plugin: request.plugin.name.clone(),
        grants: Arc::clone(&request.plugin.grants),
        depth: depth(&job.headers),
        outside: Arc::clone(outside),
        limits: request.limits,
    };
    let id = job.id.text();
    let job = handler::Job {
        idempotency_key: id.clone(),
        id,
        kind: job.kind,
        queue: job.queue,
        attempt: request.number,
        max_attempts: request.max_attempts,
        enqueued_at_ms: job.enqueued_at.0,
        deadline_ms: services.wall().plus(grant.limits.timeout_ms).0,
        headers: job.headers,
        content_type: job.content_type,
        payload: job.payload,
        checkpoint: request.checkpoint,
    };
    (job, grant)
}

/// Judge the end, fill in the history, and let the store go. `job` is its kind, and whether it came
/// with a wall time of its own.
fn conclude(
    mut store: Store<State>,
    end: End<Result<handler::Output, handler::JobError>>,
    (kind, own_timeout): (&str, bool),
    attempt: &mut Attempt,
) -> (Outcome, Vec<sandhog_model::Job>) {
    let state = store.data_mut();
    let (logs, dropped_lines, panic) = state.journal.finish();
    let outcome = judge(
        end,
        Facts {
            kind,
            own_timeout,
            limits: &state.grant.limits,
            meter: &state.meter,
            panic,
        },
    );
    attempt.peak_memory = state.meter.peak_memory();
    attempt.logs = logs;
    attempt.dropped_lines = dropped_lines;
    attempt.failure = failure(&outcome).cloned();
    let children = match outcome {
        Outcome::Completed(_) => mem::take(&mut state.grant.children),
        Outcome::Failed { .. }
        | Outcome::Permanent(_)
        | Outcome::Snoozed { .. }
        | Outcome::Discarded { .. }
        | Outcome::NotRun(_) => Vec::new(),
    };
    (outcome, children)
}

fn failure(outcome: &Outcome) -> Option<&Failure> {
    match outcome {
        Outcome::Failed { failure, .. } | Outcome::Permanent(failure) => Some(failure),
        Outcome::Completed(_)
        | Outcome::Snoozed { .. }
        | Outcome::Discarded { .. }
        | Outcome::NotRun(_) => None,
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
