//! A sorted map in chunks: as quick as a tree, and hardly larger than its entries.
//!
//! A tree over the chunks' lower bounds finds the chunk, a binary search finds the entry in it.
//! Keys that only grow fill chunk after chunk to the brim, which is how ids and instants come.

use alloc::{collections::BTreeMap, vec::Vec};

/// Most entries of a chunk. Moving half of them is about as dear as the tree's search for it.
const MOST: usize = 128;
/// A chunk with fewer is joined with a neighbour that has room for it.
const FEW: usize = MOST / 4;
/// Most entries of a joined chunk, so that it is not split again by the next insert.
const JOINED: usize = MOST / 2;

/// Entries by key. Equal when the entries are, however they lie in chunks.
#[derive(Debug, Clone)]
pub(crate) struct Sorted<K, V> {
    /// By lower bound: no key of a chunk is below its own, none of the chunk before reaches it. No
    /// chunk is empty.
    chunks: BTreeMap<K, Chunk<K, V>>,
    len: usize,
}

/// Keys in their order, and apart from them, so that a search touches few cache lines, the values.
#[derive(Debug, Clone)]
struct Chunk<K, V> {
    keys: Vec<K>,
    values: Vec<V>,
}

impl<K, V> Default for Sorted<K, V> {
    fn default() -> Self {
        Self {
            chunks: BTreeMap::new(),
            len: 0,
        }
    }
}

impl<K: Copy + Ord, V: PartialEq> PartialEq for Sorted<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl<K: Copy + Ord, V> Sorted<K, V> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        let (_, chunk) = self.chunks.range(..=*key).next_back()?;
        let place = chunk.keys.binary_search(key).ok()?;
        chunk.values.get(place)
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let (_, chunk) = self.chunks.range_mut(..=*key).next_back()?;
        let place = chunk.keys.binary_search(key).ok()?;
        chunk.values.get_mut(place)
    }

    pub(crate) fn contains(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    /// Give a key a value; the one it had before.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        let last = self.chunks.last_entry();
        let beyond = last.filter(|last| last.get().keys.last().is_some_and(|last| *last < key));
        if let Some(mut last) = beyond {
            self.len += 1;
            if last.get().keys.len() < MOST {
                last.get_mut().push(key, value);
            } else {
                // Others will come: growing step by step would copy it several times.
                let mut chunk = Chunk::with_room();
                chunk.push(key, value);
                self.chunks.insert(key, chunk);
            }
            return None;
        }
        let end = self.chunks.last_key_value().map(|(bound, _)| *bound);
        let Some((bound, chunk)) = self.chunks.range_mut(..=key).next_back() else {
            self.len += 1;
            self.insert_first(key, value);
            return None;
        };
        let place = match chunk.keys.binary_search(&key) {
            Ok(place) => return Some(core::mem::replace(&mut chunk.values[place], value)),
            Err(place) => place,
        };
        self.len += 1;
        if chunk.keys.len() < MOST {
            chunk.insert(place, key, value);
            return None;
        }
        // In the last chunk it is most likely one that came a little late among keys that grow:
        // what is before it stays together.
        let at = if end == Some(*bound) {
            place.clamp(MOST / 2, MOST - MOST / 16)
        } else {
            MOST / 2
        };
        let mut rest = chunk.split_off(at);
        if place <= at {
            chunk.insert(place, key, value);
        } else {
            rest.insert(place - at, key, value);
        }
        self.chunks.insert(rest.keys[0], rest);
        None
    }

    /// Insert a key below every chunk's.
    fn insert_first(&mut self, key: K, value: V) {
        match self.chunks.first_entry() {
            Some(first) if first.get().keys.len() < MOST => {
                let mut chunk = first.remove();
                chunk.insert(0, key, value);
                self.chunks.insert(key, chunk);
            }
            Some(_) | None => {
                self.chunks.insert(key, Chunk::of(key, value));
            }
        }
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        let (bound, chunk) = self.chunks.range_mut(..=*key).next_back()?;
        let place = chunk.keys.binary_search(key).ok()?;
        let value = chunk.remove(place);
        self.len -= 1;
        let (bound, left) = (*bound, chunk.keys.len());
        if left == 0 {
            self.chunks.remove(&bound);
        } else if left < FEW {
            self.join(bound, left);
        }
        Some(value)
    }

    /// Put a chunk of few entries together with a neighbour, when both fit well into one.
    fn join(&mut self, bound: K, len: usize) {
        use core::ops::Bound::{Excluded, Unbounded};
        let fits =
            |(at, chunk): (&K, &Chunk<K, V>)| (chunk.keys.len() + len <= JOINED).then_some(*at);
        let before = self.chunks.range(..bound).next_back().and_then(fits);
        let after = || {
            let after = (Excluded(bound), Unbounded);
            self.chunks.range(after).next().and_then(fits)
        };
        let (low, high) = match before {
            Some(before) => (before, bound),
            None => match after() {
                Some(after) => (bound, after),
                None => return,
            },
        };
        if let Some(mut from) = self.chunks.remove(&high)
            && let Some(into) = self.chunks.get_mut(&low)
        {
            into.keys.append(&mut from.keys);
            into.values.append(&mut from.values);
        }
    }

    pub(crate) fn first(&self) -> Option<(K, &V)> {
        let (_, chunk) = self.chunks.first_key_value()?;
        Some((*chunk.keys.first()?, chunk.values.first()?))
    }

    /// All entries, smallest key first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        self.chunks.values().flat_map(Chunk::iter)
    }

    /// The entries below a key, or all, largest key first.
    pub(crate) fn below(&self, end: Option<K>) -> impl Iterator<Item = (K, &V)> {
        use core::ops::Bound::{Excluded, Unbounded};
        let chunks = self
            .chunks
            .range((Unbounded, end.map_or(Unbounded, Excluded)));
        let entries = chunks.rev().flat_map(|(_, chunk)| chunk.iter().rev());
        // Only the last chunk can hold keys from `end` on.
        entries.skip_while(move |(key, _)| end.is_some_and(|end| *key >= end))
    }
}

impl<K: Copy, V> Chunk<K, V> {
    fn of(key: K, value: V) -> Self {
        Self {
            keys: Vec::from([key]),
            values: Vec::from([value]),
        }
    }

    fn with_room() -> Self {
        Self {
            keys: Vec::with_capacity(MOST),
            values: Vec::with_capacity(MOST),
        }
    }

    fn push(&mut self, key: K, value: V) {
        self.keys.push(key);
        self.values.push(value);
    }

    fn insert(&mut self, place: usize, key: K, value: V) {
        self.keys.insert(place, key);
        self.values.insert(place, value);
    }

    fn remove(&mut self, place: usize) -> V {
        self.keys.remove(place);
        let value = self.values.remove(place);
        // Half of what was freed stays, so that a chunk in use does not shrink and grow in turn.
        if self.keys.len() * 4 <= self.keys.capacity() {
            self.keys.shrink_to(self.keys.len() * 2);
            self.values.shrink_to(self.values.len() * 2);
        }
        value
    }

    fn split_off(&mut self, at: usize) -> Self {
        Self {
            keys: self.keys.split_off(at),
            values: self.values.split_off(at),
        }
    }

    fn iter(&self) -> impl DoubleEndedIterator<Item = (K, &V)> {
        self.keys.iter().copied().zip(&self.values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    /// What a chunk must be, whatever was done.
    fn holds(sorted: &Sorted<u32, u32>) {
        let mut last = None;
        let mut len = 0;
        let mut few = 0;
        for (bound, chunk) in &sorted.chunks {
            assert!(!chunk.keys.is_empty() && chunk.keys.len() <= MOST);
            assert_eq!(chunk.keys.len(), chunk.values.len());
            assert!(chunk.keys.is_sorted() && *bound <= chunk.keys[0]);
            assert!(last < Some(*bound), "a chunk reaches into the next");
            last = chunk.keys.last().copied();
            len += chunk.keys.len();
            few += usize::from(chunk.keys.len() < FEW / 2);
        }
        assert_eq!(len, sorted.len);
        assert!(few <= sorted.chunks.len() / 2 + 1, "{few} chunks of few");
    }

    fn same(sorted: &Sorted<u32, u32>, tree: &BTreeMap<u32, u32>) {
        let pairs = |(key, value): (&u32, &u32)| (*key, *value);
        let entries: Vec<(u32, u32)> = sorted.iter().map(|(key, value)| (key, *value)).collect();
        assert_eq!(entries, tree.iter().map(pairs).collect::<Vec<_>>());
        assert_eq!(
            sorted.first().map(|(key, _)| key),
            tree.keys().next().copied()
        );
        assert_eq!(sorted.is_empty(), tree.is_empty());
        let some = entries.get(entries.len() / 2).map(|(key, _)| *key);
        for end in [None, Some(0), Some(777), some, Some(u32::MAX)] {
            let below: Vec<u32> = sorted.below(end).map(|(key, _)| key).collect();
            let range = tree.range(..end.unwrap_or(u32::MAX));
            assert_eq!(below, range.rev().map(|(key, _)| *key).collect::<Vec<_>>());
        }
    }

    #[derive(Debug, Clone)]
    enum Op {
        Insert(u32),
        Run { from: u32, len: u32, down: bool },
        Remove(u32),
        Sweep { from: u32, len: u32, step: u32 },
    }

    fn ops() -> impl Strategy<Value = Vec<Op>> {
        let op = prop_oneof![
            4 => (0..2_000_u32).prop_map(Op::Insert),
            2 => (0..2_000_u32, 1..400_u32, any::<bool>())
                .prop_map(|(from, len, down)| Op::Run { from, len, down }),
            2 => (0..2_000_u32).prop_map(Op::Remove),
            2 => (0..2_000_u32, 1..900_u32, 1..4_u32)
                .prop_map(|(from, len, step)| Op::Sweep { from, len, step }),
        ];
        prop::collection::vec(op, 1..60)
    }

    fn keys(op: &Op) -> (Vec<u32>, bool) {
        match *op {
            Op::Insert(key) => (vec![key], true),
            Op::Remove(key) => (vec![key], false),
            Op::Run { from, len, down } => {
                let keys = from..from + len;
                (
                    if down {
                        keys.rev().collect()
                    } else {
                        keys.collect()
                    },
                    true,
                )
            }
            Op::Sweep { from, len, step } => {
                ((from..from + len).step_by(step as usize).collect(), false)
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn it_does_what_a_tree_does(ops in ops()) {
            let mut sorted = Sorted::default();
            let mut tree = BTreeMap::new();
            for (step, op) in (0..).zip(&ops) {
                let (keys, inserts) = keys(op);
                for key in keys {
                    if inserts {
                        prop_assert_eq!(sorted.insert(key, step), tree.insert(key, step));
                    } else {
                        prop_assert_eq!(sorted.remove(&key), tree.remove(&key));
                    }
                    prop_assert_eq!(sorted.get(&key), tree.get(&key));
                    prop_assert_eq!(sorted.get_mut(&(key + 1)), tree.get_mut(&(key + 1)));
                }
                holds(&sorted);
                same(&sorted, &tree);
            }
            let mut built = Sorted::default();
            for (key, value) in tree {
                built.insert(key, value);
            }
            prop_assert_eq!(&built, &sorted, "equal entries, whatever the chunks");
        }
    }

    #[test]
    fn keys_that_grow_fill_every_chunk() {
        let mut sorted = Sorted::default();
        // Every tenth comes a little late.
        for key in 0..100_000_u32 {
            let key = if key % 10 == 9 {
                key - 5
            } else {
                key + key % 10 / 5
            };
            sorted.insert(key, ());
        }
        assert!(
            sorted.chunks.len() <= sorted.len() / (MOST * 7 / 8),
            "{}",
            sorted.chunks.len()
        );
    }

    #[test]
    fn a_map_that_is_emptied_keeps_no_chunk_and_a_thinned_one_few() {
        let mut sorted = Sorted::default();
        for key in 0..10_000_u32 {
            sorted.insert(key, key);
        }
        for key in (0..10_000).filter(|key| key % 50 != 0) {
            sorted.remove(&key);
        }
        assert_eq!(sorted.len(), 200);
        let room: usize = sorted
            .chunks
            .values()
            .map(|chunk| chunk.values.capacity())
            .sum();
        assert!(
            sorted.chunks.len() <= 12 && room <= 800,
            "{} {room}",
            sorted.chunks.len()
        );
        for key in (0..10_000).step_by(50) {
            sorted.remove(&key);
        }
        assert!(sorted.chunks.is_empty() && sorted.is_empty());
    }
}
