//! Requests against services that a test scripts.

use std::time::Duration;

use sandhog_sdk::http::{HttpError, HttpErrorKind, Request, Response};
use sandhog_sdk::testing::{Answer, FakeContext};

const URL: &str = "https://a.example/b";

fn kind(answer: Result<Response, HttpError>) -> HttpErrorKind {
    answer.unwrap_err().kind()
}

#[test]
fn answers_come_in_their_order_and_then_no_more() {
    let ctx = FakeContext::new()
        .with_answer(Response::new(200, "one"))
        .with_answer(HttpError::new(HttpErrorKind::Tls, "why"))
        .with_answer(Ok(Response::new(500, "")));
    let get = || Request::get(URL).send(&ctx);
    assert_eq!(get().unwrap().body(), b"one");
    assert_eq!(ctx.answers_left(), 2);
    assert_eq!(kind(get()), HttpErrorKind::Tls);
    assert_eq!(get().unwrap().status(), 500);
    let none = get().unwrap_err();
    assert_eq!(none.kind(), HttpErrorKind::Denied);
    assert_eq!(
        none.to_string(),
        format!("the test has no answer to GET {URL}")
    );
    assert_eq!(ctx.requests().len(), 4);
}

#[test]
fn an_answer_may_be_to_one_request_only() {
    let to = |method: &str, status| Answer::of(Response::new(status, "")).to(method, URL);
    let ctx = FakeContext::new()
        .with_answer(Response::new(299, ""))
        .with_answer(to("POST", 201))
        .with_answer(to("GET", 200));
    let status = |request: Request| request.send(&ctx).unwrap().status();
    assert_eq!(status(Request::get(URL)), 200);
    assert_eq!(status(Request::post(URL)), 201);
    assert_eq!(status(Request::post(URL)), 299);
    assert_eq!(kind(Request::post(URL).send(&ctx)), HttpErrorKind::Denied);
}

#[test]
fn a_request_is_kept_as_it_was_made() {
    let ctx = FakeContext::new()
        .with_secret("token")
        .with_answer(Response::new(200, ""));
    let request = Request::post(URL)
        .header("authorization", "Bearer {{secret:token}}")
        .body("text/plain", "x");
    let _ = request.clone().send(&ctx).unwrap();
    assert_eq!(ctx.requests(), [request]);
}

#[test]
fn a_secret_that_is_not_granted_denies_the_request() {
    let ctx = FakeContext::new()
        .with_secret("one")
        .with_answer(Response::new(200, ""));
    let with = |value: &str| Request::get(URL).header("a", value).send(&ctx);
    let denied = with("{{secret:one}} {{secret:two}}").unwrap_err();
    assert_eq!(denied.to_string(), "the test has no secret two");
    assert_eq!(ctx.answers_left(), 1);
    assert!(with("{{secret:one}} {{secret:").is_ok());
}

#[test]
fn a_late_answer_is_a_time_out_and_time_passes() {
    let after = |seconds| Answer::of(Response::new(200, "")).after(Duration::from_secs(seconds));
    let ctx = FakeContext::new()
        .with_answer(after(5))
        .with_answer(after(6))
        .with_answer(after(21));
    let start = ctx.now();
    let get = || Request::get(URL).timeout(Duration::from_secs(5)).send(&ctx);
    assert!(get().is_ok());
    assert_eq!(kind(get()), HttpErrorKind::Timeout);
    assert_eq!(
        ctx.now().duration_since(start).unwrap(),
        Duration::from_secs(10)
    );
    // Nothing is waited for longer than the attempt lasts.
    assert_eq!(kind(Request::get(URL).send(&ctx)), HttpErrorKind::Timeout);
    assert_eq!(ctx.remaining(), Duration::ZERO);
}

#[test]
fn a_body_is_cut_where_reading_ends() {
    let ctx = FakeContext::new()
        .with_answer(Response::new(200, "12345"))
        .with_answer(Response::new(200, "12345"));
    let whole = Request::get(URL).read_at_most(5).send(&ctx).unwrap();
    assert_eq!((whole.body(), whole.is_cut()), (&b"12345"[..], false));
    let cut = Request::get(URL).read_at_most(4).send(&ctx).unwrap();
    assert_eq!((cut.body(), cut.is_cut()), (&b"1234"[..], true));
}

#[test]
fn what_is_no_url_is_told_as_a_host_would() {
    let ctx = FakeContext::new().with_answer(Response::new(200, ""));
    assert_eq!(
        kind(Request::get("a.example").send(&ctx)),
        HttpErrorKind::Invalid
    );
    assert_eq!(ctx.answers_left(), 1);
}
