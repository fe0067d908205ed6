//! What is told about all of this: the OpenAPI document, and a page for each kind of problem.

use std::sync::Arc;

use bytes::Bytes;

use crate::web::{
    answer::{Answer, Outcome},
    call::Call,
    form::{Form, param},
    openapi,
    problem::{Code, Problem, page},
    route::{Gives, Route, run},
    site::Site,
};

const MARKDOWN: &str = "text/markdown; charset=utf-8";

pub(super) const ROUTES: &[Route] = &[
    Route::get(
        "/api/v1/openapi.json",
        "getOpenApi",
        "This document.",
        Gives::Json(&[200], "Object"),
        run!(document),
    )
    .open(),
    Route::get(
        "/docs/errors/{code}",
        "getErrorPage",
        "What a code of a problem means and what to do. The `type` of a problem leads here.",
        Gives::Other(MARKDOWN),
        run!(error),
    )
    .at(&[param("code", Form::Text(64), "The code.")])
    .may(&[Code::NotFound])
    .open(),
];

async fn document(_: Arc<Site>, _: Call) -> Outcome {
    Answer::json(openapi::document())
}

async fn error(_: Arc<Site>, call: Call) -> Outcome {
    let code = call.text("code").unwrap_or_default();
    let known = Code::ALL.iter().find(|known| known.name() == code);
    let known = known.ok_or_else(|| Problem::new(Code::NotFound, "no problem has this code"))?;
    Ok(Answer::Bytes(MARKDOWN, Bytes::from(page(*known))))
}
