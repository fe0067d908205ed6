//! Jobs that can be claimed, one lane for each kind.

use alloc::{
    collections::{BTreeMap, BTreeSet, BinaryHeap},
    string::String,
    sync::Arc,
};
use core::cmp::Reverse;

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
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ReadyLanes {
    lanes: BTreeMap<Arc<str>, BTreeSet<Turn>>,
}

impl ReadyLanes {
    pub(crate) fn insert(&mut self, kind: &Arc<str>, turn: Turn) {
        if let Some(lane) = self.lanes.get_mut(kind) {
            lane.insert(turn);
        } else {
            self.lanes.insert(kind.clone(), BTreeSet::from([turn]));
        }
    }

    pub(crate) fn remove(&mut self, kind: &str, turn: Turn) -> bool {
        let Some(lane) = self.lanes.get_mut(kind) else {
            return false;
        };
        let found = lane.remove(&turn);
        if lane.is_empty() {
            self.lanes.remove(kind);
        }
        found
    }

    pub(crate) fn holds(&self, kind: &str, turn: Turn) -> bool {
        self.lanes
            .get(kind)
            .is_some_and(|lane| lane.contains(&turn))
    }

    /// Jobs of `kinds` in their turn. Looks at the heads of these lanes only; a kind named twice
    /// counts once.
    pub(crate) fn merged<'a>(&'a self, kinds: &[String]) -> impl Iterator<Item = JobId> + 'a {
        let served: BTreeSet<&str> = kinds.iter().map(String::as_str).collect();
        let mut rest: alloc::vec::Vec<_> = served
            .into_iter()
            .filter_map(|kind| self.lanes.get(kind))
            .map(|lane| lane.iter())
            .collect();
        let mut heads: BinaryHeap<Reverse<(Turn, usize)>> = rest
            .iter_mut()
            .enumerate()
            .filter_map(|(lane, turns)| turns.next().map(|turn| Reverse((*turn, lane))))
            .collect();
        core::iter::from_fn(move || {
            let Reverse((turn, lane)) = heads.pop()?;
            if let Some(next) = rest[lane].next() {
                heads.push(Reverse((*next, lane)));
            }
            Some(turn.id)
        })
    }
}
