//! Why a call came to nothing.

use std::{fmt, time::Duration};

use crate::code::Code;

/// Why a call came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The runner refused.
    #[error(transparent)]
    Refused(Problem),
    /// Nobody answered, and nothing was done.
    #[error("no runner answers at {address}: {why} (tried {tries} times)")]
    Unreachable {
        /// Where.
        address: String,
        /// What went wrong the last time.
        why: String,
        /// How often it was tried.
        tries: u32,
    },
    /// The request went out and no answer came back: it is not known whether it was done. An enqueue that is told
    /// again with the same [`NewJob::idempotency_key`](crate::NewJob::idempotency_key) is one job all the same.
    #[error("the runner at {address} gave no answer: {why} (tried {tries} times)")]
    Gone {
        /// Where.
        address: String,
        /// What went wrong the last time.
        why: String,
        /// How often it was tried.
        tries: u32,
    },
    /// Who answered is no runner, or one of another time: a proxy's page, a redirect, no JSON.
    #[error("{address} answers with status {status}, and not as a runner does: {why}")]
    NotARunner {
        /// Where.
        address: String,
        /// The status.
        status: u16,
        /// What is wrong with the answer.
        why: String,
    },
    /// The call cannot be written down as a request: nothing was sent.
    #[error("{0}")]
    Unusable(String),
}

/// What a runner says when it refuses: RFC 9457 with a stable code.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The stable code.
    pub code: Code,
    /// The status; of one job among many, that of its code is not told and it is 0.
    pub status: u16,
    /// What it is, the same each time; empty for one job among many.
    pub title: String,
    /// What went wrong this time, and what to do.
    pub detail: String,
    /// When to try again, if the runner said.
    pub retry_after: Option<Duration>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.detail, self.code)
    }
}

impl std::error::Error for Problem {}

impl Error {
    /// The code, when a runner refused.
    #[must_use]
    pub fn code(&self) -> Option<&Code> {
        match self {
            Self::Refused(problem) => Some(&problem.code),
            Self::Unreachable { .. }
            | Self::Gone { .. }
            | Self::NotARunner { .. }
            | Self::Unusable(_) => None,
        }
    }
}
