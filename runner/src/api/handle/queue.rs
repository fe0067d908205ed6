//! Queues, and unique jobs.

use sandhog_model::{Amend, JobId};

use super::{amend, checked, why};
use crate::{
    api::{Ctx, QueueView, Reply, Response},
    store::{PageRequest, Steer},
};

pub(super) async fn list(ctx: &Ctx) -> Reply {
    let rows = ctx.store.queues().await?.into_iter();
    let views = rows.map(|row| {
        let reason = why::of_queue(ctx, &row);
        QueueView { row, reason }
    });
    Ok(Response::Queues(views.collect()))
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
    let answers = amend::all(ctx, &ids, false, Amend::Unlock)
        .await?
        .into_iter();
    let released = answers.map(|answer| answer.map(|changed| changed.is_new));
    Ok(Response::Unlocked(released.collect()))
}
