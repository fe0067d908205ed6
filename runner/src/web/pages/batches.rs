//! Batches: how far they are, and whether they take more in.

use std::sync::Arc;

use maud::{Markup, html};
use sandhog_model::JobId;

use super::{
    back, field, form,
    frame::{self, Place},
    page, said, shown,
};
use crate::{
    api::{BatchRequest, BatchResponse, Request},
    store::BatchRow,
    web::{
        answer::Outcome,
        call::Call,
        form::{CURSOR, Form, LIMIT, param},
        problem::{Code, Problem},
        route::{Route, run},
        site::{Site, ask},
    },
};

pub(super) const ROUTES: &[Route] = &[
    page(
        "/batches",
        "batchesPage",
        "Batches, newest first.",
        run!(show),
    )
    .query(&[LIMIT, CURSOR]),
    form(
        "/batches/{id}",
        "changeBatchPage",
        "Seal a batch, or call it off.",
        run!(act),
    )
    .at(&[param("id", Form::Id("batch"), "The batch.")]),
];

async fn show(site: Arc<Site>, call: Call) -> Outcome {
    let page = call.page()?;
    let request = Request::Batch(BatchRequest::List { page });
    let BatchResponse::Page(page) = ask!(site, call, request, Batch) else {
        return Err(Problem::new(
            Code::Internal,
            "the runner gave an answer to another question",
        ));
    };
    let content = html! {
        @if page.rows.is_empty() { p.soft { "No batch." } }
        @else { div.scroll { table {
            thead { tr { th { "Batch" } th { "Name" } th { "Opened" } th.number { "Waiting" } th.number { "Running" } th.number { "Completed" } th.number { "Dead" } th { "Stands" } th { span.soft { "Change" } } } }
            tbody { @for row in &page.rows { (one(&site, &call, row)) } }
        } } }
        (frame::more(&call, "/batches", &[], page.next.as_deref()))
    };
    shown(frame::page(
        &site,
        &call,
        Place::Batches,
        "Batches",
        content,
    ))
}

fn one(site: &Site, call: &Call, row: &BatchRow) -> Markup {
    let BatchRow { id, state, count } = row;
    let acts: &[(&str, &str, bool)] = match (state.is_open(), state.ended_at) {
        (true, _) => &[("Seal", "seal", false), ("Cancel", "cancel", true)],
        (false, None) => &[("Cancel", "cancel", true)],
        (false, Some(_)) => &[],
    };
    html! {
        tr {
            td { a href={ (call.prefix) "/jobs?batch=" (id) } { code { (id) } } }
            td.free { (state.name.as_deref().unwrap_or_default()) }
            td { (frame::at(state.opened_at)) }
            td.number { (count.waiting) }
            td.number { (count.running) }
            td.number { (count.ended.completed) }
            td.number { (count.ended.dead) }
            td {
                @if let Some(cancel) = &state.cancelled { (cancel.told()) }
                @else if let Some(ended) = state.ended_at { "ended " (frame::at(ended)) }
                @else if state.is_open() { "open" } @else { "sealed" }
            }
            td { (frame::actions(site, call, &format!("/batches/{id}"), acts)) }
        }
    }
}

async fn act(site: Arc<Site>, call: Call) -> Outcome {
    let fields = said(&site, &call)?;
    let id: JobId = call.path("id")?;
    let request = match field(&fields, "do") {
        Some("seal") => BatchRequest::Seal { id },
        Some("cancel") => BatchRequest::Cancel {
            id,
            by: call.by(),
            reason: None,
        },
        _ => {
            return Err(Problem::malformed(
                "the form says nothing that a batch can do",
            ));
        }
    };
    ask!(site, call, Request::Batch(request), Batch);
    back(&call, "/batches")
}
