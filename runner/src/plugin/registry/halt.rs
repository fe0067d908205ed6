//! A word to whoever compiles: stop for good, or step aside for something more urgent.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Shared between a registry and whoever stops it. Clones are the same halt.
#[derive(Debug, Clone, Default)]
pub struct Halt(Arc<Asked>);

#[derive(Debug, Default)]
struct Asked {
    stop: AtomicBool,
    aside: AtomicBool,
}

impl Halt {
    /// Stop what runs and begin nothing more.
    pub fn stop(&self) {
        self.0.stop.store(true, Ordering::Release);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.0.stop.load(Ordering::Acquire)
    }

    /// Let go of what runs: it is begun again later.
    pub(crate) fn step_aside(&self) {
        self.0.aside.store(true, Ordering::Release);
    }

    /// What was urgent is looked at from here on.
    pub(crate) fn go_on(&self) {
        self.0.aside.store(false, Ordering::Release);
    }

    /// Whether what runs is to end now.
    pub(crate) fn asked(&self) -> bool {
        self.is_stopped() || self.0.aside.load(Ordering::Acquire)
    }
}
