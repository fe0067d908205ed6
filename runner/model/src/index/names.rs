//! Names that many jobs share, each kept once, and for as long as a job has it.

use alloc::{sync::Arc, vec::Vec};
use core::hash::BuildHasher as _;

use hashbrown::{DefaultHashBuilder, HashTable};

/// The number of a name, good as long as a job has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct NameId(u32);

impl NameId {
    /// No name has a larger number.
    pub(crate) const LAST: Self = Self(u32::MAX);

    /// For a table by number.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Debug, Clone)]
struct Name {
    text: Arc<str>,
    /// How many jobs have it as their kind or queue; 0 when its number may be given again.
    uses: u64,
}

/// Names looked at before the others: most jobs have one of few.
const RECENT: usize = 16;

/// The names of all kinds and queues that jobs have.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    /// By the text's hash: where there are many, each step of a search through a tree of texts would wait for
    /// another place in memory.
    numbers: HashTable<NameId>,
    hashes: DefaultHashBuilder,
    /// The latest number at each name's [`bucket`]. It may belong to another name, or to none.
    recent: [NameId; RECENT],
    names: Vec<Name>,
    free: Vec<NameId>,
    nobody: Arc<str>,
}

impl Names {
    /// The number of a name, for one use more.
    pub(crate) fn take(&mut self, text: &str) -> NameId {
        let bucket = bucket(text);
        let recent = self.recent[bucket];
        if let Some(name) = self.names.get_mut(recent.index())
            && name.uses > 0
            && *name.text == *text
        {
            name.uses += 1;
            return recent;
        }
        let id = self.take_any(text);
        self.recent[bucket] = id;
        id
    }

    fn take_any(&mut self, text: &str) -> NameId {
        let hash = self.hashes.hash_one(text);
        if let Some(id) = self.find(hash, text) {
            self.names[id.index()].uses += 1;
            return id;
        }
        let text = text.into();
        let name = Name { text, uses: 1 };
        let id = if let Some(id) = self.free.pop() {
            self.names[id.index()] = name;
            id
        } else {
            self.names.push(name);
            // Each name in use belongs to a job, and memory ends long before four billion jobs.
            NameId((self.names.len() - 1) as u32)
        };
        let rehash = rehash(&self.names, &self.hashes);
        self.numbers.insert_unique(hash, id, rehash);
        id
    }

    /// One use more of a name that is there.
    pub(crate) fn keep(&mut self, id: NameId) {
        if let Some(name) = self.names.get_mut(id.index()) {
            name.uses += 1;
        }
    }

    /// How many have a name.
    pub(crate) fn uses(&self, id: NameId) -> u64 {
        self.names.get(id.index()).map_or(0, |name| name.uses)
    }

    /// One use less. A name that has none left is forgotten.
    pub(crate) fn release(&mut self, id: NameId) {
        let Some(name) = self.names.get_mut(id.index()) else {
            return;
        };
        name.uses = name.uses.saturating_sub(1);
        if name.uses == 0 {
            let text = core::mem::replace(&mut name.text, self.nobody.clone());
            let hash = self.hashes.hash_one(&*text);
            if let Ok(number) = self.numbers.find_entry(hash, |number| *number == id) {
                number.remove();
            }
            self.free.push(id);
            if self.numbers.len() < self.numbers.capacity() / 8 {
                let rehash = rehash(&self.names, &self.hashes);
                self.numbers.shrink_to(self.numbers.len() * 2, rehash);
            }
        }
        if self.numbers.is_empty() {
            self.numbers = HashTable::new();
            (self.names, self.free) = (Vec::new(), Vec::new());
        }
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.numbers.is_empty() && self.names.is_empty()
    }

    pub(crate) fn number(&self, text: &str) -> Option<NameId> {
        self.find(self.hashes.hash_one(text), text)
    }

    fn find(&self, hash: u64, text: &str) -> Option<NameId> {
        let is_it = |number: &NameId| *self.names[number.index()].text == *text;
        self.numbers.find(hash, is_it).copied()
    }

    pub(crate) fn text(&self, id: NameId) -> &Arc<str> {
        self.at(id.index())
    }

    /// The name with this number in a table by number.
    pub(crate) fn at(&self, index: usize) -> &Arc<str> {
        self.names
            .get(index)
            .map_or(&self.nobody, |name| &name.text)
    }
}

/// The hash of a name that is in the table, for when that is made anew.
fn rehash<'a>(names: &'a [Name], hashes: &'a DefaultHashBuilder) -> impl Fn(&NameId) -> u64 + 'a {
    |number| hashes.hash_one(&*names[number.index()].text)
}

/// Where a name is looked for among the recent ones.
fn bucket(text: &str) -> usize {
    let sign = |byte: Option<&u8>| usize::from(byte.copied().unwrap_or_default());
    let bytes = text.as_bytes();
    (bytes.len() * 7 + sign(bytes.first()) + sign(bytes.last()) * 3) % RECENT
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn a_name_lives_as_long_as_its_uses() {
        let mut names = Names::default();
        let (a, b) = (names.take("a"), names.take("b"));
        assert_eq!((names.take("a"), names.number("a")), (a, Some(a)));
        names.release(a);
        assert_eq!(&**names.text(a), "a");
        names.release(a);
        assert_eq!(names.number("a"), None);
        assert_eq!(names.take("c"), a, "a free number is given again");
        assert_eq!((&**names.text(a), &**names.text(b)), ("c", "b"));
    }

    /// More names than are remembered as recent, many of them at the same place.
    #[test]
    fn every_name_keeps_its_own_number() {
        let mut names = Names::default();
        let texts: Vec<_> = (0..200).map(|number| format!("n{number}x")).collect();
        let first: Vec<_> = texts.iter().map(|text| names.take(text)).collect();
        let again: Vec<_> = texts.iter().rev().map(|text| names.take(text)).collect();
        assert!(again.iter().rev().eq(&first));
        for (text, id) in texts.iter().zip(first) {
            assert_eq!(&**names.text(id), text);
            names.release(id);
            names.release(id);
            assert_eq!(names.number(text), None);
        }
        assert!(names.is_empty());
        let id = names.take("n7x");
        assert_eq!(
            &**names.text(id),
            "n7x",
            "a number from before is not believed"
        );
    }

    #[test]
    fn names_nobody_has_take_no_room() {
        let mut names = Names::default();
        let kept = names.take("kept");
        for round in 0..1_000 {
            let id = names.take(&format!("kind {round}"));
            names.release(id);
        }
        assert_eq!((names.names.len(), names.numbers.len()), (2, 1));
        names.release(kept);
        let left = (names.names.capacity(), names.free.capacity());
        assert_eq!((left, names.numbers.capacity()), ((0, 0), 0));
    }
}
