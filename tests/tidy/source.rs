//! The files of the project, and where each stands in the tree.

use std::{fs, path::Path};

use crate::facts::Facts;

/// A text file.
pub(crate) struct Text {
    /// From the project's root, with `/`.
    pub(crate) path: String,
    /// Its content.
    pub(crate) text: String,
}

/// A Rust source file with what it says.
pub(crate) struct Rust {
    /// From the project's root, with `/`.
    pub(crate) path: String,
    /// Its content.
    pub(crate) text: String,
    /// What the parser found, or why it does not parse.
    pub(crate) facts: Result<Facts, String>,
}

/// Every file the rules look at.
pub(crate) struct Tree {
    /// Rust sources.
    pub(crate) rust: Vec<Rust>,
    /// All text files, the Rust sources among them.
    pub(crate) texts: Vec<Text>,
}

/// What is written by hand and read as text.
const ENDINGS: [&str; 9] = [
    "rs", "toml", "md", "sh", "wit", "svg", "yml", "tmpl", "ndjson",
];

impl Tree {
    /// Reads the project's files; hidden folders other than `.ci` and `.cargo`, and build folders,
    /// are left out.
    pub(crate) fn read(root: &Path) -> Self {
        let mut texts = Vec::new();
        walk(root, "", &mut texts);
        texts.sort_by(|a, b| a.path.cmp(&b.path));
        Self::of(texts)
    }

    /// A tree of the files given.
    pub(crate) fn of(texts: Vec<Text>) -> Self {
        let rust = texts
            .iter()
            .filter(|file| file.path.ends_with(".rs"))
            .map(|file| Rust {
                path: file.path.clone(),
                text: file.text.clone(),
                facts: Facts::of(&file.path, &file.text),
            })
            .collect();
        Self { rust, texts }
    }

    /// A text file by its path.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        let file = self.texts.iter().find(|file| file.path == path)?;
        Some(&file.text)
    }
}

fn walk(dir: &Path, prefix: &str, texts: &mut Vec<Text>) {
    let entries =
        fs::read_dir(dir).unwrap_or_else(|e| panic!("cannot list {}: {e}", dir.display()));
    for entry in entries {
        let entry = entry.expect("a folder's entry is readable");
        let name = entry.file_name().into_string().expect("names are UTF-8");
        let path = format!("{prefix}{name}");
        if entry.path().is_dir() {
            let hidden = name.starts_with('.') && name != ".ci" && name != ".cargo";
            if !hidden && name != "target" {
                walk(&entry.path(), &format!("{path}/"), texts);
            }
            continue;
        }
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        if ENDINGS.contains(&ending) || path.starts_with(".ci/") {
            // A file that is no UTF-8 is no text of ours.
            if let Ok(text) = fs::read_to_string(entry.path()) {
                texts.push(Text { path, text });
            }
        }
    }
}

/// Whether the whole file is test code.
pub(crate) fn is_test_file(path: &str) -> bool {
    let below = path.starts_with("tests/") && !path.starts_with("tests/guests/");
    below
        || path.split('/').any(|part| part == "tests.rs")
        || path.contains("/src/tests/")
        || path.contains("/tests/") && !path.starts_with("tests/")
}

/// The module a file of `runner/src` is, from the crate's root: `["store", "wal"]`.
pub(crate) fn runner_module(path: &str) -> Option<Vec<String>> {
    let inner = path.strip_prefix("runner/src/")?.strip_suffix(".rs")?;
    let mut parts: Vec<String> = inner.split('/').map(str::to_owned).collect();
    if let Some("mod" | "lib") = parts.last().map(String::as_str) {
        parts.pop();
    }
    Some(parts)
}
