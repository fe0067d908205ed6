//! Schedules: when they run next, what became of their last job, and what they are to do.

use std::sync::Arc;

use maud::{Markup, html};

use super::{
    field, form,
    frame::{self, Place},
    page, said, shown,
};
use crate::{
    api::{CronAct, CronView, Request, by_name},
    web::{
        answer::{Answer, Outcome},
        call::Call,
        form::{CURSOR, Form, param},
        problem::Problem,
        route::{Route, run},
        site::{Site, ask},
    },
};

pub(super) const ROUTES: &[Route] = &[
    page("/crons", "schedulesPage", "Schedules.", run!(show)).query(&[CURSOR]),
    form(
        "/crons/{name}",
        "changeSchedulePage",
        "Change a schedule, or run it now.",
        run!(act),
    )
    .at(&[param("name", Form::Name, "The schedule.")]),
];

async fn show(site: Arc<Site>, call: Call) -> Outcome {
    let crons = ask!(site, call, Request::Crons, Crons);
    let (crons, next) = by_name(crons, |cron| &cron.name, &call.page()?);
    let content = html! {
        @if crons.is_empty() { p.soft { "No schedule: " code { "[cron.NAME]" } " in the settings makes one, or " code { "sandhog cron add" } "." } }
        @else { div.scroll { table {
            thead { tr { th { "Schedule" } th { "When" } th { "Kind" } th { "Next" } th { "Last slot" } th { "Latest job" } th { "Note" } th { span.soft { "Change" } } } }
            tbody { @for cron in &crons { (row(&site, &call, cron)) } }
        } } }
        (frame::more(&call, "/crons", &[], next.as_deref()))
    };
    shown(frame::page(
        &site,
        &call,
        Place::Crons,
        "Schedules",
        content,
    ))
}

fn row(site: &Site, call: &Call, cron: &CronView) -> Markup {
    let state = &cron.state;
    let acts: &[(&str, &str, bool)] = match state.paused {
        Some(_) => &[("Resume", "resume", false), ("Run now", "trigger", false)],
        None => &[("Pause", "pause", false), ("Run now", "trigger", false)],
    };
    html! {
        tr {
            td { (cron.name) }
            td { @if let Some(does) = &cron.does { code { (does.schedule) } " " (does.zone) } }
            td { @if let Some(does) = &cron.does { (does.kind) } }
            td { @if let Some(next) = cron.next { (frame::at(next)) } }
            td { @if let Some(slot) = state.slot { (frame::at(slot)) } }
            td { @if let Some(job) = state.latest { a href={ (call.prefix) "/jobs/" (job) } { code { (job) } } " " @if let Some(latest) = cron.latest { (frame::state(latest)) } } }
            td.free {
                @if let Some(fault) = &cron.fault { "does not run: " (fault) }
                @if let Some(paused) = &state.paused { "paused by " (paused.by) @if let Some(reason) = &paused.reason { ": " (reason) } }
                @if cron.is_added { " added" }
            }
            td { (frame::actions(site, call, &format!("/crons/{}", cron.name), acts)) }
        }
    }
}

async fn act(site: Arc<Site>, call: Call) -> Outcome {
    let fields = said(&site, &call)?;
    let name = call.path("name")?;
    let act = match field(&fields, "do") {
        Some("pause") => CronAct::Pause {
            by: call.by(),
            reason: None,
        },
        Some("resume") => CronAct::Resume,
        Some("trigger") => CronAct::Trigger,
        _ => {
            return Err(Problem::malformed(
                "the form says nothing that a schedule can do",
            ));
        }
    };
    ask!(site, call, Request::ActOnCron { name, act }, ActedOnCron);
    Ok(Answer::SeeOther {
        to: format!("{}/crons", call.prefix),
        cookie: None,
    })
}
