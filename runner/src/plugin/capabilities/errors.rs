//! What a guest learns of an error: its cause in words, and the code of a body that ended badly.
//!
//! WASI's own text of an error is made for whoever debugs the host, its stack included when the
//! environment asks for stacks; and the code of an error that came with a body is lost on its way.

use wasmtime::{
    StoreContextMut,
    component::{Linker, Resource},
};
use wasmtime_wasi::p2::IoError;
use wasmtime_wasi_http::{Error, WasiHttpView, p2::bindings::http::types::ErrorCode};

use crate::plugin::sandbox::state::State;

/// The interfaces that say it, as they are named in the linker.
const IO_ERROR: &str = "wasi:io/error@0.2.12";
const HTTP_TYPES: &str = "wasi:http/types@0.2.12";

/// Put what is told here in the place of what WASI tells.
pub(crate) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    linker.instance(IO_ERROR)?.func_wrap(
        "[method]error.to-debug-string",
        |mut store: StoreContextMut<'_, State>, (error,): (Resource<IoError>,)| {
            let error = store.data_mut().http().table.get(&error)?;
            Ok((format!("{error:#}"),))
        },
    )?;
    linker.instance(HTTP_TYPES)?.func_wrap(
        "http-error-code",
        |mut store: StoreContextMut<'_, State>, (error,): (Resource<IoError>,)| {
            Ok((code(store.data_mut().http().table.get(&error)?),))
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}

/// The code of an error that came by HTTP.
fn code(error: &IoError) -> Option<ErrorCode> {
    if let Some(code) = error.downcast_ref::<ErrorCode>() {
        return Some(code.clone());
    }
    Some(match error.downcast_ref::<Error>()? {
        Error::ConnectionReadTimeout => ErrorCode::ConnectionReadTimeout,
        Error::HttpResponseBodySize(limit) => ErrorCode::HttpResponseBodySize(*limit),
        Error::HttpRequestBodySize(limit) => ErrorCode::HttpRequestBodySize(*limit),
        Error::HttpResponseIncomplete => ErrorCode::HttpResponseIncomplete,
        Error::HttpResponseHeaderSectionSize(size) => {
            ErrorCode::HttpResponseHeaderSectionSize(*size)
        }
        Error::HttpProtocolError => ErrorCode::HttpProtocolError,
        Error::InternalError(text) => ErrorCode::InternalError(text.clone()),
        // What else our client says of a body is that its connection ended.
        _ => ErrorCode::ConnectionTerminated,
    })
}
