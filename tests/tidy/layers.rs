//! Imports run one way: the layer table of the runner's rooms.

use crate::{
    Finding,
    rules::finding,
    source::{Rust, Tree, runner_module},
};

/// A room of `runner/src`, what it may import of ours, and what it must not know.
struct Room {
    name: &'static str,
    may: &'static [&'static str],
    /// Path prefixes, such as `std::fs`.
    not: &'static [&'static str],
}

const GROUND: &[&str] = &["clock", "entropy", "shutdown", "disk", "metrics"];
const NO_GUESTS: &[&str] = &["wasmtime", "wasmtime_wasi"];
const NO_OUTSIDE: &[&str] = &[
    "std::fs",
    "std::net",
    "std::os",
    "std::process",
    "tokio::fs",
    "tokio::net",
    "tokio::process",
    "rustix",
    "wasmtime",
    "wasmtime_wasi",
];

/// The table, from the ground up. `main` wires everything, as `app` may, and has no row.
const ROOMS: [Room; 13] = [
    ground("clock"),
    ground("entropy"),
    ground("shutdown"),
    ground("disk"),
    ground("metrics"),
    room("store", &[], NO_GUESTS),
    room("plugin", &[], &[]),
    room("engine", &["store", "plugin"], NO_OUTSIDE),
    room("api", &["store", "plugin", "engine"], NO_GUESTS),
    room("web", &["store", "plugin", "engine", "api"], NO_GUESTS),
    room("config", &["store", "plugin", "engine", "api"], NO_GUESTS),
    room(
        "cli",
        &["store", "plugin", "engine", "api", "config"],
        NO_GUESTS,
    ),
    room(
        "app",
        &["store", "plugin", "engine", "api", "web", "config", "cli"],
        NO_GUESTS,
    ),
];

/// The rooms whose inside only themselves and the wiring may see: others use what they show.
const CLOSED: [&str; 5] = ["store", "plugin", "engine", "api", "config"];

const fn ground(name: &'static str) -> Room {
    Room {
        name,
        may: &[],
        not: NO_GUESTS,
    }
}

const fn room(
    name: &'static str,
    may: &'static [&'static str],
    not: &'static [&'static str],
) -> Room {
    Room { name, may, not }
}

/// Every import against the table.
pub(crate) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    let modules: Vec<Vec<String>> = tree
        .rust
        .iter()
        .filter_map(|file| runner_module(&file.path))
        .collect();
    for file in &tree.rust {
        if file.path.starts_with("runner/model/src/") {
            pure(file, findings);
        } else if let Some(module) = runner_module(&file.path) {
            runner(file, &module, &modules, findings);
        }
    }
}

/// The model knows no standard library: no clock, no file, no thread.
fn pure(file: &Rust, findings: &mut Vec<Finding>) {
    let Ok(facts) = &file.facts else { return };
    for used in facts.used.iter().filter(|used| !used.test) {
        if used.path[0] == "std" {
            let what = format!(
                "`{}` in the model, which knows `core` and `alloc` only",
                used.path.join("::")
            );
            findings.push(finding(file, used.line, "layer", &what));
        }
    }
}

fn runner(file: &Rust, module: &[String], modules: &[Vec<String>], findings: &mut Vec<Finding>) {
    let name = module.first().map_or("lib", String::as_str);
    if matches!(name, "lib" | "main") {
        return;
    }
    let Some(room) = ROOMS.iter().find(|room| room.name == name) else {
        let what = format!("room `{name}` is not in the layer table: give it a row");
        findings.push(finding(file, 1, "layer", &what));
        return;
    };
    let Ok(facts) = &file.facts else { return };
    for used in facts.used.iter().filter(|used| !used.test) {
        let whole = used.path.join("::");
        for barred in room.not {
            if whole == *barred || whole.starts_with(&format!("{barred}::")) {
                let what = format!("`{name}` does not know `{barred}` (layer table)");
                findings.push(finding(file, used.line, "layer", &what));
            }
        }
        if !matches!(used.path[0].as_str(), "crate" | "sandhog") || used.path.len() < 2 {
            continue;
        }
        let other = used.path[1].as_str();
        let is_room = ROOMS.iter().any(|room| room.name == other);
        if other == name || !is_room {
            continue;
        }
        let ground = GROUND.contains(&other) && !GROUND.contains(&name);
        if !ground && !room.may.contains(&other) {
            let what = format!("`{name}` imports `{other}`: imports run one way (layer table)");
            findings.push(finding(file, used.line, "layer", &what));
        }
        let inside = used
            .path
            .get(1..3)
            .is_some_and(|start| modules.iter().any(|m| m == start));
        if inside && CLOSED.contains(&other) && name != "app" {
            let what = format!(
                "`{name}` reaches into `{}`: use what `{other}` shows",
                used.path[1..3].join("::")
            );
            findings.push(finding(file, used.line, "layer", &what));
        }
    }
}
