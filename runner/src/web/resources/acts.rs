//! What is done with jobs that are there.

use std::sync::Arc;

use sandhog_model::{Asked, JobId, State, UnixMs};
use serde::Deserialize;
use serde_json::json;

use super::jobs::{ID, Nothing, OPERATOR, Reason, nothing};
use crate::{
    api::{JobAct, Request},
    json::{shapes, when},
    web::{
        answer::{Answer, Outcome},
        call::Call,
        form::{Form, param},
        problem::{Code, Problem},
        route::{Gives, Route, Size, Takes, Verb, run},
        site::{Site, ask},
        token::Role,
    },
};

const MAY: &[Code] = &[
    Code::NotFound,
    Code::WrongState,
    Code::Invalid,
    Code::Duplicate,
    Code::BatchClosed,
    Code::Full,
    Code::Poisoned,
    Code::Stopping,
];

pub(super) const ROUTES: &[Route] = &[
    Route::write(
        OPERATOR,
        "/api/v1/jobs/{id}/cancel",
        "cancelJob",
        "Call a job off: one that waits ends now, one that runs may finish up within `runner.cancel_grace`.",
        Gives::Json(&[200], "JobState"),
        run!(cancel),
    )
    .at(ID)
    .takes(Takes::Maybe("Reason"))
    .may(MAY),
    Route::write(
        OPERATOR,
        "/api/v1/jobs/{id}/kill",
        "killJob",
        "Call a job off, and stop it at once if it runs.",
        Gives::Json(&[200], "JobState"),
        run!(kill),
    )
    .at(ID)
    .takes(Takes::Maybe("Reason"))
    .may(MAY),
    Route::write(
        OPERATOR,
        "/api/v1/jobs/{id}/retry",
        "retryJob",
        "Run a waiting job now, or a completed, discarded, cancelled or expired one again.",
        Gives::Json(&[200], "JobState"),
        run!(retry),
    )
    .at(ID)
    .takes(Takes::Maybe("Nothing"))
    .may(MAY),
    Route::write(
        OPERATOR,
        "/api/v1/jobs/{id}/snooze",
        "snoozeJob",
        "Have a waiting job wait longer, or less; no attempt is used.",
        Gives::Json(&[200], "JobState"),
        run!(snooze),
    )
    .at(ID)
    .takes(Takes::Json("Snooze", Size::Small))
    .may(MAY),
    Route::write(
        OPERATOR,
        "/api/v1/jobs/{id}/discard",
        "discardJob",
        "Drop a waiting job: it ends as `discarded`.",
        Gives::Json(&[200], "JobState"),
        run!(discard),
    )
    .at(ID)
    .takes(Takes::Maybe("Reason"))
    .may(MAY),
    Route::write(
        (Verb::Delete, Role::Operator),
        "/api/v1/jobs/{id}",
        "deleteJob",
        "Delete a job that ended, a dead one with its letter.",
        Gives::Json(&[200], "JobState"),
        run!(remove),
    )
    .at(ID)
    .query(&[param("force", Form::Flag, "Delete one that waits, too.")])
    .may(MAY),
];

async fn cancel(site: Arc<Site>, call: Call) -> Outcome {
    call_off(site, call, Asked::Cancel).await
}

async fn kill(site: Arc<Site>, call: Call) -> Outcome {
    call_off(site, call, Asked::Kill).await
}

async fn call_off(site: Arc<Site>, call: Call, how: Asked) -> Outcome {
    let (id, Reason { reason }) = (call.path("id")?, call.body()?);
    let request = Request::CallOff {
        ids: vec![id],
        how,
        by: call.by(),
        reason,
        dry_run: false,
    };
    let mut answers = ask!(site, call, request, CalledOff);
    let now = answers.pop().ok_or_else(nothing)??;
    state(id, Some(now))
}

async fn retry(site: Arc<Site>, call: Call) -> Outcome {
    let Nothing {} = call.body()?;
    amend(site, call, JobAct::Retry).await
}

/// How long a job is to wait, or until when.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Snooze {
    #[serde(rename = "for")]
    span: Option<String>,
    until: Option<String>,
}

async fn snooze(site: Arc<Site>, call: Call) -> Outcome {
    let Snooze { span, until } = call.whole_body()?;
    let due = due(&site, span.as_deref(), until.as_deref())?;
    amend(site, call, JobAct::Snooze { due }).await
}

/// When a job is due that is to wait for a time, or until an instant.
pub(super) fn due(site: &Site, span: Option<&str>, until: Option<&str>) -> Result<UnixMs, Problem> {
    let due = match (span, until) {
        (Some(text), None) => {
            let now = site.ctx.clock.now().wall;
            when::span(text).map(|span| now.plus(when::millis(span)))
        }
        (None, Some(text)) => when::instant(text),
        _ => Err("say either `for` or `until`".to_owned()),
    };
    due.map_err(|why| Problem::malformed(format!("the body: {why}")))
}

async fn discard(site: Arc<Site>, call: Call) -> Outcome {
    let Reason { reason } = call.body()?;
    let by = call.by();
    amend(site, call, JobAct::Discard { by, reason }).await
}

async fn remove(site: Arc<Site>, call: Call) -> Outcome {
    let force = call.given("force")?.unwrap_or(false);
    amend(site, call, JobAct::Remove { force }).await
}

async fn amend(site: Arc<Site>, call: Call, act: JobAct) -> Outcome {
    let id = call.path("id")?;
    let request = Request::AmendJobs {
        ids: vec![id],
        act,
        dry_run: false,
    };
    let mut answers = ask!(site, call, request, AmendedJobs);
    state(id, answers.pop().ok_or_else(nothing)??)
}

/// The state a job is in now.
fn state(id: JobId, state: Option<State>) -> Outcome {
    Answer::json(json!({ "id": id, "state": shapes::state_now(state) }))
}
