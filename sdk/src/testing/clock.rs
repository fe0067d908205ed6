//! Time as a test wants it: it stands still but where the test lets it pass.

use std::cell::Cell;
use std::time::{Duration, SystemTime};

/// Longest end of an attempt in which it should come to an end by itself.
const GRACE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct Clock {
    now: Cell<SystemTime>,
    /// How much passes with each look.
    tick: Cell<Duration>,
    started: Cell<SystemTime>,
    deadline: Cell<SystemTime>,
}

impl Clock {
    /// An attempt that starts now.
    pub(crate) fn new(now: SystemTime, length: Duration) -> Self {
        Self {
            now: Cell::new(now),
            tick: Cell::default(),
            started: Cell::new(now),
            deadline: Cell::new(now + length),
        }
    }

    /// The time, and let a tick pass.
    pub(crate) fn look(&self) -> SystemTime {
        let now = self.now.get();
        self.pass(self.tick.get());
        now
    }

    pub(crate) fn pass(&self, time: Duration) {
        self.now.set(self.now.get() + time);
    }

    pub(crate) fn tick(&self, time: Duration) {
        self.tick.set(time);
    }

    pub(crate) fn deadline(&self) -> SystemTime {
        self.deadline.get()
    }

    /// What is left of the attempt, without a look.
    pub(crate) fn left(&self) -> Duration {
        let left = self.deadline.get().duration_since(self.now.get());
        left.unwrap_or_default()
    }

    pub(crate) fn remaining(&self) -> Duration {
        let left = self.left();
        self.pass(self.tick.get());
        left
    }

    /// Whether the attempt is to come to an end.
    pub(crate) fn is_near(&self) -> bool {
        let near = self.until_near().is_zero();
        self.pass(self.tick.get());
        near
    }

    /// What is left until the attempt is to come to an end, as the host has it: the last fifth of its
    /// time, two seconds at most.
    pub(crate) fn until_near(&self) -> Duration {
        let length = self.deadline.get().duration_since(self.started.get());
        let grace = (length.unwrap_or_default() / 5).min(GRACE);
        self.left().saturating_sub(grace)
    }

    /// The attempt starts now and has this long.
    pub(crate) fn start(&self, length: Duration) {
        self.started.set(self.now.get());
        self.deadline.set(self.now.get() + length);
    }

    /// The next attempt starts now and has as long as this one.
    pub(crate) fn again(&self) {
        let length = self.deadline.get().duration_since(self.started.get());
        self.start(length.unwrap_or_default());
    }

    /// The attempt starts at this time and keeps its length.
    pub(crate) fn move_to(&self, now: SystemTime) {
        let left = self.left();
        self.now.set(now);
        self.start(left);
    }
}
