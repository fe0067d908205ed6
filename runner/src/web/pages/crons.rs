//! Schedules: when they run next, what became of their last job, and what they are to do.

use std::sync::Arc;

use maud::{Markup, html};
use sandhog_model::UnixMs;
use serde_json::Value;

use super::{
    back, field, form,
    frame::{self, Button, Place},
    jobs, page, said, shown,
};
use crate::{
    api::{CronAct, CronDoes, CronView, Request, by_name},
    engine::CRON_HEADER,
    store::{JobFilter, PageRequest},
    web::{
        answer::Outcome,
        call::Call,
        form::{CURSOR, Form, Param, param},
        problem::{Code, Problem},
        resources::slots,
        route::{Route, run},
        site::{Site, ask},
    },
};

const NAME: &[Param] = &[param("name", Form::Name, "The schedule.")];
/// Slots to come, and jobs, that are shown of one.
const SLOTS: usize = 10;
const JOBS: PageRequest = PageRequest {
    limit: 20,
    cursor: None,
};

pub(super) const ROUTES: &[Route] = &[
    page("/crons", "schedulesPage", "Schedules.", run!(show)).query(&[CURSOR]),
    page(
        "/crons/{name}",
        "schedulePage",
        "One schedule with its slots to come and its jobs.",
        run!(one),
    )
    .at(NAME),
    form(
        "/crons/{name}",
        "changeSchedulePage",
        "Change a schedule, or run it now.",
        run!(act),
    )
    .at(NAME),
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
    html! {
        tr {
            td { a href={ (call.prefix) "/crons/" (cron.name) } { (cron.name) } }
            td { @if let Some(does) = &cron.does { code { (does.schedule) } " " (does.zone) } }
            td { @if let Some(does) = &cron.does { (does.kind) } }
            td { @if let Some(next) = cron.next { (frame::at(next)) } }
            td { @if let Some(slot) = state.slot { (frame::at(slot)) } }
            td { @if let Some(job) = state.latest { a href={ (call.prefix) "/jobs/" (job) } { code { (job) } } " " @if let Some(latest) = cron.latest { (frame::state(latest)) } } }
            td.free { (note(cron)) }
            td { (actions(site, call, cron)) }
        }
    }
}

fn note(cron: &CronView) -> Markup {
    html! {
        @if let Some(fault) = &cron.fault { "does not run: " (fault) }
        @if let Some(paused) = &cron.state.paused { "paused by " (paused.by) @if let Some(reason) = &paused.reason { ": " (reason) } }
        @if cron.is_added { " added" }
    }
}

fn actions(site: &Site, call: &Call, cron: &CronView) -> Markup {
    let acts: &[Button<'_>] = match cron.state.paused {
        Some(_) => &[("Resume", "resume", false), ("Run now", "trigger", false)],
        None => &[("Pause", "pause", false), ("Run now", "trigger", false)],
    };
    frame::actions(site, call, &format!("/crons/{}", cron.name), acts)
}

async fn one(site: Arc<Site>, call: Call) -> Outcome {
    let name: String = call.path("name")?;
    let crons = ask!(site, call, Request::Crons, Crons);
    let cron = crons.into_iter().find(|cron| cron.name == name);
    let Some(cron) = cron else {
        let why = format!("no schedule {name:?}: see the list");
        return Err(Problem::new(Code::NotFound, why));
    };
    let filter = JobFilter {
        kind: cron.does.as_ref().map(|does| does.kind.clone()),
        header: Some((CRON_HEADER.to_owned(), name.clone())),
        ..JobFilter::default()
    };
    let done = ask!(site, call, Request::Jobs { filter, page: JOBS }, Jobs);
    let content = html! {
        (actions(&site, &call, &cron))
        p { (note(&cron)) }
        @if let Some(does) = &cron.does {
            dl {
                dt { "When" } dd { code { (does.schedule) } " " (does.zone) }
                dt { "Kind" } dd { (does.kind) }
                @if let Some(queue) = &does.queue { dt { "Queue" } dd { (queue) } }
                @if let Some(slot) = cron.state.slot { dt { "Last slot" } dd { (frame::at(slot)) } }
                @if let Some(slot) = cron.state.waiting { dt { "Waits" } dd { "the job of the slot of " (frame::at(slot)) ", for the one before it" } }
            }
            h2 { "Slots to come" }
            (to_come(does, &cron, site.ctx.clock.now().wall))
        }
        h2 { "Jobs" }
        @if done.rows.is_empty() { p.soft { "None of those that were looked at is of this schedule." } }
        @else { (jobs::table(&call, &done.rows)) }
        p { a href={ (call.prefix) "/jobs?cron=" (name) } { "All its jobs" } }
    };
    let title = format!("Schedule {name}");
    shown(frame::page(&site, &call, Place::Crons, &title, content))
}

fn to_come(does: &CronDoes, cron: &CronView, now: UnixMs) -> Markup {
    let slots = slots((&does.schedule, &does.zone), now, SLOTS);
    let text = |slot: &Value, key: &str| slot[key].as_str().unwrap_or_default().to_owned();
    html! {
        @if cron.state.paused.is_some() { p.note { "It is paused: these slots get no jobs unless it is resumed." } }
        @match slots {
            Err(problem) => p.soft { (problem.detail) },
            Ok(slots) if slots.is_empty() => p.soft { "None." },
            Ok(slots) => div.scroll { table {
                thead { tr { th { "UTC" } th { "There" } th { "Day" } th { "Clocks" } } }
                tbody { @for slot in &slots { tr {
                    td { (text(slot, "utc").replace('T', " ").trim_end_matches('Z')) }
                    td { (text(slot, "local").replace('T', " ")) " " (text(slot, "abbreviation")) }
                    td { (text(slot, "weekday")) }
                    td { @if slot["moved"] == true { "moved by a change of clocks" } }
                } } }
            } },
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
    back(&call, "/crons")
}
