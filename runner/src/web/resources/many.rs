//! The same for many jobs at once, each answered for itself.

use std::sync::Arc;

use sandhog_model::{Asked, JobId, State};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{acts::due, jobs::OPERATOR};
use crate::{
    api::{ApiError, JobAct, Request},
    json::shapes,
    web::{
        answer::{Answer, Outcome},
        call::Call,
        problem::Code,
        route::{Gives, Route, Run, Size, Takes, run},
        site::{Site, ask},
    },
};

pub(super) const ROUTES: &[Route] = &[
    act(
        "/api/v1/jobs/cancel",
        "cancelJobs",
        "Call jobs off: those that wait end now, those that run may finish up within `runner.cancel_grace`.",
        "JobsForAReason",
        run!(cancel),
    ),
    act(
        "/api/v1/jobs/kill",
        "killJobs",
        "Call jobs off, and stop those that run at once.",
        "JobsForAReason",
        run!(kill),
    ),
    act(
        "/api/v1/jobs/retry",
        "retryJobs",
        "Run waiting jobs now, or jobs that ended again.",
        "JobsToRetry",
        run!(retry),
    ),
    act(
        "/api/v1/jobs/snooze",
        "snoozeJobs",
        "Have waiting jobs wait longer, or less.",
        "JobsForATime",
        run!(snooze),
    ),
    act(
        "/api/v1/jobs/discard",
        "discardJobs",
        "Drop waiting jobs: they end as `discarded`.",
        "JobsForAReason",
        run!(discard),
    ),
    act(
        "/api/v1/jobs/delete",
        "deleteJobs",
        "Delete jobs that ended, dead ones with their letters.",
        "JobsToDelete",
        run!(delete),
    ),
];

const fn act(
    path: &'static str,
    name: &'static str,
    says: &'static str,
    takes: &'static str,
    run: Run,
) -> Route {
    let gives = Gives::Json(&[200], "JobsChanged");
    Route::write(OPERATOR, path, name, says, gives, run)
        .takes(Takes::Json(takes, Size::Small))
        .may(&[Code::Invalid, Code::Full, Code::Poisoned, Code::Stopping])
}

/// Jobs, and what is said of all of them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ForAReason {
    ids: Vec<JobId>,
    reason: Option<String>,
    #[serde(default)]
    dry_run: bool,
}

async fn cancel(site: Arc<Site>, call: Call) -> Outcome {
    call_off(site, call, Asked::Cancel).await
}

async fn kill(site: Arc<Site>, call: Call) -> Outcome {
    call_off(site, call, Asked::Kill).await
}

async fn call_off(site: Arc<Site>, call: Call, how: Asked) -> Outcome {
    let ForAReason {
        ids,
        reason,
        dry_run,
    } = call.whole_body()?;
    let request = Request::CallOff {
        ids: ids.clone(),
        how,
        by: call.by(),
        reason,
        dry_run,
    };
    let answers = ask!(site, call, request, CalledOff);
    told(&ids, answers.into_iter().map(|answer| answer.map(Some)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct These {
    ids: Vec<JobId>,
    #[serde(default)]
    dry_run: bool,
}

async fn retry(site: Arc<Site>, call: Call) -> Outcome {
    let These { ids, dry_run } = call.whole_body()?;
    amend(site, call, (ids, dry_run), JobAct::Retry).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ForATime {
    ids: Vec<JobId>,
    #[serde(rename = "for")]
    span: Option<String>,
    until: Option<String>,
    #[serde(default)]
    dry_run: bool,
}

async fn snooze(site: Arc<Site>, call: Call) -> Outcome {
    let ForATime {
        ids,
        span,
        until,
        dry_run,
    } = call.whole_body()?;
    let due = due(&site, span.as_deref(), until.as_deref())?;
    amend(site, call, (ids, dry_run), JobAct::Snooze { due }).await
}

async fn discard(site: Arc<Site>, call: Call) -> Outcome {
    let ForAReason {
        ids,
        reason,
        dry_run,
    } = call.whole_body()?;
    let by = call.by();
    amend(site, call, (ids, dry_run), JobAct::Discard { by, reason }).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToDelete {
    ids: Vec<JobId>,
    #[serde(default)]
    force: bool,
    #[serde(default)]
    dry_run: bool,
}

async fn delete(site: Arc<Site>, call: Call) -> Outcome {
    let ToDelete {
        ids,
        force,
        dry_run,
    } = call.whole_body()?;
    amend(site, call, (ids, dry_run), JobAct::Remove { force }).await
}

async fn amend(
    site: Arc<Site>,
    call: Call,
    (ids, dry_run): (Vec<JobId>, bool),
    act: JobAct,
) -> Outcome {
    let request = Request::AmendJobs {
        ids: ids.clone(),
        act,
        dry_run,
    };
    told(&ids, ask!(site, call, request, AmendedJobs).into_iter())
}

/// The state each is in now, or would be in.
fn told(ids: &[JobId], answers: impl Iterator<Item = Result<Option<State>, ApiError>>) -> Outcome {
    let told = ids.iter().zip(answers).map(|(id, answer)| {
        let mut told = match answer {
            Ok(state) => json!({ "state": shapes::state_now(state) }),
            Err(error) => shapes::refused(&error),
        };
        told["id"] = json!(id);
        told
    });
    Answer::json(json!({ "jobs": told.collect::<Value>() }))
}
