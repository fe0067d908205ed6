//! Jobs, newest first, those that fit.

use std::sync::Arc;

use maud::{Markup, html};
use sandhog_model::State;

use super::{
    frame::{self, Place},
    page, shown,
};
use crate::{
    api::Request,
    store::{JobFilter, JobRow},
    web::{
        answer::Outcome,
        call::Call,
        form::{CURSOR, Form, LIMIT, param},
        resources::of_schedule,
        route::{Route, run},
        site::{Site, ask},
    },
};

pub(super) const ROUTES: &[Route] = &[page("/jobs", "jobsPage", "Jobs with filters.", run!(show))
    .query(&[
        param("state", Form::Text(16), "Only in this state."),
        param("queue", Form::Text(128), "Only in this queue."),
        param("kind", Form::Text(128), "Only of this kind."),
        param("tag", Form::Text(64), "Only with this tag."),
        param("batch", Form::Text(26), "Only in this batch."),
        param("cron", Form::Text(128), "Only of this schedule."),
        LIMIT,
        CURSOR,
    ])];

async fn show(site: Arc<Site>, call: Call) -> Outcome {
    let state: Option<State> = call.given("state")?;
    let filter = JobFilter {
        states: state.into_iter().collect(),
        queue: call.owned("queue"),
        kind: call.owned("kind"),
        tag: call.owned("tag"),
        batch: call.given("batch")?,
        header: of_schedule(&call),
        ..JobFilter::default()
    };
    let page = call.page()?;
    let page = ask!(site, call, Request::Jobs { filter, page }, Jobs);
    let kept = [&[("state", "")], FIELDS, RARE].concat();
    let kept = frame::kept(&call, &kept);
    let content = html! {
        (filters(&call, state))
        @if page.rows.is_empty() { (frame::nothing(page.next.is_some(), "job")) }
        @else { (table(&call, &page.rows)) }
        (frame::more(&call, "/jobs", &kept, page.next.as_deref()))
    };
    shown(frame::page(&site, &call, Place::Jobs, "Jobs", content))
}

/// What jobs are chosen by beside their state; the last ones only when they were asked for.
const FIELDS: &[(&str, &str)] = &[("queue", "Queue"), ("kind", "Kind"), ("tag", "Tag")];
const RARE: &[(&str, &str)] = &[("batch", "Batch"), ("cron", "Schedule")];

fn filters(call: &Call, chosen: Option<State>) -> Markup {
    let rare = RARE.iter().filter(|(name, _)| call.text(name).is_some());
    let fields: Vec<(&str, &str)> = FIELDS.iter().chain(rare).copied().collect();
    let states = html! {
        label { "State"
            select name="state" {
                option value="" { "any" }
                @for state in State::ALL {
                    option value=(state.name()) selected[chosen == Some(state)] { (state.name()) }
                }
            }
        }
    };
    frame::filters(call, "/jobs", &fields, states)
}

/// Jobs in a list.
pub(super) fn table(call: &Call, rows: &[JobRow]) -> Markup {
    html! {
        div.scroll { table {
            thead { tr { th { "Job" } th { "Kind" } th { "Queue" } th { "State" } th.number { "Attempt" } th { "When" } th { "Failure" } } }
            tbody { @for row in rows { tr {
                td { a href={ (call.prefix) "/jobs/" (row.id) } { code { (row.id) } } }
                td { (row.kind) }
                td { (row.queue) }
                td { (frame::state(row.state)) }
                td.number { (row.attempt) "/" (row.max_attempts) }
                td { (frame::at(row.at)) }
                td.free { @if let Some(failure) = &row.failure { (failure.kind) ": " (failure.cause) } }
            } } }
        } }
    }
}
