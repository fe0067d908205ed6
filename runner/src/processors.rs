//! The processors this program may use.

use std::{num::NonZero, thread};

/// How many there are, by the system and its limits for this program; 1 when it does not say. It reads files for
/// that, and takes longer than a job.
pub(crate) fn count() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Whether a thread may look for what another one does instead of sleeping until it is done.
pub(crate) fn any_to_spare() -> bool {
    count() > 1
}
