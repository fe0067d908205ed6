//! Instants and the two clocks, as values.

use core::fmt;

use serde::{Deserialize, Serialize};

/// A wall-clock instant: milliseconds since the Unix epoch.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct UnixMs(pub u64);

impl UnixMs {
    /// This instant moved `ms` milliseconds later, at most to the end of time.
    #[must_use]
    pub const fn plus(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Milliseconds from `earlier` to this instant, 0 when it is not earlier.
    #[must_use]
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for UnixMs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms since 1970", self.0)
    }
}

/// Both clocks, read together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// What people and other machines see; it may be set forward or back.
    pub wall: UnixMs,
    /// Milliseconds since some start of this process; it never goes back. Leases follow this one.
    pub mono: u64,
}
