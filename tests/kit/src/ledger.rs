//! A ledger: what a client was promised, kept where the runner does not reach.

use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions},
    io::Write,
    path::Path,
    sync::Mutex,
};

/// Ids of acknowledged jobs, each written and synced after its acknowledgement.
#[derive(Debug)]
pub struct Ledger {
    file: Mutex<File>,
}

impl Ledger {
    /// An empty ledger in a file.
    ///
    /// # Panics
    ///
    /// When the file cannot be opened.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        let file = OpenOptions::new().create_new(true).append(true).open(path);
        Self {
            file: Mutex::new(file.expect("the ledger can be opened")),
        }
    }

    /// Notes ids.
    ///
    /// # Panics
    ///
    /// When they cannot be written.
    pub fn note<'a>(&self, ids: impl IntoIterator<Item = &'a str>) {
        let mut lines = String::new();
        for id in ids {
            lines.push_str(id);
            lines.push('\n');
        }
        let mut file = self.file.lock().expect("no client panicked while writing");
        file.write_all(lines.as_bytes()).expect("the ledger grows");
        file.sync_data().expect("the ledger syncs");
    }

    /// Reads a ledger: its ids, and those that were noted twice.
    ///
    /// # Panics
    ///
    /// When it cannot be read.
    #[must_use]
    pub fn read(path: &Path) -> (BTreeSet<String>, Vec<String>) {
        let text = fs::read_to_string(path).expect("the ledger can be read");
        let mut ids = BTreeSet::new();
        let twice = text.lines().filter(|id| !ids.insert((*id).to_owned()));
        let twice: Vec<String> = twice.map(str::to_owned).collect();
        (ids, twice)
    }
}

#[cfg(test)]
mod tests {
    use super::Ledger;

    #[test]
    fn tells_what_was_noted_and_what_twice() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger");
        let ledger = Ledger::new(&path);
        ledger.note(["a", "b"]);
        ledger.note(["c", "a"]);
        let (ids, twice) = Ledger::read(&path);
        assert_eq!(ids.into_iter().collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(twice, ["a"]);
    }
}
