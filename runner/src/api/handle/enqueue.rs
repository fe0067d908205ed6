//! Taking jobs in.

use sandhog_model::{Job, JobId, KindDefaults, NewJob, Rejected, Sameness, UnixMs, job::Bounds};

use super::{invalid, job};
use crate::api::{ApiError, Ctx, Enqueued, ErrorCode, JOBS_PER_ENQUEUE, Joined, Reply, Response};
use crate::{identity, store::Taken};

/// What is wrong with a job in itself, whatever there is beside it.
///
/// # Errors
/// The rule that refuses it.
pub fn check_job(job: NewJob, now: UnixMs, payload_bytes: usize) -> Result<(), ApiError> {
    accepted(job, JobId(1), now, &KindDefaults::default(), payload_bytes).map(drop)
}

fn accepted(
    mut job: NewJob,
    id: JobId,
    now: UnixMs,
    defaults: &KindDefaults,
    payload_bytes: usize,
) -> Result<Job, ApiError> {
    if job.payload.len() > payload_bytes {
        return Err(invalid(format!(
            "a payload of {} bytes: allowed are {payload_bytes} (`limits.payload`)",
            job.payload.len(),
        )));
    }
    let (unique, key) = (job.unique.take(), job.idempotency_key.take());
    let mut job = job.accept_within(id, now, defaults, Bounds { payload_bytes })?;
    identity::name(&mut job, unique, key).map_err(invalid)?;
    Ok(job)
}

/// Accept jobs, each answered for itself.
pub(super) async fn all(ctx: &Ctx, jobs: Vec<NewJob>) -> Reply {
    if jobs.len() > JOBS_PER_ENQUEUE {
        return Err(invalid(format!(
            "{} jobs in one request: allowed are {JOBS_PER_ENQUEUE}",
            jobs.len()
        )));
    }
    let wall = ctx.clock.now().wall;
    let mut answers: Vec<Result<Enqueued, ApiError>> = Vec::with_capacity(jobs.len());
    let (mut taken, mut places) = (Vec::new(), Vec::new());
    for job in jobs {
        let defaults = (ctx.defaults)(&job.kind);
        let id = ctx.store.mint();
        match accepted(job, id, wall, &defaults, ctx.payload_bytes) {
            Ok(job) => {
                let says = job.terms.unique.as_ref().map(|unique| unique.says.clone());
                places.push((answers.len(), job.terms.batch, says));
                answers.push(Ok(new(id, job.terms.batch)));
                taken.push(job);
            }
            Err(refused) => answers.push(Err(refused)),
        }
    }
    if !taken.is_empty() {
        let stored = ctx.store.take_in(taken).await?;
        for ((place, batch, says), answer) in places.into_iter().zip(stored) {
            answers[place] = match answer {
                Ok(Taken::New(id)) => Ok(new(id, batch)),
                Ok(Taken::InPlaceOf { id, replaced }) => Ok(Enqueued {
                    replaced: Some(replaced),
                    ..new(id, batch)
                }),
                Ok(Taken::PutOff { id, due }) => {
                    let existing = existing(ctx, id, batch).await;
                    existing.map(|existing| Enqueued {
                        due: Some(due),
                        ..existing
                    })
                }
                Err(Rejected::Duplicate {
                    holder,
                    is_kept: true,
                    ..
                }) => existing(ctx, holder, batch).await,
                Err(rejected) => Err(refused(rejected, says.as_deref())),
            };
        }
    }
    Ok(Response::Enqueued(answers))
}

fn new(id: JobId, batch: Option<JobId>) -> Enqueued {
    let joined = |wished| Joined {
        wished,
        is: Some(wished),
    };
    Enqueued {
        id,
        existing: false,
        replaced: None,
        due: None,
        batch: batch.map(joined),
    }
}

/// A job that was there stays in the batch that it is in, or in none.
async fn existing(ctx: &Ctx, id: JobId, wished: Option<JobId>) -> Result<Enqueued, ApiError> {
    let batch = match wished {
        Some(wished) => {
            let is = job(ctx, id).await?.job.terms.batch;
            Some(Joined { wished, is })
        }
        None => None,
    };
    Ok(Enqueued {
        id,
        existing: true,
        replaced: None,
        due: None,
        batch,
    })
}

/// A refusal, with the name of the key that stands in the way.
pub(super) fn refused(rejected: Rejected, says: Option<&str>) -> ApiError {
    match (&rejected, says) {
        (
            Rejected::Duplicate {
                holder,
                sameness: Sameness::Unique,
                ..
            },
            Some(says),
        ) => {
            let why = format!(
                "job {holder} has the same unique key ({says}): `sandhog unique ls` shows it"
            );
            ApiError::new(ErrorCode::Duplicate, why)
        }
        _ => rejected.into(),
    }
}
