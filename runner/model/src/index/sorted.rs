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
    /// All chunks but the last, by lower bound: no key of a chunk is below its own, none of the chunk
    /// before reaches it. No chunk is empty.
    chunks: BTreeMap<K, Chunk<K, V>>,
    /// The last chunk and its lower bound, at hand without a search, because keys mostly grow. There
    /// is one as long as there are entries.
    last: Option<(K, Chunk<K, V>)>,
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
            last: None,
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

    /// The chunk that a key would lie in.
    fn chunk(&self, key: &K) -> Option<&Chunk<K, V>> {
        match &self.last {
            Some((bound, last)) if bound <= key => Some(last),
            _ => self
                .chunks
                .range(..=*key)
                .next_back()
                .map(|(_, chunk)| chunk),
        }
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        let chunk = self.chunk(key)?;
        let place = chunk.keys.binary_search(key).ok()?;
        chunk.values.get(place)
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let chunk = match &mut self.last {
            Some((bound, last)) if *bound <= *key => last,
            _ => self.chunks.range_mut(..=*key).next_back()?.1,
        };
        let place = chunk.keys.binary_search(key).ok()?;
        chunk.values.get_mut(place)
    }

    pub(crate) fn contains(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    /// Give a key a value; the one it had before.
    #[inline]
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        if let Some((_, last)) = &mut self.last
            && last.keys.last().is_some_and(|last| *last < key)
            && last.keys.len() < MOST
        {
            last.push(key, value);
            self.len += 1;
            return None;
        }
        self.insert_any(key, value)
    }

    fn insert_any(&mut self, key: K, value: V) -> Option<V> {
        let Some((bound, last)) = &mut self.last else {
            self.last = Some((key, Chunk::of(key, value)));
            self.len = 1;
            return None;
        };
        if *bound <= key {
            return self.insert_last(key, value);
        }
        let Some((_, chunk)) = self.chunks.range_mut(..=key).next_back() else {
            self.len += 1;
            // Below every chunk's bound.
            match self.chunks.first_entry() {
                None if last.keys.len() < MOST => {
                    *bound = key;
                    last.insert(0, key, value);
                }
                Some(first) if first.get().keys.len() < MOST => {
                    let mut chunk = first.remove();
                    chunk.insert(0, key, value);
                    self.chunks.insert(key, chunk);
                }
                None | Some(_) => {
                    self.chunks.insert(key, Chunk::of(key, value));
                }
            }
            return None;
        };
        match chunk.put(key, value, MOST / 2) {
            Put::Replaced(old) => return Some(old),
            Put::Inserted => {}
            Put::Split(rest) => {
                self.chunks.insert(rest.keys[0], rest);
            }
        }
        self.len += 1;
        None
    }

    /// Insert a key that belongs into the last chunk or behind it.
    fn insert_last(&mut self, key: K, value: V) -> Option<V> {
        let (_, last) = self.last.as_mut()?;
        let rest = if last.keys.last().is_some_and(|last| *last < key) {
            // It is full, or the key would have been pushed at once. Others will come: growing step by step
            // would copy it several times.
            let mut chunk = Chunk::with_room();
            chunk.push(key, value);
            chunk
        } else {
            // Most likely a key that came a little late among keys that grow: what is before it
            // stays together.
            match last.put(key, value, MOST - MOST / 16) {
                Put::Replaced(old) => return Some(old),
                Put::Inserted => {
                    self.len += 1;
                    return None;
                }
                Put::Split(rest) => rest,
            }
        };
        self.len += 1;
        if let Some((bound, full)) = self.last.replace((rest.keys[0], rest)) {
            self.chunks.insert(bound, full);
        }
        None
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        if let Some((bound, last)) = &mut self.last
            && *bound <= *key
        {
            let place = last.keys.binary_search(key).ok()?;
            let value = last.remove(place);
            self.len -= 1;
            if last.keys.is_empty() {
                self.last = self.chunks.pop_last();
            } else if last.keys.len() < FEW
                && let Some(before) = self.chunks.last_entry()
                && before.get().keys.len() + last.keys.len() <= JOINED
            {
                let (low, mut joined) = before.remove_entry();
                joined.append(last);
                self.last = Some((low, joined));
            }
            return Some(value);
        }
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

    /// Put a chunk of few entries, not the last one, together with a neighbour, when both fit well
    /// into one.
    fn join(&mut self, bound: K, len: usize) {
        use core::ops::Bound::{Excluded, Unbounded};
        let fits =
            |(at, chunk): (&K, &Chunk<K, V>)| (chunk.keys.len() + len <= JOINED).then_some(*at);
        if let Some(before) = self.chunks.range(..bound).next_back().and_then(fits) {
            if let Some(mut from) = self.chunks.remove(&bound)
                && let Some(into) = self.chunks.get_mut(&before)
            {
                into.append(&mut from);
            }
            return;
        }
        match self.chunks.range((Excluded(bound), Unbounded)).next() {
            Some(after) => {
                if let Some(after) = fits(after)
                    && let Some(mut from) = self.chunks.remove(&after)
                    && let Some(into) = self.chunks.get_mut(&bound)
                {
                    into.append(&mut from);
                }
            }
            None => {
                if let Some((low, last)) = &mut self.last
                    && last.keys.len() + len <= JOINED
                    && let Some(mut joined) = self.chunks.remove(&bound)
                {
                    joined.append(last);
                    (*low, *last) = (bound, joined);
                }
            }
        }
    }

    pub(crate) fn first(&self) -> Option<(K, &V)> {
        let last = || self.last.as_ref().map(|(_, chunk)| chunk);
        let chunk = self.chunks.values().next().or_else(last)?;
        Some((*chunk.keys.first()?, chunk.values.first()?))
    }

    /// All entries, smallest key first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        let last = self.last.iter().map(|(_, chunk)| chunk);
        self.chunks.values().chain(last).flat_map(Chunk::iter)
    }

    /// The entries from a key on, smallest key first.
    pub(crate) fn from(&self, start: K) -> impl Iterator<Item = (K, &V)> {
        use core::ops::Bound::{Included, Unbounded};
        let holder = self.chunks.range(..=start).next_back();
        let first = holder.map_or(Unbounded, |(bound, _)| Included(*bound));
        let chunks = self.chunks.range((first, Unbounded));
        let last = self.last.iter().map(|(_, chunk)| chunk);
        let chunks = chunks.map(|(_, chunk)| chunk).chain(last);
        let entries = chunks.flat_map(Chunk::iter);
        // Only the first two of these chunks can hold keys before `start`.
        entries.skip_while(move |(key, _)| *key < start)
    }

    /// The entries below a key, or all, largest key first.
    pub(crate) fn below(&self, end: Option<K>) -> impl Iterator<Item = (K, &V)> {
        use core::ops::Bound::{Excluded, Unbounded};
        let last = self.last.iter();
        let last = last.filter(move |(bound, _)| end.is_none_or(|end| *bound < end));
        let chunks = self
            .chunks
            .range((Unbounded, end.map_or(Unbounded, Excluded)));
        let chunks = chunks.rev().map(|(_, chunk)| chunk);
        let chunks = last.map(|(_, chunk)| chunk).chain(chunks);
        let entries = chunks.flat_map(|chunk| chunk.iter().rev());
        // Only the first of these chunks can hold keys from `end` on.
        entries.skip_while(move |(key, _)| end.is_some_and(|end| *key >= end))
    }
}

/// How a chunk took an entry in.
enum Put<K, V> {
    Replaced(V),
    Inserted,
    /// It was full: this part comes behind it.
    Split(Chunk<K, V>),
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

    /// Take an entry in; a full chunk is split, at its place but between the middle and `latest`.
    fn put(&mut self, key: K, value: V, latest: usize) -> Put<K, V>
    where
        K: Ord,
    {
        let place = match self.keys.binary_search(&key) {
            Ok(place) => return Put::Replaced(core::mem::replace(&mut self.values[place], value)),
            Err(place) => place,
        };
        if self.keys.len() < MOST {
            self.insert(place, key, value);
            return Put::Inserted;
        }
        let at = place.clamp(MOST / 2, latest);
        let mut rest = self.split_off(at);
        if place <= at {
            self.insert(place, key, value);
        } else {
            rest.insert(place - at, key, value);
        }
        Put::Split(rest)
    }

    fn append(&mut self, other: &mut Self) {
        self.keys.append(&mut other.keys);
        self.values.append(&mut other.values);
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
mod tests;
