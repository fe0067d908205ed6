//! What can be wrong with settings.

use std::{fmt, path::PathBuf};

/// Why the settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is not UTF-8.
    #[error("{} is not UTF-8 from byte {offset} on", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// The first byte that is not.
        offset: usize,
    },
    /// Keys or values are refused; every one found is named.
    #[error("{}", lines(refusals))]
    Refused {
        /// What is wrong, in the order of the file.
        refusals: Vec<Refusal>,
    },
}

/// One thing that is wrong, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The file and line, or the variable.
    pub place: String,
    /// What is wrong and what is allowed.
    pub why: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.why)
    }
}

fn lines(refusals: &[Refusal]) -> String {
    let lines: Vec<String> = refusals.iter().map(ToString::to_string).collect();
    lines.join("\n")
}
