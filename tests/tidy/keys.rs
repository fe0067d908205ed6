//! Every config key is in the documentation.

use crate::{Finding, rules::finding, source::Tree};

/// Where the keys are described, one per code span.
const PAGE: &str = "docs/configuration.md";

/// The keys the config room declares.
pub(crate) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    let page = tree.text(PAGE);
    for file in &tree.rust {
        let in_room =
            file.path.starts_with("runner/src/config/") || file.path == "runner/src/config.rs";
        let Ok(facts) = &file.facts else { continue };
        if !in_room {
            continue;
        }
        for (key, line) in &facts.keys {
            if !page.is_some_and(|page| names(page, key)) {
                let what = format!("config key `{key}` is not in {PAGE}");
                findings.push(finding(file, *line, "config-key", &what));
            }
        }
    }
}

/// Whether a page names a key in code: as `key`, `table.key` or a line `key = …`.
fn names(page: &str, key: &str) -> bool {
    page.lines().any(|line| {
        let assigned = line
            .split_once('=')
            .is_some_and(|(before, _)| before.trim() == key);
        let table = line.trim() == format!("[{key}]");
        let spans = line.split('`').skip(1).step_by(2);
        let mut words = spans
            .flat_map(|span| span.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-'));
        assigned || table || words.any(|word| word == key)
    })
}
