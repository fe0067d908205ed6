//! From the bytes of a file to a plugin: checked, compiled, linked and asked what it serves.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    pin::Pin,
    sync::Arc,
    time::Instant,
};

use sandhog_model::{Job, JobId, Token, UnixMs};
use sha2::{Digest, Sha256};
use wasmtime::{
    Engine,
    component::{Component, Linker},
};

use super::{Fault, RegistryError, cache::Cache, description, imports, preamble};
use crate::plugin::{
    Limits, Live, Plugin, Services,
    bytes::human_ms,
    sandbox::{
        SandboxOptions,
        bindings::HandlerPluginPre,
        engines::Engines,
        linker::linker,
        outcome::{Facts, judge_description},
        run::{panic_text, store, visit},
        state::{Grant, State, Stop},
    },
};

/// Wall time of `describe`, in milliseconds.
const DESCRIBE_MS: u64 = 1_000;
/// Memory of `describe`, in bytes.
const DESCRIBE_MEMORY: u64 = 32 << 20;
/// The contract: code linked against another one is not taken from the cache.
const CONTRACT: &str = include_str!("../../../../wit/job.wit");

/// Makes plugins, one at a time.
pub(crate) struct Workshop {
    engine: Engine,
    linker: Linker<State>,
    cache: Cache,
    runtime: tokio::runtime::Runtime,
}

impl Workshop {
    /// A workshop with its cache. `parallel` compiles on every core: only while no job runs.
    pub(crate) fn open(
        cache_dir: &Path,
        options: &SandboxOptions,
        engines: &Engines,
        parallel: bool,
    ) -> Result<Self, RegistryError> {
        let engine = engines
            .compiler(options, parallel)
            .map_err(RegistryError::Engine)?;
        let linker = linker(&engine).map_err(RegistryError::Engine)?;
        let cache = Cache::open(cache_dir, settings(&engine))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .map_err(|error| RegistryError::Engine(error.to_string()))?;
        Ok(Self {
            engine,
            linker,
            cache,
            runtime,
        })
    }

    /// What the bytes of `file` are, from the cache when they were made before.
    pub(crate) fn make(&self, name: &str, file: &Path, bytes: &[u8]) -> Result<Plugin, Fault> {
        let started = Instant::now();
        preamble::check(bytes)?;
        let digest = hex(&Sha256::digest(bytes));
        let kept = self
            .cache
            .find(&digest)
            .and_then(|text| description::parse(&text).ok());
        let cached = kept.is_some();
        let description = match kept {
            Some(description) => description,
            None => self.build(name, &digest, bytes)?,
        };
        let plugin = Plugin {
            name: name.to_owned(),
            file: file.to_owned(),
            code: self.cache.code(&digest),
            digest,
            size: bytes.len() as u64,
            sdk: description.sdk,
            kinds: description.kinds,
            cached,
            asks: description.asks.map(Arc::new),
            grants: Arc::default(),
        };
        let kinds: Vec<&str> = plugin.kinds.iter().map(|info| info.kind.as_str()).collect();
        tracing::info!(
            plugin = name,
            digest = &plugin.digest[..12],
            kinds = kinds.join(","),
            cached,
            "plugin ready in {}",
            human_ms(u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX))
        );
        Ok(plugin)
    }

    /// Compile, link and describe, and keep what came of it.
    fn build(
        &self,
        name: &str,
        digest: &str,
        bytes: &[u8],
    ) -> Result<description::Description, Fault> {
        tracing::info!(plugin = name, bytes = bytes.len(), "compiling");
        // The compiler is run on bytes of anyone's making.
        let code = catch_unwind(AssertUnwindSafe(|| self.engine.precompile_component(bytes)))
            .map_err(|panic| {
                Fault::new(
                    format!("the compiler failed on it: {}", panic_text(panic.as_ref())),
                    "build it again with another compiler version, and report this",
                )
            })?
            .map_err(|error| {
                Fault::new(
                    format!("it does not compile: {error:#}"),
                    "the file is damaged or uses features this host has off: copy or build it again",
                )
            })?;
        // SAFETY: the code is what the compiler returned a moment ago, and never left this process.
        let component =
            unsafe { Component::deserialize(&self.engine, &code) }.map_err(|error| {
                Fault::new(
                    format!("it does not fit in a sandbox: {error:#}"),
                    "make it smaller, or raise `memory` under [limits] in sandhog.toml",
                )
            })?;
        let linked = self.link(&component)?;
        let text = self.describe(&linked)?;
        let description = description::parse(&text)?;
        self.cache.keep(digest, &code, &text).map_err(|error| {
            Fault::new(
                error.to_string(),
                "make room, or mend the directory's rights",
            )
        })?;
        Ok(description)
    }

    /// The names of what a plugin made here imports.
    pub(crate) fn imports(&self, plugin: &Plugin) -> Result<Vec<String>, Fault> {
        // SAFETY: the code lies in the cache of this workshop, which wrote it from an engine with
        // these settings.
        let component = unsafe { Component::deserialize_file(&self.engine, &plugin.code) };
        let component = component.map_err(|error| {
            Fault::new(
                format!("its code cannot be loaded: {error:#}"),
                "this is a fault of the machine, not of the file",
            )
        })?;
        let ty = component.component_type();
        let names = ty.imports(&self.engine).map(|(name, _)| name.to_owned());
        Ok(names.collect())
    }

    fn link(&self, component: &Component) -> Result<HandlerPluginPre<State>, Fault> {
        let linked = self
            .linker
            .instantiate_pre(component)
            .map_err(|error| imports::link_fault(&self.engine, component, &format!("{error:#}")))?;
        HandlerPluginPre::new(linked)
            .map_err(|error| imports::world_fault(&self.engine, component, &format!("{error:#}")))
    }

    /// Ask a component what it serves, in a store of its own that can do nothing.
    fn describe(&self, plugin: &HandlerPluginPre<State>) -> Result<String, Fault> {
        let limits = Limits {
            timeout_ms: DESCRIBE_MS,
            memory: DESCRIBE_MEMORY,
            log: 16 << 10,
            result: description::DESCRIPTION_BYTES as u64,
            checkpoint: 0,
            children: 0,
            children_bytes: 0,
            ..Limits::default()
        };
        let grant = Grant {
            job: JobId(0),
            token: Token(0),
            limits: limits.clone(),
            config: Arc::new(BTreeMap::new()),
            services: Arc::new(Nothing),
            children: Vec::new(),
            children_bytes: 0,
            plugin: String::new(),
            grants: Arc::default(),
            outside: Arc::default(),
            depth: 0,
        };
        let stop = Stop::new(Arc::new(Live::default()), DESCRIBE_MS);
        let state = State::new(stop, grant)
            .map_err(|why| Fault::new(why, "this is a fault of the machine, not of the file"))?;
        let mut store = store(&self.engine, state);
        let host_info = description::host_info();
        let end = self
            .runtime
            .block_on(visit(&mut store, plugin, async |instance, store| {
                instance
                    .sandhog_job_handler()
                    .call_describe(store, &host_info)
                    .await
            }));
        let state = store.data();
        let (.., panic) = state.journal.finish();
        judge_description(
            end,
            Facts {
                kind: "describe",
                limits: &limits,
                meter: &state.meter,
                panic,
            },
        )
        .map_err(|cause| {
            Fault::new(
                format!("its `describe` failed: {cause}"),
                "`describe` has one second, 32 MiB and no capabilities: it may only say what the component serves",
            )
        })
    }
}

/// What else than the bytes the code depends on: the engine's settings and version, the machine,
/// and the contract.
fn settings(engine: &Engine) -> String {
    let mut hasher = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    CONTRACT.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The services of a component that is asked what it serves: there is no job.
struct Nothing;

impl Services for Nothing {
    fn checkpoint(
        &self,
        _: JobId,
        _: Token,
        _: Vec<u8>,
    ) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + '_>> {
        Box::pin(async { Err("there is no job to keep a checkpoint of".to_owned()) })
    }

    fn mint(&self) -> JobId {
        JobId(0)
    }

    fn wall(&self) -> UnixMs {
        UnixMs(0)
    }

    fn complete(&self, job: Job) -> Job {
        job
    }
}
