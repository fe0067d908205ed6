//! T46: very many connections that say little or nothing, where few files may be open.

use std::{
    io::{BufReader, Read, Write},
    net::TcpStream,
    process::Command,
    time::{Duration, Instant},
};

use sandhog_kit::{Home, Http, http, long, wait};

use super::{runner, start};
use crate::SANDHOG;

/// Ends a connection may have: an answer and the end, or the end.
fn is_over(mut stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    loop {
        match stream.read(&mut [0; 4096]) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() != std::io::ErrorKind::WouldBlock,
        }
    }
}

/// A connection that begins a request and leaves it there. What the runner turned away at once cannot
/// be written to.
fn half_open(http: &Http, begin: &str) -> TcpStream {
    let mut stream = http.connect();
    let _ = stream.write_all(begin.as_bytes());
    stream
}

#[test]
fn t46_connections_that_say_little_are_closed_and_starve_nobody() {
    let (home, runner, http) = runner();
    let limit = Command::new("prlimit")
        .args(["--nofile=512:512", "--pid", &runner.pid().to_string()])
        .status();
    assert!(limit.expect("prlimit can be run").success());
    let host = http.address;
    let begins = [
        String::new(),
        "GET /api/v1/st".to_owned(),
        format!("GET /api/v1/stats HTTP/1.1\r\nhost: {host}\r\nx-"),
        format!(
            "POST /api/v1/jobs HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{{"
        ),
        format!(
            "POST /api/v1/jobs HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{{"
        ),
    ];
    let count = if long() { 5_000 } else { 1_000 };
    // This side holds one for each of them too; where it may not, connecting says so.
    let _ = Command::new("prlimit")
        .args(["--nofile=8192:", "--pid", &std::process::id().to_string()])
        .status();
    let start = Instant::now();
    let mut streams: Vec<TcpStream> = (0..count)
        .map(|number| half_open(&http, &begins[number % begins.len()]))
        .collect();
    // The store goes on, and so does the socket: neither lacks a file.
    for _ in 0..5 {
        let id = home.enqueue(&["echo", "x"]);
        let _ = home.job_in(&id, "completed");
    }
    let at_once = streams.iter().filter(|stream| is_over(stream)).count();
    assert!(at_once > count / 2, "{at_once} of {count} turned away");
    wait::until("all of them to be closed", Duration::from_secs(45), || {
        streams.retain(|stream| !is_over(stream));
        streams.is_empty().then_some(())
    });
    let closed = start.elapsed();
    let asked = Instant::now();
    let _ = http.get("/health").is(200);
    assert!(asked.elapsed() < Duration::from_secs(5));
    println!(
        "T46: {count} half-open connections under 512 files, {at_once} turned away, the last closed after {closed:.1?}"
    );
}

/// A head that stops in the middle is told so, and a body as well.
#[test]
fn what_does_not_arrive_in_time_is_told_so() {
    let (_home, _runner, http) = runner();
    let host = http.address;
    let head = half_open(&http, "GET /api/v1/stats HTTP/1.1\r\nhost: ");
    let body = half_open(
        &http,
        &format!(
            "POST /api/v1/jobs/01M8PZ6285SYQBN8SK09T2DV1D/retry HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{{"
        ),
    );
    for stream in [head, body] {
        let reply = http::read(&mut BufReader::new(stream)).is(408);
        assert_eq!(reply.problem(), "timeout");
    }
}

/// Whoever goes away while it waits leaves nothing behind.
#[test]
fn a_wait_ends_when_the_caller_goes_away() {
    let (home, _runner, http) = runner();
    let id = home.enqueue(&["echo", "x", "--in", "1h"]);
    let host = http.address;
    let begin =
        format!("GET /api/v1/jobs/{id}/wait?timeout_ms=120000 HTTP/1.1\r\nhost: {host}\r\n\r\n");
    let path = format!("/api/v1/jobs/{id}/wait?timeout_ms=0");
    let mut waits = Vec::new();
    wait::until("every place to be taken", Duration::from_secs(20), || {
        waits.push(half_open(&http, &begin));
        (http.get(&path).status == 503).then_some(())
    });
    let full = http.get(&path);
    assert_eq!(
        (full.problem(), full.header("retry-after")),
        ("busy".to_owned(), Some("1"))
    );
    waits.clear();
    wait::until(
        "the places to be free again",
        Duration::from_secs(20),
        || (http.get(&path).status == 200).then_some(()),
    );
}

#[test]
fn no_more_connections_are_taken_than_the_settings_say() {
    let home = Home::new(SANDHOG).over_http();
    home.write_config("[http]\nconnections = 3\n");
    let (_home, _runner, http) = start(home);
    let held: Vec<TcpStream> = (0..3).map(|_| half_open(&http, "GET ")).collect();
    wait::until("every place to be taken", Duration::from_secs(20), || {
        (http.get("/health").status == 503).then_some(())
    });
    assert_eq!(http.get("/health").problem(), "busy");
    drop(held);
    wait::until("a place to be free", Duration::from_secs(20), || {
        (http.get("/health").status == 200).then_some(())
    });
}
