//! The engine: takes jobs in, leases them to workers, and sees every attempt to its end.
//!
//! Knows nothing of files, sockets or wasmtime.

mod view;

use std::sync::Arc;

use sandhog_model::JobId;

use crate::plugin::{Catalog, LiveView};

pub use view::WorkerRow;

/// What others may see of a running engine.
pub trait Running: Send + Sync + 'static {
    /// The attempt that runs for a job, if one does.
    fn live(&self, id: JobId) -> Option<LiveView>;
    /// The worker threads.
    fn workers(&self) -> Vec<WorkerRow>;
    /// What the plugin folder offers now.
    fn catalog(&self) -> Arc<Catalog>;
}
