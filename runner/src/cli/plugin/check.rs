//! `sandhog plugin check FILE`: what a component is, asks for, is granted, and whether it can run.

use std::{fmt::Write as _, path::PathBuf};

use super::{kinds, present, told};
use crate::{
    api::Request,
    cli::{
        exit::{Exit, Outcome},
        session::{Session, ask},
        shapes, text,
    },
    plugin::{Checked, Grants, Problem, grants_as_toml},
};

pub(super) fn run(session: &mut Session<'_, '_>, files: &[PathBuf]) -> Outcome<Exit> {
    files.iter().try_for_each(|file| present(file))?;
    let found = session.rooms.check_plugins(&session.config, files)?;
    say(session, &found)
}

/// The same of plugins of a runner elsewhere, which looks at their files itself.
pub(super) fn far(session: &mut Session<'_, '_>, names: &[PathBuf]) -> Outcome<Exit> {
    let mut found = Vec::new();
    for name in names {
        let name = name.to_string_lossy().into_owned();
        found.push(*ask!(session, Request::CheckPlugin { name }, CheckedPlugin));
    }
    say(session, &found)
}

fn say(session: &mut Session<'_, '_>, found: &[Result<Checked, Problem>]) -> Outcome<Exit> {
    if session.is_json() {
        session.json(&found.iter().map(shapes::checked).collect())?;
    } else {
        let shown: Vec<String> = found.iter().map(shown).collect();
        session.say(shown.join("\n\n").trim_end())?;
    }
    Ok(match found.iter().all(Result::is_ok) {
        true => Exit::Done,
        false => Exit::Failed,
    })
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
    let missing = checked.missing();
    if !missing.is_empty() {
        part(&mut shown, "is not granted", &missing);
    }
    let linked = checked.linked();
    if !linked.is_empty() {
        let _ = writeln!(
            shown,
            "links, as every component of its language, used or not: {}; a handler that uses one asks for a grant",
            linked.join(", ")
        );
    }
    let _ = writeln!(shown, "verdict: {}", checked.verdict());
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
