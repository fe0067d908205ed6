//! What the engine shows of itself.

use sandhog_model::JobId;
use serde::{Deserialize, Serialize};

/// A worker thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerRow {
    /// Its number, from 0.
    pub number: usize,
    /// Attempts it can run at a time.
    pub slots: usize,
    /// The jobs it runs now.
    pub running: Vec<JobId>,
    /// Attempts it ended since the start.
    pub ended: u64,
}
