//! `sandhog plugin check FILE`: what a component is, asks for, is granted, and whether it can run.

use std::{fmt::Write as _, path::PathBuf};

use serde_json::{Value, json};

use super::{kinds, present, told};
use crate::{
    cli::{
        exit::{Exit, Outcome},
        session::Session,
        shapes, text,
    },
    plugin::{Checked, Grants, Plugin, Problem, grants_as_toml},
};

/// An interface, what is said when it is imported in vain, and whether it is granted.
type Need = (&'static str, &'static str, fn(&Grants) -> bool);

/// Interfaces that are of no use without a grant.
const NEED_GRANTS: [Need; 3] = [
    (
        "wasi:http/outgoing-handler",
        "it may send requests, and no origin is granted",
        |grants| !grants.http.is_empty(),
    ),
    (
        "sandhog:job/enqueue",
        "it may enqueue jobs, and no queue is granted",
        |grants| grants.enqueue.is_some(),
    ),
    (
        "sandhog:job/signing",
        "it may sign, and no secret is granted for that",
        |grants| grants.secrets.iter().any(|secret| secret.sign),
    ),
];

pub(super) fn run(session: &mut Session<'_, '_>, files: &[PathBuf]) -> Outcome<Exit> {
    files.iter().try_for_each(|file| present(file))?;
    let found = session.rooms.check_plugins(&session.config, files)?;
    if session.is_json() {
        let shapes = found.iter().map(|one| match one {
            Ok(checked) => shape(checked),
            Err(problem) => shapes::problem(problem),
        });
        session.json(&Value::Array(shapes.collect()))?;
    } else {
        let shown: Vec<String> = found.iter().map(shown).collect();
        session.say(shown.join("\n\n").trim_end())?;
    }
    Ok(match found.iter().all(Result::is_ok) {
        true => Exit::Done,
        false => Exit::Failed,
    })
}

/// SDKs of languages whose runtime is linked with all of the contract: an import says nothing of what is used.
const LINK_ALL: [&str; 2] = ["sandhog-python ", "sandhog-js "];

fn links_all(plugin: &Plugin) -> bool {
    LINK_ALL.iter().any(|sdk| plugin.sdk.starts_with(sdk))
}

/// The interfaces that it imports and that are of no use to it, with what is said of them.
fn idle(checked: &Checked) -> impl Iterator<Item = (&'static str, &'static str)> {
    let idle = NEED_GRANTS.iter().filter(|(interface, _, granted)| {
        let mut imported = checked
            .imports
            .iter()
            .filter_map(|name| name.split('@').next());
        imported.any(|name| name == *interface) && !granted(&checked.plugin.grants)
    });
    idle.map(|(interface, why, _)| (*interface, *why))
}

/// What it wishes for and does not get, and what it imports for nothing.
fn missing(checked: &Checked) -> Vec<String> {
    let plugin = &checked.plugin;
    let asked = plugin.asks.as_deref();
    let mut missing = asked.map_or_else(Vec::new, |asked| plugin.grants.unmet(asked));
    missing.extend(plugin.grants.cuts.iter().cloned());
    if !links_all(plugin) {
        missing.extend(idle(checked).map(|(interface, why)| format!("{interface}: {why}")));
    }
    missing
}

/// What its runtime links in whether the handler uses it or not, and nothing grants.
fn linked(checked: &Checked) -> Vec<&'static str> {
    let linked = idle(checked).map(|(interface, _)| interface);
    linked.filter(|_| links_all(&checked.plugin)).collect()
}

fn verdict(missing: &[String]) -> &'static str {
    match missing.is_empty() {
        true => "it can run",
        false => "it can run, and is denied what is not granted",
    }
}

fn shape(checked: &Checked) -> Value {
    let missing = missing(checked);
    let mut shape = shapes::plugin(&checked.plugin, "ok");
    shape["imports"] = json!(checked.imports);
    shape["asks"] = json!(checked.plugin.asks.as_deref().map(grants_as_toml));
    shape["grants"] = grants_as_toml(&checked.plugin.grants).into();
    shape["missing"] = json!(missing);
    shape["linked"] = json!(linked(checked));
    shape["verdict"] = verdict(&missing).into();
    shape
}

fn shown(found: &Result<Checked, Problem>) -> String {
    let checked = match found {
        Ok(checked) => checked,
        Err(problem) => return format!("{}\nverdict: it cannot run", told(problem)),
    };
    let plugin = &checked.plugin;
    let mut shown = String::new();
    let _ = writeln!(
        shown,
        "{}: {}, {}, {}",
        text::plain(&plugin.file.to_string_lossy()),
        text::size(plugin.size),
        plugin.digest.get(..12).unwrap_or_default(),
        text::plain(&plugin.sdk)
    );
    let _ = writeln!(shown, "serves: {}", text::plain(&kinds(plugin).join(", ")));
    part(&mut shown, "imports", &checked.imports);
    let asks = plugin.asks.as_deref().map(grants_as_toml);
    part(&mut shown, "asks for", &lines(&asks.unwrap_or_default()));
    let granted = format!("is granted by {}.toml and the ceiling", plugin.name);
    part(
        &mut shown,
        &granted,
        &lines(&grants_as_toml(&plugin.grants)),
    );
    if !plugin.grants.http.is_empty() {
        let _ = writeln!(
            shown,
            "requests of one attempt: {}",
            requests(&plugin.grants)
        );
    }
    let missing = missing(checked);
    if !missing.is_empty() {
        part(&mut shown, "is not granted", &missing);
    }
    let linked = linked(checked);
    if !linked.is_empty() {
        let _ = writeln!(
            shown,
            "links, as every component of its language, used or not: {}; a handler that uses one asks for a grant",
            linked.join(", ")
        );
    }
    let _ = writeln!(shown, "verdict: {}", verdict(&missing));
    shown
}

/// What bounds them.
fn requests(grants: &Grants) -> String {
    let bounds = &grants.bounds;
    let size = text::size(bounds.body);
    format!(
        "{} in all, {} at a time, bodies of {size} at most",
        bounds.requests, bounds.connections
    )
}

fn lines(toml: &str) -> Vec<String> {
    toml.lines().map(str::to_owned).collect()
}

fn part(shown: &mut String, head: &str, lines: &[String]) {
    if lines.is_empty() {
        let _ = writeln!(shown, "{head}: nothing");
        return;
    }
    let _ = writeln!(shown, "{head}:");
    for line in lines {
        let line = format!("  {}", text::plain(line));
        let _ = writeln!(shown, "{}", line.trim_end());
    }
}
