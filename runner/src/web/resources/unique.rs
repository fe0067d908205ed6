//! Unique jobs that stand in the way of others.

use std::sync::Arc;

use sandhog_model::JobId;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    api::Request,
    json::shapes::{self, refused},
    web::{
        answer::{Answer, Outcome},
        call::Call,
        form::{CURSOR, LIMIT},
        problem::Code,
        route::{Gives, Route, Size, Takes, Verb, run},
        site::{Site, ask},
        token::Role,
    },
};

pub(super) const ROUTES: &[Route] = &[
    Route::get(
        "/api/v1/unique",
        "listUnique",
        "Unique jobs that stand in the way of others, by key.",
        Gives::Json(&[200], "UniquePage"),
        run!(list),
    )
    .query(&[LIMIT, CURSOR])
    .may(&[Code::Invalid]),
    Route::write(
        (Verb::Post, Role::Operator),
        "/api/v1/unique/release",
        "releaseUnique",
        "Let others past unique jobs; the jobs themselves go on. Each is answered for itself.",
        Gives::Json(&[200], "Released"),
        run!(release),
    )
    .takes(Takes::Json("JobIds", Size::Small))
    .may(&[Code::Invalid, Code::Full, Code::Poisoned, Code::Stopping]),
];

async fn list(site: Arc<Site>, call: Call) -> Outcome {
    let page = call.page()?;
    let page = ask!(site, call, Request::Unique { page }, Unique);
    let rows = page.rows.iter().map(shapes::unique).collect();
    Answer::rows("jobs", rows, page.next)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ids {
    ids: Vec<JobId>,
}

async fn release(site: Arc<Site>, call: Call) -> Outcome {
    let Ids { ids } = call.whole_body()?;
    let request = Request::Unlock { ids: ids.clone() };
    let answers = ask!(site, call, request, Unlocked);
    let told = ids.iter().zip(answers).map(|(id, answer)| {
        let mut told = match answer {
            Ok(released) => json!({ "released": released }),
            Err(error) => refused(&error),
        };
        told["id"] = json!(id);
        told
    });
    Answer::json(json!({ "jobs": told.collect::<Value>() }))
}
