//! Compares a text with the one kept in the tree.

use std::{env, fs, path::PathBuf};

/// Fails when `text` is not what the file `name` beside this one holds, naming the first lines that
/// differ. With `UPDATE_SNAPSHOTS=1` in the environment the file is written instead.
pub(crate) fn matches(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/nets")
        .join(name);
    if env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(&path, text).expect("the snapshot can be written");
        return;
    }
    let kept = fs::read_to_string(&path).expect("the snapshot is there");
    let differing: Vec<String> = kept
        .lines()
        .zip(text.lines())
        .filter(|(kept, now)| kept != now)
        .take(10)
        .map(|(kept, now)| format!("- {kept}\n+ {now}\n"))
        .collect();
    assert!(
        kept == text,
        "{name} differs:\n{}({} lines kept, {} now; UPDATE_SNAPSHOTS=1 keeps these)",
        differing.concat(),
        kept.lines().count(),
        text.lines().count()
    );
}
