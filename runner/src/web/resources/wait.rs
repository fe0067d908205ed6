//! Waiting for a job's end: until then, until a time is over, or until the caller goes away.

use std::{sync::Arc, time::Duration};

use sandhog_model::JobId;
use serde_json::json;
use tokio::time::Instant;

use super::jobs::{ID, whole};
use crate::{
    api::{Request, WAIT_MS},
    json::shapes,
    web::{
        answer::{Answer, Outcome},
        call::Call,
        form::{Form, param},
        problem::Code,
        route::{Gives, Route, run},
        site::{Site, ask},
    },
};

/// Longest wait, and the wait when none is given, in milliseconds.
const LONGEST_MS: u64 = 120_000;
const USUAL_MS: u64 = 30_000;

pub(super) const ROUTES: &[Route] = &[Route::get(
    "/api/v1/jobs/{id}/wait",
    "waitForJob",
    "Wait until a job ended, and give it with its result. When the time is over first, `ended` is false: ask again.",
    Gives::Json(&[200], "Waited"),
    run!(wait),
)
.at(ID)
.query(&[param(
    "timeout_ms",
    Form::Count { min: 0, max: LONGEST_MS },
    "How long, in milliseconds; 30000 when not given.",
)])
.may(&[Code::NotFound, Code::NoRunner])];

async fn wait(site: Arc<Site>, call: Call) -> Outcome {
    let id: JobId = call.path("id")?;
    let timeout = call.given("timeout_ms")?.unwrap_or(USUAL_MS);
    let _place = site.place()?;
    let end = Instant::now() + Duration::from_millis(timeout);
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let timeout_ms = (left.as_millis() as u64).min(WAIT_MS);
        let waited = ask!(site, call, Request::Wait { id, timeout_ms }, Waited);
        if let Some(view) = &waited.ended {
            return Answer::json(json!({
                "ended": true,
                "job": whole(&site, view),
                "progress": null,
                "reason": null,
            }));
        }
        if left.is_zero() || *site.stop.borrow() {
            return Answer::json(json!({
                "ended": false,
                "job": shapes::job_row(&waited.row),
                "progress": waited.progress,
                "reason": waited.reason,
            }));
        }
    }
}
