//! Write Sandhog job handlers as plain Rust functions.
//!
//! ```
//! use sandhog_sdk::{Context, Error};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Deserialize)]
//! struct Order {
//!     items: Vec<u32>,
//! }
//!
//! #[derive(Serialize)]
//! struct Receipt {
//!     total: u32,
//! }
//!
//! /// Adds up an order.
//! #[sandhog_sdk::job(timeout = "10s", max_attempts = 5)]
//! fn total(order: Order, ctx: &Context) -> Result<Receipt, Error> {
//!     if order.items.is_empty() {
//!         return Err(Error::permanent("the order is empty").with_code("empty-order"));
//!     }
//!     ctx.info("adding");
//!     Ok(Receipt { total: order.items.iter().sum() })
//! }
//!
//! sandhog_sdk::export!(total);
//!
//! // The same function, called natively with a fake context:
//! let ctx = sandhog_sdk::testing::FakeContext::new();
//! let receipt = total(Order { items: vec![1, 2] }, &ctx).unwrap();
//! assert_eq!(receipt.total, 3);
//! assert_eq!(ctx.logs()[0].line, "adding");
//! ```
//!
//! `cargo build --release --target wasm32-wasip2` of a crate with `crate-type = ["cdylib", "rlib"]`
//! makes the component; drop it into the runner's plugin folder.
//!
//! - Input and output are JSON through serde, or the bytes as they are with [`Bytes`].
//! - `?` on any error makes the attempt fail and be tried again; [`Error`] has the other verdicts.
//! - A panic ends the attempt; its text and place are in the attempt's history.

mod context;
mod describe;
mod error;
#[cfg(target_family = "wasm")]
mod guest;
#[cfg(target_family = "wasm")]
mod guest_http;
mod handler;
pub mod http;
mod new_job;
mod payload;
pub mod testing;

pub use context::{Cancelled, CheckpointError, Context, Level, SignError};
pub use error::{Error, Verdict};
pub use new_job::{EnqueueError, NewJob};
pub use payload::{Bytes, Input, Output};
pub use sandhog_sdk_macros::job;

/// What the contract's WIT gives a guest. The export macro is the only user outside this crate.
#[cfg(target_family = "wasm")]
#[doc(hidden)]
#[allow(missing_docs, unreachable_pub)]
pub mod bindings {
    wit_bindgen::generate!({
        path: "../wit",
        world: "handler-plugin",
        pub_export_macro: true,
        export_macro_name: "export_handler",
        default_bindings_module: "sandhog_sdk::bindings",
    });
}

/// What the macros' output names. No part of the API: it changes without notice.
#[doc(hidden)]
pub mod __private {
    pub use crate::describe::describe;
    #[cfg(target_family = "wasm")]
    pub use crate::guest::handle;
    pub use crate::handler::{Entry, Handler, Kind, assert_distinct, dispatch, entry};
    pub use crate::payload::{Input, write};
}

/// Joins the handlers of a crate in one component.
///
/// Names functions that carry [`job`], by path when they are in modules:
/// `sandhog_sdk::export!(shrink, pages::render);`. Once in a crate. Two handlers of the same kind
/// do not compile.
///
/// What the handlers wish to be granted can be said along, in the form of a plugin's `NAME.toml`, so
/// that `sandhog plugin check` shows it: `export!(hook; grants = include_str!("../grants.toml"));`.
#[macro_export]
macro_rules! export {
    ($($handler:path),+ $(,)?) => {
        $crate::export!($($handler),+; grants = "");
    };
    ($($handler:path),+ $(,)?; grants = $grants:expr) => {
        const _: () = {
            const HANDLERS: &[$crate::__private::Entry] = &[$($crate::__private::entry::<$handler>()),+];
            const _: () = $crate::__private::assert_distinct(HANDLERS);
            #[allow(dead_code)]
            const GRANTS: &str = $grants;

            #[cfg(target_family = "wasm")]
            struct Component;

            #[cfg(target_family = "wasm")]
            impl $crate::bindings::exports::sandhog::job::handler::Guest for Component {
                fn describe(
                    _host_info: ::std::string::String,
                ) -> ::core::result::Result<::std::string::String, ::std::string::String> {
                    ::core::result::Result::Ok($crate::__private::describe(HANDLERS, GRANTS))
                }

                fn handle(
                    job: $crate::bindings::exports::sandhog::job::handler::Job,
                ) -> ::core::result::Result<
                    $crate::bindings::exports::sandhog::job::handler::Output,
                    $crate::bindings::exports::sandhog::job::handler::JobError,
                > {
                    $crate::__private::handle(HANDLERS, job)
                }
            }

            #[cfg(target_family = "wasm")]
            $crate::bindings::export_handler!(Component);
        };
    };
}

/// What must not compile.
///
/// ```compile_fail
/// #[sandhog_sdk::job(time_out = "1s")]
/// fn unknown_key() {}
/// ```
/// ```compile_fail
/// #[sandhog_sdk::job(timeout = "soon")]
/// fn no_duration() {}
/// ```
/// ```compile_fail
/// struct Opaque;
/// #[sandhog_sdk::job]
/// fn unreadable(_: Opaque) {}
/// ```
/// ```compile_fail
/// #[sandhog_sdk::job]
/// fn unwritable() -> std::thread::Thread {
///     std::thread::current()
/// }
/// ```
/// ```compile_fail
/// #[sandhog_sdk::job(kind = "k")]
/// fn first() {}
/// #[sandhog_sdk::job(kind = "k")]
/// fn second() {}
/// sandhog_sdk::export!(first, second);
/// ```
/// And what must, or the cases above would prove nothing:
/// ```
/// #[sandhog_sdk::job(kind = "k", timeout = "1s")]
/// fn first() {}
/// #[sandhog_sdk::job(kind = "l")]
/// fn second(_: String) -> String {
///     String::new()
/// }
/// sandhog_sdk::export!(first, second);
/// ```
#[cfg(doctest)]
struct Compiling;
