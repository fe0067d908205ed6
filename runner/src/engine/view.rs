//! What the engine shows of itself.

use std::time::Duration;

use sandhog_model::JobId;
use serde::{Deserialize, Serialize};

/// The memory that attempts hold room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MemoryUse {
    /// What all may take together, in bytes.
    pub budget: u64,
    /// The limits of those that run, in bytes.
    pub held: u64,
    /// Leased jobs that wait for room.
    pub waiting: usize,
    /// Whether a worker has a free slot for which there may be too little room.
    pub short: bool,
}

/// What the workers do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// They claim jobs and run them.
    Running,
    /// They claim nothing more; what runs goes on.
    Quiet,
    /// They claim nothing more and end; so does the runner.
    Stopping,
}

impl Mode {
    /// Its name, as users see it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Quiet => "quiet",
            Self::Stopping => "stopping",
        }
    }
}

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

/// What all workers waited for of the store since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waits {
    /// Claims.
    pub claims: u64,
    /// From each claim to its answer, added up, as long as its worker ran nothing meanwhile.
    pub claiming: Duration,
    /// Reports, each on the attempts of a worker that had ended together.
    pub reports: u64,
    /// From each report to its answer, added up. A worker does not wait for it: the slots are free before, and
    /// attempts go on.
    pub reporting: Duration,
}
