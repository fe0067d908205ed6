//! Calling a job off: how, by whom, and why.

use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::{id::JobId, time::UnixMs};

/// How a job that runs is asked to end. The larger one overrules the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Asked {
    /// Its handler may end by itself for a while; then it is stopped.
    Cancel,
    /// It is stopped at once.
    Kill,
}

impl Asked {
    /// What is wished, as a verb.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Kill => "kill",
        }
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A job's calling off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cancellation {
    /// How.
    pub how: Asked,
    /// When it was asked for.
    pub at: UnixMs,
    /// Who asked, as they call themselves.
    pub by: String,
    /// Why, if they said.
    pub reason: Option<String>,
}

impl Cancellation {
    /// That of a job whose place another one took.
    #[must_use]
    pub fn replaced(by: JobId, at: UnixMs) -> Self {
        Self {
            how: Asked::Cancel,
            at,
            by: String::from("sandhog"),
            reason: Some(alloc::format!(
                "job {by} with the same unique key took its place"
            )),
        }
    }

    /// Who asked and why, in one line.
    #[must_use]
    pub fn told(&self) -> String {
        let done = match self.how {
            Asked::Cancel => "cancelled",
            Asked::Kill => "killed",
        };
        match &self.reason {
            Some(reason) => alloc::format!("{done} by {}: {reason}", self.by),
            None => alloc::format!("{done} by {}", self.by),
        }
    }
}
