//! When a failed job is tried again.

use serde::{Deserialize, Serialize};

/// How a job's failures are retried. A field that is `None` is left to the next source: the job,
/// then the operator's settings for its kind, then what its handler proposes, then the default.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// Attempts in all, 1 to 1000; 25 by default.
    pub max_attempts: Option<u32>,
    /// Attempts in all when failures are deterministic (traps, memory, lying results); 3 by
    /// default, never more than `max_attempts`.
    pub trap_attempts: Option<u32>,
    /// The wait between attempts; polynomial by default.
    pub backoff: Option<Backoff>,
}

/// The wait before attempt n + 1, as a function of n failed attempts. Every delay is in
/// milliseconds, jitter included within `[0, max]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Backoff {
    /// `n^4 + 15 + rand(0..30) * (n + 1)` seconds, the formula Sidekiq, Faktory and Asynq share.
    Polynomial,
}
