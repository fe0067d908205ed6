//! Jobs that must not be there twice.

use std::time::Duration;

use serde::Serialize;

use crate::new_job::span;

/// What a job must not be twice, together with its kind, and what becomes of the one that comes later.
///
/// ```
/// # use sandhog_client::{NewJob, Unique, While};
/// # use std::time::Duration;
/// # struct Customer { id: u32 }
/// # let customer = Customer { id: 1 };
/// // One import of a customer waits at a time; another one replaces it.
/// NewJob::new("import", customer.id).unique(Unique::payload().replace());
/// // No second mail about an order within a day, whether the first one ran or not.
/// let day = Duration::from_secs(24 * 3600);
/// let once = Unique::fields(["order.id"]).within(day).during(&[While::Unfinished, While::Completed]);
/// ```
#[derive(Debug, Clone, Default, Serialize)]
#[must_use = "it is given to a job by `NewJob::unique`"]
pub struct Unique {
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(rename = "for", skip_serializing_if = "Option::is_none")]
    span: Option<String>,
    #[serde(rename = "while", skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    on_conflict: Option<&'static str>,
}

/// A state in which a unique job stands in the way of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum While {
    /// Scheduled, available, retryable or running.
    Unfinished,
    /// Scheduled or available.
    Waiting,
    /// Waiting out a backoff.
    Retryable,
    /// Running.
    Running,
    /// Completed, as long as it is known.
    Completed,
    /// Dead.
    Dead,
}

impl While {
    const fn name(self) -> &'static str {
        match self {
            Self::Unfinished => "unfinished",
            Self::Waiting => "waiting",
            Self::Retryable => "retryable",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Dead => "dead",
        }
    }
}

impl Unique {
    /// By its whole payload.
    pub fn payload() -> Self {
        Self::default()
    }

    /// By fields of its payload; dots go into fields of fields.
    pub fn fields<S: Into<String>>(fields: impl IntoIterator<Item = S>) -> Self {
        Self {
            by: Some(fields.into_iter().map(Into::into).collect()),
            ..Self::default()
        }
    }

    /// By a text.
    pub fn key(key: impl Into<String>) -> Self {
        Self {
            key: Some(key.into()),
            ..Self::default()
        }
    }

    /// Standing in the way of others no longer than this.
    pub fn within(mut self, time: Duration) -> Self {
        self.span = Some(span(time));
        self
    }

    /// Standing in the way of others in these states.
    pub fn during(mut self, states: &[While]) -> Self {
        let names: Vec<&str> = states.iter().map(|state| state.name()).collect();
        self.scope = Some(names.join(","));
        self
    }

    /// The later one is refused, with the code [`Duplicate`](crate::Code::Duplicate). It is when nothing is said.
    pub fn reject(self) -> Self {
        self.on_conflict("reject")
    }

    /// The earlier one is the answer, with [`existing`](crate::Enqueued::existing).
    pub fn keep(self) -> Self {
        self.on_conflict("keep")
    }

    /// The later one takes the earlier one's place while that waits.
    pub fn replace(self) -> Self {
        self.on_conflict("replace")
    }

    /// The earlier one waits anew, and is the answer.
    pub fn debounce(self) -> Self {
        self.on_conflict("debounce")
    }

    fn on_conflict(mut self, what: &'static str) -> Self {
        self.on_conflict = Some(what);
        self
    }
}
