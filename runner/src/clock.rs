//! The two clocks.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use sandhog_model::{Now, UnixMs};

/// Reads both clocks. Tests hand in one they move themselves.
pub trait Clock: Send + Sync + 'static {
    /// The time now.
    fn now(&self) -> Now;
}

/// The machine's clocks.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    start: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        Self {
            start: Instant::now(),
        }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Now {
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_millis() as u64);
        Now {
            wall: UnixMs(wall),
            mono: self.start.elapsed().as_millis() as u64,
        }
    }
}
