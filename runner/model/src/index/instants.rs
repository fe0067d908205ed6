//! Jobs by an instant: when they are due, or when they ended.

use alloc::vec::Vec;

use super::sorted::Sorted;
use crate::{id::JobId, time::UnixMs};

/// A job at an instant; earlier ones first, then smaller ids. The id lies in halves, because a
/// `u128` would be aligned to 16 bytes and the whole take a third more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    at: UnixMs,
    id_high: u64,
    id_low: u64,
}

const _: () = assert!(size_of::<Moment>() == 24);

impl Moment {
    pub(super) fn new(at: UnixMs, id: JobId) -> Self {
        Self {
            at,
            id_high: (id.0 >> 64) as u64,
            id_low: id.0 as u64,
        }
    }

    pub(super) fn at(self) -> UnixMs {
        self.at
    }

    pub(super) fn id(self) -> JobId {
        JobId(u128::from(self.id_high) << 64 | u128::from(self.id_low))
    }
}

/// Jobs by an instant.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ByInstant {
    order: Sorted<Moment, ()>,
}

impl ByInstant {
    pub(super) fn insert(&mut self, at: UnixMs, id: JobId) {
        self.order.insert(Moment::new(at, id), ());
    }

    pub(super) fn remove(&mut self, at: UnixMs, id: JobId) -> bool {
        self.order.remove(&Moment::new(at, id)).is_some()
    }

    pub(super) fn contains(&self, at: UnixMs, id: JobId) -> bool {
        self.order.contains(&Moment::new(at, id))
    }

    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Take out the jobs up to an instant.
    pub(super) fn take_until(&mut self, wall: UnixMs) -> Vec<JobId> {
        let mut due = Vec::new();
        while let Some((first, ())) = self.order.first()
            && first.at <= wall
        {
            self.order.remove(&first);
            due.push(first.id());
        }
        due
    }

    /// The jobs up to an instant.
    pub(super) fn until(&self, wall: UnixMs) -> impl Iterator<Item = JobId> + '_ {
        self.earliest_first()
            .take_while(move |(at, _)| *at <= wall)
            .map(|(_, id)| id)
    }

    /// All of them.
    pub(crate) fn earliest_first(&self) -> impl Iterator<Item = (UnixMs, JobId)> + '_ {
        self.order
            .iter()
            .map(|(moment, ())| (moment.at(), moment.id()))
    }

    /// Those after a job at an instant, earliest first.
    pub(super) fn after(
        &self,
        at: UnixMs,
        id: JobId,
    ) -> impl Iterator<Item = (UnixMs, JobId)> + '_ {
        let place = Moment::new(at, id);
        let from = self.order.from(place).map(|(moment, ())| moment);
        from.skip_while(move |moment| *moment == place)
            .map(|moment| (moment.at(), moment.id()))
    }

    pub(super) fn first(&self) -> Option<UnixMs> {
        self.order.first().map(|(moment, ())| moment.at())
    }
}
