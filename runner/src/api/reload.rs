//! Settings that are read again while a runner runs.

use std::{fmt, future::Future, pin::Pin};

use serde::{Deserialize, Serialize};

use super::ApiError;

/// A key of the settings whose value differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The key with its table, such as `queue.mail.weight`.
    pub key: String,
    /// Its value before, as the file has it; `None` when there was none.
    pub before: Option<String>,
    /// Its value now.
    pub after: Option<String>,
    /// Whether it counts now; else it counts from the next start.
    pub at_once: bool,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".into());
        let (before, after) = (shown(&self.before), shown(&self.after));
        write!(f, "{}: {before} -> {after}", self.key)?;
        match self.at_once {
            true => Ok(()),
            false => f.write_str(" (from the next start on)"),
        }
    }
}

/// What was read.
pub type Reloaded<'a> =
    Pin<Box<dyn Future<Output = Result<Vec<Difference>, ApiError>> + Send + 'a>>;

/// Who reads the settings again.
pub trait Reload: Send + Sync + 'static {
    /// Read them, and have everyone follow them. What differs from the last time.
    fn reload(&self) -> Reloaded<'_>;
}
