//! What a component can import.

use wasmtime::{
    Engine,
    component::{HasSelf, Linker},
};

use super::{bindings::HandlerPlugin, state::State};
use crate::plugin::capabilities::{errors, files};

/// Everything this host offers: the contract's interfaces, and WASI 0.2 with outgoing HTTP. Sockets
/// and files are there, as some languages import them unasked; using them is refused at run time.
pub(crate) fn linker(engine: &Engine) -> Result<Linker<State>, String> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)
        .and_then(|()| files::add_to_linker(&mut linker))
        .and_then(|()| wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker))
        .and_then(|()| errors::add_to_linker(&mut linker))
        .and_then(|()| {
            HandlerPlugin::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)
        })
        .map_err(|error| format!("cannot set up what plugins import: {error:#}"))?;
    Ok(linker)
}
