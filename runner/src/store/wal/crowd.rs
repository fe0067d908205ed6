//! Callers that come back together: one sync is to answer all of them.
//!
//! Whoever was answered comes back a moment later, and the first of them would get a sync of their own while the others
//! come. Then there are two groups, of which one waits for the other's sync. So a batch waits for those who were there a moment
//! ago, for less time than a sync takes, and not where they did not come the last times.

use std::{
    hint,
    time::{Duration, Instant},
};

use sandhog_model::Now;

use super::{
    actor::{Actor, MANY},
    mailbox::Inbox,
    wish::{Reply, Wish},
};
use crate::processors;

/// Callers from which on it is worth it.
const FEW: usize = 8;
/// The longest wait of all, however long a sync takes.
const LONGEST: Duration = Duration::from_micros(100);
/// Batches that do not wait, at most, after those that waited for nobody.
const MOST_SKIPPED: u32 = 64;

/// How many callers there are, and whether waiting for them pays.
pub(super) struct Crowd {
    /// Answers of a batch to which everyone comes who was there at the last one.
    size: usize,
    /// Batches that are not to wait any more.
    skipped: u32,
    /// How many were not to after the last vain wait.
    penalty: u32,
    /// Whoever waits for others takes a processor, and they need one.
    has_room: bool,
}

/// How a batch waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wait {
    /// Answers that it has when everyone came.
    all: usize,
    /// How long in all, and half of it for whoever comes next.
    longest: Duration,
}

impl Crowd {
    pub(super) fn new() -> Self {
        Self {
            size: 0,
            skipped: 0,
            penalty: 0,
            has_room: processors::any_to_spare(),
        }
    }

    /// A batch with so many answers was answered, and so many wishes wait.
    pub(super) fn answered(&mut self, answers: usize, waiting: usize) {
        self.size = answers + waiting;
    }

    /// How a batch that has so many answers waits for others, if it does.
    fn waits(&mut self, answers: usize, sync: Duration) -> Option<Wait> {
        if !self.has_room || self.size < FEW || answers >= self.size {
            return None;
        }
        if self.skipped > 0 {
            self.skipped -= 1;
            return None;
        }
        Some(Wait {
            all: self.size,
            longest: LONGEST.min(sync),
        })
    }

    /// How many of those came that a batch waited for. It was worth it when half of them did: on a busy machine somebody
    /// is always late.
    fn came(&mut self, came: usize, awaited: usize) {
        self.penalty = match came * 2 >= awaited {
            true => 0,
            false => (self.penalty * 2).clamp(1, MOST_SKIPPED),
        };
        self.skipped = self.penalty;
    }
}

impl Actor {
    /// Before a sync, wait a moment for callers that were there a moment ago, and do what they wish. Gives the reply of a
    /// wish to close.
    pub(super) fn gather(
        &mut self,
        inbox: &Inbox,
        wishes: &mut Vec<Wish>,
        now: Now,
    ) -> Option<Reply<()>> {
        if !self.writer.syncs_next() || self.waiting.len() >= MANY {
            return None;
        }
        let sync = Duration::from_micros(self.writer.counters.last_sync_us);
        let before = self.waiting.len();
        let wait = self.crowd.waits(before, sync)?;
        let start = Instant::now();
        let mut came = start;
        while self.waiting.len() < wait.all
            && came.elapsed() < wait.longest / 2
            && start.elapsed() < wait.longest
        {
            if !inbox.take_now(wishes) {
                moment();
                continue;
            }
            let closing = self.take_all(wishes, now);
            if closing.is_some() {
                return closing;
            }
            came = Instant::now();
        }
        let came = self.waiting.len().saturating_sub(before);
        self.crowd.came(came, wait.all - before);
        None
    }
}

/// Let a moment pass without giving the processor away: those who are waited for have another one.
fn moment() {
    for _ in 0..32 {
        hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYNC: Duration = Duration::from_micros(80);

    fn crowd() -> Crowd {
        Crowd {
            has_room: true,
            ..Crowd::new()
        }
    }

    #[test]
    fn a_batch_waits_for_those_who_were_there_and_for_nobody_else() {
        let mut crowd = crowd();
        assert_eq!(crowd.waits(1, SYNC), None, "nobody was there");
        crowd.answered(4, 3);
        assert_eq!(crowd.waits(1, SYNC), None, "a few");
        crowd.answered(5, 3);
        let wait = |longest| Wait { all: 8, longest };
        assert_eq!(crowd.waits(7, SYNC), Some(wait(SYNC)));
        assert_eq!(crowd.waits(8, SYNC), None, "all are there");
        assert_eq!(crowd.waits(7, Duration::from_secs(1)), Some(wait(LONGEST)));
        crowd.has_room = false;
        assert_eq!(crowd.waits(7, SYNC), None, "they need its processor");
    }

    #[test]
    fn the_more_often_nobody_comes_the_rarer_it_waits() {
        let mut crowd = crowd();
        crowd.answered(20, 0);
        let mut waited = Vec::new();
        for batch in 0..400 {
            if crowd.waits(1, SYNC).is_some() {
                waited.push(batch);
                crowd.came(9, 19);
            }
        }
        assert_eq!(waited, [0, 2, 5, 10, 19, 36, 69, 134, 199, 264, 329, 394]);
        crowd.skipped = 0;
        crowd.came(10, 19);
        assert!(crowd.waits(1, SYNC).is_some() && crowd.waits(1, SYNC).is_some());
    }
}
