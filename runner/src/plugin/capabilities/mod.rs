//! What a guest may ask of the host, one interface of the contract a file.
//!
//! A refusal is an error value for the guest, never a trap.

mod config;
mod context;
mod denial;
mod enqueue;
pub(crate) mod errors;
pub(crate) mod files;
pub(crate) mod grants;
pub(crate) mod http;
mod log;
mod outside;
mod progress;
mod secrets;
mod signing;
#[cfg(test)]
mod tests;

pub(crate) use enqueue::depth;
pub use grants::{
    Ceiling, Ceilings, Grants, HttpGrant, Network, OriginPattern, SecretRule, SecretSource,
    as_toml as grants_as_toml, parse as parse_grants,
};
pub(crate) use http::client_tls;
pub use outside::Outside;

use super::sandbox::{bindings::sandhog::job::types, state::State};

impl types::Host for State {}
