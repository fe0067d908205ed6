//! Asking a component what it serves, in a store of its own that can do nothing.

use std::{collections::BTreeMap, pin::Pin, sync::Arc};

use sandhog_model::{Job, JobId, Token, UnixMs};
use tokio::runtime::Runtime;
use wasmtime::Engine;

use super::{Fault, description};
use crate::plugin::{
    Limits, Live, Services,
    sandbox::{
        bindings::HandlerPluginPre,
        outcome::{Facts, judge_description},
        run::{store, visit},
        state::{Grant, State, Stop},
    },
};

/// Wall time of `describe`, in milliseconds.
const DESCRIBE_MS: u64 = 1_000;
/// Memory of `describe`, in bytes.
const DESCRIBE_MEMORY: u64 = 32 << 20;

/// Ask a component what it serves, in a store of its own that can do nothing.
pub(crate) fn ask(
    engine: &Engine,
    runtime: &Runtime,
    plugin: &HandlerPluginPre<State>,
) -> Result<String, Fault> {
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
        batch: None,
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
    let mut store = store(engine, state);
    let host_info = description::host_info();
    let end = runtime.block_on(visit(&mut store, plugin, async |instance, store| {
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
            own_timeout: false,
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
