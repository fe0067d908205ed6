//! One attempt, as the history keeps it.

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::{id::Token, outcome::Failure, time::UnixMs};

/// One attempt at a job, after it ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// Its number, from 1.
    pub number: u32,
    /// The lease it ran under.
    pub token: Token,
    /// When the lease was given.
    pub started_at: UnixMs,
    /// When it ended.
    pub ended_at: UnixMs,
    /// Time in the sandbox, instantiation included, in microseconds by the steady clock.
    pub duration_us: u64,
    /// SHA-256 of the component it ran on, in hex; empty when none ran.
    pub digest: String,
    /// The file name of the plugin, without its ending; empty when none ran.
    pub plugin: String,
    /// Largest total linear memory the guest had, in bytes.
    pub peak_memory: u64,
    /// Why it failed; `None` for an attempt that did not fail.
    pub failure: Option<Failure>,
    /// What the guest logged and printed, in order, within the log limit.
    pub logs: Vec<LogLine>,
    /// Lines left out of `logs` because the attempt was over its log limit.
    pub dropped_lines: u64,
    /// Processor time of the sandbox and of the host's calls for it, in microseconds; 0 when it is
    /// not known. Left out then, so that attempts written before it was measured stay as they are.
    #[serde(default, skip_serializing_if = "is_unknown")]
    pub cpu_us: u64,
}

const fn is_unknown(us: &u64) -> bool {
    *us == 0
}

impl Attempt {
    /// What is known of an attempt before its component ran, or when none ran.
    #[must_use]
    pub fn without_run(number: u32, token: Token, at: UnixMs) -> Self {
        Self {
            number,
            token,
            started_at: at,
            ended_at: at,
            duration_us: 0,
            digest: String::new(),
            plugin: String::new(),
            peak_memory: 0,
            failure: None,
            logs: Vec::new(),
            dropped_lines: 0,
            cpu_us: 0,
        }
    }
}

/// Where a log line came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogSource {
    /// The `log` interface.
    Log,
    /// The guest's standard output.
    Stdout,
    /// The guest's standard error.
    Stderr,
}

/// How much a log line matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// For the closest look.
    Trace,
    /// For finding faults.
    Debug,
    /// Worth keeping.
    Info,
    /// Something is off.
    Warn,
    /// Something failed.
    Error,
}

/// One line of an attempt's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// Milliseconds since the attempt started.
    pub at_ms: u64,
    /// Where it came from.
    pub source: LogSource,
    /// How much it matters; lines of stdout are `info`, of stderr `warn`.
    pub level: LogLevel,
    /// The text, valid UTF-8, without line breaks and other control characters.
    pub text: String,
    /// Fields of a `log` line.
    pub fields: Vec<(String, String)>,
}
