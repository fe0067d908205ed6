//! Handlers as their authors write them, run from payload to payload.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use sandhog_sdk::testing::{FakeContext, attempt};
use sandhog_sdk::{Bytes, Context, Error, Verdict};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Order {
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    price: u32,
}

#[derive(Debug, Serialize, PartialEq)]
struct Receipt {
    total: u32,
}

/// Adds up the prices.
///
/// And no more.
#[sandhog_sdk::job(
    kind = "order.total",
    timeout = "1m30s",
    max_attempts = 5,
    trap_attempts = 2,
    backoff = "exponential 1s max 1h",
    queue = "orders",
    content_type = "application/json"
)]
fn total(order: Order, ctx: &Context) -> Result<Receipt, Error> {
    ctx.info(format!("{} items", order.items.len()));
    Ok(Receipt {
        total: order.items.iter().map(|item| item.price).sum(),
    })
}

#[sandhog_sdk::job]
fn nothing() {}

#[sandhog_sdk::job]
fn only_context(ctx: &Context) -> String {
    ctx.kind().to_owned()
}

#[sandhog_sdk::job]
fn only_input(n: u32) -> Option<u32> {
    n.checked_sub(1)
}

#[sandhog_sdk::job]
fn io_result(path: String) -> io::Result<Vec<u8>> {
    std::fs::read(path)
}

#[sandhog_sdk::job]
fn bytes(input: Bytes) -> Bytes {
    Bytes::new("text/plain", [b">", &input.bytes[..], b"<"].concat())
}

#[sandhog_sdk::job]
fn no_json(_: Option<()>) -> BTreeMap<(u8, u8), u8> {
    BTreeMap::from([((1, 2), 3)])
}

mod inner {
    #[sandhog_sdk::job]
    pub(super) fn in_a_module(n: u32) -> Result<u32, std::num::TryFromIntError> {
        let small: u8 = n.try_into()?;
        Ok(u32::from(small) + 1)
    }
}

sandhog_sdk::export!(
    total,
    nothing,
    only_context,
    only_input,
    io_result,
    bytes,
    no_json,
    inner::in_a_module
);

fn json(text: &str) -> Bytes {
    Bytes::new("application/json", text)
}

#[test]
fn json_goes_in_and_out() {
    let ctx = FakeContext::new();
    let out = attempt::<total>(json(r#"{"items": [{"price": 2}, {"price": 3}]}"#), &ctx);
    assert_eq!(out, Ok(json(r#"{"total":5}"#)));
    assert_eq!(ctx.logs()[0].line, "2 items");
}

#[test]
fn the_function_is_still_a_function() {
    let order = Order {
        items: vec![Item { price: 4 }],
    };
    assert_eq!(total(order, &FakeContext::new()), Ok(Receipt { total: 4 }));
}

#[test]
fn every_form_of_function_runs() {
    let ctx = FakeContext::new().with_kind("k");
    assert_eq!(
        attempt::<nothing>(Bytes::default(), &ctx),
        Ok(Bytes::default())
    );
    assert_eq!(
        attempt::<nothing>(json("ignored"), &ctx),
        Ok(Bytes::default())
    );
    assert_eq!(
        attempt::<only_context>(Bytes::default(), &ctx),
        Ok(json(r#""k""#))
    );
    assert_eq!(attempt::<only_input>(json("3"), &ctx), Ok(json("2")));
    assert_eq!(attempt::<only_input>(json("0"), &ctx), Ok(json("null")));
    assert_eq!(
        attempt::<inner::in_a_module>(json("7"), &ctx),
        Ok(json("8"))
    );
    let out = attempt::<bytes>(Bytes::new("x/y", [0xff]), &ctx).unwrap();
    assert_eq!(out, Bytes::new("text/plain", [b'>', 0xff, b'<']));
}

#[test]
fn input_that_does_not_fit_is_permanent_and_says_where() {
    let ctx = FakeContext::new();
    let error = attempt::<total>(
        json("{\"items\": [{\"price\": 1},\n {\"price\": \"x\"}]}"),
        &ctx,
    )
    .unwrap_err();
    assert!(error.is_permanent());
    assert_eq!(error.code(), "bad-input");
    assert!(
        error
            .message()
            .contains("at `items[1].price`: invalid type"),
        "{error}"
    );
    assert!(error.message().contains("line 2 column 14"), "{error}");
    assert!(
        error
            .details()
            .contains(&("path".into(), "items[1].price".into()))
    );
    let error = attempt::<only_input>(json("1 2"), &ctx).unwrap_err();
    assert!(error.message().contains("trailing characters"), "{error}");
    let error = attempt::<only_input>(Bytes::default(), &ctx).unwrap_err();
    assert!(error.message().contains("payload is empty"), "{error}");
    let deep = "[".repeat(200_000);
    assert_eq!(
        attempt::<only_input>(json(&deep), &ctx).unwrap_err().code(),
        "bad-input"
    );
}

#[test]
fn output_that_is_no_json_is_permanent() {
    let error = attempt::<no_json>(Bytes::default(), &FakeContext::new()).unwrap_err();
    assert!(error.is_permanent());
    assert_eq!(error.code(), "bad-output");
}

#[test]
fn any_error_is_retryable() {
    let ctx = FakeContext::new();
    let error = attempt::<io_result>(json(r#""/no/such/file""#), &ctx).unwrap_err();
    assert_eq!(error.verdict(), Verdict::Retryable);
    assert_eq!(error.code(), "error");
    let error = attempt::<inner::in_a_module>(json("300"), &ctx).unwrap_err();
    assert!(error.message().contains("out of range"), "{error}");
}

#[test]
fn an_error_brings_its_sources() {
    #[derive(Debug)]
    struct Outer(io::Error);
    impl std::fmt::Display for Outer {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("cannot load the order")
        }
    }
    impl std::error::Error for Outer {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&self.0)
        }
    }
    let error = Error::from(Outer(io::Error::other("the disk is gone")));
    assert_eq!(error.message(), "cannot load the order: the disk is gone");
}

#[test]
fn verdicts_keep_what_they_are_given() {
    let wait = Duration::from_secs(3);
    assert_eq!(
        Error::retry_after(wait, "busy").verdict(),
        Verdict::RetryAfter(wait)
    );
    assert_eq!(Error::snooze(wait).verdict(), Verdict::Snooze(wait));
    let dropped = Error::discard("withdrawn");
    assert_eq!(
        (dropped.verdict(), dropped.message()),
        (Verdict::Discard, "withdrawn")
    );
    let error = Error::permanent("no")
        .with_code("c")
        .with_detail("k", 1)
        .with_detail("k", 2);
    assert_eq!(error.code(), "c");
    assert_eq!(
        error.details(),
        [("k".into(), "1".into()), ("k".into(), "2".into())]
    );
}

#[test]
fn the_description_says_what_was_proposed_and_no_more() {
    use sandhog_sdk::__private::{Handler, describe};
    let description = describe(&[total::ENTRY, inner::in_a_module::ENTRY], "");
    let found: serde_json::Value = serde_json::from_str(&description).unwrap();
    assert_eq!(
        found,
        serde_json::json!({
            "schema": 1,
            "sdk": { "name": "sandhog-sdk", "version": env!("CARGO_PKG_VERSION") },
            "kinds": [
                { "kind": "order.total", "summary": "Adds up the prices.", "timeout_ms": 90_000,
                  "max_attempts": 5, "trap_attempts": 2, "backoff": "exponential 1s max 1h",
                  "queue": "orders", "content_type": "application/json" },
                { "kind": "in_a_module" },
            ],
            "requires": {},
        })
    );
}
