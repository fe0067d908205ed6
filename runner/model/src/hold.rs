//! What keeps jobs that are due from being begun.

use alloc::{string::String, vec::Vec};

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
    /// Nothing but others that come first.
    Behind(Ahead),
}

/// What may be begun before a job that nothing holds back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ahead {
    /// Jobs of its queue that come first, or [`Hold::LOOK`] and more.
    pub jobs: usize,
    /// Other queues that give out jobs now, [`Ahead::RIVALS`] at most.
    pub rivals: Vec<Rival>,
}

/// A queue beside another one, to which it does not leave all places.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rival {
    /// The queue.
    pub queue: String,
    /// The kinds of the jobs that it gives out, served or not.
    pub kinds: Vec<String>,
    /// Whether it comes first whatever the weights; else the two take turns.
    pub is_first: bool,
}

impl Ahead {
    /// Most queues that are named.
    pub const RIVALS: usize = 100;
}

impl Hold {
    /// Most jobs, and groups, that are looked at.
    pub const LOOK: usize = 1_000;
}
