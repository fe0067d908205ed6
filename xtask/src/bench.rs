//! `cargo xtask bench`: the figures, from an optimised build.

use std::path::{Path, PathBuf};

use crate::process;

/// What can be measured.
const BENCHES: [&str; 3] = ["store", "sandbox", "scheduler"];

/// Builds a bench and runs it. `words` go to the bench, which says itself what it takes; it writes
/// into the target folder unless told otherwise, so that a disk is measured and no memory.
pub(crate) fn run(root: &Path, bench: &str, words: &[&str]) -> Result<(), String> {
    if !BENCHES.contains(&bench) {
        let known = BENCHES.join(", ");
        return Err(format!("there is no bench {bench:?}: use {known}"));
    }
    if bench == "scheduler" {
        return scheduler(root, words);
    }
    let target = process::target(root)?;
    let here = std::env::current_dir().map_err(|e| format!("no current folder: {e}"))?;
    let mut cargo = process::cargo(root);
    cargo.args(["bench", "--package", "sandhog", "--bench", bench, "--"]);
    cargo.arg("--dir").arg(&target);
    let mut path = false;
    for word in words {
        // Cargo starts a bench in its package's folder; paths are meant from here.
        cargo.arg(if path {
            here.join(word)
        } else {
            PathBuf::from(word)
        });
        path = matches!(*word, "--json" | "--dir");
    }
    process::run(&format!("the bench {bench}"), &mut cargo)
}

/// The rules alone, without a disk.
fn scheduler(root: &Path, words: &[&str]) -> Result<(), String> {
    if let Some(word) = words.first() {
        return Err(format!("bench scheduler takes no options, and got {word}"));
    }
    let mut cargo = process::cargo(root);
    cargo.args(["run", "--release", "--package", "sandhog-model"]);
    cargo.args(["--example", "scheduler"]);
    process::run("the bench scheduler", &mut cargo)
}
