//! What the sandbox's tests run attempts with.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

pub(crate) use sandhog_kit::hand_made::HandMade;
use sandhog_kit::hostile::GO;
use sandhog_model::{Failure, Job, JobId, Outcome, RetryPolicy, Terms, Token, UnixMs};

use crate::plugin::{
    AttemptRequest, BareAttempt, Ceilings, Grants, Host, Limits, Live, Outside, Plugin, Report,
    SandboxOptions, Services, WasmHost, WasmHostFactory, code::Draft, registry::workshop_for_tests,
    sandbox::engines::Engines,
};

/// A host on this thread with one plugin, and the services its guests get.
pub(crate) struct Rig {
    pub(crate) host: WasmHost,
    pub(crate) services: Arc<Scripted>,
    pub(crate) plugin: Arc<Plugin>,
    runtime: tokio::runtime::Runtime,
}

impl Rig {
    /// With the guest of many bad habits.
    pub(crate) fn misbehaving() -> Self {
        Self::with(misbehave())
    }

    /// With a built plugin.
    pub(crate) fn built(name: &str, path: &str) -> Self {
        Self::with(made(name, path))
    }

    pub(crate) fn with(plugin: Plugin) -> Self {
        Self::with_slots(plugin, 4)
    }

    pub(crate) fn with_slots(plugin: Plugin, slots: u32) -> Self {
        let options = SandboxOptions {
            slots,
            ..SandboxOptions::default()
        };
        Self::of(plugin, options)
    }

    /// Without a pool, as where the address space is too small for one.
    pub(crate) fn on_demand(plugin: Plugin) -> Self {
        let options = SandboxOptions {
            pool: false,
            ..SandboxOptions::default()
        };
        Self::of(plugin, options)
    }

    /// With a pool that is cleared as where the kernel does not tell which pages were touched.
    pub(crate) fn clearing(plugin: Plugin, slots: u32) -> Self {
        let options = SandboxOptions {
            slots,
            scan: false,
            ..SandboxOptions::default()
        };
        Self::of(plugin, options)
    }

    pub(crate) fn of(plugin: Plugin, options: SandboxOptions) -> Self {
        let factory = WasmHostFactory::new(options).unwrap();
        Self {
            host: factory.wasm_host().unwrap(),
            services: Arc::default(),
            plugin: Arc::new(plugin),
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build()
                .unwrap(),
        }
    }

    /// With what its guest is granted by a file, under a ceiling.
    pub(crate) fn granting(mut self, toml: &str, ceilings: &Ceilings) -> Self {
        let asked = crate::plugin::capabilities::grants::parse(toml).unwrap();
        Arc::make_mut(&mut self.plugin).grants = Arc::new(ceilings.bound("misbehave", &asked));
        self.host = self
            .host
            .reaching(Outside::new(ceilings, None, None, Arc::default()));
        self
    }

    /// With what lies outside of its sandbox.
    pub(crate) fn reaching(mut self, outside: Arc<Outside>) -> Self {
        self.host = self.host.reaching(outside);
        self
    }

    pub(crate) fn request(&self, kind: &str, headers: &[(&str, &str)]) -> AttemptRequest {
        AttemptRequest {
            job: Job {
                id: JobId(7),
                kind: kind.into(),
                queue: "default".into(),
                priority: 0,
                payload: b"payload".to_vec(),
                content_type: "text/plain".into(),
                headers: headers
                    .iter()
                    .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                    .collect(),
                enqueued_at: UnixMs(1_000),
                due: UnixMs(1_000),
                retry: RetryPolicy::default(),
                timeout_ms: None,
                parent: None,
                terms: Terms::default(),
            },
            token: Token(3),
            number: 1,
            max_attempts: 5,
            checkpoint: None,
            started_at: UnixMs(2_000),
            plugin: Arc::clone(&self.plugin),
            limits: Limits::default(),
            config: Arc::new(BTreeMap::from([
                ("colour".into(), "red".into()),
                (GO.0.into(), GO.1.into()),
            ])),
            live: Arc::default(),
        }
    }

    /// Run one attempt with nothing around it.
    pub(crate) fn bare(&self, request: AttemptRequest) -> Result<BareAttempt, String> {
        let services: Arc<dyn Services> = self.services.clone();
        self.runtime.block_on(self.host.bare(request, &services))
    }

    /// Run one attempt at a kind with the default limits.
    pub(crate) fn run(&self, kind: &str, headers: &[(&str, &str)]) -> Report {
        self.attempt(self.request(kind, headers))
    }

    pub(crate) fn attempt(&self, request: AttemptRequest) -> Report {
        self.block_on(self.start(request))
    }

    pub(crate) fn start(
        &self,
        request: AttemptRequest,
    ) -> Pin<Box<dyn Future<Output = Report> + '_>> {
        let services: Arc<dyn Services> = Arc::<Scripted>::clone(&self.services);
        self.host.run(request, services)
    }

    pub(crate) fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }
}

/// Services that remember what guests kept.
#[derive(Debug, Default)]
pub(crate) struct Scripted {
    pub(crate) minted: AtomicU64,
    pub(crate) checkpoints: Mutex<Vec<Vec<u8>>>,
    /// Panics instead of keeping a checkpoint.
    pub(crate) panics: bool,
}

impl Services for Scripted {
    fn checkpoint(
        &self,
        id: JobId,
        token: Token,
        bytes: Vec<u8>,
    ) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + '_>> {
        assert!(!self.panics, "the disk caught fire");
        assert_eq!((id, token), (JobId(7), Token(3)));
        Box::pin(async move {
            tokio::task::yield_now().await;
            self.checkpoints.lock().unwrap().push(bytes);
            Ok(())
        })
    }

    fn mint(&self) -> JobId {
        JobId(100 + u128::from(self.minted.fetch_add(1, Ordering::Relaxed)))
    }

    fn wall(&self) -> UnixMs {
        UnixMs(5_000)
    }

    fn complete(&self, mut job: Job) -> Job {
        if job.queue.is_empty() {
            job.queue = "completed-queue".into();
        }
        job
    }
}

/// The failure of an attempt that must have failed.
pub(crate) fn failure(report: &Report) -> &Failure {
    match &report.outcome {
        Outcome::Failed { failure, .. } => {
            assert_eq!(report.attempt.failure.as_ref(), Some(failure));
            failure
        }
        outcome => panic!("expected a failure, got {outcome:?}"),
    }
}

/// The result of an attempt that must have completed, as JSON.
pub(crate) fn json(report: &Report) -> serde_json::Value {
    match &report.outcome {
        Outcome::Completed(output) => serde_json::from_slice(&output.payload).unwrap(),
        outcome => panic!("expected a result, got {outcome:?}"),
    }
}

/// Limits with a wall time of their own.
pub(crate) fn within(timeout: Duration) -> Limits {
    Limits {
        timeout_ms: u64::try_from(timeout.as_millis()).unwrap(),
        ..Limits::default()
    }
}

/// A built guest, by its path from the workspace.
pub(crate) fn guest(path: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    assert!(
        path.is_file(),
        "{} is not there: run `cargo xtask plugins` first",
        path.display()
    );
    path
}

/// Code of guests that many tests share, beside the test binary: compiled once a build.
pub(crate) fn shared_cache() -> PathBuf {
    let exe = std::env::current_exe().unwrap();
    exe.with_file_name("sandhog-test-code")
}

fn made(name: &str, path: &str) -> Plugin {
    let file = guest(path);
    let engines = Engines::start().unwrap();
    let bytes = fs::read(&file).unwrap();
    workshop_for_tests(&shared_cache(), &engines)
        .make(name, &file, &bytes)
        .unwrap()
}

fn misbehave() -> Plugin {
    let mut plugin = made("misbehave", "tests/guests/misbehave.wasm");
    plugin.grants = grants("[grants]\nenqueue = { queues = [\"*\"] }\n");
    plugin
}

/// Grants as a file states them, under the default ceiling.
pub(crate) fn grants(toml: &str) -> Arc<Grants> {
    let asked = crate::plugin::capabilities::grants::parse(toml).unwrap();
    Arc::new(Ceilings::default().bound("misbehave", &asked))
}

/// A plugin straight from component text, past the registry and its `describe`.
pub(crate) fn unchecked(dir: &Path, text: &str) -> Plugin {
    unchecked_bytes(dir, &wat::parse_str(text).unwrap())
}

/// The same from a component's bytes.
pub(crate) fn unchecked_bytes(dir: &Path, bytes: &[u8]) -> Plugin {
    let engines = Engines::start().unwrap();
    let engine = engines.compiler(&SandboxOptions::default(), false).unwrap();
    let mut draft = Draft::new().unwrap();
    draft
        .fill(&engine.precompile_component(bytes).unwrap()[..])
        .unwrap();
    let code = draft.seal(dir.join("unchecked.cwasm")).unwrap();
    Plugin {
        name: "unchecked".into(),
        file: dir.join("unchecked.wasm"),
        digest: "d1".into(),
        size: bytes.len() as u64,
        sdk: "by hand".into(),
        kinds: Vec::new(),
        code,
        cached: false,
        asks: None,
        grants: Arc::default(),
    }
}

/// The live view of a request, to interrupt or watch it by.
pub(crate) fn live(request: &AttemptRequest) -> Arc<Live> {
    Arc::clone(&request.live)
}
