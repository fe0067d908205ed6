//! The engine: leases jobs to worker threads and sees every attempt to its end.
//!
//! Knows nothing of files, sockets or wasmtime: it holds a [`Store`], a [`Plugins`] and a
//! [`HostFactory`] through their traits.
//!
//! [`Store`]: crate::store::Store
//! [`Plugins`]: crate::plugin::Plugins
//! [`HostFactory`]: crate::plugin::HostFactory

mod budget;
mod chain;
mod cron;
mod idle;
mod lease;
mod live;
mod run;
mod services;
mod settings;
mod settle;
mod start;
mod view;
mod worker;

use std::sync::Arc;

use sandhog_model::{Cancellation, JobId, Token};

use crate::plugin::{Catalog, LiveView};

pub use cron::{CRON_HEADER, CronBook, CronEntry, CronOverlap, ReadEntry, SLOT_HEADER};
pub use services::complete;
pub use settings::{KindRule, Settings, door_defaults};
pub use start::{Engine, EngineOptions, EngineParts, StartError};
pub use view::{MemoryUse, Mode, Waits, WorkerRow};

/// What others may see of a running engine.
pub trait Running: Send + Sync + 'static {
    /// The attempt that runs for a job, if one does.
    fn live(&self, id: JobId) -> Option<LiveView>;
    /// End the attempt of a lease whose job was called off: a kill at once, else after a grace in which
    /// its handler may end by itself. Call on a tokio runtime.
    fn call_off(&self, id: JobId, lease: Token, cancel: Cancellation);
    /// What the workers do.
    fn mode(&self) -> Mode;
    /// Have the workers claim nothing more, or claim again. What the workers do then: one that is stopping
    /// goes on with that.
    fn be_quiet(&self, quiet: bool) -> Mode;
    /// Have the runner stop, as a `SIGTERM` would.
    fn ask_to_stop(&self);
    /// The worker threads.
    fn workers(&self) -> Vec<WorkerRow>;
    /// The memory that running attempts hold room for.
    fn memory(&self) -> MemoryUse;
    /// What the plugin folder offers now.
    fn catalog(&self) -> Arc<Catalog>;
}

#[cfg(test)]
mod tests;
