//! What pages are made to look and move with. All of it is in the program.

use std::sync::Arc;

use bytes::Bytes;

use crate::web::{
    answer::{Answer, Outcome},
    call::Call,
    route::{Gives, Route, run},
    site::Site,
};

const STYLE: &str = include_str!("assets/style.css");
const ICON: &str = include_str!("assets/icon.svg");
const LIVE: &str = include_str!("assets/live.js");

pub(super) const ROUTES: &[Route] = &[
    Route::get(
        "/assets/style.css",
        "style",
        "How pages look.",
        Gives::Asset,
        run!(style),
    )
    .open(),
    Route::get(
        "/assets/icon.svg",
        "icon",
        "What a tab shows.",
        Gives::Asset,
        run!(icon),
    )
    .open(),
    Route::get(
        "/assets/live.js",
        "live",
        "What keeps pages up to date.",
        Gives::Asset,
        run!(live),
    )
    .open(),
];

async fn style(_: Arc<Site>, _: Call) -> Outcome {
    Ok(Answer::Bytes(
        "text/css; charset=utf-8",
        Bytes::from_static(STYLE.as_bytes()),
    ))
}

async fn icon(_: Arc<Site>, _: Call) -> Outcome {
    Ok(Answer::Bytes(
        "image/svg+xml",
        Bytes::from_static(ICON.as_bytes()),
    ))
}

async fn live(_: Arc<Site>, _: Call) -> Outcome {
    Ok(Answer::Bytes(
        "text/javascript; charset=utf-8",
        Bytes::from_static(LIVE.as_bytes()),
    ))
}
