//! Jobs that can be claimed, one lane for each kind and priority.

use alloc::{
    collections::{BTreeMap, BTreeSet, BinaryHeap},
    vec::Vec,
};
use core::cmp::Reverse;

use super::{ByInstant, NameId};
use crate::{id::JobId, time::UnixMs};

/// Higher priority first, then the earlier due, then the earlier id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Turn {
    priority: Reverse<i16>,
    due: UnixMs,
    pub(crate) id: JobId,
}

impl Turn {
    pub(crate) fn new(priority: i16, due: UnixMs, id: JobId) -> Self {
        Self {
            priority: Reverse(priority),
            due,
            id,
        }
    }
}

/// The lanes. A lane without jobs is dropped, so kinds nobody uses cost nothing.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReadyLanes {
    lanes: BTreeMap<(NameId, Reverse<i16>), ByInstant>,
}

impl ReadyLanes {
    pub(crate) fn insert(&mut self, kind: NameId, turn: Turn) {
        let lane = self.lanes.entry((kind, turn.priority)).or_default();
        lane.insert(turn.due, turn.id);
    }

    pub(crate) fn remove(&mut self, kind: NameId, turn: Turn) -> bool {
        let Some(lane) = self.lanes.get_mut(&(kind, turn.priority)) else {
            return false;
        };
        let found = lane.remove(turn.due, turn.id);
        if lane.is_empty() {
            self.lanes.remove(&(kind, turn.priority));
        }
        found
    }

    pub(crate) fn holds(&self, kind: NameId, turn: Turn) -> bool {
        self.lanes
            .get(&(kind, turn.priority))
            .is_some_and(|lane| lane.contains(turn.due, turn.id))
    }

    /// The jobs of a kind in their turn.
    fn of(&self, kind: NameId) -> impl Iterator<Item = Turn> + '_ {
        let all = (kind, Reverse(i16::MAX))..=(kind, Reverse(i16::MIN));
        self.lanes.range(all).flat_map(|((_, priority), lane)| {
            lane.earliest_first()
                .map(|(due, id)| Turn::new(priority.0, due, id))
        })
    }

    /// Jobs of `kinds` in their turn. Looks at the heads of these lanes only.
    pub(crate) fn merged(&self, kinds: BTreeSet<NameId>) -> impl Iterator<Item = JobId> + '_ {
        let mut rest: Vec<_> = kinds.into_iter().map(|kind| self.of(kind)).collect();
        let mut heads: BinaryHeap<Reverse<(Turn, usize)>> = rest
            .iter_mut()
            .enumerate()
            .filter_map(|(lane, turns)| turns.next().map(|turn| Reverse((turn, lane))))
            .collect();
        core::iter::from_fn(move || {
            let Reverse((turn, lane)) = heads.pop()?;
            if let Some(next) = rest[lane].next() {
                heads.push(Reverse((next, lane)));
            }
            Some(turn.id)
        })
    }

    /// Every lane, in an order that does not depend on how the kinds are numbered.
    pub(crate) fn by_name<N: Ord>(
        &self,
        name: impl Fn(NameId) -> N,
    ) -> BTreeMap<(N, Reverse<i16>), &ByInstant> {
        let named = |(&(kind, priority), lane)| ((name(kind), priority), lane);
        self.lanes.iter().map(named).collect()
    }
}
