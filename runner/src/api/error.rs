//! How a request can fail.

use sandhog_model::Rejected;
use serde::{Deserialize, Serialize};

use crate::store::StoreError;

/// Why a request was not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{text}")]
pub struct ApiError {
    /// For programs.
    pub code: ErrorCode,
    /// For people: what went wrong and what to do.
    pub text: String,
}

/// The stable codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorCode {
    /// No such job, letter or attempt.
    NotFound,
    /// A field is out of its range.
    Invalid,
    /// The state of the job or the batch does not allow it.
    WrongState,
    /// A job with the same unique key stands in its way.
    Duplicate,
    /// A batch was sealed or called off and takes nothing in.
    BatchClosed,
    /// As many jobs wait in the queue as may, or it takes nothing in.
    QueueFull,
    /// It is not what was meant any more; nothing changed.
    Changed,
    /// It needs a running runner, and this is none.
    NoRunner,
    /// The disk is full; nothing changed.
    Full,
    /// Too much waits; nothing changed. Try again shortly.
    Busy,
    /// A write or sync failed before; a restart is needed.
    Poisoned,
    /// A record on disk cannot be read.
    Damaged,
    /// The runner is stopping.
    Stopping,
    /// The request or its answer is larger than a frame may be.
    TooLarge,
    /// The bytes are no request.
    BadRequest,
    /// Who asks is not known.
    Unauthorized,
    /// Who asks may not.
    Forbidden,
}

impl ErrorCode {
    /// The code as programs see it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotFound => "not-found",
            Self::Invalid => "invalid",
            Self::WrongState => "wrong-state",
            Self::Duplicate => "duplicate",
            Self::BatchClosed => "batch-closed",
            Self::QueueFull => "queue-full",
            Self::Changed => "changed",
            Self::NoRunner => "no-runner",
            Self::Full => "full",
            Self::Busy => "busy",
            Self::Poisoned => "poisoned",
            Self::Damaged => "damaged",
            Self::Stopping => "stopping",
            Self::TooLarge => "too-large",
            Self::BadRequest => "bad-request",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
        }
    }
}

impl ApiError {
    /// An error with a code and a text.
    pub fn new(code: ErrorCode, text: impl Into<String>) -> Self {
        Self {
            code,
            text: text.into(),
        }
    }
}

impl From<Rejected> for ApiError {
    fn from(rejected: Rejected) -> Self {
        let code = match &rejected {
            Rejected::NoSuchJob(_) | Rejected::NoSuchCron(_) | Rejected::NoSuchBatch(_) => {
                ErrorCode::NotFound
            }
            Rejected::WrongState { .. }
            | Rejected::BatchOver { .. }
            | Rejected::SlotDone { .. } => ErrorCode::WrongState,
            Rejected::BatchClosed { .. } | Rejected::BatchCancelled { .. } => {
                ErrorCode::BatchClosed
            }
            Rejected::IdTaken(_) | Rejected::Invalid(_) => ErrorCode::Invalid,
            Rejected::Duplicate { .. } => ErrorCode::Duplicate,
            Rejected::QueueFull { .. } | Rejected::QueueDraining { .. } => ErrorCode::QueueFull,
            // Only a worker's report is fenced, and none comes in through here.
            Rejected::Fenced { .. } => ErrorCode::WrongState,
        };
        Self::new(code, rejected.to_string())
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let code = match error {
            StoreError::Rejected(rejected) => return rejected.into(),
            StoreError::Poisoned { .. } => ErrorCode::Poisoned,
            StoreError::Full { .. } => ErrorCode::Full,
            StoreError::Busy { .. } => ErrorCode::Busy,
            StoreError::Damaged { .. } => ErrorCode::Damaged,
            StoreError::Closed => ErrorCode::Stopping,
        };
        Self::new(code, error.to_string())
    }
}
