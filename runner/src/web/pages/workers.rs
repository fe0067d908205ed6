//! The workers with what runs.

use std::sync::Arc;

use maud::{Markup, html};

use super::{
    back, field, form,
    frame::{self, Place},
    page, said, shown,
};
use crate::{
    api::{Request, Stats, WorkersAct},
    engine::Mode,
    web::{
        answer::Outcome,
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
    back(&call, "/workers")
}
