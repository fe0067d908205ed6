//! Files watched for a change that has come to rest.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::plugin::Stamp;

/// How often is looked. A change counts once two looks in a row find the same.
pub(super) const LOOK: Duration = Duration::from_millis(200);

/// What tools write into a handler's folder.
const WRITTEN_BY_TOOLS: [&str; 5] = [
    "target",
    "node_modules",
    "__pycache__",
    "Cargo.lock",
    "package-lock.json",
];

type Seen = BTreeMap<PathBuf, Stamp>;

/// Files and folders, and what was there.
pub(super) struct Watch {
    roots: Vec<PathBuf>,
    /// When the round began.
    before: Seen,
    /// At the last look.
    last: Seen,
}

impl Watch {
    /// Watch single files, and folders with all that is in them but what tools write there.
    pub(super) fn new(roots: Vec<PathBuf>) -> Self {
        let mut watch = Self {
            roots,
            before: Seen::new(),
            last: Seen::new(),
        };
        watch.begin();
        watch
    }

    /// A round begins with what is there now.
    pub(super) fn begin(&mut self) {
        self.last = self.all();
        self.before.clone_from(&self.last);
    }

    /// Look once. Gives a file that is another than when the round began, once nothing changed since
    /// the look before.
    pub(super) fn look(&mut self) -> Option<PathBuf> {
        let now = self.all();
        let rests = now == self.last;
        self.last = now;
        if !rests {
            return None;
        }
        let names = self.last.keys().chain(self.before.keys());
        let mut changed = names.filter(|path| self.last.get(*path) != self.before.get(*path));
        changed.next().cloned()
    }

    fn all(&self) -> Seen {
        let mut seen = Seen::new();
        for root in &self.roots {
            match root.is_dir() {
                true => walk(root, &mut seen),
                false => note(root, &mut seen),
            }
        }
        seen
    }
}

/// Links are not followed into folders. What cannot be read is not there.
fn walk(folder: &Path, seen: &mut Seen) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let of_a_tool = WRITTEN_BY_TOOLS.contains(&&*name) || name.ends_with(".wasm");
        if of_a_tool || name.starts_with('.') {
            continue;
        }
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(&path, seen),
            Ok(_) => note(&path, seen),
            Err(_) => {}
        }
    }
}

fn note(path: &Path, seen: &mut Seen) {
    if let Ok(metadata) = fs::metadata(path)
        && metadata.is_file()
    {
        seen.insert(path.to_owned(), Stamp::of(&metadata));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_counts_once_it_rests() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("src")).unwrap();
        fs::write(path("src/lib.rs"), "one").unwrap();
        let mut watch = Watch::new(vec![folder.path().to_owned()]);
        assert_eq!(watch.look(), None);
        fs::write(path("src/lib.rs"), "two, longer").unwrap();
        assert_eq!(watch.look(), None, "it may still be written");
        fs::write(path("src/lib.rs"), "three, longer still").unwrap();
        assert_eq!(watch.look(), None);
        assert_eq!(watch.look(), Some(path("src/lib.rs")));
        watch.begin();
        assert_eq!(watch.look(), None);
        fs::write(path("src/new.rs"), "").unwrap();
        fs::remove_file(path("src/lib.rs")).unwrap();
        assert_eq!(watch.look(), None);
        assert_eq!(watch.look(), Some(path("src/new.rs")));
        fs::remove_file(path("src/new.rs")).unwrap();
        assert_eq!(watch.look(), None);
        assert_eq!(watch.look(), Some(path("src/lib.rs")), "gone counts too");
    }

    #[test]
    fn what_changes_during_a_round_counts_after_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.wasm");
        fs::write(&file, "one").unwrap();
        let mut watch = Watch::new(vec![file.clone()]);
        watch.begin();
        fs::write(&file, "while it ran").unwrap();
        assert_eq!(watch.look(), None);
        assert_eq!(watch.look(), Some(file));
    }

    #[test]
    fn what_tools_write_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let mut watch = Watch::new(vec![folder.path().to_owned()]);
        for name in [
            "target/x",
            "node_modules/x",
            ".venv/x",
            "sandhog/__pycache__/x",
        ] {
            let file = folder.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        for name in ["greet.wasm", "Cargo.lock", ".greet.wasm.17"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!((watch.look(), watch.look()), (None, None));
        assert!(watch.last.is_empty());
    }
}
