//! The sandbox: a fresh store and instance for every attempt, its limits, and the words for every
//! way it can end.

pub(crate) mod backtrace;
mod bare;
pub(crate) mod bindings;
mod cpu;
pub(crate) mod engines;
mod host;
pub(crate) mod journal;
pub(crate) mod linker;
pub(crate) mod meter;
pub(crate) mod outcome;
pub(crate) mod run;
pub(crate) mod state;
mod streams;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod trap;
mod untyped;

pub use bare::BareAttempt;
pub use engines::SandboxOptions;
pub use host::{WasmHost, WasmHostFactory};
