//! A job as it was accepted, and the states it can be in.

mod accept;
mod link;
pub mod terms;

use alloc::{string::String, vec::Vec};
use core::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{id::JobId, retry::RetryPolicy, time::UnixMs};

pub(crate) use accept::check_name;
pub use accept::{Bounds, NAME_PATTERN, is_name};
pub use link::Link;
pub use terms::{Digest, Named, OnConflict, Scope, Terms, Unique};

/// A job's facts, fixed when it was accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Its id.
    pub id: JobId,
    /// Which handler runs it.
    pub kind: String,
    /// Which queue it waits in.
    pub queue: String,
    /// Higher runs first within a queue; 0 is the default.
    pub priority: i16,
    /// The payload's bytes, passed on unread.
    #[serde(with = "serde_bytes")]
    pub payload: Vec<u8>,
    /// Media type of the payload.
    pub content_type: String,
    /// Key/value pairs for the handler; keys may repeat, order is kept.
    pub headers: Vec<(String, String)>,
    /// When it was accepted.
    pub enqueued_at: UnixMs,
    /// Not to be run before this.
    pub due: UnixMs,
    /// How failures are retried.
    pub retry: RetryPolicy,
    /// Wall time of one attempt in milliseconds; `None` leaves it to the handler and the operator.
    pub timeout_ms: Option<u64>,
    /// The job whose handler enqueued this one.
    pub parent: Option<JobId>,
    /// What few jobs say besides.
    #[serde(default, skip_serializing_if = "Terms::is_empty")]
    pub terms: Terms,
}

/// A job someone wishes to enqueue, before it has an id. What is `None` is left to the handler and
/// the operator.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct NewJob {
    /// Which handler is to run it.
    pub kind: String,
    /// Which queue; `default` when neither the handler nor the operator says.
    pub queue: Option<String>,
    /// Higher runs first within a queue.
    pub priority: Option<i16>,
    /// The payload's bytes.
    #[serde(with = "serde_bytes")]
    pub payload: Vec<u8>,
    /// Media type of the payload.
    pub content_type: Option<String>,
    /// Key/value pairs for the handler.
    pub headers: Vec<(String, String)>,
    /// Not to be run before this; at once when `None`.
    pub due: Option<UnixMs>,
    /// How failures are retried.
    pub retry: RetryPolicy,
    /// Wall time of one attempt in milliseconds.
    pub timeout_ms: Option<u64>,
    /// The job whose handler enqueues this one.
    pub parent: Option<JobId>,
    /// Not to be begun from this instant on; without an end when neither the operator says.
    #[serde(default)]
    pub expires: Option<UnixMs>,
    /// How long it may go on failing, in milliseconds from the first failure.
    #[serde(default)]
    pub retry_for_ms: Option<u64>,
    /// What it must not be twice.
    #[serde(default)]
    pub unique: Option<NewUnique>,
    /// The caller's name for this wish: told again, it gives the same job.
    #[serde(default)]
    pub idempotency_key: Option<String>,
    /// The group it takes turns and shares limits with.
    #[serde(default)]
    pub group: Option<String>,
    /// Words to find it by.
    #[serde(default)]
    pub tags: Vec<String>,
    /// What follows it when it completes, the next one first.
    #[serde(default)]
    pub then: Vec<Link>,
    /// The batch it belongs to.
    #[serde(default)]
    pub batch: Option<JobId>,
}

/// What a new job must not be twice.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NewUnique {
    /// What its key is made of, beside its kind.
    pub by: UniqueBy,
    /// For how long from now on it stands in the way of others, in milliseconds; as long as its state
    /// says when `None`.
    pub period_ms: Option<u64>,
    /// The states in which it does.
    pub scope: Scope,
    /// What becomes of it when another one stands in its way.
    pub on_conflict: OnConflict,
}

/// What a unique job's key is made of, beside its kind.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum UniqueBy {
    /// The whole payload.
    #[default]
    Payload,
    /// These fields of a JSON payload; a dot goes into a field of a field.
    Fields(Vec<String>),
    /// A text that the caller gives.
    Key(String),
}

/// What the operator and the handler say of a kind, for jobs that do not say it themselves.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct KindDefaults {
    /// The queue.
    pub queue: Option<String>,
    /// The retries.
    pub retry: RetryPolicy,
    /// Wall time of one attempt in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Media type of the payload.
    pub content_type: Option<String>,
    /// How long after it is first due a job may still be begun, in milliseconds.
    #[serde(default)]
    pub max_age_ms: Option<u64>,
    /// How long a job may go on failing, in milliseconds from its first failure.
    #[serde(default)]
    pub retry_for_ms: Option<u64>,
}

/// A handler's result.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Output {
    /// Media type of the payload.
    pub content_type: String,
    /// The result's bytes; empty means there is none.
    #[serde(with = "serde_bytes")]
    pub payload: Vec<u8>,
}

/// The states a person sees. Scheduled, available and retryable are one stored state: waiting, due
/// at an instant, for a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Due later.
    Scheduled,
    /// Due, waiting for a worker.
    Available,
    /// An attempt holds a lease on it.
    Running,
    /// Waiting out a backoff.
    Retryable,
    /// A handler returned a result.
    Completed,
    /// Someone cancelled it.
    Cancelled,
    /// Its handler said: drop it.
    Discarded,
    /// Out of attempts, or failed for good: it is in the dead letters.
    Dead,
    /// It waited until it was too late to begin.
    Expired,
}

impl State {
    /// Every state, in the order of a job's life.
    pub const ALL: [Self; 9] = [
        Self::Scheduled,
        Self::Available,
        Self::Running,
        Self::Retryable,
        Self::Completed,
        Self::Cancelled,
        Self::Discarded,
        Self::Dead,
        Self::Expired,
    ];

    /// The state's name as users write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Available => "available",
            Self::Running => "running",
            Self::Retryable => "retryable",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Discarded => "discarded",
            Self::Dead => "dead",
            Self::Expired => "expired",
        }
    }

    /// Whether no attempt will follow unless a person asks for one.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(
            self,
            Self::Completed | Self::Cancelled | Self::Discarded | Self::Dead | Self::Expired
        )
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for State {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|state| state.name() == text)
            .ok_or_else(|| {
                let names: Vec<&str> = Self::ALL.iter().map(|state| state.name()).collect();
                alloc::format!("{text:?} is no job state: use one of {}", names.join(", "))
            })
    }
}
