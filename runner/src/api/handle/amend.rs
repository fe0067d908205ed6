//! Changes of jobs from outside.

use sandhog_model::{Amend, Asked, Cancellation, JobId, Rejected};

use super::{ROWS, enqueue, invalid, no_job};
use crate::{
    api::{ApiError, Ctx, JobAct, Reply, Response},
    store::Changed,
};

/// A change for each job, each answered for itself.
pub(super) async fn all(
    ctx: &Ctx,
    ids: &[JobId],
    dry_run: bool,
    wish: impl Fn(JobId) -> Amend,
) -> Result<Vec<Result<Changed, ApiError>>, ApiError> {
    few(ids)?;
    let wishes = ids.iter().copied().map(wish).collect();
    let answers = match dry_run {
        true => ctx.store.weigh(wishes).await?,
        false => ctx.store.amend(wishes).await?,
    };
    let mut told = Vec::with_capacity(answers.len());
    for (id, answer) in ids.iter().zip(answers) {
        told.push(match answer {
            Ok(changed) => Ok(changed),
            Err(rejected) => Err(refused_by_key(ctx, *id, rejected).await?),
        });
    }
    Ok(told)
}

/// A refusal of a change of a job, with the name of its key when that is the reason.
pub(super) async fn refused_by_key(
    ctx: &Ctx,
    id: JobId,
    rejected: Rejected,
) -> Result<ApiError, ApiError> {
    let Rejected::Duplicate { .. } = rejected else {
        return Ok(refused(rejected));
    };
    let job = ctx.store.job(id).await?.map(|view| view.job);
    let says = job
        .and_then(|job| job.terms.unique)
        .map(|unique| unique.says);
    Ok(enqueue::refused(rejected, says.as_deref()))
}

fn few(ids: &[JobId]) -> Result<(), ApiError> {
    if ids.len() > ROWS {
        let count = ids.len();
        return Err(invalid(format!("{count} jobs at once: at most {ROWS}")));
    }
    Ok(())
}

fn refused(rejected: Rejected) -> ApiError {
    match rejected {
        Rejected::NoSuchJob(id) => no_job(id),
        other => other.into(),
    }
}

pub(super) async fn jobs(ctx: &Ctx, ids: Vec<JobId>, act: JobAct, dry_run: bool) -> Reply {
    let wish = |id| match &act {
        JobAct::Retry => Amend::Retry(id),
        JobAct::Snooze { due } => Amend::Snooze { id, due: *due },
        JobAct::Discard { by, reason } => Amend::Discard {
            id,
            by: by.clone(),
            reason: reason.clone(),
        },
        JobAct::Remove { force } => Amend::Remove { id, force: *force },
    };
    let answers = all(ctx, &ids, dry_run, wish).await?.into_iter();
    let states = answers.map(|answer| answer.map(|changed| changed.state));
    Ok(Response::AmendedJobs(states.collect()))
}

/// One job, which is there afterwards.
pub(super) async fn retry(ctx: &Ctx, id: JobId) -> Reply {
    let mut answers = all(ctx, &[id], false, Amend::Retry).await?;
    let changed = answers.pop().ok_or_else(|| no_job(id))??;
    let state = changed.state.ok_or_else(|| no_job(id))?;
    Ok(Response::Retried(state))
}

/// The store first: an attempt is only stopped once the reason is safe.
pub(super) async fn call_off(
    ctx: &Ctx,
    ids: Vec<JobId>,
    (how, by, reason): (Asked, String, Option<String>),
    dry_run: bool,
) -> Reply {
    if dry_run {
        return weigh_call_off(ctx, ids, (how, by, reason)).await;
    }
    let at = ctx.clock.now().wall;
    let cancel = Cancellation {
        how,
        at,
        by,
        reason,
    };
    few(&ids)?;
    let answers = ctx.store.call_off(ids.clone(), cancel.clone()).await?;
    let told = ids.into_iter().zip(answers).map(|(id, answer)| {
        let called_off = answer.map_err(refused)?;
        if let (Some(running), Some(lease)) = (&ctx.running, called_off.lease) {
            running.call_off(id, lease, cancel.clone());
        }
        Ok(called_off.state)
    });
    Ok(Response::CalledOff(told.collect()))
}

/// The states that jobs would be in once they were called off.
async fn weigh_call_off(
    ctx: &Ctx,
    ids: Vec<JobId>,
    (how, by, reason): (Asked, String, Option<String>),
) -> Reply {
    let wish = |id| Amend::Cancel {
        id,
        how,
        by: by.clone(),
        reason: reason.clone(),
    };
    let answers = all(ctx, &ids, true, wish).await?;
    let told = ids.into_iter().zip(answers).map(|(id, answer)| {
        let changed = answer?;
        changed.state.ok_or_else(|| no_job(id))
    });
    Ok(Response::CalledOff(told.collect()))
}
