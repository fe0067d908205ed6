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

/// The settings in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingsInForce {
    /// The file they were read from, if there was one.
    pub file: Option<String>,
    /// Every key, with its table.
    pub settings: Vec<Setting>,
    /// What was read since and counts from the next start.
    pub waiting: Vec<Difference>,
}

/// A key of the settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// With its table, such as `runner.slots`.
    pub key: String,
    /// Its value, as the file would have it; `None` when it is left open.
    pub value: Option<String>,
    /// Where it comes from: `file`, `default`, a variable or a flag.
    pub origin: String,
}

/// What was read.
pub type Reloaded<'a> =
    Pin<Box<dyn Future<Output = Result<Vec<Difference>, ApiError>> + Send + 'a>>;

/// Who knows the settings, and reads them again.
pub trait Reload: Send + Sync + 'static {
    /// Read them, and have everyone follow them. What differs from the last time.
    fn reload(&self) -> Reloaded<'_>;

    /// Those in force.
    fn settings(&self) -> SettingsInForce;
}
