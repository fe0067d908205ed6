//! Queues: what they hold, why it waits, and what they are to do.

use std::sync::Arc;

use maud::{Markup, html};
use sandhog_model::{QueueMode, State};

use super::{
    back, field, form,
    frame::{self, Place},
    page, said, shown,
};
use crate::{
    api::{QueueView, Request, Response, by_name},
    store::Steer,
    web::{
        answer::Outcome,
        call::Call,
        form::{CURSOR, Form, param},
        problem::Problem,
        route::{Route, run},
        site::{Site, ask, mismatch},
    },
};

pub(super) const ROUTES: &[Route] = &[
    page("/queues", "queuesPage", "Queues.", run!(show)).query(&[CURSOR]),
    form(
        "/queues/{queue}",
        "steerQueuePage",
        "Say what a queue is to do.",
        run!(steer),
    )
    .at(&[param("queue", Form::Name, "The queue.")]),
];

const SHOWN: [State; 5] = [
    State::Scheduled,
    State::Available,
    State::Running,
    State::Retryable,
    State::Dead,
];

async fn show(site: Arc<Site>, call: Call) -> Outcome {
    let queues = ask!(site, call, Request::Queues, Queues);
    let (queues, next) = by_name(queues, |queue| &queue.row.queue, &call.page()?);
    let content = html! {
        @if queues.is_empty() { p.soft { "No queue yet: one comes to be with its first job." } }
        @else { (table(&site, &call, &queues)) }
        (frame::more(&call, "/queues", &[], next.as_deref()))
    };
    shown(frame::page(&site, &call, Place::Queues, "Queues", content))
}

fn table(site: &Site, call: &Call, queues: &[QueueView]) -> Markup {
    html! {
        div.scroll { table {
            thead { tr {
                th { "Queue" } th { "Does" }
                @for state in SHOWN { th.number { (state.name()) } }
                th { "Limits" } th { "Waits for" } th { span.soft { "Change" } }
            } }
            tbody { @for queue in queues { (row(site, call, queue)) } }
        } }
    }
}

fn row(site: &Site, call: &Call, queue: &QueueView) -> Markup {
    let row = &queue.row;
    let count = |state| {
        let found = row.counts.iter().find(|(one, _)| *one == state);
        found.map_or(0, |(_, count)| *count)
    };
    let acts: &[(&str, &str, bool)] = match row.mode {
        QueueMode::Open => &[("Pause", "pause", false), ("Drain", "drain", false)],
        QueueMode::Paused | QueueMode::Draining => &[("Resume", "resume", false)],
    };
    html! {
        tr {
            td { a href={ (call.prefix) "/jobs?queue=" (row.queue) } { (row.queue) } }
            td { (row.mode.name()) }
            @for state in SHOWN { td.number { (count(state)) } }
            td {
                @if let Some(most) = row.limits.concurrency { (most) " at a time " }
                @if let Some(rate) = row.limits.rate { (rate) " " }
                @if let Some(depth) = row.max_depth { "depth " (depth) }
            }
            td.free { (queue.reason.as_deref().unwrap_or_default()) }
            td { (frame::actions(site, call, &format!("/queues/{}", row.queue), acts)) }
        }
    }
}

async fn steer(site: Arc<Site>, call: Call) -> Outcome {
    let fields = said(&site, &call)?;
    let mode = match field(&fields, "do") {
        Some("pause") => QueueMode::Paused,
        Some("drain") => QueueMode::Draining,
        Some("resume") => QueueMode::Open,
        _ => {
            return Err(Problem::malformed(
                "the form says nothing that a queue can do",
            ));
        }
    };
    let steer = Steer {
        queue: call.path("queue")?,
        mode: Some(mode),
        limits: None,
        by: call.by(),
    };
    match site.ask(Request::Steer(steer), &call.asking).await? {
        Response::Steered => back(&call, "/queues"),
        other => Err(mismatch(&other)),
    }
}
