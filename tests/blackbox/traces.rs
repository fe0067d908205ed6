//! Traces: what a collector is told, and what jobs carry.

use std::{collections::BTreeMap, time::Duration};

use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{KeyValue, any_value::Value as Any},
    trace::v1::{Span, span::SpanKind},
};
use prost::Message as _;
use sandhog_kit::{Home, Http, Receiver, wait};
use serde_json::{Value, json};

use crate::SANDHOG;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "b7ad6b7169203331";

fn context(flags: &str) -> String {
    format!("00-{TRACE}-{CALLER}-{flags}")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn texts(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |one: &KeyValue| match one.value.as_ref()?.value.as_ref()? {
        Any::StringValue(text) => Some((one.key.clone(), text.clone())),
        Any::IntValue(number) => Some((one.key.clone(), number.to_string())),
        _ => None,
    };
    attributes.iter().filter_map(text).collect()
}

/// Spans of a collector, with what the service is called, until so many came.
fn spans(collector: &Receiver, count: usize) -> Vec<(String, Span)> {
    let mut spans = Vec::new();
    while spans.len() < count {
        let told = collector.next();
        assert_eq!(
            (told.method.as_str(), told.path.as_str()),
            ("POST", "/v1/traces")
        );
        assert_eq!(told.header("content-type"), Some("application/x-protobuf"));
        let request = ExportTraceServiceRequest::decode(told.body.as_slice()).unwrap();
        for of_service in request.resource_spans {
            let resource = texts(&of_service.resource.unwrap_or_default().attributes);
            let service = resource["service.name"].clone();
            let all = of_service
                .scope_spans
                .into_iter()
                .flat_map(|scope| scope.spans);
            spans.extend(all.map(|span| (service.clone(), span)));
        }
    }
    spans
}

fn traced(home: &Home, collector: &Receiver) {
    home.write_config(&format!(
        "[traces]\nendpoint = \"http://{}\"\nservice = \"shop\"\n[kind.flaky]\nbackoff = \"fixed 20ms\"\n",
        collector.address()
    ));
}

fn headers(job: &Value) -> BTreeMap<String, String> {
    let pairs = job["headers"].as_array().unwrap().iter();
    let text = |pair: &Value, at: usize| pair[at].as_str().unwrap().to_owned();
    pairs.map(|pair| (text(pair, 0), text(pair, 1))).collect()
}

fn enqueue(http: &Http, body: &Value, context: Option<&str>) -> String {
    let json = ("content-type", "application/json");
    let mut headers = vec![json];
    headers.extend(context.map(|context| ("traceparent", context)));
    let body = body.to_string();
    let reply = http.send("POST", "/api/v1/jobs", &headers, Some(body.as_bytes()));
    reply.is(201).json()["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_job_is_one_trace_from_its_request_to_what_its_handler_enqueues() {
    let collector = Receiver::start();
    let home = Home::with(SANDHOG, &["misbehave"]).over_http();
    traced(&home, &collector);
    let runner = home.start();
    let http = Http::new(runner.http());
    let body = json!({
        "kind": "flaky", "payload": 1, "queue": "orders", "headers": {"fail": "1"}, "then": ["echo"],
    });
    let id = enqueue(&http, &body, Some(&context("01")));
    let _ = home.job_in(&id, "completed");
    // Sent, two attempts, and the attempt of what follows.
    let spans = spans(&collector, 4);
    assert!(spans.iter().all(|(service, _)| service == "shop"));
    let spans: Vec<Span> = spans.into_iter().map(|(_, span)| span).collect();
    assert!(
        spans.iter().all(|span| hex(&span.trace_id) == TRACE),
        "{spans:#?}"
    );
    let named = |name: &'static str| spans.iter().filter(move |span| span.name == name);

    let send = named("send flaky").next().unwrap();
    assert_eq!(
        (send.kind(), hex(&send.parent_span_id).as_str()),
        (SpanKind::Producer, CALLER)
    );
    let said = texts(&send.attributes);
    assert_eq!(said["messaging.message.id"], id);
    assert_eq!(said["messaging.destination.name"], "orders");
    assert!(send.end_time_unix_nano >= send.start_time_unix_nano);
    let carried = format!("00-{TRACE}-{}-01", hex(&send.span_id));
    assert_eq!(headers(&home.job(&id))["traceparent"], carried);

    let attempts: Vec<&Span> = named("process flaky").collect();
    assert_eq!(attempts.len(), 2);
    for (attempt, number, outcome, code) in [
        (attempts[0], "1", "failed", 2),
        (attempts[1], "2", "completed", 0),
    ] {
        assert_eq!(
            (attempt.kind(), &attempt.parent_span_id),
            (SpanKind::Consumer, &send.span_id)
        );
        let said = texts(&attempt.attributes);
        assert_eq!(
            (
                said["sandhog.job.attempt"].as_str(),
                said["sandhog.job.outcome"].as_str()
            ),
            (number, outcome)
        );
        assert_eq!(said["sandhog.plugin.name"], "misbehave");
        assert_eq!(
            attempt.status.clone().unwrap_or_default().code,
            code,
            "{attempt:#?}"
        );
        assert_eq!(said.contains_key("error.type"), code == 2);
    }
    let next = named("process echo").next().unwrap();
    assert_eq!(next.parent_span_id, attempts[1].span_id);
}

#[test]
fn who_does_not_want_a_span_is_heeded_and_who_says_no_context_begins_one() {
    let collector = Receiver::start();
    let home = Home::with(SANDHOG, &["misbehave"]).over_http();
    traced(&home, &collector);
    let runner = home.start();
    let http = Http::new(runner.http());
    let not_wanted = enqueue(
        &http,
        &json!({"kind": "echo", "payload": 1}),
        Some(&context("00")),
    );
    let _ = home.job_in(&not_wanted, "completed");
    assert!(headers(&home.job(&not_wanted))["traceparent"].ends_with("-00"));
    // Rubbish is passed over; a job that says its own context keeps to it.
    let begun = enqueue(
        &http,
        &json!({"kind": "echo", "payload": 1}),
        Some("rubbish"),
    );
    let own = json!({"kind": "echo", "payload": 1, "headers": {"traceparent": context("01")}});
    let own = enqueue(
        &http,
        &own,
        Some("00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
    );
    let _ = (
        home.job_in(&begun, "completed"),
        home.job_in(&own, "completed"),
    );
    // What is left is told when the runner stops.
    assert!(runner.terminate().success());
    let spans = spans(&collector, 4);
    let of = |id: &str| {
        let mut mine: Vec<&Span> = spans
            .iter()
            .map(|(_, span)| span)
            .filter(|span| texts(&span.attributes)["messaging.message.id"] == id)
            .collect();
        // Who enqueues first: an attempt may be over before the answer came.
        mine.sort_by_key(|span| span.kind);
        mine.into_iter()
            .map(|span| (hex(&span.trace_id), hex(&span.parent_span_id)))
            .collect::<Vec<_>>()
    };
    assert!(of(&not_wanted).is_empty());
    let (begun, own) = (of(&begun), of(&own));
    assert_eq!((begun.len(), own.len()), (2, 2));
    assert!(begun[0].0 == begun[1].0 && begun[0].0 != TRACE, "{begun:?}");
    assert_eq!(own[0], (TRACE.to_owned(), CALLER.to_owned()));
    assert!(collector.came().is_none());
}

#[test]
fn a_collector_that_is_away_is_told_once_and_holds_nothing_up() {
    let home = Home::with(SANDHOG, &["misbehave"]).over_http();
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = gone.local_addr().unwrap();
    drop(gone);
    home.write_config(&format!("[traces]\nendpoint = \"http://{address}\"\n"));
    let runner = home.start();
    let _ = home.run(&["enqueue", "echo", "1", "--wait"]).exits(0);
    wait::until(
        "a word about the collector",
        Duration::from_secs(60),
        || runner.said().contains("spans are not taken").then_some(()),
    );
    let _ = home.run(&["enqueue", "echo", "2", "--wait"]).exits(0);
    // The last spans are told in vain, too.
    assert!(runner.terminate().success());
    let said = std::fs::read_to_string(home.folder().join("runner.log")).unwrap();
    assert_eq!(said.matches("spans are not taken").count(), 1, "{said}");
}

#[test]
fn without_a_collector_a_context_passes_through_untouched() {
    let home = Home::with(SANDHOG, &["misbehave"]).over_http();
    let runner = home.start();
    let http = Http::new(runner.http());
    let body = json!({"kind": "echo", "payload": 1, "then": ["echo"]});
    let id = enqueue(&http, &body, Some(&context("01")));
    let job = home.job_in(&id, "completed");
    assert_eq!(headers(&job)["traceparent"], context("01"));
    let next = job["children"][0].as_str().unwrap();
    assert_eq!(headers(&home.job(next))["traceparent"], context("01"));
    let plain = enqueue(&http, &json!({"kind": "echo", "payload": 1}), None);
    assert!(headers(&home.job(&plain)).is_empty());
}
