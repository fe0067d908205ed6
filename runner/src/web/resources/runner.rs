//! The workers, and the runner at a glance.

use std::sync::Arc;

use serde_json::json;

use super::jobs::Nothing;
use crate::{
    api::{Request, WorkersAct},
    json::shapes,
    web::{
        answer::{Answer, Outcome},
        call::Call,
        problem::Code,
        route::{Gives, Route, Takes, Verb, run},
        site::{Site, ask},
        token::Role,
    },
};

const GIVES: Gives = Gives::Json(&[200], "WorkersMode");
const MAY: &[Code] = &[Code::NoRunner];

pub(super) const ROUTES: &[Route] = &[
    Route::get(
        "/api/v1/stats",
        "getStats",
        "Everything at a glance.",
        Gives::Json(&[200], "Stats"),
        run!(stats),
    ),
    Route::get(
        "/api/v1/workers",
        "listWorkers",
        "The worker threads, with the jobs they run.",
        Gives::Json(&[200], "Workers"),
        run!(list),
    ),
    Route::write(
        (Verb::Post, Role::Operator),
        "/api/v1/workers/quiet",
        "quietWorkers",
        "Claim nothing more; jobs that run go on.",
        GIVES,
        run!(quiet),
    )
    .takes(Takes::Maybe("Nothing"))
    .may(MAY),
    Route::write(
        (Verb::Post, Role::Operator),
        "/api/v1/workers/resume",
        "resumeWorkers",
        "Claim jobs again.",
        GIVES,
        run!(resume),
    )
    .takes(Takes::Maybe("Nothing"))
    .may(MAY),
    Route::write(
        (Verb::Post, Role::Admin),
        "/api/v1/workers/stop",
        "stopRunner",
        "Stop the runner as a SIGTERM does: jobs that run have `runner.shutdown_grace` to end.",
        GIVES,
        run!(stop),
    )
    .takes(Takes::Maybe("Nothing"))
    .may(MAY),
    Route::get(
        "/api/v1/config",
        "getConfig",
        "The settings in force, where each comes from, and what was read since and counts from the next start. What handlers are given with `config` is not shown.",
        Gives::Json(&[200], "Settings"),
        run!(settings),
    )
    .may(&[Code::NoRunner]),
    Route::write(
        (Verb::Post, Role::Admin),
        "/api/v1/config/reload",
        "reloadConfig",
        "Read the settings again, as a SIGHUP does. What differs from before, and whether it counts now or from the next start.",
        Gives::Json(&[200], "Reloaded"),
        run!(reload),
    )
    .takes(Takes::Maybe("Nothing"))
    .may(&[Code::NoRunner, Code::Invalid]),
];

async fn settings(site: Arc<Site>, call: Call) -> Outcome {
    let settings = ask!(site, call, Request::Settings, Settings);
    Answer::json(json!(settings))
}

async fn reload(site: Arc<Site>, call: Call) -> Outcome {
    let Nothing {} = call.body()?;
    let differs = ask!(site, call, Request::Reload, Reloaded);
    Answer::json(json!({ "differs": differs }))
}

async fn stats(site: Arc<Site>, call: Call) -> Outcome {
    let stats = ask!(site, call, Request::Stats, Stats);
    Answer::json(shapes::stats(&stats))
}

async fn list(site: Arc<Site>, call: Call) -> Outcome {
    let workers = ask!(site, call, Request::Workers, Workers);
    Answer::json(json!({ "workers": workers }))
}

async fn quiet(site: Arc<Site>, call: Call) -> Outcome {
    act(&site, &call, WorkersAct::Quiet).await
}

async fn resume(site: Arc<Site>, call: Call) -> Outcome {
    act(&site, &call, WorkersAct::Resume).await
}

async fn stop(site: Arc<Site>, call: Call) -> Outcome {
    act(&site, &call, WorkersAct::Stop).await
}

async fn act(site: &Site, call: &Call, act: WorkersAct) -> Outcome {
    let Nothing {} = call.body()?;
    let mode = ask!(site, call, Request::ActOnWorkers { act }, ActedOnWorkers);
    Answer::json(json!({ "mode": mode }))
}
