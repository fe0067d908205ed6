//! A request's way: through the gate, to its resource, and back as an answer.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::{RawPathParams, Request, rejection::RawPathParamsRejection},
    response::Response,
    routing::{MethodFilter, MethodRouter, on},
};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, header, request::Parts};
use http_body_util::BodyExt as _;
use tokio::time::{error::Elapsed, timeout};
use tower_service::Service as _;

use super::{
    answer::{Answer, Outcome},
    call::{self, Call},
    gate::Ends,
    pages,
    problem::{Code, Problem},
    resources,
    route::{Gives, Repeats, Route, Takes, Verb, run},
    site::Site,
};

/// How long nothing of a body may arrive.
const STALL: Duration = Duration::from_secs(10);
/// Header that names a wish.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// What answers requests.
#[derive(Clone)]
pub(super) struct Front {
    site: Arc<Site>,
    router: Router,
}

impl Front {
    pub(super) fn new(site: Arc<Site>) -> Self {
        let mut router = Router::new();
        let mut paths: Vec<(&str, MethodRouter)> = Vec::new();
        for route in resources::routes() {
            let handler = on(filter(route.method), resource(&site, route.clone()));
            // All methods of a path together, so that `Allow` can name them.
            match paths.iter_mut().find(|(path, _)| *path == route.path) {
                Some((_, methods)) => *methods = std::mem::take(methods).merge(handler),
                None => paths.push((route.path, handler)),
            }
        }
        let (beside, within) = (Arc::clone(&site), Arc::clone(&site));
        for (path, methods) in paths {
            router = router.route(path, methods);
        }
        let router = router
            .fallback(async move |request| nowhere(&beside, request, no_such_path))
            .method_not_allowed_fallback(async move |request| {
                nowhere(&within, request, no_such_method)
            });
        Self { site, router }
    }

    /// Answer a request that came in over a connection.
    pub(super) async fn answer(
        mut self,
        request: http::Request<hyper::body::Incoming>,
        ends: Ends,
    ) -> Response {
        let (head, body) = request.into_parts();
        let mut response = match self.site.gate.check(&head, ends) {
            Ok(()) => {
                let mut request = Request::from_parts(head, Body::new(body));
                request.extensions_mut().insert(ends);
                match self.router.call(request).await {
                    Ok(response) => response,
                    Err(never) => match never {},
                }
            }
            Err(problem) => problem.response(),
        };
        dress(&mut response);
        response
    }
}

/// What every answer says to a browser.
fn dress(response: &mut Response) {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; frame-ancestors 'none'",
        ),
    ] {
        headers
            .entry(name)
            .or_insert_with(|| HeaderValue::from_static(value));
    }
}

fn filter(method: Verb) -> MethodFilter {
    match method {
        Verb::Get => MethodFilter::GET,
        Verb::Post => MethodFilter::POST,
        Verb::Put => MethodFilter::PUT,
        Verb::Delete => MethodFilter::DELETE,
    }
}

/// What stands for all that has no route.
const NOWHERE: Route =
    Route::get("/", "nowhere", "Nothing.", Gives::Page, run!(nothing_there)).open();

async fn nothing_there(_: Arc<Site>, _: Call) -> Outcome {
    Err(no_such_path())
}

fn no_such_path() -> Problem {
    let why = "nothing is at this path: see /api/v1/openapi.json";
    Problem::new(Code::NoSuchPath, why)
}

fn no_such_method() -> Problem {
    let why = "the resource does not know this method: see the header `Allow`";
    Problem::new(Code::MethodNotAllowed, why)
}

/// A page for people who came by a link, and a problem for programs.
fn nowhere(site: &Site, request: Request, why: fn() -> Problem) -> Response {
    let (head, _) = request.into_parts();
    let mut call = Call::begin(&head, &NOWHERE);
    let found = match admit(site, &NOWHERE, &head, &mut call) {
        // Those who read follow links to where there is something to read; other methods are of forms.
        Ok(()) if is_for_people(&head) => pages::instead(site, &call, &no_such_path()),
        Ok(()) => Err(why()),
        Err(problem) => Err(problem),
    };
    match found {
        Ok(answer) => answer.response(),
        Err(problem) => problem.response(),
    }
}

fn is_for_people(head: &Parts) -> bool {
    let accepts = head.headers.get_all(header::ACCEPT).into_iter();
    let mut accepts = accepts.filter_map(|accepts| accepts.to_str().ok());
    head.method == http::Method::GET
        && !head.uri.path().starts_with("/api/")
        && accepts.any(|accepts| accepts.contains("text/html"))
}

/// A resource as the router calls it.
fn resource(
    site: &Arc<Site>,
    route: Route,
) -> impl Fn(Params, Request) -> Answering + Clone + Send + Sync + 'static {
    let (site, route) = (Arc::clone(site), Arc::new(route));
    move |params, request| {
        let (site, route) = (Arc::clone(&site), Arc::clone(&route));
        Box::pin(async move {
            let done = match params {
                Ok(params) => serve(site, &route, &params, request).await,
                Err(error) => Err(Problem::malformed(error.body_text())),
            };
            done.unwrap_or_else(|problem| problem.response())
        })
    }
}

/// What stands in a path, or why it cannot be read.
type Params = Result<RawPathParams, RawPathParamsRejection>;
type Answering = std::pin::Pin<Box<dyn Future<Output = Response> + Send>>;

async fn serve(
    site: Arc<Site>,
    route: &Route,
    params: &RawPathParams,
    request: Request,
) -> Result<Response, Problem> {
    let (head, body) = request.into_parts();
    let mut call = Call::begin(&head, route);
    let done = run(&site, route, params, (&head, body), &mut call).await;
    match done {
        Err(problem) if route.gives == Gives::Page => pages::instead(&site, &call, &problem),
        done => done,
    }
    .map(Answer::response)
}

async fn run(
    site: &Arc<Site>,
    route: &Route,
    params: &RawPathParams,
    (head, body): (&Parts, Body),
    call: &mut Call,
) -> Outcome {
    admit(site, route, head, call)?;
    call.given = given(route, params, head)?;
    call.idempotency_key = idempotency_key(route, &head.headers)?;
    let (body, _room) = read(site, route.takes, head, body).await?;
    call.body = body;
    (route.run)(Arc::clone(site), call.clone()).await
}

/// The caller's name for a wish, where one counts. Where a wish told again is done again it is not passed over:
/// whoever sends one relies on it.
pub(super) fn idempotency_key(
    route: &Route,
    headers: &HeaderMap,
) -> Result<Option<String>, Problem> {
    let Some(key) = headers.get(IDEMPOTENCY_KEY) else {
        return Ok(None);
    };
    match route.repeats() {
        Repeats::ByName => {}
        Repeats::Anew(instead) => {
            return Err(Problem::malformed(format!(
                "`Idempotency-Key` does not count for {} {}, and nothing was done: {instead}",
                route.method.name().to_uppercase(),
                route.path
            )));
        }
        Repeats::Same => return Ok(None),
    }
    let key = key.to_str().map(str::to_owned);
    key.map(Some)
        .map_err(|_| Problem::malformed("`Idempotency-Key` has signs that are no printable ASCII"))
}

/// What stands in the address.
fn given(
    route: &Route,
    params: &RawPathParams,
    head: &Parts,
) -> Result<Vec<(&'static str, String)>, Problem> {
    let mut given = match route.gives {
        Gives::Page => call::form_query(head.uri.query(), route.query)?,
        _ => call::query(head.uri.query(), route.query)?,
    };
    for (name, value) in params {
        let param = route.path_params.iter().find(|param| param.name == name);
        if let Some(param) = param {
            call::checked(param, value)?;
            given.push((param.name, value.to_owned()));
        }
    }
    Ok(given)
}

/// Find out who asks, and refuse them when they may not.
fn admit(site: &Site, route: &Route, head: &Parts, call: &mut Call) -> Result<(), Problem> {
    // A cookie comes along with whatever a browser sends, so it counts where nothing is changed, and where
    // a form has to say its own word.
    let counts = route.method == Verb::Get || route.takes == Takes::Form;
    let shown = site.gate.caller(&head.headers);
    let logged_in = || site.sessions.caller(&head.headers, &site.gate.guard);
    match (route.role, shown) {
        (_, Ok(caller)) => call.asking.caller = caller,
        (role, Err(problem)) => match (logged_in().filter(|_| counts), role) {
            (Some(caller), _) => {
                call.asking.caller = caller;
                call.is_logged_in = true;
            }
            (None, None) => {}
            (None, Some(_)) => return Err(problem),
        },
    }
    route.role.map_or(Ok(()), |role| call.asking.may(role))
}

/// The whole body, bounded in bytes and time, with its part of the room for all bodies.
async fn read(
    site: &Site,
    takes: Takes,
    head: &Parts,
    mut body: Body,
) -> Result<(Bytes, Option<tokio::sync::OwnedSemaphorePermit>), Problem> {
    let most = takes.bytes(site.ctx.payload_bytes);
    let too_large = || {
        let text = format!("the body has more than the {most} bytes that are taken here");
        Problem::new(Code::TooLarge, text)
    };
    let length = head.headers.get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > most as u64) {
        return Err(too_large());
    }
    let whole = async {
        let (mut bytes, mut room) = (BytesMut::new(), None);
        let mut paid = 0;
        while let Some(frame) = timeout(STALL, body.frame()).await? {
            let frame = frame.map_err(|_| {
                Problem::malformed("the body broke off, or its chunks cannot be read")
            })?;
            let Ok(part) = frame.into_data() else {
                continue;
            };
            if bytes.len() + part.len() > most {
                return Err(too_large());
            }
            bytes.extend_from_slice(&part);
            // In steps, so that a length that is only announced takes no room.
            let due = bytes.len().div_ceil(1024);
            if due > paid {
                pay(site, &mut room, (due - paid) as u32)?;
                paid = due;
            }
        }
        Ok((bytes.freeze(), room))
    };
    match timeout(takes.time(), whole).await {
        Ok(read) => read,
        Err(over) => Err(over.into()),
    }
}

impl From<Elapsed> for Problem {
    fn from(_: Elapsed) -> Self {
        Self::new(Code::Timeout, "the body was not there in time")
    }
}

fn pay(
    site: &Site,
    room: &mut Option<tokio::sync::OwnedSemaphorePermit>,
    kib: u32,
) -> Result<(), Problem> {
    let more = Arc::clone(&site.bodies).try_acquire_many_owned(kib);
    let more = more.map_err(|_| {
        Problem::new(
            Code::Busy,
            "the bodies of other requests take all the room there is: try again shortly",
        )
    })?;
    match room {
        Some(room) => room.merge(more),
        None => *room = Some(more),
    }
    Ok(())
}
