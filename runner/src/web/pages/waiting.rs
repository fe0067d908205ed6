//! Jobs that wait for their time: scheduled ones, and those that failed and are tried again.

use std::sync::Arc;

use maud::{Markup, html};

use super::{
    frame::{self, Button, Place},
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

/// The other ones are on a job's own page.
const BUTTONS: &[Button<'_>] = &[("Run now", "retry", false), ("Cancel", "cancel", true)];
const FILTERS: &[(&str, &str)] = &[("queue", "Queue"), ("kind", "Kind")];

pub(super) const ROUTES: &[Route] = &[page(
    "/waiting",
    "waitingPage",
    "Scheduled jobs and retries.",
    run!(show),
)
.query(&[
    param("queue", Form::Text(128), "Only in this queue."),
    param("kind", Form::Text(128), "Only of this kind."),
    LIMIT,
    CURSOR,
])];

async fn show(site: Arc<Site>, call: Call) -> Outcome {
    let filter = JobFilter {
        queue: call.owned("queue"),
        kind: call.owned("kind"),
        by_due: true,
        ..JobFilter::default()
    };
    let page = call.page()?;
    let page = ask!(site, call, Request::Jobs { filter, page }, Jobs);
    let kept = frame::kept(&call, FILTERS);
    let content = html! {
        (frame::filters(&call, "/waiting", FILTERS, html! {}))
        @if page.rows.is_empty() { (frame::nothing(page.next.is_some(), "job")) }
        @else { (table(&site, &call, &page.rows)) }
        (frame::onward(&call, "/waiting", &kept, page.next.as_deref(), "Later"))
    };
    shown(frame::page(
        &site,
        &call,
        Place::Waiting,
        "Scheduled and retries",
        content,
    ))
}

fn table(site: &Site, call: &Call, rows: &[JobRow]) -> Markup {
    html! {
        div.scroll { table {
            thead { tr { th { "Job" } th { "Kind" } th { "Queue" } th { "State" } th { "Due" } th.number { "Attempts" } th { "Failure" } th { "Change" } } }
            tbody { @for row in rows { tr {
                td { a href={ (call.prefix) "/jobs/" (row.id) } { code { (row.id) } } }
                td { (row.kind) }
                td { (row.queue) }
                td { (frame::state(row.state)) }
                td { (frame::at(row.at)) }
                td.number { (row.attempt) "/" (row.max_attempts) }
                td.free { @if let Some(failure) = &row.failure { (failure.kind) ": " (failure.cause) } }
                td { (frame::actions(site, call, &format!("/jobs/{}", row.id), BUTTONS)) }
            } } }
        } }
    }
}
