//! What is done with jobs that are there.

use std::sync::Arc;

use sandhog_model::{Asked, JobId, State, UnixMs};
use serde::Deserialize;
use serde_json::json;

use super::jobs::{ID, OPERATOR, nothing};
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
    .takes(Takes::Maybe("CallOff"))
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
    .takes(Takes::Maybe("CallOff"))
    .may(MAY),
    Route::write(
        OPERATOR,
        "/api/v1/jobs/{id}/retry",
        "retryJob",
        "Run a waiting job now, or one that ended again: completed, discarded, cancelled, expired or dead.",
        Gives::Json(&[200], "JobState"),
        run!(retry),
    )
    .at(ID)
    .takes(Takes::Maybe("Retry"))
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
    .takes(Takes::Maybe("CallOff"))
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
    .query(&[
        param("force", Form::Flag, "Delete one that waits, too."),
        param("dry_run", Form::Flag, "Only say what would become of it."),
    ])
    .may(MAY),
];

async fn cancel(site: Arc<Site>, call: Call) -> Outcome {
    call_off(site, call, Asked::Cancel).await
}

async fn kill(site: Arc<Site>, call: Call) -> Outcome {
    call_off(site, call, Asked::Kill).await
}

/// Why a job is called off or dropped, and whether only what would become of it is asked.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct CallOff {
    reason: Option<String>,
    dry_run: bool,
}

async fn call_off(site: Arc<Site>, call: Call, how: Asked) -> Outcome {
    let (id, CallOff { reason, dry_run }) = (call.path("id")?, call.body()?);
    let request = Request::CallOff {
        ids: vec![id],
        how,
        by: call.by(),
        reason,
        dry_run,
    };
    let mut answers = ask!(site, call, request, CalledOff);
    let now = answers.pop().ok_or_else(nothing)??;
    state(id, Some(now))
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Retry {
    dry_run: bool,
}

async fn retry(site: Arc<Site>, call: Call) -> Outcome {
    let Retry { dry_run } = call.body()?;
    amend(site, call, JobAct::Retry, dry_run).await
}

/// How long a job is to wait, or until when.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Snooze {
    #[serde(rename = "for")]
    span: Option<String>,
    until: Option<String>,
    #[serde(default)]
    dry_run: bool,
}

async fn snooze(site: Arc<Site>, call: Call) -> Outcome {
    let Snooze {
        span,
        until,
        dry_run,
    } = call.whole_body()?;
    let due = due(&site, span.as_deref(), until.as_deref())?;
    amend(site, call, JobAct::Snooze { due }, dry_run).await
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
    let CallOff { reason, dry_run } = call.body()?;
    let by = call.by();
    amend(site, call, JobAct::Discard { by, reason }, dry_run).await
}

async fn remove(site: Arc<Site>, call: Call) -> Outcome {
    let flag = |name| Ok::<_, Problem>(call.given(name)?.unwrap_or(false));
    let (force, dry_run) = (flag("force")?, flag("dry_run")?);
    amend(site, call, JobAct::Remove { force }, dry_run).await
}

async fn amend(site: Arc<Site>, call: Call, act: JobAct, dry_run: bool) -> Outcome {
    let id = call.path("id")?;
    let request = Request::AmendJobs {
        ids: vec![id],
        act,
        dry_run,
    };
    let mut answers = ask!(site, call, request, AmendedJobs);
    state(id, answers.pop().ok_or_else(nothing)??)
}

/// The state a job is in now, or would be in.
fn state(id: JobId, state: Option<State>) -> Outcome {
    Answer::json(json!({ "id": id, "state": shapes::state_now(state) }))
}
