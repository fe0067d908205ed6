//! The workers with what runs, and the plugins that it runs on.

use std::sync::Arc;

use maud::{Markup, html};

use super::{
    field, form,
    frame::{self, Place},
    page, said, shown,
};
use crate::{
    api::{Request, Stats, WorkersAct},
    engine::Mode,
    plugin::{Catalog, Plugin},
    web::{
        answer::{Answer, Outcome},
        call::Call,
        problem::Problem,
        route::{Route, run},
        site::{Site, ask},
    },
};

pub(super) const ROUTES: &[Route] = &[
    page(
        "/workers",
        "workersPage",
        "Workers and what they run.",
        run!(show),
    ),
    form(
        "/workers",
        "changeWorkersPage",
        "Have the workers wait, or go on.",
        run!(act),
    ),
    page("/plugins", "pluginsPage", "Plugins.", run!(plugins)),
];

async fn show(site: Arc<Site>, call: Call) -> Outcome {
    let stats = ask!(site, call, Request::Stats, Stats);
    let content = match &stats.runner {
        Some(_) => running(&site, &call, &stats),
        None => html! { p.soft { "No runner is up." } },
    };
    shown(frame::page(
        &site,
        &call,
        Place::Workers,
        "Running",
        content,
    ))
}

fn running(site: &Site, call: &Call, stats: &Stats) -> Markup {
    let Some(runner) = &stats.runner else {
        return html! {};
    };
    let acts: &[(&str, &str, bool)] = match runner.mode {
        Mode::Running => &[("Claim nothing more", "quiet", false)],
        Mode::Quiet => &[("Claim again", "resume", false)],
        Mode::Stopping => &[],
    };
    html! {
        p { "Workers are " b { (runner.mode.name()) } "." }
        (frame::actions(site, call, "/workers", acts))
        div.scroll { table {
            thead { tr { th { "Worker" } th.number { "Slots" } th.number { "Ended" } th { "Runs" } } }
            tbody { @for worker in &runner.workers { tr {
                td { (worker.number) }
                td.number { (worker.slots) }
                td.number { (worker.ended) }
                td { @for id in &worker.running {
                    div.row { a href={ (call.prefix) "/jobs/" (id) } { code { (id) } }
                        (frame::actions(site, call, &format!("/jobs/{id}"), &[("Kill", "kill", true)])) }
                } }
            } } }
        } }
    }
}

async fn act(site: Arc<Site>, call: Call) -> Outcome {
    let fields = said(&site, &call)?;
    let act = match field(&fields, "do") {
        Some("quiet") => WorkersAct::Quiet,
        Some("resume") => WorkersAct::Resume,
        _ => {
            return Err(Problem::malformed(
                "the form says nothing that workers can do",
            ));
        }
    };
    ask!(site, call, Request::ActOnWorkers { act }, ActedOnWorkers);
    Ok(Answer::SeeOther {
        to: format!("{}/workers", call.prefix),
        cookie: None,
    })
}

async fn plugins(site: Arc<Site>, call: Call) -> Outcome {
    let plugins = ask!(site, call, Request::Plugins, Plugins);
    let content = catalog(&plugins.catalog);
    shown(frame::page(
        &site,
        &call,
        Place::Plugins,
        "Plugins",
        content,
    ))
}

fn catalog(catalog: &Catalog) -> Markup {
    html! {
        @if !catalog.problems.is_empty() {
            h2 { "Files that cannot be used" }
            @for problem in &catalog.problems {
                p.note.fault { code { (problem.file.display()) } ": " (problem.cause) ". " (problem.hint)
                    @if problem.earlier_served { " An earlier version is served." } }
            }
        }
        @if catalog.plugins.is_empty() && catalog.held.is_empty() { p.soft { "No plugin is served." } }
        @for held in catalog.held.values() {
            h2 { (held.plugin.name) " " span.state.dead { "held back" } }
            p.note { (held.why) @if let Some(since) = held.since { ", since " (frame::at(since)) } }
            (plugin(&held.plugin))
        }
        @for (name, one) in &catalog.plugins {
            h2 { (name) @if catalog.replaced.contains_key(name) { " " span.state.retryable { "another version than its file's" } } }
            (plugin(one))
        }
    }
}

fn plugin(plugin: &Plugin) -> Markup {
    html! {
        dl {
            dt { "Version" } dd { code { (plugin.digest) } ", " (plugin.size >> 10) " KiB, " (plugin.sdk) }
            dt { "File" } dd { code { (plugin.file.display()) } }
            dt { "Kinds" } dd { ul { @for kind in &plugin.kinds { li { b { (kind.kind) } " " (kind.summary) } } } }
        }
    }
}
