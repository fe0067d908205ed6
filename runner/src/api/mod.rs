//! What a running runner answers to: requests over a Unix socket in the data directory.
//!
//! [`handle`] is the only implementation of each request; the socket and the offline path both go
//! through it. Knows nothing of how stores keep jobs or how attempts run.

mod accept;
mod batch;
mod client;
mod error;
mod frame;
mod handle;
mod paging;
mod reload;
mod request;
mod response;
mod serve;
mod socket;

use std::sync::Arc;

use sandhog_model::KindDefaults;

use crate::{
    clock::Clock,
    engine::{CronBook, Running},
    metrics::Metrics,
    plugin::PluginDesk,
    store::Store,
};

pub(crate) use accept::Connections;
pub use accept::Handle;
pub use batch::{BatchRequest, BatchResponse, NewBatch};
pub use client::{CallError, Client, ConnectError};
pub use error::{ApiError, ErrorCode};
pub use frame::{FRAME_BYTES, FrameError, decode_body, encode_body};
pub use handle::{check_job, handle};
pub use paging::by_name;
pub use reload::{Difference, Reload, Reloaded, Setting, SettingsInForce};
pub use request::{CronAct, JOBS_PER_ENQUEUE, JobAct, Nth, Request, WAIT_MS, WorkersAct};
pub use response::{
    ActedOnCron, AttemptLogs, CronDoes, CronView, Enqueued, Joined, Plugins, Pong, QueueView,
    Response, RunnerStats, Stats, Waited, busy_of_slots,
};
pub use serve::{BindError, Options, Server};

/// The socket's file name in the data directory.
pub const SOCKET_NAME: &str = "sandhog.sock";

/// What [`handle`] works on.
#[derive(Clone)]
pub struct Ctx {
    /// Where the jobs are.
    pub store: Arc<dyn Store>,
    /// The engine, when this process runs one.
    pub running: Option<Arc<dyn Running>>,
    /// The plugins' versions, when this process watches the folder.
    pub desk: Option<Arc<dyn PluginDesk>>,
    /// What the operator and the handler say of a kind.
    pub defaults: Arc<dyn Fn(&str) -> KindDefaults + Send + Sync>,
    /// Who reads the settings again, when a runner follows them.
    pub reload: Option<Arc<dyn Reload>>,
    /// What is counted, in a runner.
    pub metrics: Option<Arc<Metrics>>,
    /// What the schedules are to do.
    pub crons: Arc<CronBook>,
    /// The clocks.
    pub clock: Arc<dyn Clock>,
    /// Largest payload of a job, in bytes.
    pub payload_bytes: usize,
    /// This program's version.
    pub version: &'static str,
}

/// An answer, or why there is none.
pub type Reply = Result<Response, ApiError>;

#[cfg(test)]
pub(crate) mod double;
#[cfg(test)]
mod tests;
