//! Sandhog: a durable job runner whose handlers are WebAssembly components.

pub mod api;
pub mod app;
pub mod cli;
pub mod clock;
pub mod config;
pub mod disk;
pub mod engine;
pub mod entropy;
pub mod figures;
mod identity;
mod json;
pub mod metrics;
pub mod plugin;
mod processors;
pub mod store;
pub mod traces;
pub mod web;
