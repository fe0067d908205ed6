//! What a guest may ask of the host, one interface of the contract a file.
//!
//! A refusal is an error value for the guest, never a trap.

mod config;
mod context;
mod enqueue;
mod log;
mod progress;

use super::sandbox::{bindings::sandhog::job::types, state::State};

impl types::Host for State {}
