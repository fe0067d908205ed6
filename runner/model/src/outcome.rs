//! Every way a run can end.

use alloc::{string::String, vec::Vec};
use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::job::Output;

/// What a worker reports of one attempt. One exhaustive match in `decide` turns it into what
/// happens next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    /// The handler returned a result.
    Completed(Output),
    /// A failed attempt that may be tried again.
    Failed {
        /// What went wrong.
        failure: Failure,
        /// The handler asked for at least this many milliseconds before the next attempt.
        retry_after_ms: Option<u64>,
    },
    /// The handler said that no attempt can succeed.
    Permanent(Failure),
    /// The handler wants to be called again later; no attempt is used.
    Snoozed {
        /// Milliseconds from the attempt's end.
        delay_ms: u64,
    },
    /// The handler said: drop the job.
    Discarded {
        /// The handler's reason.
        reason: String,
    },
    /// The attempt never started or was taken back; no attempt is used.
    NotRun(Waiting),
}

/// Why a job was put back without using an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Waiting {
    /// No plugin serves its kind any more.
    PluginMissing,
    /// The plugin that serves it could not be loaded on this worker.
    PluginInvalid,
    /// All sandbox slots are taken.
    PoolFull,
    /// The runner is shutting down.
    Shutdown,
}

/// What went wrong in an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The kind, for rules and counting.
    pub kind: FailureKind,
    /// A short stable token: the handler's own for `error`, else the limit or trap's name.
    pub code: String,
    /// One line in job terms.
    pub cause: String,
    /// What to do about it, when known.
    pub hint: Option<String>,
    /// The guest's panic text with its place, when it panicked.
    pub panic: Option<String>,
    /// Frames, innermost first: function names.
    pub backtrace: Vec<String>,
    /// Anything more from the handler, as keys and values.
    pub details: Vec<(String, String)>,
}

impl Failure {
    /// A failure with a kind, code and cause, and nothing more.
    pub fn new(kind: FailureKind, code: impl Into<String>, cause: impl Into<String>) -> Self {
        Self {
            kind,
            code: code.into(),
            cause: cause.into(),
            hint: None,
            panic: None,
            backtrace: Vec::new(),
            details: Vec::new(),
        }
    }

    /// The same with advice.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// The kinds of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FailureKind {
    /// The handler returned an error.
    Error,
    /// The guest trapped.
    Trap(TrapKind),
    /// The attempt ran longer than its wall time.
    Timeout,
    /// The guest wanted more memory or table elements than its limit.
    Memory,
    /// The guest ended its process instead of returning, whatever the exit code.
    Exit,
    /// The result was too large or not what the contract says.
    BadResult,
    /// A host limit other than time and memory: handles, host-call bytes.
    Limit,
    /// The host itself failed while running the guest.
    HostError,
    /// The process or worker that held the lease went away.
    Lost,
    /// It was stopped because its job was called off.
    Cancelled,
}

/// What kind of trap ended a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TrapKind {
    /// An `unreachable` instruction: a panic or an abort.
    Unreachable,
    /// A memory access out of bounds.
    OutOfBounds,
    /// A table access out of bounds.
    TableOutOfBounds,
    /// The stack ran out.
    StackOverflow,
    /// An integer division by zero.
    DivideByZero,
    /// An integer overflow in division or conversion.
    IntegerOverflow,
    /// A float that no integer can hold.
    BadConversion,
    /// An indirect call to nothing or of the wrong type.
    IndirectCall,
    /// Any other trap; the cause line has its text.
    Unknown,
}

impl FailureKind {
    /// Every kind.
    pub const ALL: [Self; 18] = [
        Self::Error,
        Self::Trap(TrapKind::Unreachable),
        Self::Trap(TrapKind::OutOfBounds),
        Self::Trap(TrapKind::TableOutOfBounds),
        Self::Trap(TrapKind::StackOverflow),
        Self::Trap(TrapKind::DivideByZero),
        Self::Trap(TrapKind::IntegerOverflow),
        Self::Trap(TrapKind::BadConversion),
        Self::Trap(TrapKind::IndirectCall),
        Self::Trap(TrapKind::Unknown),
        Self::Timeout,
        Self::Memory,
        Self::Exit,
        Self::BadResult,
        Self::Limit,
        Self::HostError,
        Self::Lost,
        Self::Cancelled,
    ];

    /// The kind's name: `error`, `trap:stack-overflow`, `timeout`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Trap(TrapKind::Unreachable) => "trap:unreachable",
            Self::Trap(TrapKind::OutOfBounds) => "trap:out-of-bounds",
            Self::Trap(TrapKind::TableOutOfBounds) => "trap:table-out-of-bounds",
            Self::Trap(TrapKind::StackOverflow) => "trap:stack-overflow",
            Self::Trap(TrapKind::DivideByZero) => "trap:divide-by-zero",
            Self::Trap(TrapKind::IntegerOverflow) => "trap:integer-overflow",
            Self::Trap(TrapKind::BadConversion) => "trap:bad-conversion",
            Self::Trap(TrapKind::IndirectCall) => "trap:indirect-call",
            Self::Trap(TrapKind::Unknown) => "trap:unknown",
            Self::Timeout => "timeout",
            Self::Memory => "memory",
            Self::Exit => "exit",
            Self::BadResult => "bad-result",
            Self::Limit => "limit",
            Self::HostError => "host-error",
            Self::Lost => "lost",
            Self::Cancelled => "cancelled",
        }
    }

    /// The kind of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether the same input will most likely end the same way, so that few attempts are enough.
    #[must_use]
    pub const fn is_deterministic(self) -> bool {
        match self {
            Self::Trap(_) | Self::Memory | Self::Exit | Self::BadResult | Self::Limit => true,
            Self::Error | Self::Timeout | Self::HostError | Self::Lost | Self::Cancelled => false,
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// By its name, wherever it is written.
impl Serialize for FailureKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for FailureKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::named(&name).ok_or_else(|| {
            serde::de::Error::unknown_variant(&name, &["error", "trap:*", "timeout", "memory"])
        })
    }
}
