//! What a resource answers with.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use http_body::Frame;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::problem::Problem;

/// Parts of a long answer that wait for their reader.
const WAITING: usize = 16;

/// An answer.
pub(super) enum Answer {
    Json(StatusCode, Value),
    /// A page.
    Html(StatusCode, String),
    /// A page that comes by and by.
    HtmlFlow(Flow),
    /// To another page.
    SeeOther {
        to: String,
        cookie: Option<String>,
    },
    /// Bytes of a media type.
    Bytes(&'static str, Bytes),
    /// Bytes of a media type that come by and by.
    Flow(&'static str, Flow),
}

/// What came of a request.
pub(super) type Outcome = Result<Answer, Problem>;

impl Answer {
    /// What most are.
    pub(super) fn json(value: Value) -> Outcome {
        Ok(Self::Json(StatusCode::OK, value))
    }

    /// A page of a list: its rows under this name, and where to go on.
    pub(super) fn rows(name: &str, rows: Vec<Value>, next: Option<String>) -> Outcome {
        Self::json(json!({ name: rows, "next": next }))
    }

    pub(super) fn response(self) -> Response {
        let (status, media_type, body) = match self {
            Self::Html(status, text) => return page(status, Body::from(text)),
            Self::HtmlFlow(flow) => return page(StatusCode::OK, Body::new(flow)),
            Self::SeeOther { to, cookie } => return see_other(&to, cookie.as_deref()),
            Self::Json(status, value) => {
                (status, "application/json", Body::from(value.to_string()))
            }
            Self::Bytes(media_type, bytes) => (StatusCode::OK, media_type, Body::from(bytes)),
            Self::Flow(media_type, flow) => (StatusCode::OK, media_type, Body::new(flow)),
        };
        let mut response = Response::new(body);
        *response.status_mut() = status;
        let media_type = HeaderValue::from_static(media_type);
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, media_type);
        response
    }
}

/// A page. It may load what this runner serves and nothing else, and nothing in it is run.
fn page(status: StatusCode, body: Body) -> Response {
    const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/html; charset=utf-8"),
    );
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(POLICY),
    );
    // Forms of this page say where they come from.
    headers.insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("same-origin"),
    );
    response
}

fn see_other(to: &str, cookie: Option<&str>) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    let values = [(header::LOCATION, Some(to)), (header::SET_COOKIE, cookie)];
    for (name, value) in values {
        if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// The end that a long answer is read from. Who writes it waits for who reads it, and finds out when
/// they are gone.
pub(super) struct Flow(mpsc::Receiver<Bytes>);

impl Flow {
    pub(super) fn new() -> (mpsc::Sender<Bytes>, Self) {
        let (to, from) = mpsc::channel(WAITING);
        (to, Self(from))
    }
}

impl http_body::Body for Flow {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.0
            .poll_recv(cx)
            .map(|part| part.map(|part| Ok(Frame::data(part))))
    }
}
