//! Plugins: what serves which kinds, in which version, with what it is granted, and what is held back.

use std::{collections::BTreeMap, sync::Arc};

use maud::{Markup, html};

use super::{
    back, field, form,
    frame::{self, Button, Place},
    page, said, shown,
};
use crate::{
    api::Request,
    plugin::{
        Catalog, Checked, Grants, Held, KindInfo, Plugin, PluginAct, PluginView,
        Problem as FileProblem, VersionView, grants_as_toml,
    },
    web::{
        answer::Outcome,
        call::Call,
        form::{Form, Param, param},
        problem::Problem,
        route::{Route, run},
        site::{Site, ask},
        token::Role,
    },
};

const NAME: &[Param] = &[param("name", Form::Text(255), "The plugin.")];
/// What a button says before the digest of the version it means.
const SERVE: &str = "serve-";

pub(super) const ROUTES: &[Route] = &[
    page("/plugins", "pluginsPage", "Plugins.", run!(list)),
    page(
        "/plugins/{name}",
        "pluginPage",
        "One plugin with its versions.",
        run!(show),
    )
    .at(NAME),
    form(
        "/plugins/{name}",
        "changePluginPage",
        "Choose which version of a plugin is served.",
        run!(act),
    )
    .at(NAME),
];

async fn list(site: Arc<Site>, call: Call) -> Outcome {
    let plugins = ask!(site, call, Request::Plugins, Plugins);
    let content = catalog(&call, &plugins.catalog);
    shown(frame::page(
        &site,
        &call,
        Place::Plugins,
        "Plugins",
        content,
    ))
}

fn catalog(call: &Call, catalog: &Catalog) -> Markup {
    let served = catalog.plugins.values().map(|one| (&**one, None));
    let held = catalog.held.values().map(|held| (&held.plugin, Some(held)));
    let all: BTreeMap<&str, (&Plugin, Option<&Held>)> = served
        .chain(held)
        .map(|one| (one.0.name.as_str(), one))
        .collect();
    html! {
        @for problem in &catalog.problems {
            p.note.fault { code { (problem.file.display()) } " cannot be used: " (problem.cause) ". " (problem.hint)
                @if problem.earlier_served { " An earlier version is served." } }
        }
        @if all.is_empty() { p.soft { "No plugin is served: drop NAME.wasm files into the plugin folder." } }
        @else { div.scroll { table {
            thead { tr { th { "Plugin" } th { "Stands" } th { "Version" } th.number { "KiB" } th { "Built with" } th { "Kinds" } } }
            tbody { @for (name, (plugin, held)) in &all { tr {
                td { a href={ (call.prefix) "/plugins/" (frame::segment(name)) } { (name) } }
                td.free { @match held {
                    Some(held) => { span.state.dead { "held back" } " " (held.why) },
                    None if catalog.replaced.contains_key(*name) => span.state.retryable { "rolled back" },
                    None => span.state.completed { "served" },
                } }
                td { code { (short(&plugin.digest)) } }
                td.number { (plugin.size >> 10) }
                td { (plugin.sdk) }
                td.free { (kinds_of(plugin)) }
            } } }
        } } }
    }
}

/// The first kinds by name.
fn kinds_of(plugin: &Plugin) -> String {
    const FEW: usize = 6;
    let names = plugin.kinds.iter().take(FEW).map(|kind| kind.kind.as_str());
    let names: Vec<&str> = names.collect();
    match plugin.kinds.len().checked_sub(FEW + 1) {
        Some(more) => format!("{} and {} more", names.join(", "), more + 1),
        None => names.join(", "),
    }
}

fn short(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}

async fn show(site: Arc<Site>, call: Call) -> Outcome {
    let name = call.path("name")?;
    let view = ask!(site, call, Request::Plugin { name }, Plugin);
    let plugin = view.plugin();
    let content = html! {
        (stands(&view))
        (frame::actions(&site, &call, &path(&view), &[("Check its file", "check", false)]))
        (frame::buttons(&site, &call, Role::Admin, &path(&view), &choices(&view)))
        dl {
            dt { "File" } dd { code { (view.file.display()) } }
            @if let Some(plugin) = plugin {
                dt { "Version" } dd { code { (plugin.digest) } }
                dt { "Size" } dd { (plugin.size >> 10) " KiB" }
                dt { "Built with" } dd { (plugin.sdk) }
            }
        }
        @if let Some(plugin) = plugin {
            (capabilities(&Checked { plugin: plugin.clone(), imports: view.imports.clone() }))
        }
        (versions(&site, &call, &view))
        @if let Some(plugin) = plugin { (kinds(&call, plugin)) }
    };
    let title = format!("Plugin {}", view.name);
    shown(frame::page(&site, &call, Place::Plugins, &title, content))
}

fn path(view: &PluginView) -> String {
    format!("/plugins/{}", frame::segment(&view.name))
}

fn stands(view: &PluginView) -> Markup {
    let is_files = |plugin: &Plugin| view.of_file.as_ref() == Some(&plugin.digest);
    html! {
        @if let Some(problem) = &view.problem {
            p.note.fault { "Its file cannot be used: " (problem.cause) ". " (problem.hint) }
        }
        @if let Some(held) = &view.held {
            p.note.fault { b { "Held back" } @if let Some(since) = held.since { " since " (frame::at(since)) }
                ": " (held.why) ". Its jobs wait and use no attempt." }
        }
        @match &view.served {
            Some(plugin) if is_files(plugin) => p { span.state.completed { "Served" } ", the version of its file." },
            Some(_) => p { span.state.retryable { "Rolled back" } ": another version than its file's is served, until the file is replaced or it is released." },
            None => {},
        }
    }
}

fn choices(view: &PluginView) -> Vec<Button<'static>> {
    let is_files = |plugin: &Plugin| view.of_file.as_ref() == Some(&plugin.digest);
    let mut choices = Vec::new();
    match &view.served {
        Some(plugin) => {
            choices.push(("Hold back", "quarantine", true));
            if is_files(plugin) && view.versions.len() > 1 {
                choices.push(("Roll back to the last good version", "rollback", true));
            }
            if !is_files(plugin) {
                choices.push(("Release the file\u{2019}s version", "release", false));
            }
        }
        None if view.held.is_some() => {
            choices.push(("Release", "release", false));
            if view.versions.len() > 1 {
                choices.push(("Roll back to the last good version", "rollback", true));
            }
        }
        None => {}
    }
    choices
}

/// What is asked for, what is granted, and what is not.
fn capabilities(checked: &Checked) -> Markup {
    let plugin = &checked.plugin;
    let (missing, linked) = (checked.missing(), checked.linked());
    html! {
        h2 { "Capabilities" }
        @if !missing.is_empty() {
            div.note { "Not granted, and denied when it is used:" ul { @for one in &missing { li { (one) } } } }
        }
        @if !linked.is_empty() {
            p.soft { "Links, as every component of its language, used or not: " (linked.join(", ")) ". A handler that uses one asks for a grant." }
        }
        dl {
            dt { "Imports" } dd { @if checked.imports.is_empty() { span.soft { "nothing" } } @else { pre { (checked.imports.join("\n")) } } }
            dt { "Asks for" } dd { (toml(plugin.asks.as_deref())) }
            dt { "Is granted" } dd { (toml(Some(&*plugin.grants))) }
        }
    }
}

/// Grants as their file has them, without the values of variables and settings.
fn toml(grants: Option<&Grants>) -> Markup {
    let text = grants.map(|grants| {
        let mut seen = grants.clone();
        let values = seen.env.values_mut().chain(seen.config.values_mut());
        values.for_each(|value| "not shown".clone_into(value));
        grants_as_toml(&seen)
    });
    html! {
        @match text.filter(|text| !text.trim().is_empty()) {
            Some(text) => pre { (text) },
            None => span.soft { "nothing" },
        }
    }
}

fn kinds(call: &Call, plugin: &Plugin) -> Markup {
    html! {
        h2 { "Kinds" }
        div.scroll { table {
            thead { tr { th { "Kind" } th { "What it does" } th { "Queue" } th.number { "Time limit" } th { "Takes" } } }
            tbody { @for kind in &plugin.kinds { (kind_row(call, kind)) } }
        } }
    }
}

fn kind_row(call: &Call, kind: &KindInfo) -> Markup {
    html! { tr {
        td { a href={ (call.prefix) "/jobs?kind=" (kind.kind) } { (kind.kind) } }
        td.free { (kind.summary) }
        td { @if let Some(queue) = &kind.queue { (queue) } }
        td.number { @if let Some(ms) = kind.timeout_ms { (ms) " ms" } }
        td { @if let Some(takes) = &kind.content_type { (takes) } }
    } }
}

fn versions(site: &Site, call: &Call, view: &PluginView) -> Markup {
    html! {
        h2 { "Versions" }
        div.scroll { table {
            thead { tr { th { "Version" } th { "Taken in" } th.number { "KiB" } th { "Built with" } th { "Completed a job" } th { "Note" } th { "Change" } } }
            tbody { @for one in &view.versions { (version(site, call, view, one)) } }
        } }
    }
}

fn version(site: &Site, call: &Call, view: &PluginView, one: &VersionView) -> Markup {
    let version = &one.version;
    let is_served = view
        .served
        .as_ref()
        .is_some_and(|plugin| plugin.digest == version.digest);
    let is_files = view.of_file.as_ref() == Some(&version.digest);
    let act = format!("{SERVE}{}", version.digest);
    let choice: &[Button<'_>] = match is_served || is_files {
        true => &[],
        false => &[("Serve this one", &act, true)],
    };
    html! { tr {
        td { code { (short(&version.digest)) } }
        td { (frame::at(version.taken_at)) }
        td.number { (version.size >> 10) }
        td { (version.sdk) }
        td { @if version.proven { "yes" } @else { "not yet" } }
        td.free {
            @if is_served { "served " } @if is_files { "of the file " }
            @if let Some(quarantine) = &one.quarantine { "held back: " (quarantine.why) }
        }
        td { (frame::buttons(site, call, Role::Admin, &path(view), choice)) }
    } }
}

/// What a look at its file found.
fn verdict(site: &Site, call: &Call, name: &str, found: &Result<Checked, FileProblem>) -> Markup {
    let content = html! {
        @match found {
            Ok(checked) => {
                p.note { "Verdict: " b { (checked.verdict()) } "." }
                dl {
                    dt { "File" } dd { code { (checked.plugin.file.display()) } }
                    dt { "Version" } dd { code { (checked.plugin.digest) } }
                    dt { "Built with" } dd { (checked.plugin.sdk) }
                }
                (capabilities(checked))
                (kinds(call, &checked.plugin))
            },
            Err(problem) => {
                p.note.fault { "Verdict: " b { "it cannot run" } ". " (problem.cause) ". " (problem.hint) }
                dl { dt { "File" } dd { code { (problem.file.display()) } } }
            },
        }
        p { a href={ (call.prefix) "/plugins/" (frame::segment(name)) } { "Back to the plugin" } }
    };
    let title = format!("Check of plugin {name}");
    frame::outcome(site, call, Place::Plugins, &title, content)
}

async fn act(site: Arc<Site>, call: Call) -> Outcome {
    let fields = said(&site, &call)?;
    let name: String = call.path("name")?;
    if field(&fields, "do") == Some("check") {
        let asked = name.clone();
        let found = ask!(
            site,
            call,
            Request::CheckPlugin { name: asked },
            CheckedPlugin
        );
        return shown(verdict(&site, &call, &name, &found));
    }
    let act = match field(&fields, "do") {
        Some("quarantine") => PluginAct::Quarantine {
            why: Some(format!("by {}", call.by())),
        },
        Some("rollback") => PluginAct::Rollback { to: None },
        Some("release") => PluginAct::Release,
        Some(other) if other.starts_with(SERVE) => PluginAct::Rollback {
            to: Some(other[SERVE.len()..].to_owned()),
        },
        _ => {
            return Err(Problem::malformed(
                "the form says nothing that a plugin can do",
            ));
        }
    };
    let view = ask!(
        site,
        call,
        Request::ActOnPlugin { name, act },
        ActedOnPlugin
    );
    back(&call, &path(&view))
}
