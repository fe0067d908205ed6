//! How a command ends.

use std::{fmt, io, process::ExitCode};

use crate::{
    api::{ApiError, CallError, ErrorCode},
    config::ConfigError,
    web::ClientError,
};

/// The exit codes, as `--help` and `docs/cli.md` have them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done; with `--wait`: the job completed.
    Done,
    /// The operation failed; with `--wait`: the job ended without a result.
    Failed,
    /// The command line, the settings or the input are not right.
    Usage,
    /// No runner is up, or none that answers, and one is needed.
    NoRunner,
    /// No such job, letter, attempt or plugin.
    NotFound,
    /// The time of `--wait` is over and the job has not ended.
    TimedOut,
    /// Of many some were done, and others were refused or not asked for any more.
    Partly,
}

impl Exit {
    /// The number the shell sees.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::NoRunner => 3,
            Self::NotFound => 4,
            Self::TimedOut => 5,
            Self::Partly => 6,
        }
    }

    const fn of(code: ErrorCode) -> Self {
        match code {
            ErrorCode::NotFound => Self::NotFound,
            ErrorCode::Invalid | ErrorCode::BadRequest | ErrorCode::TooLarge => Self::Usage,
            ErrorCode::NoRunner | ErrorCode::Stopping => Self::NoRunner,
            ErrorCode::WrongState
            | ErrorCode::Duplicate
            | ErrorCode::BatchClosed
            | ErrorCode::QueueFull
            | ErrorCode::Changed
            | ErrorCode::Full
            | ErrorCode::Busy
            | ErrorCode::Poisoned
            | ErrorCode::Damaged
            | ErrorCode::Unauthorized
            | ErrorCode::Forbidden => Self::Failed,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) exit: Exit,
    /// `None` when there is nobody to tell: the reader of our output went away.
    pub(super) error: Option<anyhow::Error>,
}

/// What most of the command line returns.
pub(super) type Outcome<T> = Result<T, Fault>;

impl Fault {
    pub(super) fn new(exit: Exit, error: impl Into<anyhow::Error>) -> Self {
        Self {
            exit,
            error: Some(error.into()),
        }
    }

    pub(super) fn usage(why: impl fmt::Display) -> Self {
        Self::new(Exit::Usage, anyhow::anyhow!("{why}"))
    }

    pub(super) fn failed(why: impl fmt::Display) -> Self {
        Self::new(Exit::Failed, anyhow::anyhow!("{why}"))
    }

    /// The same with a sentence more.
    pub(super) fn adding(self, more: &str) -> Self {
        let told = |error: anyhow::Error| anyhow::anyhow!("{error:#}\n{more}");
        Self {
            exit: self.exit,
            error: self.error.map(told),
        }
    }

    /// The code of the refusal, when it was one.
    pub(super) fn code(&self) -> Option<ErrorCode> {
        let error = self.error.as_ref()?;
        if let Some(error) = error.downcast_ref::<ApiError>() {
            return Some(error.code);
        }
        if let Some(ClientError::Refused(error)) = error.downcast_ref() {
            return Some(error.code);
        }
        match error.downcast_ref::<CallError>()? {
            CallError::Refused(error) => Some(error.code),
            CallError::Gone { .. } | CallError::Frame(_) => None,
        }
    }

    /// A runner of the same protocol that answers another question.
    pub(super) fn mismatch() -> Self {
        Self::failed("the runner gave an answer to another question: restart it")
    }
}

impl From<anyhow::Error> for Fault {
    fn from(error: anyhow::Error) -> Self {
        Self::new(Exit::Failed, error)
    }
}

/// For our own output only: what else is read or written says its path.
impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self {
                exit: Exit::Done,
                error: None,
            };
        }
        Self::new(
            Exit::Failed,
            anyhow::Error::new(error).context("cannot write the answer"),
        )
    }
}

impl From<ConfigError> for Fault {
    fn from(error: ConfigError) -> Self {
        // Its text has its cause in it already.
        Self::usage(error)
    }
}

impl From<ApiError> for Fault {
    fn from(error: ApiError) -> Self {
        Self::new(Exit::of(error.code), error)
    }
}

impl From<CallError> for Fault {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Refused(error) => error.into(),
            CallError::Gone { .. } => Self::new(Exit::NoRunner, error),
            CallError::Frame(_) => Self::new(Exit::Failed, error),
        }
    }
}

impl From<ClientError> for Fault {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Refused(error) => error.into(),
            ClientError::Unreachable { .. } | ClientError::Gone { .. } => {
                Self::new(Exit::NoRunner, error)
            }
            ClientError::Frame(_) | ClientError::Unable(_) => Self::new(Exit::Failed, error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_has_its_exit_code() {
        let of = |code| Fault::from(ApiError::new(code, "x")).exit.code();
        assert_eq!(of(ErrorCode::WrongState), 1);
        assert_eq!(of(ErrorCode::Full), 1);
        assert_eq!(of(ErrorCode::Invalid), 2);
        assert_eq!(of(ErrorCode::NoRunner), 3);
        assert_eq!(of(ErrorCode::Stopping), 3);
        assert_eq!(of(ErrorCode::NotFound), 4);
        assert_eq!(Exit::TimedOut.code(), 5);
        assert_eq!(Exit::Partly.code(), 6);
        assert_eq!(Exit::Done.code(), 0);
        let pipe = Fault::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(pipe.exit == Exit::Done && pipe.error.is_none());
        let full = Fault::from(io::Error::from(io::ErrorKind::StorageFull));
        assert!(full.exit == Exit::Failed && full.error.is_some());
    }
}
