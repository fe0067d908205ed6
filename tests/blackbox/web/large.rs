//! T47: requests that are too large, too deep, or no requests at all.

use std::io::Write;

use sandhog_kit::{Http, Reply, Runner};
use serde_json::json;

use super::runner;

/// Most that the runner may grow over all of it, in KiB.
const GROWTH_KIB: u64 = 16 << 10;
/// Most bytes of the body of a job, as `limits.payload` is by default.
const MOST: usize = (256 << 10) + 2 * (1 << 20);
const JSON: (&str, &str) = ("content-type", "application/json");

fn post(http: &Http, body: &[u8]) -> Reply {
    http.send("POST", "/api/v1/jobs", &[JSON], Some(body))
}

/// A request without an end: sent until the runner has had enough.
fn endless(http: &Http, head: &str, part: &[u8]) -> Reply {
    let mut stream = http.connect();
    let mut writer = stream.try_clone().unwrap();
    let head = head.replace("HOST", &http.address.to_string());
    writer.write_all(head.as_bytes()).unwrap();
    let part = part.to_vec();
    let sending = std::thread::spawn(move || while writer.write_all(&part).is_ok() {});
    let reply = sandhog_kit::http::read(&mut std::io::BufReader::new(&mut stream));
    drop(stream);
    sending.join().unwrap();
    reply
}

#[test]
fn t47_bodies_that_are_too_large_too_deep_or_mean_two_things() {
    let (_home, runner, http) = runner();
    let before = warm(&runner, &http);
    let job = |length: usize| {
        let start = r#"{"kind":"nobody","payload_text":""#;
        let fill = "x".repeat(length - start.len() - 2);
        format!("{start}{fill}\"}}").into_bytes()
    };
    assert_eq!(post(&http, &job(MOST)).problem(), "invalid");
    assert_eq!(post(&http, &job(MOST + 1)).problem(), "too-large");
    let deep = format!(r#"{{"kind":"nobody","payload":{}}}"#, "[".repeat(200_000));
    let table: [(&[u8], &str); 14] = [
        (b"", "bad-request"),
        (b"null", "bad-request"),
        (b"[]", "bad-request"),
        (b"{", "bad-request"),
        (b"{\"kind\":\"nobody\"}{", "bad-request"),
        (b"{\"kind\":\"nobody\",\"kind\":\"other\"}", "bad-request"),
        (
            b"{\"kind\":\"nobody\",\"payload\":{\"a\":1,\"a\":2}}",
            "bad-request",
        ),
        (
            b"{\"kind\":\"nobody\",\"priority\":18446744073709551616}",
            "bad-request",
        ),
        (
            b"{\"kind\":\"nobody\",\"max_attempts\":4294967297}",
            "bad-request",
        ),
        (b"{\"kind\":\"nobody\\u0000\"}", "invalid"),
        (b"{\"kind\":\"\xff\"}", "bad-request"),
        (
            b"{\"kind\":\"nobody\",\"payload\":\"\\ud800\"}",
            "bad-request",
        ),
        (b"\x1f\x8b\x08\x00", "bad-request"),
        (deep.as_bytes(), "bad-request"),
    ];
    for (body, code) in table {
        let reply = post(&http, body);
        assert_eq!(
            reply.problem(),
            code,
            "{}",
            String::from_utf8_lossy(&body[..body.len().min(80)])
        );
    }
    let bomb = [JSON, ("content-encoding", "gzip")];
    let bomb = http.send("POST", "/api/v1/jobs", &bomb, Some(&[0; 10_000]));
    assert_eq!(bomb.problem(), "unsupported-media-type");
    let chunked = "POST /api/v1/jobs HTTP/1.1\r\nhost: HOST\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk = [b"10000\r\n".to_vec(), vec![b'['; 0x10000], b"\r\n".to_vec()].concat();
    assert_eq!(endless(&http, chunked, &chunk).problem(), "too-large");
    let lying = "POST /api/v1/jobs HTTP/1.1\r\nhost: HOST\r\ncontent-type: application/json\r\ncontent-length: 1000000000000000\r\n\r\n";
    assert_eq!(endless(&http, lying, b"x").problem(), "too-large");
    bounded(&runner, &http, before, "bodies");
}

#[test]
fn t47_heads_that_are_too_large_or_no_heads() {
    let (_home, runner, http) = runner();
    let before = warm(&runner, &http);
    let begin = "GET /api/v1/stats HTTP/1.1\r\nhost: HOST\r\n";
    assert_eq!(
        endless(&http, &format!("{begin}x: "), &[b'x'; 4096]).problem(),
        "headers-too-large"
    );
    assert_eq!(
        endless(&http, begin, b"x: y\r\n").problem(),
        "headers-too-large"
    );
    let large = [("x", &*"y".repeat(40_000))];
    assert_eq!(
        http.send("GET", "/api/v1/stats", &large, None).problem(),
        "headers-too-large"
    );
    let many: Vec<(String, String)> = (0..100)
        .map(|number| (format!("x-{number}"), "y".into()))
        .collect();
    let many: Vec<(&str, &str)> = many
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    assert_eq!(
        http.send("GET", "/api/v1/stats", &many, None).problem(),
        "headers-too-large"
    );
    let long = format!("/api/v1/jobs?cursor={}", "c".repeat(10_000));
    assert_eq!(http.get(&long).problem(), "uri-too-long");
    let longer = format!("/{}", "c".repeat(70_000));
    assert!(matches!(
        http.get(&longer).problem().as_str(),
        "uri-too-long" | "headers-too-large"
    ));
    bounded(&runner, &http, before, "heads");
}

#[test]
fn t47_what_is_no_request() {
    let (_home, runner, http) = runner();
    let before = warm(&runner, &http);
    for bytes in [
        &b"hello\r\n\r\n"[..],
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /api/v1/st\x00ts HTTP/1.1\r\nhost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nbad header\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 is TLS\r\n\r\n",
    ] {
        assert_eq!(
            http.raw(bytes).problem(),
            "bad-request",
            "{}",
            String::from_utf8_lossy(bytes)
        );
    }
    for path in [
        "/api/v1/jobs/%ff",
        "/api/v1/jobs/%00",
        "/api/v1/jobs?queue=%ff",
        "/api/v1/queues/%2e%2e/pause",
    ] {
        let method = if path.ends_with("pause") {
            "POST"
        } else {
            "GET"
        };
        let reply = http.send(method, path, &[JSON], None);
        assert_eq!(reply.problem(), "bad-request", "{path}");
    }
    // A body twice: its length and its chunks.
    let twice = format!(
        "POST /api/v1/jobs HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /health HTTP/1.1\r\n\r\n",
        http.address
    );
    assert_eq!(http.raw(twice.as_bytes()).problem(), "bad-request");
    bounded(&runner, &http, before, "no requests");
}

/// The memory of the runner once it did everything once.
fn warm(runner: &Runner, http: &Http) -> u64 {
    let payload = "x".repeat((1 << 20) - 2);
    // The largest body that is read to its end, on each of the threads that read.
    let largest = vec![b' '; MOST];
    for _ in 0..8 {
        assert_eq!(post(http, &largest).problem(), "bad-request");
        let _ = http
            .post(
                "/api/v1/jobs",
                &json!({ "kind": "nobody", "payload": payload }),
            )
            .is(201);
    }
    runner.resident_kib()
}

fn bounded(runner: &Runner, http: &Http, before: u64, what: &str) {
    let after = runner.resident_kib();
    let _ = http.get("/api/v1/stats").is(200);
    assert!(
        after < before + GROWTH_KIB,
        "{what}: {before} KiB before, {after} after"
    );
    println!("T47: {what}, {before} KiB resident before and {after} after");
}
