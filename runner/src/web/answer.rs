//! What a resource answers with.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use http_body::Frame;
use serde_json::Value;
use tokio::sync::mpsc;

use super::problem::Problem;

/// Parts of a long answer that wait for their reader.
const WAITING: usize = 16;

/// An answer.
pub(super) enum Answer {
    Json(StatusCode, Value),
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

    pub(super) fn response(self) -> Response {
        let (status, media_type, body) = match self {
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
