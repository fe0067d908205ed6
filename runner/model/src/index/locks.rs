//! Who stands in the way of whom: unique jobs by their keys.

use alloc::collections::BTreeSet;
use core::cmp::Reverse;

use crate::{id::JobId, job::Digest, time::UnixMs};

/// A job in the way of others with its key, until an instant. Of a key, those that stand longest first.
type Held = (Digest, Reverse<UnixMs>, JobId);

/// The end of time: of a lock that only the job's state ends.
const NEVER: UnixMs = UnixMs(u64::MAX);

/// Every job that stands in the way of others.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Locks {
    held: BTreeSet<Held>,
}

impl Locks {
    pub(super) fn insert(&mut self, key: Digest, until: Option<UnixMs>, id: JobId) {
        self.held.insert((key, Reverse(until.unwrap_or(NEVER)), id));
    }

    pub(super) fn remove(&mut self, key: Digest, until: Option<UnixMs>, id: JobId) {
        self.held
            .remove(&(key, Reverse(until.unwrap_or(NEVER)), id));
    }

    /// A job that stands in the way of another one with this key at `wall`.
    pub(crate) fn holder(&self, key: Digest, wall: UnixMs, but: Option<JobId>) -> Option<JobId> {
        self.held
            .range((key, Reverse(NEVER), JobId(0))..)
            .take_while(|(of, Reverse(until), _)| *of == key && *until > wall)
            .map(|(_, _, id)| *id)
            .find(|id| Some(*id) != but)
    }

    /// All of them by key, from behind a key and job on.
    pub(crate) fn after(
        &self,
        key: Digest,
    ) -> impl Iterator<Item = (Digest, Option<UnixMs>, JobId)> + '_ {
        let from = (key, Reverse(NEVER), JobId(0));
        self.held.range(from..).map(|(key, Reverse(until), id)| {
            (*key, Some(*until).filter(|until| *until < NEVER), *id)
        })
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }
}
