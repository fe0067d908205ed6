//! Engines, and the clock that lets them interrupt guests.
//!
//! Every engine is made here, so that none is forgotten by the ticker: an engine without ticks
//! never stops a loop.

use std::{
    fmt,
    num::NonZeroUsize,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use wasmtime::{
    Config, Enabled, Engine, EngineWeak, InstanceAllocationStrategy, OptLevel,
    PoolingAllocationConfig, WasmBacktraceDetails, WasmFeatures,
};

/// How often guests are looked at: the resolution of time limits inside guest code.
const TICK: Duration = Duration::from_millis(10);

/// Core instances one component may have. One more is refused at load.
pub(crate) const INSTANCES: u32 = 64;
/// Tables one attempt may have.
pub(crate) const TABLES: u32 = 64;
/// Linear memories one attempt may have.
pub(crate) const MEMORIES: u32 = 16;
/// Linear memories and tables one component may have. One more is refused at load.
pub(crate) const COMPONENT_MEMORIES: u32 = 8;
pub(crate) const COMPONENT_TABLES: u32 = 16;

/// What a worker thread's sandbox is built for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxOptions {
    /// Attempts that can run at a time on one worker thread, 1 to 4096.
    pub slots: u32,
    /// The operator's ceiling for the memory limit of any attempt, in bytes, at most 4 GiB.
    pub max_memory: u64,
    /// The operator's ceiling for the table elements of any attempt.
    pub table_elements: u64,
    /// Whether to ask the kernel which pages of a slot were touched, where it can tell, instead of
    /// clearing all that is kept of it.
    pub scan: bool,
    /// Whether to set slots aside beforehand, where the address space allows it. Otherwise each
    /// attempt maps its own memory, which costs several times as much.
    pub pool: bool,
}

impl Default for SandboxOptions {
    fn default() -> Self {
        Self {
            slots: 16,
            max_memory: 256 << 20,
            table_elements: 100_000,
            scan: true,
            pool: true,
        }
    }
}

/// Makes engines and drives their clock on a thread of its own: a blocked worker must not stop it.
pub(crate) struct Engines {
    watched: Mutex<Vec<EngineWeak>>,
    /// Whether it was told how sandboxes get their memory.
    told: AtomicBool,
}

/// What allocates the instances of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Allocator {
    /// Slots set aside beforehand; `scan` when the kernel tells which pages were touched.
    Pool { scan: bool },
    /// Memory mapped for each instance, where the address space does not allow a pool.
    OnDemand,
}

impl Engines {
    /// Start the clock. It stops when the last holder is gone.
    pub(crate) fn start() -> Result<Arc<Self>, String> {
        let engines = Arc::new(Self {
            watched: Mutex::new(Vec::new()),
            told: AtomicBool::new(false),
        });
        let weak = Arc::downgrade(&engines);
        thread::Builder::new()
            .name("sandbox-clock".into())
            .spawn(move || tick(&weak))
            .map_err(|error| format!("cannot start the sandbox clock's thread: {error}"))?;
        Ok(engines)
    }

    /// An engine for a worker thread: pooled, or on demand where a pool cannot be had.
    pub(crate) fn worker(&self, options: &SandboxOptions) -> Result<(Engine, Allocator), String> {
        let pooled = options.pool.then(|| pooled(options)).and_then(|pooled| {
            pooled
                .inspect_err(|refused| {
                    tracing::warn!(
                        "no sandbox pool for {} slots ({refused:#}): each attempt maps its own memory, which is slower",
                        options.slots
                    );
                })
                .ok()
        });
        let (engine, allocator) = match pooled {
            Some(pooled) => pooled,
            None => {
                let engine = Engine::new(&settings())
                    .map_err(|error| format!("cannot set up the sandbox: {error:#}"))?;
                (engine, Allocator::OnDemand)
            }
        };
        self.watch(&engine);
        Ok((engine, allocator))
    }

    /// An engine that compiles and describes. `parallel` takes every core: only while no job runs.
    pub(crate) fn compiler(
        &self,
        options: &SandboxOptions,
        parallel: bool,
    ) -> Result<Engine, String> {
        // The pool's ceilings are those of the workers, so that a component too large for them is
        // refused at load.
        let one = SandboxOptions {
            slots: 1,
            ..options.clone()
        };
        let mut pooled = settings();
        pooled.parallel_compilation(parallel);
        pooled.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(&one, false)));
        let engine = Engine::new(&pooled)
            .or_else(|_| Engine::new(settings().parallel_compilation(parallel)))
            .map_err(|error| format!("cannot set up the compiler: {error:#}"))?;
        self.watch(&engine);
        Ok(engine)
    }

    /// Say once how sandboxes get their memory: it makes a difference of several times.
    pub(crate) fn tell(&self, allocator: Allocator) {
        if self.told.swap(true, Ordering::Relaxed) {
            return;
        }
        tracing::info!(
            memory = match allocator {
                Allocator::Pool { scan: true } => "pooled, cleared by page-map scan",
                Allocator::Pool { scan: false } =>
                    "pooled, cleared without page-map scan: Linux 6.7 has it",
                Allocator::OnDemand =>
                    "mapped for each attempt: the address space has no room for a pool",
            },
            "sandboxes are set up"
        );
    }

    fn watch(&self, engine: &Engine) {
        let mut watched = self.watched.lock().unwrap_or_else(|held| held.into_inner());
        watched.push(engine.weak());
    }
}

impl fmt::Debug for Engines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engines").finish_non_exhaustive()
    }
}

/// An engine that only compiles: it has no pool, and what it makes any engine here can load.
pub(crate) fn compile_only(parallel: bool) -> Result<Engine, String> {
    Engine::new(settings().parallel_compilation(parallel))
        .map_err(|error| format!("cannot set up the compiler: {error:#}"))
}

fn tick(engines: &Weak<Engines>) {
    loop {
        thread::sleep(TICK);
        let Some(engines) = engines.upgrade() else {
            return;
        };
        let mut watched = engines
            .watched
            .lock()
            .unwrap_or_else(|held| held.into_inner());
        watched.retain(|engine| engine.upgrade().inspect(Engine::increment_epoch).is_some());
    }
}

/// An engine whose slots are set aside now.
fn pooled(options: &SandboxOptions) -> wasmtime::Result<(Engine, Allocator)> {
    let scan = options.scan && PoolingAllocationConfig::is_pagemap_scan_available();
    let mut settings = settings();
    settings.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(options, scan)));
    Ok((Engine::new(&settings)?, Allocator::Pool { scan }))
}

/// What compiled code depends on, the same for every engine of a runner.
fn settings() -> Config {
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        .concurrency_support(false)
        .cranelift_opt_level(OptLevel::Speed)
        .max_wasm_stack(512 << 10)
        .async_stack_size(2 << 20)
        .wasm_backtrace_details(WasmBacktraceDetails::Enable)
        .wasm_backtrace_max_frames(NonZeroUsize::new(50))
        .native_unwind_info(false)
        .parallel_compilation(false)
        .wasm_features(
            WasmFeatures::MEMORY64
                | WasmFeatures::CUSTOM_PAGE_SIZES
                | WasmFeatures::SHARED_EVERYTHING_THREADS
                | WasmFeatures::STACK_SWITCHING,
            false,
        );
    config
}

/// Slots for `options.slots` attempts and a quarter more, as a store that is being dropped overlaps
/// with the next attempt.
fn pool(options: &SandboxOptions, scan: bool) -> PoolingAllocationConfig {
    let slots = options.slots.clamp(1, 4_096);
    let stores = slots + slots.div_ceil(4);
    // Without the scan, every page to keep is cleared at every reset.
    let keep_memory = if scan { 2 << 20 } else { 256 << 10 };
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(stores)
        .total_core_instances((stores * 8).max(INSTANCES))
        .total_memories((stores * 2).max(MEMORIES))
        .total_tables((stores * 4).max(TABLES))
        .total_stacks(stores)
        .max_core_instances_per_component(INSTANCES)
        .max_memories_per_component(COMPONENT_MEMORIES)
        .max_tables_per_component(COMPONENT_TABLES)
        .max_memories_per_module(4)
        .max_tables_per_module(4)
        .max_memory_size(usize::try_from(options.max_memory).unwrap_or(usize::MAX))
        .table_elements(usize::try_from(options.table_elements).unwrap_or(usize::MAX))
        .max_component_instance_size(10 << 20)
        .max_core_instance_size(10 << 20)
        .linear_memory_keep_resident(keep_memory)
        .table_keep_resident(256 << 10)
        .max_unused_warm_slots(slots)
        .pagemap_scan(if scan { Enabled::Auto } else { Enabled::No });
    pool
}
