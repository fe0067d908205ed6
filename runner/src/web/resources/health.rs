//! Whether the runner is well, for whoever watches over it. No token is asked for, and nothing else is told.

use std::{sync::Arc, time::Duration};

use http::StatusCode;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    api::{Request, Response, Stats},
    engine::Mode,
    web::{
        answer::{Answer, Outcome},
        call::Call,
        route::{Gives, Route, run},
        site::Site,
    },
};

/// A sync that takes longer is slow: whoever enqueues feels it.
const SLOW_SYNC: Duration = Duration::from_millis(250);
/// A store that says nothing for so long is not well.
const SILENCE: Duration = Duration::from_secs(5);

pub(super) const ROUTES: &[Route] = &[
    Route::get(
        "/health",
        "getHealth",
        "Whether the runner is well: `ok`, `degraded` when syncs are slow, and `failing`, with 503, when the store takes nothing more or does not answer.",
        Gives::Json(&[200, 503], "Health"),
        run!(health),
    )
    .open(),
    Route::get(
        "/ready",
        "getReady",
        "Whether the runner takes jobs in: 503 when it is stopping, or when `/health` is `failing`.",
        Gives::Json(&[200, 503], "Ready"),
        run!(ready),
    )
    .open(),
];

/// How the runner is, and why.
async fn look(site: &Site, call: &Call) -> (&'static str, Option<String>, Option<Box<Stats>>) {
    let asked = timeout(SILENCE, site.ask(Request::Stats, &call.asking));
    match asked.await {
        Ok(Ok(Response::Stats(stats))) => {
            let took = Duration::from_micros(stats.store.last_sync_us);
            match &stats.store.poisoned {
                Some(_) => {
                    let why = "the store failed and takes nothing more: its log says why";
                    ("failing", Some(why.to_owned()), Some(stats))
                }
                None if took >= SLOW_SYNC => {
                    let why = format!("the last sync took {} ms", took.as_millis());
                    ("degraded", Some(why), Some(stats))
                }
                None => ("ok", None, Some(stats)),
            }
        }
        Ok(Ok(_)) => (
            "failing",
            Some("the store gave another answer".to_owned()),
            None,
        ),
        Ok(Err(error)) => ("failing", Some(error.code.name().to_owned()), None),
        Err(_) => {
            let why = format!("the store did not answer within {SILENCE:?}");
            ("failing", Some(why), None)
        }
    }
}

async fn health(site: Arc<Site>, call: Call) -> Outcome {
    let (status, why, _) = look(&site, &call).await;
    told(
        status != "failing",
        json!({ "status": status, "reason": why }),
    )
}

async fn ready(site: Arc<Site>, call: Call) -> Outcome {
    let (status, why, stats) = look(&site, &call).await;
    let runner = stats.and_then(|stats| stats.runner);
    let is_stopping = runner.is_none_or(|runner| runner.mode == Mode::Stopping);
    let (ready, why) = match (status, is_stopping) {
        ("failing", _) => (false, why),
        (_, true) => (false, Some("the runner is stopping".to_owned())),
        (_, false) => (true, why),
    };
    told(ready, json!({ "ready": ready, "reason": why }))
}

fn told(is_well: bool, value: Value) -> Outcome {
    let status = match is_well {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    Ok(Answer::Json(status, value))
}
