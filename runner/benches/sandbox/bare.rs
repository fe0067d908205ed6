//! The least an attempt in a fresh sandbox needs: a store, an instance from a pool, the call, and the
//! end of both. Nothing is looked up, logged, judged or reported.

use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, ResourceLimiter,
    Store,
    component::{Component, Linker},
};

use wasmtime_wasi::{ResourceTable, WasiCtx};
use wasmtime_wasi_http::WasiHttpCtx;

use super::product::PAYLOAD;

mod imports;

mod bindings {
    #![allow(missing_docs, unreachable_pub, dead_code, clippy::all)]
    wasmtime::component::bindgen!({ path: "../wit", world: "handler-plugin" });
}

use bindings::{HandlerPluginPre, exports::sandhog::job::handler::Job};
use imports::Nobody;

/// Slots, and bytes of each that stay resident.
const SLOTS: u32 = 20;
const KEEP: usize = 2 << 20;
/// As many epochs as no attempt lasts.
const NEVER: u64 = 1 << 40;

/// A host for one component.
pub(crate) struct Bare {
    engine: Engine,
    handler: HandlerPluginPre<Limit>,
    job: Job,
}

/// Bounds memory in all, as any host must, and has what a compiled handler asks for at its start.
struct Limit {
    left: usize,
    wasi: Option<WasiCtx>,
    http: Option<WasiHttpCtx>,
    hooks: Nobody,
    table: ResourceTable,
}

impl ResourceLimiter for Limit {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let more = desired - current;
        let fits = more <= self.left;
        self.left -= if fits { more } else { 0 };
        Ok(fits)
    }

    fn table_growing(
        &mut self,
        _: usize,
        desired: usize,
        _: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(desired <= 100_000)
    }
}

impl Bare {
    pub(crate) fn new(component: &[u8], kind: &str) -> Result<Self, String> {
        let set_up = || -> wasmtime::Result<(Engine, HandlerPluginPre<Limit>)> {
            let mut pool = PoolingAllocationConfig::new();
            pool.total_component_instances(SLOTS)
                .total_core_instances(SLOTS * 8)
                .total_memories(SLOTS * 2)
                .total_tables(SLOTS * 4)
                .total_stacks(SLOTS)
                .max_memory_size(256 << 20)
                .table_elements(100_000)
                .linear_memory_keep_resident(KEEP)
                .table_keep_resident(256 << 10)
                .pagemap_scan(Enabled::Auto);
            let mut config = Config::new();
            config
                .epoch_interruption(true)
                .concurrency_support(false)
                .max_wasm_stack(512 << 10)
                .async_stack_size(2 << 20)
                .allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
            let engine = Engine::new(&config)?;
            let component = Component::new(&engine, component)?;
            let mut linker = Linker::new(&engine);
            imports::add_to_linker(&mut linker)?;
            let handler = HandlerPluginPre::new(linker.instantiate_pre(&component)?)?;
            Ok((engine, handler))
        };
        let (engine, handler) = set_up().map_err(|error| format!("the bare host: {error:#}"))?;
        let id = "01KDVDRC000000000000000000".to_owned();
        let job = Job {
            idempotency_key: id.clone(),
            id,
            kind: kind.to_owned(),
            queue: "default".to_owned(),
            attempt: 1,
            max_attempts: 25,
            enqueued_at_ms: 1,
            deadline_ms: 2,
            headers: Vec::new(),
            content_type: "text/plain".to_owned(),
            payload: PAYLOAD.to_vec(),
            checkpoint: None,
        };
        Ok(Self {
            engine,
            handler,
            job,
        })
    }

    /// One attempt.
    pub(crate) fn attempt(&self) -> Result<(), String> {
        let run = || -> wasmtime::Result<bool> {
            let limit = Limit {
                left: 128 << 20,
                wasi: None,
                http: None,
                hooks: Nobody,
                table: ResourceTable::new(),
            };
            let mut store = Store::new(&self.engine, limit);
            store.limiter(|limit| limit);
            store.set_epoch_deadline(NEVER);
            let instance = self.handler.instantiate(&mut store)?;
            let answer = instance
                .sandhog_job_handler()
                .call_handle(&mut store, &self.job)?;
            Ok(answer.is_ok())
        };
        match run() {
            Ok(true) => Ok(()),
            Ok(false) => Err("the bare attempt failed".to_owned()),
            Err(error) => Err(format!("the bare attempt: {error:#}")),
        }
    }
}
