//! The house rules, held by a test: sizes, names, layers, what may be printed, slept and imported.
//!
//! Every rule is tried on samples that break it, so that a rule that finds nothing is known to
//! look. There is no list of exceptions.

mod facts;
mod keys;
mod layers;
mod rules;
mod samples;
mod source;
mod tokens;

use std::path::Path;

/// A place where a rule is broken.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// The file, from the project's root.
    pub(crate) path: String,
    /// The line, from 1.
    pub(crate) line: usize,
    /// The rule's name.
    pub(crate) rule: &'static str,
    /// What is wrong and what to do.
    pub(crate) what: String,
}

#[test]
fn the_house_rules_are_kept() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tree = source::Tree::read(&root);
    assert!(
        tree.rust.len() > 40 && tree.texts.len() > tree.rust.len(),
        "only {} files found below {}: the walk is broken",
        tree.texts.len(),
        root.display()
    );
    let findings = rules::check(&tree);
    let lines: Vec<String> = findings
        .iter()
        .map(|f| format!("{}:{}: {}: {}", f.path, f.line, f.rule, f.what))
        .collect();
    assert!(
        findings.is_empty(),
        "{} house rules broken:\n{}",
        findings.len(),
        lines.join("\n")
    );
}
