//! The handler against answers of a fake receiver.

use std::time::Duration;

use sandhog_sdk::http::{HttpError, HttpErrorKind, Response};
use sandhog_sdk::testing::{Answer, FakeContext};
use sandhog_sdk::{Bytes, Verdict};

use crate::webhook;

const URL: &str = "https://hooks.example.com/in";

fn context(answer: Result<Response, HttpError>) -> FakeContext {
    FakeContext::new()
        .with_header("url", URL)
        .with_signature("webhook-key", vec![0xab; 32])
        .with_answer(answer)
}

fn verdict(answer: Response) -> (Verdict, String) {
    let ctx = context(Ok(answer));
    let error = webhook(Bytes::new("text/plain", "x"), &ctx).unwrap_err();
    (error.verdict(), error.code().to_owned())
}

#[test]
fn the_payload_goes_out_as_it_is_and_signed() {
    let ctx = context(Ok(Response::new(204, ""))).with_attempt(3);
    let payload = Bytes::new("application/json", r#"{"a": 1}"#);
    assert_eq!(webhook(payload, &ctx).unwrap(), "204");
    let requests = ctx.requests();
    let request = &requests[0];
    assert_eq!((request.method(), request.url()), ("POST", URL));
    assert_eq!(request.bytes(), br#"{"a": 1}"#);
    let header = |name: &str| {
        let found = request.headers().iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    };
    assert_eq!(header("content-type"), Some("application/json"));
    assert_eq!(header("idempotency-key"), Some(ctx.idempotency_key()));
    assert_eq!(header("sandhog-attempt"), Some("3"));
    let signature = header("sandhog-signature").unwrap();
    let (time, mac) = signature.split_once(",v1=").unwrap();
    assert_eq!(mac, "ab".repeat(32));
    let seconds = time.strip_prefix("t=").unwrap();
    // The fake's clock stands at 2026-01-01T00:00:00Z.
    assert_eq!(seconds, "1767225600");
    let (secret, signed) = &ctx.signed()[0];
    assert_eq!(secret, "webhook-key");
    assert_eq!(signed, format!(r#"{seconds}.{{"a": 1}}"#).as_bytes());
}

#[test]
fn another_secret_or_none_is_a_setting() {
    let ctx = context(Ok(Response::new(200, ""))).with_config("secret", "none");
    webhook(Bytes::default(), &ctx).unwrap();
    assert!(ctx.signed().is_empty());
    let request = &ctx.requests()[0];
    assert!(
        !request
            .headers()
            .iter()
            .any(|(name, _)| name == "sandhog-signature")
    );

    let ctx = context(Ok(Response::new(200, ""))).with_config("secret", "other");
    let error = webhook(Bytes::default(), &ctx).unwrap_err();
    assert_eq!(
        (error.verdict(), error.code()),
        (Verdict::Retryable, "sign-denied")
    );
    assert!(ctx.requests().is_empty());
}

#[test]
fn statuses_have_their_verdicts() {
    for status in [408, 425, 429, 500, 502, 503, 504, 599] {
        let (verdict, code) = verdict(Response::new(status, ""));
        assert_eq!(verdict, Verdict::Retryable, "{status}");
        assert_eq!(code, format!("http-{status}"));
    }
    for status in [301, 302, 307, 400, 401, 403, 404, 409, 410, 422, 101] {
        let (verdict, _) = verdict(Response::new(status, ""));
        assert_eq!(verdict, Verdict::Permanent, "{status}");
    }
}

#[test]
fn retry_after_is_honoured() {
    let after = |value: &str| {
        verdict(
            Response::new(429, "")
                .with_header("Date", "Sun, 06 Nov 1994 08:49:37 GMT")
                .with_header("Retry-After", value),
        )
        .0
    };
    let wait = |seconds| Verdict::RetryAfter(Duration::from_secs(seconds));
    assert_eq!(after("120"), wait(120));
    assert_eq!(after(" 0 "), wait(0));
    assert_eq!(after("Sun, 06 Nov 1994 08:50:37 GMT"), wait(60));
    assert_eq!(after("Sun, 06 Nov 1994 08:00:00 GMT"), wait(0));
    assert_eq!(after("99999999999999999999999"), wait(24 * 60 * 60));
    for nonsense in ["", "-5", "soon", "+5", "1.5"] {
        assert_eq!(after(nonsense), Verdict::Retryable, "{nonsense:?}");
    }
    // Without a date of the answer's own, this machine's clock counts.
    let dated = Response::new(429, "").with_header("Retry-After", "Thu, 01 Jan 2026 00:01:30 GMT");
    assert_eq!(verdict(dated).0, wait(90));
    // A permanent failure stays one.
    let gone = Response::new(410, "").with_header("retry-after", "5");
    assert_eq!(verdict(gone).0, Verdict::Permanent);
}

#[test]
fn a_slow_receiver_is_not_waited_for_and_a_long_answer_is_cut() {
    let slow = Answer::of(Response::new(200, "")).after(Duration::from_secs(16));
    let ctx = FakeContext::new()
        .with_header("url", URL)
        .with_config("secret", "none");
    let ctx = ctx.with_answer(slow);
    let error = webhook(Bytes::default(), &ctx).unwrap_err();
    assert_eq!(error.code(), "http-timeout");
    let long = Response::new(400, "x".repeat(5_000));
    let error = webhook(Bytes::default(), &context(Ok(long))).unwrap_err();
    let (_, body) = error
        .details()
        .iter()
        .find(|(key, _)| key == "body")
        .unwrap();
    assert_eq!(body, &format!("{}…", "x".repeat(1024)));
}

#[test]
fn what_the_receiver_said_is_kept_for_people() {
    let ctx = context(Ok(Response::new(400, " no such hook \n")));
    let error = webhook(Bytes::default(), &ctx).unwrap_err();
    assert!(
        error
            .details()
            .contains(&("body".into(), "no such hook".into()))
    );
    let ctx = context(Ok(
        Response::new(302, "").with_header("location", "http://10.0.0.1/")
    ));
    let error = webhook(Bytes::default(), &ctx).unwrap_err();
    assert!(error.message().contains("http://10.0.0.1/"), "{error}");
}

#[test]
fn no_answer_is_tried_again_and_no_url_is_not() {
    for kind in [
        HttpErrorKind::Denied,
        HttpErrorKind::Unreachable,
        HttpErrorKind::Timeout,
        HttpErrorKind::Tls,
        HttpErrorKind::Broken,
    ] {
        let ctx = context(Err(HttpError::new(kind, "why")));
        let error = webhook(Bytes::default(), &ctx).unwrap_err();
        assert_eq!(
            (error.verdict(), error.code()),
            (Verdict::Retryable, kind.code())
        );
    }
    let ctx = context(Err(HttpError::new(HttpErrorKind::Invalid, "why")));
    assert!(webhook(Bytes::default(), &ctx).unwrap_err().is_permanent());
    let ctx = FakeContext::new();
    let error = webhook(Bytes::default(), &ctx).unwrap_err();
    assert_eq!((error.is_permanent(), error.code()), (true, "no-url"));
    let ctx = context(Ok(Response::new(200, "")));
    webhook(Bytes::default(), &ctx).unwrap();
}
