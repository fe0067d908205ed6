//! Batches.

use sandhog_model::{Asked, BatchChange, BatchWish, Callback, JobId, Link, Rejected, State};
use serde::de::IgnoredAny;

use super::{amend, checked, invalid};
use crate::{
    api::{ApiError, BatchRequest, BatchResponse, Ctx, NewBatch, Reply, Response},
    store::{BatchDone, BatchRow, JobFilter, PageRequest},
};

/// Jobs that run, called off at a time.
const AT_ONCE: usize = 500;

pub(super) async fn act(ctx: &Ctx, request: BatchRequest) -> Reply {
    Ok(Response::Batch(match request {
        BatchRequest::Open(new) => changed(open(ctx, *new).await?),
        BatchRequest::Show { id } => BatchResponse::One(Box::new(one(ctx, id).await?)),
        BatchRequest::List { page } => {
            BatchResponse::Page(ctx.store.batches(checked(page)?).await?)
        }
        BatchRequest::Seal { id } => changed(change(ctx, id, BatchChange::Seal).await?),
        BatchRequest::Cancel { id, by, reason } => changed(cancel(ctx, id, by, reason).await?),
    }))
}

fn changed(done: BatchDone) -> BatchResponse {
    let BatchDone { row, is_new } = done;
    let row = Box::new(row);
    BatchResponse::Changed { row, is_new }
}

fn missing(id: JobId) -> ApiError {
    Rejected::NoSuchBatch(id).into()
}

async fn one(ctx: &Ctx, id: JobId) -> Result<BatchRow, ApiError> {
    let row = ctx.store.batch_row(id).await?;
    row.ok_or_else(|| missing(id))
}

async fn change(ctx: &Ctx, id: JobId, change: BatchChange) -> Result<BatchDone, ApiError> {
    let done = ctx.store.batch(BatchWish { id, change }).await?;
    done.ok_or_else(|| missing(id))
}

async fn open(ctx: &Ctx, new: NewBatch) -> Result<BatchDone, ApiError> {
    let NewBatch {
        name,
        on_success,
        on_complete,
    } = new;
    let id = ctx.store.mint();
    let success = on_success.map(|link| callback(ctx, link)).transpose()?;
    let complete = on_complete.map(|link| callback(ctx, link)).transpose()?;
    let open = BatchChange::Open {
        name,
        success,
        complete,
    };
    change(ctx, id, open).await
}

/// What follows a batch has its id, and what it leaves open, from the beginning.
fn callback(ctx: &Ctx, mut link: Link) -> Result<Box<Callback>, ApiError> {
    if let Some(payload) = &link.payload {
        serde_json::from_slice::<IgnoredAny>(payload).map_err(|why| {
            invalid(format!(
                "the payload of {} is no JSON, which what follows a batch takes ({why})",
                link.kind
            ))
        })?;
    }
    let defaults = (ctx.defaults)(&link.kind);
    link.queue = link.queue.or(defaults.queue);
    link.retry = link.retry.or(defaults.retry);
    link.timeout_ms = link.timeout_ms.or(defaults.timeout_ms);
    link.retry_for_ms = link.retry_for_ms.or(defaults.retry_for_ms);
    link.expires_in_ms = link.expires_in_ms.or(defaults.max_age_ms);
    Ok(Box::new(Callback {
        id: ctx.store.mint(),
        link,
        fired_at: None,
    }))
}

/// The store first: from then on what waits in it ends, now or later. Then those that run are asked.
async fn cancel(
    ctx: &Ctx,
    id: JobId,
    by: String,
    reason: Option<String>,
) -> Result<BatchDone, ApiError> {
    let off = BatchChange::Cancel {
        by: by.clone(),
        reason: reason.clone(),
    };
    let BatchDone { is_new, .. } = change(ctx, id, off).await?;
    let filter = JobFilter {
        batch: Some(id),
        states: vec![State::Running],
        ..JobFilter::default()
    };
    let mut page = PageRequest {
        limit: AT_ONCE,
        cursor: None,
    };
    loop {
        let running = ctx.store.jobs(filter.clone(), page.clone()).await?;
        let ids: Vec<JobId> = running.rows.iter().map(|row| row.id).collect();
        if !ids.is_empty() {
            // One that ended meanwhile is as well off.
            let said = (Asked::Cancel, by.clone(), reason.clone());
            amend::call_off(ctx, ids, said, false).await?;
        }
        page.cursor = running.next;
        if page.cursor.is_none() {
            let row = one(ctx, id).await?;
            return Ok(BatchDone { row, is_new });
        }
    }
}
