//! Texts that many letters share, kept once: kinds, queues, digests.

use std::{collections::HashMap, sync::Arc};

/// A text's number. 0 is the empty text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Name(u32);

/// The texts by number, and the numbers by text.
#[derive(Default)]
pub(super) struct Names {
    texts: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, Name>,
}

impl Names {
    /// The number of a text, given to it now if it has none.
    pub(super) fn number(&mut self, text: &str) -> Name {
        if text.is_empty() {
            return Name::default();
        }
        if let Some(name) = self.numbers.get(text) {
            return *name;
        }
        let shared: Arc<str> = Arc::from(text);
        self.texts.push(shared.clone());
        let name = Name(u32::try_from(self.texts.len()).unwrap_or(u32::MAX));
        self.numbers.insert(shared, name);
        name
    }

    /// The number of a text that some letter has.
    pub(super) fn known(&self, text: &str) -> Option<Name> {
        self.numbers.get(text).copied()
    }

    /// The text of a number.
    pub(super) fn text(&self, name: Name) -> &str {
        let at = name
            .0
            .checked_sub(1)
            .and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| self.texts.get(at)).map_or("", |text| text)
    }

    /// The numbers of all texts that begin so.
    pub(super) fn beginning(&self, prefix: &str) -> Vec<Name> {
        let fits = self
            .numbers
            .iter()
            .filter(|(text, _)| text.starts_with(prefix));
        fits.map(|(_, name)| *name).collect()
    }
}
