//! Requests to other services, as far as the operator granted them.
//!
//! ```no_run
//! # use sandhog_sdk::{Context, Error, http::Request};
//! # fn handler(ctx: &Context) -> Result<(), Error> {
//! let answer = Request::post("https://api.example.com/orders")
//!     .header("authorization", "Bearer {{secret:api-token}}")
//!     .body("application/json", r#"{"id": 17}"#)
//!     .send(ctx)?;
//! if answer.status() != 201 {
//!     return Err(Error::retryable(format!("the service answered {}", answer.status())));
//! }
//! # Ok(())
//! # }
//! ```
//!
//! `{{secret:NAME}}` in a header is replaced by the host; the handler never holds the value. What is
//! not granted is an error of kind [`HttpErrorKind::Denied`], and the job's log says what to write
//! into the plugin's `NAME.toml`. Redirects are not followed.
//!
//! In a native test [`testing::Answer`](crate::testing::Answer) stands for the service:
//!
//! ```
//! use sandhog_sdk::http::{HttpError, HttpErrorKind, Request, Response};
//! use sandhog_sdk::testing::FakeContext;
//!
//! let ctx = FakeContext::new()
//!     .with_answer(Response::new(503, "busy"))
//!     .with_answer(HttpError::new(HttpErrorKind::Unreachable, "nobody answers"));
//! let answer = Request::get("https://api.example.com/").send(&ctx).unwrap();
//! assert!(!answer.is_success());
//! let error = Request::get("https://api.example.com/").send(&ctx).unwrap_err();
//! assert_eq!(error.kind(), HttpErrorKind::Unreachable);
//! assert_eq!(ctx.requests().len(), 2);
//! ```

use std::fmt;
use std::time::Duration;

use crate::Context;
use crate::context::Host;

/// Bytes of a response's body that are read, unless said otherwise.
const BODY: usize = 1 << 20;

/// A request to send.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a request is sent by `Request::send`"]
pub struct Request {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) read: usize,
}

impl Request {
    /// With a method in upper case.
    pub fn new(method: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            method: method.into(),
            url: url.into(),
            headers: Vec::new(),
            body: Vec::new(),
            timeout: None,
            read: BODY,
        }
    }

    /// A `GET`.
    pub fn get(url: impl Into<String>) -> Self {
        Self::new("GET", url)
    }

    /// A `POST`.
    pub fn post(url: impl Into<String>) -> Self {
        Self::new("POST", url)
    }

    /// With one more header.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// With a body and its media type.
    pub fn body(self, content_type: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        let mut request = self.header("content-type", content_type);
        request.body = body.into();
        request
    }

    /// With a bound on the time to connect, the time to the response's head, and each pause in its
    /// body. The host has bounds of its own, and the attempt's deadline.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Read so many bytes of the response's body, and leave the rest; a mebibyte when not said.
    pub fn read_at_most(mut self, bytes: usize) -> Self {
        self.read = bytes;
        self
    }

    /// Its method.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Where it goes.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its headers, in order.
    pub fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    /// Its body.
    pub fn bytes(&self) -> &[u8] {
        &self.body
    }

    /// Send it and wait for the response.
    pub fn send(self, ctx: &Context) -> Result<Response, HttpError> {
        match &ctx.host {
            #[cfg(target_family = "wasm")]
            Host::Imports => crate::guest_http::send(&self),
            #[cfg(not(target_family = "wasm"))]
            Host::Fake(record) => record.send(self),
        }
    }

    /// Scheme, authority, and path with query.
    pub(crate) fn parts(&self) -> Result<(&str, &str, String), HttpError> {
        let wrong = || {
            let why = format!("{:?} is no URL such as https://example.com/path", self.url);
            HttpError::new(HttpErrorKind::Invalid, why)
        };
        let (scheme, rest) = self.url.split_once("://").ok_or_else(wrong)?;
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if authority.is_empty() {
            return Err(wrong());
        }
        let path = match path.strip_prefix('?') {
            Some(query) => format!("/?{query}"),
            None if path.is_empty() => "/".to_owned(),
            None => path.to_owned(),
        };
        Ok((scheme, authority, path))
    }
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) cut: bool,
}

impl Response {
    /// A response, for tests.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: body.into(),
            cut: false,
        }
    }

    /// With one more header, for tests.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Its status, such as 200.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Whether the status says that all went well: 200 to 299.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// A header's value, whatever the case of its name; the first when it repeats. Bytes that are no
    /// text are replaced.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = (self.headers.iter()).find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The body, as far as it was read.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Whether the body went on where reading ended.
    pub fn is_cut(&self) -> bool {
        self.cut
    }
}

/// Why there is no response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpError {
    kind: HttpErrorKind,
    why: String,
}

/// What sort of thing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HttpErrorKind {
    /// Not granted. The job's log says how to grant it.
    Denied,
    /// The request cannot be sent as it is: its URL, a header, or too large a body.
    Invalid,
    /// No address, or nobody answers there.
    Unreachable,
    /// Something took too long.
    Timeout,
    /// No TLS connection: a certificate that is not trusted, or no TLS at all.
    Tls,
    /// The response is larger than the host allows.
    TooLarge,
    /// The connection ended early, or what came was no HTTP.
    Broken,
    /// The host cannot do it now: too many requests, or a fault of its own.
    Host,
    /// Given up, as the job was called off while it was under way. What is sent after that is not.
    Cancelled,
}

impl HttpErrorKind {
    /// A stable token, for an error's code.
    pub fn code(self) -> &'static str {
        match self {
            Self::Denied => "http-denied",
            Self::Invalid => "http-invalid",
            Self::Unreachable => "http-unreachable",
            Self::Timeout => "http-timeout",
            Self::Tls => "http-tls",
            Self::TooLarge => "http-too-large",
            Self::Broken => "http-broken",
            Self::Host => "http-host",
            Self::Cancelled => "http-cancelled",
        }
    }
}

impl HttpError {
    /// An error; for tests as well.
    pub fn new(kind: HttpErrorKind, why: impl Into<String>) -> Self {
        Self {
            kind,
            why: why.into(),
        }
    }

    /// What sort of thing went wrong.
    pub fn kind(&self) -> HttpErrorKind {
        self.kind
    }
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for HttpError {}

#[cfg(test)]
mod tests {
    use super::{HttpErrorKind, Request, Response};

    #[test]
    fn a_url_is_taken_apart() {
        for (url, parts) in [
            ("https://a.b", ("https", "a.b", "/")),
            ("http://a.b:81/c?d=e#f", ("http", "a.b:81", "/c?d=e")),
            ("http://[::1]:81?d", ("http", "[::1]:81", "/?d")),
            ("http://a.b/c#d?e", ("http", "a.b", "/c")),
        ] {
            let request = Request::get(url);
            let (scheme, authority, path) = request.parts().unwrap();
            assert_eq!((scheme, authority, path.as_str()), parts, "{url}");
        }
        for url in ["", "a.b", "https://", "https:///a", "https://?a"] {
            let error = Request::get(url).parts().unwrap_err();
            assert_eq!(error.kind(), HttpErrorKind::Invalid, "{url}");
        }
    }

    #[test]
    fn header_names_have_no_case() {
        let answer = Response::new(200, "").with_header("Retry-After", "5");
        assert_eq!(answer.header("retry-after"), Some("5"));
        assert_eq!(answer.header("retry"), None);
    }
}
