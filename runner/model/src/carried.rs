//! A job with all that its records say, in one: what takes the place of records that are to go.

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::{
    attempt::Attempt,
    cancel::Cancellation,
    id::{JobId, Token},
    job::{Job, Output},
    ledger::Status,
    outcome::FailureKind,
    time::UnixMs,
};

/// A job, where it is in its life, and its history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Carried {
    /// The job as it was accepted.
    pub job: Job,
    /// When this was written.
    pub at: UnixMs,
    /// Where it is in its life.
    pub status: Status,
    /// Attempts used since it was accepted or last requeued.
    pub attempts: u32,
    /// How often its lease was lost since then.
    pub losses: u32,
    /// The latest lease, running or not.
    pub token: Token,
    /// How the latest attempt failed, if it did.
    pub failure: Option<FailureKind>,
    /// Every attempt that ran and ended, oldest first, as far as a record has room for them.
    pub history: Vec<Attempt>,
    /// The latest result.
    pub output: Option<Output>,
    /// The latest reason its handler gave for dropping it.
    pub reason: Option<String>,
    /// The jobs its attempts enqueued.
    pub children: Vec<JobId>,
    /// What its latest checkpoint holds, as long as an attempt may follow that wants it.
    #[serde(with = "serde_bytes")]
    pub checkpoint: Option<Vec<u8>>,
    /// Its calling off, when it ended so or runs and is asked to end.
    #[serde(default)]
    pub cancel: Option<Cancellation>,
    /// Attempts among the used ones that failed in a way that the same input brings about again, of a
    /// job that goes on.
    #[serde(default)]
    pub traps: u32,
    /// Whether it expires no more, because someone asked for it after it ended.
    #[serde(default)]
    pub lifted: bool,
    /// Whether it stands in nobody's way any more, because someone said so.
    #[serde(default)]
    pub unlocked: bool,
    /// When the first of its failed attempts ended, as long as that counts for how long it may go on
    /// failing.
    #[serde(default)]
    pub failing_since: Option<UnixMs>,
}
