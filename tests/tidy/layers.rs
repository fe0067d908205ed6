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

const GROUND: &[&str] = &[
    "clock",
    "entropy",
    "processors",
    "shutdown",
    "disk",
    "metrics",
    "traces",
    "identity",
    "figures",
];
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
const ROOMS: [Room; 18] = [
    ground("clock"),
    ground("entropy"),
    ground("processors"),
    ground("shutdown"),
    ground("disk"),
    ground("metrics"),
    ground("traces"),
    ground("identity"),
    ground("figures"),
    room("store", &[], NO_GUESTS),
    room("plugin", &[], &[]),
    room("engine", &["store", "plugin"], NO_OUTSIDE),
    room("api", &["store", "plugin", "engine"], NO_GUESTS),
    room("json", &["store", "plugin", "engine", "api"], NO_OUTSIDE),
    room(
        "web",
        &["store", "plugin", "engine", "api", "json"],
        NO_GUESTS,
    ),
    room("config", &["store", "plugin", "engine", "api"], NO_GUESTS),
    room(
        "cli",
        &["store", "plugin", "engine", "api", "json", "web", "config"],
        NO_GUESTS,
    ),
    room(
        "app",
        &["store", "plugin", "engine", "api", "web", "config", "cli"],
        NO_GUESTS,
    ),
];

/// The crates without clock, file and thread.
const PURE: [&str; 2] = ["runner/model/src/", "runner/cron/src/"];

/// The rooms whose inside only themselves and the wiring may see: others use what they show.
const CLOSED: [&str; 6] = ["store", "plugin", "engine", "api", "web", "config"];

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

/// What others may find behind `crate::ROOM::NAME`.
struct Doors<'a> {
    tree: &'a Tree,
    modules: Vec<Vec<String>>,
}

impl Doors<'_> {
    /// Whether a path goes through a room's inner module instead of what the room shows.
    fn inside(&self, path: &[String]) -> bool {
        let Some([room, name]) = path.get(1..3) else {
            return false;
        };
        let module = [room.clone(), name.clone()];
        let is_module = self.modules.iter().any(|known| known == &module);
        is_module && (path.len() > 3 || !self.shows(room, name))
    }

    /// Whether a room's own file re-exports something of that name from one of its modules.
    fn shows(&self, room: &str, name: &str) -> bool {
        let own = format!("runner/src/{room}/mod.rs");
        let file = self.tree.rust.iter().find(|file| file.path == own);
        let facts = file.and_then(|file| file.facts.as_ref().ok());
        facts.is_some_and(|facts| {
            let mut paths = facts.used.iter().map(|used| &used.path);
            paths.any(|path| path.len() > 1 && path.last().is_some_and(|last| last == name))
        })
    }
}

/// Every import against the table.
pub(crate) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    let modules = tree
        .rust
        .iter()
        .filter_map(|file| runner_module(&file.path));
    let doors = Doors {
        tree,
        modules: modules.collect(),
    };
    for file in &tree.rust {
        if PURE.iter().any(|crate_| file.path.starts_with(crate_)) {
            pure(file, findings);
        } else if let Some(module) = runner_module(&file.path) {
            runner(file, &module, &doors, findings);
        }
    }
}

/// A pure crate knows no standard library: no clock, no file, no thread.
fn pure(file: &Rust, findings: &mut Vec<Finding>) {
    let Ok(facts) = &file.facts else { return };
    for used in facts.used.iter().filter(|used| !used.test) {
        if used.path[0] == "std" {
            let what = format!(
                "`{}` in a crate that knows `core` and `alloc` only",
                used.path.join("::")
            );
            findings.push(finding(file, used.line, "layer", &what));
        }
    }
}

fn runner(file: &Rust, module: &[String], doors: &Doors<'_>, findings: &mut Vec<Finding>) {
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
    let imports = facts.used.iter().map(|used| used.path.as_slice());
    let bare: Vec<&String> = imports
        .filter_map(|path| match path {
            [root, room] if root == "crate" => Some(room),
            _ => None,
        })
        .collect();
    for used in facts.used.iter().filter(|used| !used.test) {
        let path = from_root(&used.path, &bare);
        let whole = path.join("::");
        for barred in room.not {
            if whole == *barred || whole.starts_with(&format!("{barred}::")) {
                let what = format!("`{name}` does not know `{barred}` (layer table)");
                findings.push(finding(file, used.line, "layer", &what));
            }
        }
        if !matches!(path[0].as_str(), "crate" | "sandhog") || path.len() < 2 {
            continue;
        }
        let other = path[1].as_str();
        let is_room = ROOMS.iter().any(|room| room.name == other);
        if other == name || !is_room {
            continue;
        }
        let ground = GROUND.contains(&other) && !GROUND.contains(&name);
        if !ground && !room.may.contains(&other) {
            let what = format!("`{name}` imports `{other}`: imports run one way (layer table)");
            findings.push(finding(file, used.line, "layer", &what));
        }
        if doors.inside(&path) && CLOSED.contains(&other) && name != "app" {
            let what = format!(
                "`{name}` reaches into `{}`: use what `{other}` shows",
                path[1..3].join("::")
            );
            findings.push(finding(file, used.line, "layer", &what));
        }
    }
}

/// A path from the crate's root: `store::wal` after `use crate::store` is `crate::store::wal`.
fn from_root(path: &[String], bare: &[&String]) -> Vec<String> {
    let mut whole = Vec::with_capacity(path.len() + 1);
    if bare.contains(&&path[0]) {
        whole.push("crate".to_owned());
    }
    whole.extend_from_slice(path);
    whole
}
