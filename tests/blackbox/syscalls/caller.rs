//! A caller without the command line's cost of a process: the socket's frames by hand.

use std::{
    io::{Read, Write},
    os::unix::net::UnixStream,
    time::Duration,
};

use sandhog_kit::Home;
use serde_json::{Value, json};

/// A greeting, either way.
const GREETING: [u8; 8] = *b"SNDHOG\0\x01";

/// One connection.
pub(super) struct Caller(UnixStream);

impl Caller {
    pub(super) fn connect(home: &Home) -> Self {
        let socket = home.data().join("sandhog.sock");
        let mut stream = UnixStream::connect(socket).expect("a runner listens");
        let bound = Some(Duration::from_secs(60));
        stream.set_read_timeout(bound).expect("a bound");
        stream.write_all(&GREETING).expect("it listens");
        let mut theirs = [0; 8];
        stream.read_exact(&mut theirs).expect("it greets");
        assert_eq!(theirs, GREETING);
        Self(stream)
    }

    /// The answer's body as it comes.
    pub(super) fn ask(&mut self, request: &Value) -> Vec<u8> {
        let body = rmp_serde::to_vec_named(request).expect("a request");
        let mut frame = (body.len() as u32).to_be_bytes().to_vec();
        frame.extend(body);
        self.0.write_all(&frame).expect("it listens");
        let mut length = [0; 4];
        self.0.read_exact(&mut length).expect("it answers");
        let mut answer = vec![0; u32::from_be_bytes(length) as usize];
        self.0.read_exact(&mut answer).expect("it answers");
        answer
    }

    /// Enqueues one job: whether it was acknowledged.
    pub(super) fn enqueue(&mut self, kind: &str) -> bool {
        let job = json!({ "kind": kind, "payload": [120], "headers": [], "retry": {} });
        let answer = self.ask(&json!({ "Enqueue": { "jobs": [job] } }));
        answer.windows(8).any(|part| part == b"Enqueued")
    }

    /// Reads a page of jobs.
    pub(super) fn list(&mut self) {
        let page = json!({ "filter": {}, "page": { "limit": 10, "cursor": null } });
        let answer = self.ask(&json!({ "Jobs": page }));
        assert!(answer.windows(4).any(|part| part == b"Jobs"), "{answer:?}");
    }
}
