//! Queues, and unique jobs.

use sandhog_model::{Amend, JobId, Rejected};

use super::{ROWS, checked, invalid, no_job, waiting};
use crate::{
    api::{ApiError, Ctx, QueueView, Reply, Response},
    store::{PageRequest, Steer, StoreError},
};

pub(super) async fn list(ctx: &Ctx) -> Reply {
    let mut views = Vec::new();
    for row in ctx.store.queues().await? {
        let reason = waiting::of_queue(ctx, &row).await?;
        views.push(QueueView { row, reason });
    }
    Ok(Response::Queues(views))
}

pub(super) async fn steer(ctx: &Ctx, steer: Steer) -> Reply {
    ctx.store.steer(steer).await?;
    Ok(Response::Steered)
}

pub(super) async fn unique(ctx: &Ctx, page: PageRequest) -> Reply {
    let rows = ctx.store.unique(checked(page)?).await?;
    Ok(Response::Unique(rows))
}

pub(super) async fn unlock(ctx: &Ctx, ids: Vec<JobId>) -> Reply {
    if ids.len() > ROWS {
        let count = ids.len();
        return Err(invalid(format!("{count} jobs at once: at most {ROWS}")));
    }
    let mut answers: Vec<Result<bool, ApiError>> = Vec::with_capacity(ids.len());
    for id in ids {
        answers.push(match ctx.store.amend(Amend::Unlock(id)).await {
            Ok(state) => Ok(state.is_some()),
            Err(StoreError::Rejected(Rejected::NoSuchJob(id))) => Err(no_job(id)),
            Err(StoreError::Rejected(rejected)) => Err(rejected.into()),
            Err(error) => return Err(error.into()),
        });
    }
    Ok(Response::Unlocked(answers))
}
