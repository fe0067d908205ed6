//! The runner over HTTP/1.1: JSON under `/api/v1`, `/health` and `/ready`, and the way of the command line
//! from other machines.
//!
//! Every resource asks [`handle`](crate::api::handle) like the socket does. Knows nothing of how a store
//! keeps jobs or how attempts run.

mod answer;
mod audit;
mod call;
mod client;
mod form;
mod gate;
mod hosts;
mod listen;
mod openapi;
mod pages;
mod patient;
mod post;
mod problem;
mod resources;
mod route;
mod rpc;
mod serve;
mod session;
mod site;
mod sweep;
#[cfg(test)]
mod tests;
mod token;

pub use client::{Client, ClientError, Url};
pub use listen::{BindError, Options, Server, guarded};
pub use post::Post;
pub use token::{Guard, Role, TokenError, Tokens, check as check_token, read_token};
