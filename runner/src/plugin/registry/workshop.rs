//! From the bytes of a file to a plugin: checked, compiled, linked and asked what it serves.

use std::{
    cell::{Cell, RefCell},
    hash::{DefaultHasher, Hash, Hasher},
    path::Path,
    sync::Arc,
    time::Instant,
};

use sha2::{Digest, Sha256};
use wasmtime::{
    Engine,
    component::{Component, Linker},
};

use super::{
    Compiler, Fault, RegistryError,
    ask::ask,
    cache::{Cache, CacheBounds},
    child::{Compilation, CompileLimits, NoCode, Until, Waited},
    description,
    halt::Halt,
    hex, imports, preamble,
    room::no_room,
};
use crate::plugin::{
    Plugin,
    bytes::{human_bytes, human_ms},
    code::{Draft, NativeCode},
    sandbox::{
        SandboxOptions, bindings::HandlerPluginPre, engines::Engines, linker::linker, state::State,
    },
};

/// Most native code of one component, in bytes: it is held in memory. That of a JavaScript or Python
/// engine is a quarter of it.
const CODE_BYTES: u64 = 256 << 20;
/// The contract: code linked against another one is not taken from the cache.
const CONTRACT: &str = include_str!("../../../../wit/job.wit");

/// Makes plugins, one at a time.
pub(crate) struct Workshop {
    engine: Engine,
    linker: Linker<State>,
    cache: Cache,
    runtime: tokio::runtime::Runtime,
    compiler: Compiler,
    halt: Halt,
    /// Compile on every core: only while no job runs.
    parallel: Cell<bool>,
    /// When compiling ends for now.
    patience: Cell<Option<Instant>>,
    /// What was not compiled by then and still is, by its digest.
    underway: RefCell<Option<(String, Box<Compilation>)>>,
    /// What the cache could not take, to be offered again.
    unkept: RefCell<Vec<Unkept>>,
}

/// Code that is served from memory alone.
struct Unkept {
    digest: String,
    code: NativeCode,
    description: String,
}

/// Why bytes did not become a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NotMade {
    /// They cannot be one.
    Fault(Fault),
    /// The compiler was asked to let go of it: another time.
    Halted,
}

impl From<Fault> for NotMade {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl Workshop {
    /// A workshop with its cache.
    pub(crate) fn open(
        cache_dir: &Path,
        options: &SandboxOptions,
        engines: &Engines,
        compiler: Compiler,
        halt: Halt,
    ) -> Result<Self, RegistryError> {
        let engine = engines
            .compiler(options, false)
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
            compiler,
            halt,
            parallel: Cell::new(true),
            patience: Cell::new(None),
            underway: RefCell::default(),
            unkept: RefCell::default(),
        })
    }

    /// From here on jobs run: compile on one core, each component for as long as it may.
    pub(crate) fn jobs_run(&self) {
        self.parallel.set(false);
        self.patience.set(None);
        if let Some((_, compilation)) = &*self.underway.borrow() {
            compilation.yield_to_jobs();
        }
    }

    /// Until then: what is not compiled by this instant is `Halted`, and goes on until it is asked for again or
    /// something else is to be compiled.
    pub(crate) fn be_patient(&self, until: Option<Instant>) {
        self.patience.set(until);
    }

    /// What the bytes of `file` are, from the cache when they were made before.
    pub(crate) fn make(&self, name: &str, file: &Path, bytes: &[u8]) -> Result<Plugin, NotMade> {
        let started = Instant::now();
        preamble::check(bytes)?;
        let digest = hex(&Sha256::digest(bytes));
        let kept = self.cache.find(&digest).and_then(|(code, text)| {
            let description = description::parse(&text).ok()?;
            Some((code, description))
        });
        let cached = kept.is_some();
        let (code, description) = match kept {
            Some(kept) => kept,
            None => self.build(name, &digest, bytes)?,
        };
        let plugin = Plugin {
            name: name.to_owned(),
            file: file.to_owned(),
            code,
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
    ) -> Result<(NativeCode, description::Description), NotMade> {
        let draft = self.compile(name, digest, bytes)?;
        let code = draft.seal(self.cache.code(digest)).map_err(|error| {
            Fault::passing(
                format!("its code cannot be held in memory: {error}"),
                "free memory: it is tried again",
            )
        })?;
        if code.bytes() > CODE_BYTES {
            return Err(Fault::new(
                format!(
                    "its native code has {}, over the limit of {}",
                    human_bytes(code.bytes()),
                    human_bytes(CODE_BYTES)
                ),
                "build it smaller, or without parts that are there many times over",
            )
            .into());
        }
        let component = code.load(&self.engine).map_err(|error| no_room(&error))?;
        let linked = self.link(&component)?;
        let text = ask(&self.engine, &self.runtime, &linked)?;
        let description = description::parse(&text)?;
        if let Err(error) = self.cache.keep(digest, &code, &text) {
            tracing::warn!(
                plugin = name,
                "served from memory alone, as its code cannot be kept for the next start: {error}"
            );
            self.unkept.borrow_mut().push(Unkept {
                digest: digest.to_owned(),
                code: code.clone(),
                description: text,
            });
        }
        Ok((code, description))
    }

    /// Offer the cache what it could not take. True when it has all.
    pub(crate) fn keep_again(&self) -> bool {
        let mut unkept = self.unkept.borrow_mut();
        unkept.retain(|one| {
            let kept = self.cache.keep(&one.digest, &one.code, &one.description);
            if kept.is_ok() {
                tracing::info!(digest = &one.digest[..12], "its code is kept after all");
            }
            kept.is_err()
        });
        unkept.is_empty()
    }

    /// Delete what is over the cache's bounds.
    pub(crate) fn sweep(&self, bounds: &CacheBounds, in_use: impl Fn(&str) -> bool) {
        self.unkept.borrow_mut().retain(|one| in_use(&one.digest));
        self.cache.sweep(bounds, in_use);
    }

    fn compile(&self, name: &str, digest: &str, bytes: &[u8]) -> Result<Draft, NotMade> {
        let (program, limits) = match &self.compiler {
            Compiler::Child { program, limits } => (program, limits),
            #[cfg(test)]
            Compiler::Here => return Ok(here(&self.engine, bytes)?),
        };
        let bound = format!("{}/{}", limits.timeout.as_millis(), limits.memory);
        if let Some(fault) = self.cache.refusal(digest, &bound) {
            return Err(fault.into());
        }
        let until = Until {
            halt: &self.halt,
            at: self.patience.get(),
        };
        if until.is_over() {
            return Err(NotMade::Halted);
        }
        // Another one's is let go, and ends, before this one begins.
        let goes_on = self.underway.take().filter(|(of, _)| of == digest);
        let begun = match goes_on {
            Some((_, compilation)) => Ok(*compilation),
            None => {
                tracing::info!(plugin = name, bytes = bytes.len(), "compiling");
                Compilation::begin(program, limits, self.parallel.get(), bytes)
            }
        };
        let why = match begun.map(|compilation| compilation.wait(until)) {
            Ok(Waited::Code(code)) => return Ok(code),
            Ok(Waited::Underway(compilation)) => {
                *self.underway.borrow_mut() = Some((digest.to_owned(), compilation));
                NoCode::Halted
            }
            Ok(Waited::Not(why)) | Err(why) => why,
        };
        Err(match fault(why, limits) {
            Err(halted) => halted,
            Ok((fault, lasting)) => {
                if lasting {
                    self.cache.refuse(digest, &bound, &fault);
                }
                fault.into()
            }
        })
    }

    /// What loads the code that is made here.
    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The names of what a plugin made here imports.
    pub(crate) fn imports(&self, plugin: &Plugin) -> Result<Vec<String>, Fault> {
        imports(&self.engine, plugin)
    }

    fn link(&self, component: &Component) -> Result<HandlerPluginPre<State>, Fault> {
        let linked = self
            .linker
            .instantiate_pre(component)
            .map_err(|error| imports::link_fault(&self.linker, component, &format!("{error:#}")))?;
        HandlerPluginPre::new(linked)
            .map_err(|error| imports::world_fault(&self.engine, component, &format!("{error:#}")))
    }
}

/// The names of what a plugin imports whose code an engine can load.
pub(crate) fn imports(engine: &Engine, plugin: &Plugin) -> Result<Vec<String>, Fault> {
    let component = plugin.code.load(engine).map_err(|error| {
        Fault::new(
            format!("its code cannot be loaded: {error:#}"),
            "this is a fault of the machine, not of the file",
        )
    })?;
    let ty = component.component_type();
    let names = ty.imports(engine).map(|(name, _)| name.to_owned());
    Ok(names.collect())
}

/// What else than the bytes the code depends on: the engine's settings and version, the machine,
/// and the contract.
fn settings(engine: &Engine) -> String {
    let mut hasher = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    CONTRACT.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// What is said of a component without code, and whether finding out again would cost as much.
fn fault(why: NoCode, limits: &CompileLimits) -> Result<(Fault, bool), NotMade> {
    const SMALLER: &str = "split its largest functions";
    Ok(match why {
        NoCode::Halted => return Err(NotMade::Halted),
        NoCode::Refused(text) => (
            Fault::new(
                format!("it does not compile: {text}"),
                "the file is damaged or uses features this host has off: copy or build it again",
            ),
            false,
        ),
        NoCode::Slow => (
            Fault::new(
                format!(
                    "compiling it takes longer than {}, the limit",
                    human_ms(limits.timeout.as_millis() as u64)
                ),
                format!(
                    "{SMALLER}, or raise `compile_timeout` under [plugins] in sandhog.toml if you trust it"
                ),
            ),
            true,
        ),
        NoCode::Large => (
            Fault::new(
                format!(
                    "compiling it takes more memory than {}, the limit",
                    human_bytes(limits.memory)
                ),
                format!(
                    "{SMALLER}, or raise `compile_memory` under [plugins] in sandhog.toml if you trust it"
                ),
            ),
            true,
        ),
        NoCode::Crashed(text) => (
            Fault::new(
                format!("the compiler broke on it: {text}"),
                "build it again with another compiler version, and report this",
            ),
            true,
        ),
        NoCode::Machine(text) => (
            Fault::passing(
                format!("the compiler cannot be run: {text}"),
                "this is a fault of the machine, not of the file: it is tried again",
            ),
            false,
        ),
    })
}

/// In this process, for tests whose program is not the compiler.
#[cfg(test)]
fn here(engine: &Engine, bytes: &[u8]) -> Result<Draft, Fault> {
    let code = engine.precompile_component(bytes);
    let code = code.map_err(|error| Fault::new(format!("it does not compile: {error:#}"), ""))?;
    let mut draft = Draft::new().expect("memory for a test");
    draft.fill(code.as_slice()).expect("memory for a test");
    Ok(draft)
}
