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

use sandhog_model::{Failure, Job, JobId, Outcome, RetryPolicy, Token, UnixMs};

use crate::plugin::{
    AttemptRequest, Host, Limits, Live, Plugin, Report, SandboxOptions, Services, WasmHost,
    WasmHostFactory, code::Draft, registry::workshop_for_tests, sandbox::engines::Engines,
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

    pub(crate) fn with(plugin: Plugin) -> Self {
        Self::with_slots(plugin, 4)
    }

    pub(crate) fn with_slots(plugin: Plugin, slots: u32) -> Self {
        let factory = WasmHostFactory::new(SandboxOptions {
            slots,
            ..SandboxOptions::default()
        })
        .unwrap();
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
            },
            token: Token(3),
            number: 1,
            max_attempts: 5,
            checkpoint: None,
            started_at: UnixMs(2_000),
            plugin: Arc::clone(&self.plugin),
            limits: Limits::default(),
            config: Arc::new(BTreeMap::from([("colour".into(), "red".into())])),
            live: Arc::default(),
        }
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

fn misbehave() -> Plugin {
    let file = guest("tests/guests/misbehave.wasm");
    let engines = Engines::start().unwrap();
    let bytes = fs::read(&file).unwrap();
    workshop_for_tests(&shared_cache(), &engines)
        .make("misbehave", &file, &bytes)
        .unwrap()
}

/// A plugin straight from component text, past the registry and its `describe`.
pub(crate) fn unchecked(dir: &Path, text: &str) -> Plugin {
    let engines = Engines::start().unwrap();
    let engine = engines.compiler(&SandboxOptions::default(), false).unwrap();
    let bytes = wat::parse_str(text).unwrap();
    let mut draft = Draft::new().unwrap();
    draft
        .fill(&engine.precompile_component(&bytes).unwrap()[..])
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
    }
}

/// The core of a hand-made handler: what its module has beside memory and exports, and the bodies
/// of its functions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HandMade<'a> {
    /// More fields of the core module.
    pub(crate) fields: &'a str,
    /// What `handle` does before it gives back an empty result.
    pub(crate) handle: &'a str,
    /// What `realloc(old, old size, align, size)` does before it gives back address 4096.
    pub(crate) realloc: &'a str,
    /// The JSON that `describe` gives back.
    pub(crate) describe: &'a str,
    /// Pages of memory from the start.
    pub(crate) pages: u32,
}

impl Default for HandMade<'_> {
    fn default() -> Self {
        Self {
            fields: "",
            handle: "",
            realloc: "",
            describe: r#"{"schema":1,"kinds":[{"kind":"hand-made"}]}"#,
            pages: 1,
        }
    }
}

impl HandMade<'_> {
    /// The component's text.
    pub(crate) fn text(&self) -> String {
        let Self {
            fields,
            handle,
            realloc,
            describe,
            pages,
        } = self;
        let length = describe.len();
        let describe = describe.replace('\\', "\\\\").replace('"', "\\\"");
        // A result area at 512: zeros are `ok` with empty lists.
        format!(
            r#"(component
  {TYPES}
  (core module $core
    (memory (export "memory") {pages})
    {fields}
    (data (i32.const 1024) "{describe}")
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) {realloc} (i32.const 4096))
    (func (export "describe") (param i32 i32) (result i32)
      (i32.store (i32.const 516) (i32.const 1024))
      (i32.store (i32.const 520) (i32.const {length}))
      (i32.const 512))
    (func (export "handle") (param i32) (result i32) {handle} (i32.const 512)))
  (core instance $core (instantiate $core))
  (func $describe (param "host-info" string) (result (result string (error string)))
    (canon lift (core func $core "describe") (memory $core "memory")
      (realloc (func $core "realloc"))))
  (func $handle (param "job" $job) (result (result $output (error $job-error)))
    (canon lift (core func $core "handle") (memory $core "memory")
      (realloc (func $core "realloc"))))
  (instance $handler (export "describe" (func $describe)) (export "handle" (func $handle)))
  (export "sandhog:job/handler@0.1.0" (instance $handler)))"#
        )
    }
}

/// The contract's types, as a component imports them.
const TYPES: &str = r#"
  (import "sandhog:job/types@0.1.0" (instance $types
    (type $pair (tuple string string))
    (type $job (record (field "id" string) (field "kind" string) (field "queue" string)
      (field "attempt" u32) (field "max-attempts" u32) (field "enqueued-at-ms" u64)
      (field "deadline-ms" u64) (field "idempotency-key" string) (field "headers" (list $pair))
      (field "content-type" string) (field "payload" (list u8))
      (field "checkpoint" (option (list u8)))))
    (export "job" (type (eq $job)))
    (type $output (record (field "content-type" string) (field "payload" (list u8))))
    (export "output" (type (eq $output)))
    (type $failure (record (field "code" string) (field "message" string)
      (field "details" (list $pair))))
    (export "failure" (type $named-failure (eq $failure)))
    (type $job-error (variant (case "retryable" $named-failure)
      (case "retry-after" (tuple u64 $named-failure)) (case "permanent" $named-failure)
      (case "snooze" u64) (case "discard" string) (case "other" $named-failure)))
    (export "job-error" (type (eq $job-error)))))
  (alias export $types "job" (type $job))
  (alias export $types "output" (type $output))
  (alias export $types "job-error" (type $job-error))"#;

/// The live view of a request, to interrupt or watch it by.
pub(crate) fn live(request: &AttemptRequest) -> Arc<Live> {
    Arc::clone(&request.live)
}
