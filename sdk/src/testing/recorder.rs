//! The services behind requests, as a test scripts them, and what was asked of them.

use std::cell::RefCell;
use std::time::Duration;

use super::clock::Clock;
use crate::http::{HttpError, HttpErrorKind, Request, Response};

/// What stands in a header for a secret, before its name and after it.
const SECRET: (&str, &str) = ("{{secret:", "}}");

/// What comes back when a handler sends a request. Made of a [`Response`], an [`HttpError`] or a
/// `Result` of them by `into()`.
///
/// ```
/// # use sandhog_sdk::{http::{Request, Response}, testing::{Answer, FakeContext}};
/// # use std::time::Duration;
/// let ctx = FakeContext::new()
///     .with_answer(Response::new(200, "first"))
///     .with_answer(Answer::of(Response::new(201, "")).to("POST", "https://a.example/orders"))
///     .with_answer(Answer::of(Response::new(200, "late")).after(Duration::from_secs(20)));
/// // The answer that names this request comes before those that name none.
/// let made = Request::post("https://a.example/orders").send(&ctx).unwrap();
/// assert_eq!(made.status(), 201);
/// ```
#[derive(Clone, Debug)]
pub struct Answer {
    to: Option<(String, String)>,
    after: Duration,
    what: Result<Response, HttpError>,
}

impl Answer {
    /// To any request, at once.
    pub fn of(what: impl Into<Self>) -> Self {
        what.into()
    }

    /// Only to requests with this method and URL.
    #[must_use]
    pub fn to(mut self, method: impl Into<String>, url: impl Into<String>) -> Self {
        self.to = Some((method.into(), url.into()));
        self
    }

    /// After this long, which passes on the fake clock. Over the request's
    /// [`timeout`](Request::timeout), or what is left of the attempt, it is an error of kind
    /// [`HttpErrorKind::Timeout`] instead.
    #[must_use]
    pub fn after(mut self, time: Duration) -> Self {
        self.after = time;
        self
    }
}

impl From<Result<Response, HttpError>> for Answer {
    fn from(what: Result<Response, HttpError>) -> Self {
        Self {
            to: None,
            after: Duration::ZERO,
            what,
        }
    }
}

impl From<Response> for Answer {
    fn from(response: Response) -> Self {
        Ok(response).into()
    }
}

impl From<HttpError> for Answer {
    fn from(error: HttpError) -> Self {
        Err(error).into()
    }
}

#[derive(Debug, Default)]
pub(crate) struct Recorder {
    answers: RefCell<Vec<Answer>>,
    requests: RefCell<Vec<Request>>,
    secrets: Vec<String>,
}

impl Recorder {
    pub(crate) fn add(&mut self, answer: Answer) {
        self.answers.get_mut().push(answer);
    }

    pub(crate) fn grant(&mut self, secret: String) {
        self.secrets.push(secret);
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.borrow().clone()
    }

    pub(crate) fn answers_left(&self) -> usize {
        self.answers.borrow().len()
    }

    /// The same services for another attempt: what was not answered yet still will be.
    pub(crate) fn forget_requests(&mut self) {
        self.requests.get_mut().clear();
    }

    pub(crate) fn send(&self, request: Request, clock: &Clock) -> Result<Response, HttpError> {
        self.requests.borrow_mut().push(request.clone());
        request.parts()?;
        self.allow(&request)?;
        let Some(answer) = self.take(&request) else {
            let (method, url) = (request.method(), request.url());
            return Err(denied(format!("the test has no answer to {method} {url}")));
        };
        let bound = request.timeout.unwrap_or(Duration::MAX).min(clock.left());
        if answer.after > bound {
            clock.pass(bound);
            let why = format!("no answer within {bound:?}");
            return Err(HttpError::new(HttpErrorKind::Timeout, why));
        }
        clock.pass(answer.after);
        let mut response = answer.what?;
        if response.body.len() > request.read {
            response.body.truncate(request.read);
            response.cut = true;
        }
        Ok(response)
    }

    /// The first answer that names the request, or else the first that names none.
    fn take(&self, request: &Request) -> Option<Answer> {
        let mut answers = self.answers.borrow_mut();
        let names = |answer: &Answer| {
            let to = answer.to.as_ref();
            to.is_some_and(|(method, url)| *method == request.method && *url == request.url)
        };
        let at = answers.iter().position(names);
        let at = at.or_else(|| answers.iter().position(|answer| answer.to.is_none()))?;
        Some(answers.remove(at))
    }

    fn allow(&self, request: &Request) -> Result<(), HttpError> {
        for (_, value) in &request.headers {
            let parts = value.split(SECRET.0).skip(1);
            for name in parts.filter_map(|part| part.split_once(SECRET.1)) {
                if !self.secrets.iter().any(|known| known == name.0) {
                    return Err(denied(format!("the test has no secret {}", name.0)));
                }
            }
        }
        Ok(())
    }
}

fn denied(why: String) -> HttpError {
    HttpError::new(HttpErrorKind::Denied, why)
}
