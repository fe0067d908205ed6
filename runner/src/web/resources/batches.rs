//! Batches: opened, filled, sealed, called off.

use std::sync::Arc;

use http::StatusCode;
use sandhog_model::{JobId, Link};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::jobs::{Nothing, OPERATOR, Reason, many};
use crate::{
    api::{BatchRequest, BatchResponse, NewBatch, Request},
    json::{batch::shape, chain},
    store::BatchRow,
    web::{
        answer::{Answer, Outcome},
        call::Call,
        form::{CURSOR, Form, LIMIT, Param, param},
        problem::{Code, Problem},
        route::{Gives, Route, Size, Takes, run},
        site::{Site, ask},
    },
};

const ID: &[Param] = &[param("id", Form::Id("batch"), "The batch.")];
const MAY: &[Code] = &[
    Code::NotFound,
    Code::WrongState,
    Code::Invalid,
    Code::Full,
    Code::Poisoned,
    Code::Stopping,
];
const GIVES: Gives = Gives::Json(&[200], "Batch");

pub(super) const ROUTES: &[Route] = &[
    Route::get(
        "/api/v1/batches",
        "listBatches",
        "Batches, newest first.",
        Gives::Json(&[200], "BatchPage"),
        run!(list),
    )
    .query(&[LIMIT, CURSOR])
    .may(&[Code::Invalid]),
    Route::get(
        "/api/v1/batches/{id}",
        "getBatch",
        "One batch with how its jobs stand; its jobs are listed by `batch` under `/api/v1/jobs`.",
        GIVES,
        run!(show),
    )
    .at(ID)
    .may(&[Code::NotFound]),
    Route::write(
        OPERATOR,
        "/api/v1/batches",
        "openBatch",
        "Open a batch. It takes jobs in until it is sealed.",
        Gives::Json(&[201], "Batch"),
        run!(open),
    )
    .takes(Takes::Json("NewBatch", Size::Job))
    .may(MAY),
    Route::write(
        OPERATOR,
        "/api/v1/batches/{id}/jobs",
        "enqueueIntoBatch",
        "Put many jobs into an open batch, as `enqueueJobs` takes them; one that names another batch refuses them all.",
        Gives::Json(&[200], "EnqueuedJobs"),
        run!(enqueue),
    )
    .at(ID)
    .takes(Takes::Json("NewJobs", Size::Jobs))
    .may(MAY),
    Route::write(
        OPERATOR,
        "/api/v1/batches/{id}/seal",
        "sealBatch",
        "Take in no more jobs from outside: what follows is enqueued once all of its jobs ended. Sealed again nothing changes; one that has ended or was called off is refused.",
        GIVES,
        run!(seal),
    )
    .at(ID)
    .takes(Takes::Maybe("Nothing"))
    .may(MAY),
    Route::write(
        OPERATOR,
        "/api/v1/batches/{id}/cancel",
        "cancelBatch",
        "Call a batch off: jobs that wait end, those that run are asked to, and no more are taken in. Called off again nothing changes; one that has ended is refused.",
        GIVES,
        run!(cancel),
    )
    .at(ID)
    .takes(Takes::Maybe("Reason"))
    .may(MAY),
];

async fn list(site: Arc<Site>, call: Call) -> Outcome {
    let page = call.page()?;
    let request = Request::Batch(BatchRequest::List { page });
    let BatchResponse::Page(page) = ask!(site, call, request, Batch) else {
        return Err(other());
    };
    let rows = page.rows.iter().map(shape).collect();
    Answer::rows("batches", rows, page.next)
}

async fn show(site: Arc<Site>, call: Call) -> Outcome {
    let id = call.path("id")?;
    let row = one(&site, &call, BatchRequest::Show { id }).await?;
    Answer::json(shape(&row))
}

/// A batch as JSON says it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct New<'a> {
    name: Option<String>,
    #[serde(borrow)]
    on_success: Option<&'a RawValue>,
    #[serde(borrow)]
    on_complete: Option<&'a RawValue>,
}

async fn open(site: Arc<Site>, call: Call) -> Outcome {
    let said: New<'_> = serde_json::from_str(call.sound_body()?)
        .map_err(|error| Problem::malformed(format!("the body: {error}")))?;
    let new = NewBatch {
        name: said.name,
        on_success: link("on_success", said.on_success)?,
        on_complete: link("on_complete", said.on_complete)?,
    };
    let row = one(&site, &call, BatchRequest::Open(Box::new(new))).await?;
    Ok(Answer::Json(StatusCode::CREATED, shape(&row)))
}

fn link(field: &str, raw: Option<&RawValue>) -> Result<Option<Link>, Problem> {
    let raw = raw.map(RawValue::get).filter(|raw| *raw != "null");
    let read = raw.map(chain::link).transpose();
    read.map_err(|why| Problem::malformed(format!("the body: `{field}` {why}")))
}

async fn enqueue(site: Arc<Site>, call: Call) -> Outcome {
    let id: JobId = call.path("id")?;
    // One that is not there refuses the whole; one that is closed, each.
    one(&site, &call, BatchRequest::Show { id }).await?;
    many(&site, &call, Some(id)).await
}

async fn seal(site: Arc<Site>, call: Call) -> Outcome {
    let Nothing {} = call.body()?;
    let id = call.path("id")?;
    let row = one(&site, &call, BatchRequest::Seal { id }).await?;
    Answer::json(shape(&row))
}

async fn cancel(site: Arc<Site>, call: Call) -> Outcome {
    let (id, Reason { reason }) = (call.path("id")?, call.body()?);
    let by = call.by();
    let row = one(&site, &call, BatchRequest::Cancel { id, by, reason }).await?;
    Answer::json(shape(&row))
}

async fn one(site: &Site, call: &Call, request: BatchRequest) -> Result<BatchRow, Problem> {
    match ask!(site, call, Request::Batch(request), Batch) {
        BatchResponse::One(row) | BatchResponse::Changed { row, .. } => Ok(*row),
        BatchResponse::Page(_) => Err(other()),
    }
}

fn other() -> Problem {
    Problem::new(
        Code::Internal,
        "the runner gave an answer to another question",
    )
}
