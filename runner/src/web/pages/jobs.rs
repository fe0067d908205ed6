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
        ..JobFilter::default()
    };
    let page = call.page()?;
    let page = ask!(site, call, Request::Jobs { filter, page }, Jobs);
    let kept = ["state", "queue", "kind", "tag", "batch"].into_iter();
    let kept = kept.filter_map(|name| Some((name, call.owned(name)?)));
    let kept: Vec<(&str, String)> = kept.collect();
    let content = html! {
        (filters(&call, state))
        @if page.rows.is_empty() {
            p.soft { @if page.next.is_some() { "None of those looked at fit; there are older ones." } @else { "No job fits." } }
        } @else { (table(&call, &page.rows)) }
        (frame::more(&call, "/jobs", &kept, page.next.as_deref()))
    };
    shown(frame::page(&site, &call, Place::Jobs, "Jobs", content))
}

fn filters(call: &Call, chosen: Option<State>) -> Markup {
    html! {
        form.row method="get" action={ (call.prefix) "/jobs" } role="search" {
            label { "State"
                select name="state" {
                    option value="" { "any" }
                    @for state in State::ALL {
                        option value=(state.name()) selected[chosen == Some(state)] { (state.name()) }
                    }
                }
            }
            @for (name, title) in [("queue", "Queue"), ("kind", "Kind"), ("tag", "Tag")] {
                label { (title) input name=(name) value=(call.text(name).unwrap_or_default()) size="14"; }
            }
            @if let Some(batch) = call.text("batch") {
                label { "Batch" input name="batch" value=(batch) size="28"; }
            }
            button { "Show" }
        }
    }
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
