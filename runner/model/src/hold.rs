//! What keeps jobs that are due from being begun.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::{queue::Rate, time::UnixMs};

/// What keeps a job that is due, or the jobs of a queue, from being begun, as far as queues go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Hold {
    /// The queue is paused.
    Paused,
    /// As many attempts of the queue, or of one group of it, run as may.
    Full {
        /// The group.
        group: Option<String>,
        /// How many run.
        running: u32,
        /// How many may.
        most: u32,
    },
    /// As many attempts of the queue, or of one group of it, began as may for now.
    Rate {
        /// The group.
        group: Option<String>,
        /// How many may begin.
        rate: Rate,
        /// When the next one may.
        opens: UnixMs,
    },
    /// Nothing but others that come first: so many of its queue, or [`Hold::LOOK`] and more.
    Behind(usize),
}

impl Hold {
    /// Most jobs, and groups, that are looked at.
    pub const LOOK: usize = 1_000;
}
