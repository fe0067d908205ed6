//! The languages a handler can be made in here, and which one a folder is in.

use std::{fs, path::Path};

/// A language with a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(in crate::cli) enum Language {
    /// Rust
    #[default]
    Rust,
    /// Python
    Python,
    /// JavaScript
    Js,
}

impl Language {
    /// What a folder is in. The error says what such a folder would have.
    pub(super) fn of(dir: &Path) -> Result<Self, String> {
        let marks = [
            ("Cargo.toml", Self::Rust),
            ("package.json", Self::Js),
            ("handler.py", Self::Python),
        ];
        let found = marks.iter().find(|(mark, _)| dir.join(mark).is_file());
        found.map(|(_, language)| *language).ok_or_else(|| {
            let shown = fs::canonicalize(dir).unwrap_or_else(|_| dir.into());
            format!(
                "{} holds no Cargo.toml, package.json or handler.py: name a handler's folder, or make one \
                 with `sandhog plugin new`",
                shown.display()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_told_by_what_lies_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let why = Language::of(folder.path()).unwrap_err();
        assert!(why.contains("sandhog plugin new"), "{why}");
        for (mark, language) in [
            ("handler.py", Language::Python),
            ("package.json", Language::Js),
            ("Cargo.toml", Language::Rust),
        ] {
            fs::write(folder.path().join(mark), "").unwrap();
            assert_eq!(Language::of(folder.path()), Ok(language));
        }
    }
}
