//! `cargo xtask bench`: the figures, from an optimised build.

use std::path::{Path, PathBuf};

use crate::process;

/// Builds the benches and runs them. `words` go to them, which say themselves what they take; they write
/// into the target folder unless told otherwise, so that a disk is measured and no memory.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    let target = process::target(root)?;
    let here = std::env::current_dir().map_err(|e| format!("no current folder: {e}"))?;
    let mut cargo = process::cargo(root);
    cargo.args(["bench", "--package", "sandhog", "--bench", "bench", "--"]);
    cargo.arg("--dir").arg(&target);
    cargo.args(from(&here, words));
    process::run("the bench", &mut cargo)
}

/// The words, with paths as they are meant from here: cargo starts a bench in its package's folder.
fn from(here: &Path, words: &[&str]) -> Vec<PathBuf> {
    let mut is_path = false;
    let each = words.iter().map(|word| {
        let meant = match is_path {
            true => here.join(word),
            false => PathBuf::from(word),
        };
        is_path = matches!(*word, "--json" | "--dir" | "--plot");
        meant
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_meant_from_where_one_is() {
        let words = [
            "drain", "--json", "a.json", "--plot", "/b.svg", "--jobs", "5",
        ];
        let meant = from(Path::new("/here"), &words);
        let expected = [
            "drain",
            "--json",
            "/here/a.json",
            "--plot",
            "/b.svg",
            "--jobs",
            "5",
        ];
        assert_eq!(meant, expected.map(PathBuf::from));
    }
}
