//! The rules themselves, all but the layers and the config keys.

use crate::{
    Finding,
    facts::{Facts, Named},
    keys, layers,
    source::{Rust, Text, Tree},
};

/// Most lines of a source file, inline test modules not counted.
const FILE_LINES: usize = 400;
/// Most lines of a function, from its `fn` to its last brace.
const FUNCTION_LINES: usize = 70;
/// Names that say nothing of what is inside.
const EMPTY_NAMES: [&str; 8] = [
    "util", "utils", "helper", "helpers", "common", "misc", "manager", "managers",
];
/// What leaves work undone or hides it.
const UNDONE: [&str; 3] = ["todo", "unimplemented", "dbg"];
/// What writes to the terminal.
const PRINTS: [&str; 4] = ["println", "eprintln", "print", "eprint"];
/// Where the terminal is written to.
const MAY_PRINT: [&str; 6] = [
    "runner/src/cli/",
    "runner/src/cli.rs",
    "runner/src/main.rs",
    "runner/benches/",
    "xtask/",
    "tests/",
];
/// Where errors need no type of their own.
const MAY_ANYHOW: [&str; 7] = [
    "runner/src/cli/",
    "runner/src/cli.rs",
    "runner/src/main.rs",
    "runner/src/app/",
    "runner/src/app.rs",
    "xtask/",
    "tests/",
];
/// Where guests are run: by the runner, and bare beside it where that is measured.
const KNOW_WASMTIME: [&str; 2] = ["runner/src/plugin/", "runner/benches/sandbox/"];
/// The places that wait for another process, each with a bound.
const MAY_SLEEP: [&str; 2] = ["tests/kit/src/wait.rs", "xtask/src/process.rs"];
/// Folders that exist on the machine of whoever wrote the path, put together here so that this
/// file does not hold them.
const MACHINE_FOLDERS: [&str; 3] = [
    concat!("/wo", "rk"),
    concat!("/ro", "ot"),
    concat!("/ho", "me"),
];

/// Every finding, in order.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.rust {
        size(file, &mut findings);
        name(file, &mut findings);
        match &file.facts {
            Ok(facts) => {
                functions(file, facts, &mut findings);
                calls(file, facts, &mut findings);
                imports(file, facts, &mut findings);
            }
            Err(why) => findings.push(finding(file, 1, "parses", why)),
        }
    }
    for file in &tree.texts {
        machine_paths(file, &mut findings);
    }
    layers::check(tree, &mut findings);
    keys::check(tree, &mut findings);
    findings.sort();
    findings.dedup();
    findings
}

/// A finding in a Rust source.
pub(crate) fn finding(file: &Rust, line: usize, rule: &'static str, what: &str) -> Finding {
    Finding {
        path: file.path.clone(),
        line,
        rule,
        what: what.to_owned(),
    }
}

fn size(file: &Rust, findings: &mut Vec<Finding>) {
    let tests = file.facts.as_ref().map_or(0, |facts| facts.test_lines);
    let lines = file.text.lines().count() - tests;
    if lines > FILE_LINES {
        let what =
            format!("{lines} lines without inline tests, {FILE_LINES} at most: split it by noun");
        findings.push(finding(file, FILE_LINES, "file-size", &what));
    }
    if !file.text.starts_with("//!") {
        findings.push(finding(
            file,
            1,
            "says-what-it-is",
            "the first line does not start with `//!`",
        ));
    }
}

fn name(file: &Rust, findings: &mut Vec<Finding>) {
    let path = file.path.trim_end_matches(".rs");
    for part in path.split('/') {
        if EMPTY_NAMES.contains(&part) {
            let what = format!("{part:?} says nothing: name it after the noun inside");
            findings.push(finding(file, 1, "name", &what));
        }
    }
}

fn functions(file: &Rust, facts: &Facts, findings: &mut Vec<Finding>) {
    for function in &facts.functions {
        if function.lines > FUNCTION_LINES {
            let what = format!(
                "fn {} has {} lines, {FUNCTION_LINES} at most",
                function.name, function.lines
            );
            findings.push(finding(file, function.line, "function-size", &what));
        }
    }
}

fn calls(file: &Rust, facts: &Facts, findings: &mut Vec<Finding>) {
    // What a build script prints is what it tells cargo.
    let may_print = within(&file.path, &MAY_PRINT) || file.path.ends_with("/build.rs");
    for call in &facts.macros {
        if UNDONE.contains(&call.name.as_str()) {
            let what = format!("`{}!`: finish it", call.name);
            findings.push(finding(file, call.line, "undone", &what));
        }
        if PRINTS.contains(&call.name.as_str()) && !may_print && !call.test {
            let what = format!(
                "`{}!` outside of the command line: use `tracing`",
                call.name
            );
            findings.push(finding(file, call.line, "print", &what));
        }
    }
    let ignored = |attribute: &&Named| attribute.name == "ignore";
    for attribute in facts.attributes.iter().filter(ignored) {
        let what = "a test that does not run says nothing: make it run or take it out";
        findings.push(finding(file, attribute.line, "undone", what));
    }
}

fn imports(file: &Rust, facts: &Facts, findings: &mut Vec<Finding>) {
    let test_code = file.path.starts_with("xtask/");
    for used in &facts.used {
        let first = used.path[0].as_str();
        if first.starts_with("wasmtime") && !within(&file.path, &KNOW_WASMTIME) {
            let what = format!(
                "`{first}` is known in `runner/src/plugin/` only, and where it is measured"
            );
            findings.push(finding(file, used.line, "wasmtime", &what));
        }
        if first == "anyhow" && !used.test && !within(&file.path, &MAY_ANYHOW) {
            let what = "`anyhow` hides how it can fail: give the operation an error enum";
            findings.push(finding(file, used.line, "anyhow", what));
        }
        let sleeps = matches!(used.path.as_slice(), [.., of, what]
            if what == "sleep" && (of == "thread" || of == "time"));
        if sleeps && (used.test || test_code) && !MAY_SLEEP.contains(&file.path.as_str()) {
            let what = "a sleep is no synchronisation: wait for a state with `wait::until`";
            findings.push(finding(file, used.line, "sleep", what));
        }
    }
}

fn within(path: &str, places: &[&str]) -> bool {
    places.iter().any(|place| path.starts_with(place))
}

fn machine_paths(file: &Text, findings: &mut Vec<Finding>) {
    for (number, line) in file.text.lines().enumerate() {
        for folder in MACHINE_FOLDERS {
            let Some(at) = line.find(folder) else {
                continue;
            };
            let before = line[..at].chars().next_back();
            let after = line[at + folder.len()..].chars().next();
            let starts = !before.is_some_and(|c| c.is_alphanumeric() || "._-/})*".contains(c));
            let ends = after.is_none_or(|c| "/\"'` ".contains(c));
            if starts && ends {
                findings.push(Finding {
                    path: file.path.clone(),
                    line: number + 1,
                    rule: "machine-path",
                    what: format!("`{folder}` is a folder of one machine"),
                });
            }
        }
    }
}
