//! What was counted and measured, as text for Prometheus.

use std::sync::Arc;

use bytes::Bytes;

use crate::{
    api::Request,
    metrics::MEDIA_TYPE,
    web::{
        answer::{Answer, Outcome},
        call::Call,
        route::{Gives, Route, run},
        site::{Site, ask},
    },
};

pub(super) const ROUTES: &[Route] = &[Route::get(
    "/metrics",
    "getMetrics",
    "What was counted and measured since the start, as text for Prometheus in the OpenMetrics format.",
    Gives::Other(MEDIA_TYPE),
    run!(metrics),
)];

async fn metrics(site: Arc<Site>, call: Call) -> Outcome {
    let text = ask!(site, call, Request::Metrics, Metrics);
    Ok(Answer::Bytes(MEDIA_TYPE, Bytes::from(text)))
}
