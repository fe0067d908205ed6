//! Names that many jobs share, each kept once, and for as long as a job has it.

use alloc::{collections::BTreeMap, sync::Arc, vec::Vec};

/// The number of a name, good as long as a job has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NameId(u32);

#[derive(Debug, Clone)]
struct Name {
    text: Arc<str>,
    /// How many jobs have it as their kind or queue; 0 when its number may be given again.
    uses: u64,
}

/// The names of all kinds and queues that jobs have.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    numbers: BTreeMap<Arc<str>, NameId>,
    names: Vec<Name>,
    free: Vec<NameId>,
    nobody: Arc<str>,
}

impl Names {
    /// The number of a name, for one use more.
    pub(crate) fn take(&mut self, text: &str) -> NameId {
        if let Some(id) = self.numbers.get(text) {
            self.names[id.0 as usize].uses += 1;
            return *id;
        }
        let text: Arc<str> = text.into();
        let name = Name {
            text: text.clone(),
            uses: 1,
        };
        let id = if let Some(id) = self.free.pop() {
            self.names[id.0 as usize] = name;
            id
        } else {
            self.names.push(name);
            // Each name in use belongs to a job, and memory ends long before four billion jobs.
            NameId((self.names.len() - 1) as u32)
        };
        self.numbers.insert(text, id);
        id
    }

    /// One use less. A name that has none left is forgotten.
    pub(crate) fn release(&mut self, id: NameId) {
        let Some(name) = self.names.get_mut(id.0 as usize) else {
            return;
        };
        name.uses = name.uses.saturating_sub(1);
        if name.uses == 0 {
            let text = core::mem::replace(&mut name.text, self.nobody.clone());
            self.numbers.remove(&text);
            self.free.push(id);
        }
        if self.numbers.is_empty() {
            (self.names, self.free) = (Vec::new(), Vec::new());
        }
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.numbers.is_empty() && self.names.is_empty()
    }

    pub(crate) fn number(&self, text: &str) -> Option<NameId> {
        self.numbers.get(text).copied()
    }

    pub(crate) fn text(&self, id: NameId) -> &Arc<str> {
        self.names
            .get(id.0 as usize)
            .map_or(&self.nobody, |name| &name.text)
    }
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
        assert_eq!((names.names.capacity(), names.free.capacity()), (0, 0));
    }
}
