//! Jobs that ended and are not dead, by when they did.

use alloc::collections::BTreeSet;

use crate::{id::JobId, time::UnixMs};

/// The jobs that retention may forget.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct EndedIndex {
    order: BTreeSet<(UnixMs, JobId)>,
}

impl EndedIndex {
    pub(crate) fn insert(&mut self, at: UnixMs, id: JobId) {
        self.order.insert((at, id));
    }

    pub(crate) fn remove(&mut self, at: UnixMs, id: JobId) {
        self.order.remove(&(at, id));
    }

    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    pub(crate) fn oldest_first(&self) -> impl Iterator<Item = (UnixMs, JobId)> + '_ {
        self.order.iter().copied()
    }
}
