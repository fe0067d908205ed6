//! A dead letter: a job that will not be tried again, with all that is known of it.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::{
    attempt::Attempt,
    id::{JobId, Token},
    job::Job,
    time::UnixMs,
};

/// A dead job with its whole history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Letter {
    /// The job as it was accepted.
    pub job: Job,
    /// Every attempt, oldest first, those before an earlier requeue included.
    pub attempts: Vec<Attempt>,
    /// When it died.
    pub died_at: UnixMs,
    /// The lease whose end buried it. After a crash it tells whether the log knows of the burial.
    pub token: Token,
    /// How often its lease was lost with its worker.
    pub losses: u32,
}

impl Letter {
    /// The dead job's id.
    #[must_use]
    pub fn id(&self) -> JobId {
        self.job.id
    }
}
