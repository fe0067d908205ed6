//! The attribute behind `sandhog_sdk::job`. Use it through `sandhog-sdk`, which re-exports it.

mod attributes;
mod backoff;
mod duration;
mod expand;
mod export;
mod keys;
mod name;
mod signature;

use proc_macro::TokenStream;

/// Makes a function the handler of one kind of job.
///
/// The function stays as it is and can be called like any other. Beside it stands a hidden type of
/// the same name, by which `sandhog_sdk::export!` finds it; so a module of that name cannot be in
/// the same scope. The first line of the doc comment becomes the kind's summary.
///
/// Every key is optional; the operator's settings win over all of them.
///
/// | key | example | meaning |
/// |---|---|---|
/// | `kind` | `"thumbnail"` | the kind of job; the function's name when absent |
/// | `timeout` | `"30s"`, `"1m30s"` | proposed wall time of one attempt |
/// | `max_attempts` | `5` | attempts before the job is dead, from 1 |
/// | `trap_attempts` | `3` | attempts when the handler traps each time, from 1 |
/// | `backoff` | `"exponential 1s max 1h"` | the wait between attempts, see below |
/// | `queue` | `"images"` | the queue for jobs that name none |
/// | `content_type` | `"text/csv"` | media type of the payload the kind takes |
///
/// Backoffs: `polynomial`, `fixed 1s`, `linear 10s [max 1h]`, `exponential 1s [factor 2] [max 1h]`,
/// `list 1s 5s 1m`; each may end in `jitter 0.2`.
///
/// The function takes `(input)`, `(input, &Context)`, `(&Context)` or nothing, and returns a value
/// or a `Result` whose error converts into `sandhog_sdk::Error`.
#[proc_macro_attribute]
pub fn job(attributes: TokenStream, item: TokenStream) -> TokenStream {
    let item = proc_macro2::TokenStream::from(item);
    expand::job(attributes.into(), item.clone())
        .unwrap_or_else(|error| expand::refused(&error, item))
        .into()
}

/// Joins the handlers of a crate in one component.
///
/// Names functions that carry `#[sandhog_sdk::job]`, by path when they are in modules:
/// `sandhog_sdk::export!(shrink, pages::render);`. Once in a crate, with all of them. Two handlers of
/// the same kind do not compile. A crate without it builds a component that serves nothing, which
/// `sandhog plugin build` refuses.
///
/// What the handlers wish to be granted can be said along, in the form of a plugin's `NAME.toml`, so
/// that `sandhog plugin check` shows it: `export!(hook; grants = include_str!("../grants.toml"));`.
///
/// "expected type, found function" means that the function of that name has no `#[sandhog_sdk::job]`.
#[proc_macro]
pub fn export(handlers: TokenStream) -> TokenStream {
    export::export(handlers.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
