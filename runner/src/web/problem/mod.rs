//! Errors as `application/problem+json` (RFC 9457), each with a stable code and a page of its own.

mod code;
mod page;

use std::{borrow::Cow, fmt};

use axum::{body::Body, response::Response};
use http::{HeaderName, HeaderValue, StatusCode, header};
use serde_json::json;

use crate::api::{ApiError, ErrorCode};

pub(super) use code::Code;
pub(super) use page::{PAGES, page};

/// Why a request was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) code: Code,
    /// What went wrong this time, and what to do.
    pub(super) detail: Cow<'static, str>,
    /// A header that goes with it.
    pub(super) header: Option<(HeaderName, HeaderValue)>,
}

impl Problem {
    pub(super) fn new(code: Code, detail: impl Into<Cow<'static, str>>) -> Self {
        let header = match code {
            Code::Unauthorized => Some((header::WWW_AUTHENTICATE, "Bearer realm=\"sandhog\"")),
            Code::Busy | Code::QueueFull => Some((header::RETRY_AFTER, "1")),
            _ => None,
        };
        Self {
            code,
            detail: detail.into(),
            header: header.map(|(name, value)| (name, HeaderValue::from_static(value))),
        }
    }

    /// What is wrong with a part of the request.
    pub(super) fn malformed(what: impl fmt::Display) -> Self {
        Self::new(Code::BadRequest, what.to_string())
    }

    /// Its members.
    pub(super) fn body(&self) -> String {
        let value = json!({
            "type": format!("{PAGES}{}", self.code.name()),
            "title": self.code.title(),
            "status": self.code.status().as_u16(),
            "code": self.code.name(),
            "detail": self.detail,
        });
        value.to_string()
    }

    pub(super) fn status(&self) -> StatusCode {
        self.code.status()
    }

    /// As it is sent.
    pub(super) fn response(&self) -> Response {
        let mut response = Response::new(Body::from(self.body()));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, PROBLEM_JSON);
        headers.extend(self.header.clone());
        response
    }
}

/// The media type of a problem.
pub(super) const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

impl From<ApiError> for Problem {
    fn from(error: ApiError) -> Self {
        Self::new(Code::from(error.code), error.text)
    }
}

impl From<ErrorCode> for Code {
    fn from(code: ErrorCode) -> Self {
        match code {
            ErrorCode::NotFound => Self::NotFound,
            ErrorCode::Invalid => Self::Invalid,
            ErrorCode::WrongState => Self::WrongState,
            ErrorCode::Duplicate => Self::Duplicate,
            ErrorCode::BatchClosed => Self::BatchClosed,
            ErrorCode::QueueFull => Self::QueueFull,
            ErrorCode::Changed => Self::Changed,
            ErrorCode::NoRunner => Self::NoRunner,
            ErrorCode::Full => Self::Full,
            ErrorCode::Busy => Self::Busy,
            ErrorCode::Poisoned => Self::Poisoned,
            ErrorCode::Damaged => Self::Damaged,
            ErrorCode::Stopping => Self::Stopping,
            ErrorCode::TooLarge => Self::TooLarge,
            ErrorCode::BadRequest => Self::BadRequest,
            ErrorCode::Unauthorized => Self::Unauthorized,
            ErrorCode::Forbidden => Self::Forbidden,
        }
    }
}
