//! What a compiled handler imports. The one that is measured asks WASI for a few things at its start and
//! calls none of the rest.

use std::future::Future;

use wasmtime::component::{HasSelf, Linker};
use wasmtime_wasi::{WasiCtxBuilder, WasiCtxView, WasiView};
use wasmtime_wasi_http::{
    Error, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks, WasiHttpView,
};

use super::{
    Limit,
    bindings::{
        HandlerPlugin,
        sandhog::job::{config, context, enqueue, log, progress, signing, types},
    },
};

const NEVER: &str = "what is measured calls nothing";

pub(super) fn add_to_linker(linker: &mut Linker<Limit>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_sync(linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_sync(linker)?;
    HandlerPlugin::add_to_linker::<_, HasSelf<Limit>>(linker, |limit| limit)
}

impl WasiView for Limit {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: self
                .wasi
                .get_or_insert_with(|| WasiCtxBuilder::new().build()),
            table: &mut self.table,
        }
    }
}

impl WasiHttpView for Limit {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView {
            hooks: &mut self.hooks,
            table: &mut self.table,
            ctx: self.http.get_or_insert_with(WasiHttpCtx::new),
        }
    }
}

/// Sends nothing.
pub(super) struct Nobody;

type Io = Box<dyn Future<Output = Result<(), Error>> + Send>;
type Answering = Box<dyn Future<Output = Result<(http::Response<WasiBody>, Io), Error>> + Send>;

impl WasiHttpHooks for Nobody {
    fn send_request(
        &mut self,
        _: http::Request<WasiBody>,
        _: Option<RequestOptions>,
        _: Io,
    ) -> Answering {
        unreachable!("{NEVER}")
    }
}

impl types::Host for Limit {}

impl context::Host for Limit {
    fn cancelled(&mut self) -> bool {
        unreachable!("{NEVER}")
    }

    fn remaining_ms(&mut self) -> u64 {
        unreachable!("{NEVER}")
    }

    fn sleep(&mut self, _: u64) -> bool {
        unreachable!("{NEVER}")
    }

    fn checkpoint(&mut self, _: Vec<u8>) -> Result<(), String> {
        unreachable!("{NEVER}")
    }
}

impl log::Host for Limit {
    fn log(&mut self, _: log::Level, _: String, _: Vec<(String, String)>) {
        unreachable!("{NEVER}")
    }

    fn enabled(&mut self, _: log::Level) -> bool {
        unreachable!("{NEVER}")
    }
}

impl progress::Host for Limit {
    fn report(&mut self, _: u64, _: Option<u64>, _: Option<String>) {
        unreachable!("{NEVER}")
    }
}

impl enqueue::Host for Limit {
    fn enqueue(&mut self, _: enqueue::NewJob) -> Result<String, enqueue::EnqueueError> {
        unreachable!("{NEVER}")
    }
}

impl config::Host for Limit {
    fn get(&mut self, _: String) -> Option<String> {
        unreachable!("{NEVER}")
    }
}

impl signing::Host for Limit {
    fn hmac_sha256(&mut self, _: String, _: Vec<u8>) -> Result<Vec<u8>, signing::SignError> {
        unreachable!("{NEVER}")
    }
}
