//! `sandhog plugin show`, and the verbs that choose which version of a plugin is served.

use super::super::{
    door::Need,
    exit::{Exit, Outcome},
    session::{Session, ask, wall},
    shapes, text,
};
use crate::{
    api::Request,
    plugin::{Held, Plugin, PluginAct, PluginView, VersionView},
};

pub(super) fn show(session: &mut Session<'_, '_>, name: String) -> Outcome<Exit> {
    session.door(Need::Runner)?;
    let view = ask!(session, Request::Plugin { name }, Plugin);
    if session.is_json() {
        session.json(&shapes::plugin_view(&view))?;
    } else {
        session.say(&shown(&view))?;
    }
    Ok(Exit::Done)
}

pub(super) fn act(session: &mut Session<'_, '_>, name: String, act: PluginAct) -> Outcome<Exit> {
    session.door(Need::Runner)?;
    let view = ask!(session, Request::ActOnPlugin { name, act }, ActedOnPlugin);
    if session.is_json() {
        session.json(&shapes::plugin_view(&view))?;
    } else {
        session.say(&now(&view))?;
    }
    Ok(Exit::Done)
}

/// What is served now, in a line.
fn now(view: &PluginView) -> String {
    let name = text::plain(&view.name);
    match (&view.served, &view.held) {
        (Some(served), _) if view.of_file.as_ref() == Some(&served.digest) => {
            format!(
                "{name}: version {} of its file is served",
                short(&served.digest)
            )
        }
        (Some(served), _) => replaced(served, view.of_file.as_deref().unwrap_or_default()),
        (None, Some(held)) => self::held(&view.name, held),
        (None, None) => format!("{name}: nothing is served"),
    }
}

/// What is said of a plugin whose file has another version than the one that is served.
pub(super) fn replaced(served: &Plugin, of_file: &str) -> String {
    format!(
        "{name}: version {} is served in place of its file's, {}\n  `sandhog plugin release {name}` ends that, and so does another file",
        short(&served.digest),
        short(of_file),
        name = text::plain(&served.name),
    )
}

/// What is said of a plugin that is held back.
pub(super) fn held(name: &str, held: &Held) -> String {
    let name = text::plain(name);
    let (digest, why) = (short(&held.plugin.digest), text::plain(&held.why));
    match held.since {
        None => format!("{name}: {why}"),
        Some(since) => format!(
            "{name}: version {digest} is held back since {}: {why}\n  its jobs wait; `sandhog plugin rollback {name}` serves the last good version, `sandhog plugin release {name}` lets this one run again",
            text::ago(since, wall()),
        ),
    }
}

fn short(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}

fn shown(view: &PluginView) -> String {
    let mut fields = vec![
        ("name", text::plain(&view.name).into_owned()),
        (
            "file",
            text::plain(&view.file.to_string_lossy()).into_owned(),
        ),
    ];
    if let Some(served) = &view.served {
        let kinds: Vec<&str> = served.kinds.iter().map(|info| info.kind.as_str()).collect();
        fields.push(("kinds", text::plain(&kinds.join(", ")).into_owned()));
        fields.push(("built with", text::plain(&served.sdk).into_owned()));
    }
    let mut shown = text::fields(&fields);
    shown += &format!("{}\n", now(view));
    if let Some(problem) = &view.problem {
        shown += &format!("{}\n", super::told(problem));
    }
    let rows = view.versions.iter().map(|one| row(view, one));
    let header = ["VERSION", "SIZE", "TAKEN", "COMPLETED A JOB", "NOW"];
    shown + &text::table(&header, &[1], rows)
}

fn row(view: &PluginView, one: &VersionView) -> Vec<String> {
    let digest = &one.version.digest;
    let mut now = Vec::new();
    if (view.served.as_ref()).is_some_and(|served| served.digest == *digest) {
        now.push("served".to_owned());
    }
    if view.of_file.as_ref() == Some(digest) {
        now.push("in the folder".to_owned());
    }
    if let Some(quarantine) = &one.quarantine {
        now.push(format!("held back: {}", text::cell(&quarantine.why)));
    }
    vec![
        short(digest).to_owned(),
        text::size(one.version.size),
        text::ago(one.version.taken_at, wall()),
        if one.version.proven { "yes" } else { "no" }.to_owned(),
        now.join(", "),
    ]
}
