//! Jobs that wait for an instant, by that instant.

use alloc::{collections::BTreeSet, vec::Vec};

use crate::{id::JobId, time::UnixMs};

/// Jobs that were not due yet when they were last looked at.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct DueIndex {
    order: BTreeSet<(UnixMs, JobId)>,
}

impl DueIndex {
    pub(crate) fn insert(&mut self, due: UnixMs, id: JobId) {
        self.order.insert((due, id));
    }

    pub(crate) fn remove(&mut self, due: UnixMs, id: JobId) -> bool {
        self.order.remove(&(due, id))
    }

    /// Take out what is due at `wall`.
    pub(crate) fn take_due(&mut self, wall: UnixMs) -> Vec<JobId> {
        let mut due = Vec::new();
        while let Some(&(at, id)) = self.order.first() {
            if at > wall {
                break;
            }
            self.order.pop_first();
            due.push(id);
        }
        due
    }

    /// What is due at `wall` and was not taken out yet.
    pub(crate) fn due_by(&self, wall: UnixMs) -> impl Iterator<Item = JobId> + '_ {
        self.order
            .range(..=(wall, JobId(u128::MAX)))
            .map(|&(_, id)| id)
    }

    pub(crate) fn first(&self) -> Option<UnixMs> {
        self.order.first().map(|&(due, _)| due)
    }
}
