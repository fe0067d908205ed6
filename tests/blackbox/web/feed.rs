//! The feed of changes.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
};

use sandhog_kit::{Home, Http, http};
use serde_json::{Value, json};

use super::runner;

/// A feed that is read event by event.
struct Feed {
    reader: BufReader<TcpStream>,
    text: Vec<u8>,
}

impl Feed {
    fn open(http: &Http, behind: &str) -> Self {
        let mut stream = http.connect();
        write!(
            stream,
            "GET /api/v1/events{behind} HTTP/1.1\r\nhost: {}\r\nlast-event-id: 7\r\n\r\n",
            http.address
        )
        .unwrap();
        let mut feed = Self {
            reader: BufReader::new(stream),
            text: Vec::new(),
        };
        let mut head = String::new();
        while feed.reader.read_line(&mut head).unwrap() > 2 {}
        assert!(
            head.contains("200 OK") && head.contains("content-type: text/event-stream"),
            "{head}"
        );
        assert_eq!(
            feed.next(),
            Some(("hello".to_owned(), json!({ "resumed": false })))
        );
        feed
    }

    /// The next event; `None` when the feed ended.
    fn next(&mut self) -> Option<(String, Value)> {
        let mut quiet = 0;
        loop {
            if let Some(end) = self.text.windows(2).position(|two| two == b"\n\n") {
                let event: Vec<u8> = self.text.drain(..end + 2).collect();
                let event = String::from_utf8(event).unwrap();
                let line = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
                if let (Some(name), Some(data)) = (line("event: "), line("data: ")) {
                    return Some((name.to_owned(), serde_json::from_str(data).unwrap()));
                }
                // A word that keeps the connection open, every 15 s.
                quiet += 1;
                assert!(quiet < 4, "no event came for a minute");
                continue;
            }
            if !http::chunk(&mut self.reader, &mut self.text) {
                return None;
            }
        }
    }
}

#[test]
fn changes_are_told_in_their_order_once_they_are_durable() {
    let (home, runner, http) = runner();
    let mut all = Feed::open(&http, "");
    let mut ends = Feed::open(&http, "?ends=true");
    let id = home.enqueue(&["echo", "x"]);
    let mut one = Feed::open(&http, &format!("?job={id}"));
    let _ = home.job_in(&id, "completed");
    let mut states = Vec::new();
    while states.last().is_none_or(|state| state != "completed") {
        let (name, data) = all.next().unwrap();
        assert_eq!((name.as_str(), &data["id"]), ("job", &json!(id)));
        states.push(data["state"].clone());
    }
    assert!(states.len() <= 3, "{states:?}");
    assert_eq!(
        ends.next(),
        Some(("job".into(), json!({ "id": id, "state": "completed" })))
    );
    let other = home.enqueue(&["echo", "y"]);
    let _ = home.job_in(&other, "completed");
    let _ = home.run(&["job", "retry", &id]).exits(0);
    let _ = home.job_in(&id, "completed");
    assert!(runner.terminate().success());
    let mut states = Vec::new();
    while let Some((_, data)) = one.next() {
        // Only of the job that was asked for.
        assert_eq!(data["id"], json!(id));
        states.push(data["state"].clone());
    }
    assert!(states.contains(&json!("available")), "{states:?}");
}

/// A reader that takes nothing holds nobody up, and hears later that it missed something.
#[test]
fn a_reader_that_takes_nothing_is_told_how_much_it_missed() {
    let (home, _runner, http) = runner();
    let mut stuck = Feed::open(&http, "");
    let line = "{\"kind\":\"nobody\"}\n".repeat(500);
    let enqueue = |home: &Home| {
        drop(
            home.run_with(&["enqueue", "--bulk", "-"], line.as_bytes())
                .exits(0),
        )
    };
    // So many that neither the runner's buffers nor the system's hold them.
    let changes = 240 * 500;
    for _ in 0..240 {
        enqueue(&home);
    }
    let (mut told, mut lost) = (0, 0);
    while told + lost < changes {
        match stuck.next().unwrap() {
            (name, data) if name == "missed" => lost += data["changes"].as_u64().unwrap(),
            (name, _) => {
                assert_eq!(name, "job");
                told += 1;
            }
        }
    }
    assert!(lost > 0, "{told} told, none missed");
    assert_eq!(told + lost, changes);
}
