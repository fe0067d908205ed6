//! What can be asked.

use sandhog_model::{JobId, NewJob};
use serde::{Deserialize, Serialize};

use crate::store::{JobFilter, PageRequest};

/// Most jobs in one [`Request::Enqueue`].
pub const JOBS_PER_ENQUEUE: usize = 500;
/// Longest wait of one [`Request::Wait`], in milliseconds.
pub const WAIT_MS: u64 = 2_000;

/// A request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// Who is there.
    Ping,
    /// Accept jobs, at most [`JOBS_PER_ENQUEUE`]. Each is answered for itself.
    Enqueue {
        /// The jobs.
        jobs: Vec<NewJob>,
    },
    /// One job with its history.
    Job {
        /// Which.
        id: JobId,
    },
    /// Jobs, newest first.
    Jobs {
        /// Which.
        filter: JobFilter,
        /// Which part.
        page: PageRequest,
    },
    /// The log lines of one attempt.
    Logs {
        /// Of which job.
        id: JobId,
        /// Of which attempt; the latest when `None`, the running one included.
        attempt: Option<u32>,
    },
    /// Run a waiting job now, or a completed or discarded one again.
    Retry {
        /// Which.
        id: JobId,
    },
    /// Wait for a job's end, at most [`WAIT_MS`].
    Wait {
        /// Which.
        id: JobId,
        /// How long, in milliseconds.
        timeout_ms: u64,
    },
    /// Queues by name.
    Queues,
    /// Dead letters, newest first.
    Dead {
        /// Which.
        filter: JobFilter,
        /// Which part.
        page: PageRequest,
    },
    /// One dead letter.
    Letter {
        /// Of which job.
        id: JobId,
    },
    /// Give dead jobs fresh attempts. Each is answered for itself.
    Requeue {
        /// Which, at most 1000.
        ids: Vec<JobId>,
    },
    /// Delete dead jobs with their letters. Each is answered for itself.
    Delete {
        /// Which, at most 1000.
        ids: Vec<JobId>,
    },
    /// What the plugin folder offers.
    Plugins,
    /// The worker threads.
    Workers,
    /// Everything at a glance.
    Stats,
}
