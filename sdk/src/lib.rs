//! Write Sandhog job handlers as plain Rust functions.
//!
//! A complete crate: one kind of job, with its input, its result, a setting, a request to a service, a
//! job that follows, and its tests.
//!
//! ```
//! use sandhog_sdk::http::Request;
//! use sandhog_sdk::{Context, Error, NewJob};
//! use serde::{Deserialize, Serialize};
//! use std::time::Duration;
//!
//! // Once in a crate, with all of its handlers.
//! sandhog_sdk::export!(charge);
//!
//! /// The payload, as JSON: {"id": 17, "items": [250, 999]}
//! #[derive(Deserialize)]
//! struct Order {
//!     id: u32,
//!     items: Vec<u32>,
//! }
//!
//! /// The result, as JSON.
//! #[derive(Debug, PartialEq, Serialize)]
//! struct Receipt {
//!     total: u32,
//! }
//!
//! /// Charges an order and sends the receipt.
//! #[sandhog_sdk::job(kind = "order.charge", timeout = "10s", max_attempts = 5)]
//! fn charge(order: Order, ctx: &Context) -> Result<Receipt, Error> {
//!     let total = order.items.iter().sum();
//!     if total == 0 {
//!         // No further attempt would help: to the dead letters.
//!         return Err(Error::permanent("there is nothing to charge").with_code("empty-order"));
//!     }
//!     let bank = ctx.config("bank").unwrap_or_else(|| "https://bank.example.com".to_owned());
//!     // A failed request is an error, and an error is tried again after a while.
//!     let answer = Request::post(format!("{bank}/charges"))
//!         .header("authorization", "Bearer {{secret:bank-token}}")
//!         .header("idempotency-key", ctx.idempotency_key())
//!         .timeout(Duration::from_secs(5))
//!         .body("application/json", format!("{{\"amount\": {total}}}"))
//!         .send(ctx)?;
//!     if !answer.is_success() {
//!         return Err(Error::retryable(format!("the bank answered {}", answer.status())));
//!     }
//!     ctx.info(format!("order {} is paid", order.id));
//!     // In one record with this attempt's success, or not at all.
//!     ctx.enqueue(NewJob::new("mail.receipt", (order.id, total)).queue("mail"))?;
//!     Ok(Receipt { total })
//! }
//!
//! // In a crate of your own these are in `#[cfg(test)] mod tests`, each with `#[test]`.
//! use sandhog_sdk::Verdict;
//! use sandhog_sdk::http::Response;
//! use sandhog_sdk::testing::FakeContext;
//!
//! fn an_order_is_charged_once() {
//!     let ctx = FakeContext::new().with_secret("bank-token").with_answer(Response::new(201, ""));
//!     let receipt = charge(Order { id: 17, items: vec![250, 999] }, &ctx).unwrap();
//!     assert_eq!(receipt, Receipt { total: 1249 });
//!     let request = &ctx.requests()[0];
//!     assert_eq!((request.method(), request.url()), ("POST", "https://bank.example.com/charges"));
//!     assert_eq!(request.bytes(), br#"{"amount": 1249}"#);
//!     let mail = &ctx.enqueued()[0];
//!     assert_eq!((mail.kind.as_str(), mail.option("queue")), ("mail.receipt", Some("mail")));
//!     assert_eq!(mail.json::<(u32, u32)>(), (17, 1249));
//!     assert_eq!(ctx.logs()[0].line, "order 17 is paid");
//! }
//!
//! fn a_bank_that_is_busy_is_asked_again() {
//!     let ctx = FakeContext::new().with_secret("bank-token").with_answer(Response::new(503, ""));
//!     let error = charge(Order { id: 17, items: vec![1] }, &ctx).unwrap_err();
//!     assert_eq!(error.verdict(), Verdict::Retryable);
//!     assert!(ctx.enqueued().is_empty());
//! }
//! # fn main() {
//! #     an_order_is_charged_once();
//! #     a_bank_that_is_busy_is_asked_again();
//! # }
//! ```
//!
//! `sandhog plugin new NAME` makes such a crate, `sandhog plugin build` the component, `sandhog plugin test` tries
//! both, and `sandhog plugin run` runs one attempt. By hand it is `cargo build --release --target wasm32-wasip2`
//! of a crate with `crate-type = ["cdylib", "rlib"]`: the component for the runner's plugin folder, and a library
//! for the tests.
//!
//! - Input and output are JSON through serde, or the bytes as they are with [`Bytes`].
//! - `?` on any error makes the attempt fail and be tried again; [`Error`] has the other verdicts.
//! - [`Context`] has what a handler may ask and do; [`testing::FakeContext`] stands for it in tests.
//! - [`http`] has requests to other services, as far as the operator grants them.
//! - A panic ends the attempt; its text and place are in the attempt's history.

#![warn(missing_docs)]

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
#[cfg(not(target_family = "wasm"))]
pub mod testing;

pub use context::{Cancelled, CheckpointError, Context, Level, SignError};
pub use error::{Error, Verdict};
pub use new_job::{EnqueueError, NewJob};
pub use payload::{Bytes, Input, Output};
pub use sandhog_sdk_macros::{export, job};

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
    pub use crate::error::Failure;
    #[cfg(target_family = "wasm")]
    pub use crate::guest::handle;
    pub use crate::handler::{Entry, Handler, Kind, assert_new, dispatch};
    pub use crate::payload::{Input, write};
}
