//! A server that answers as it is told, one step for each request, and keeps what it was sent.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, mpsc},
    thread,
};

/// What is done with one request, once it was read whole.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Answer with these bytes, and take the next request of the connection.
    Answer(String),
    /// Answer, and close the connection without saying so before.
    AnswerAndClose(String),
    /// Close the connection without an answer.
    Close,
    /// Answer the first bytes of what would be a longer answer, and close.
    BreakOff,
    /// No answer, until the test is over.
    Silence,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// Its first line.
    pub(crate) line: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    /// On the how manieth connection.
    pub(crate) connection: usize,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The idempotency keys of its jobs.
    pub(crate) fn keys(&self) -> Vec<String> {
        let body: serde_json::Value = serde_json::from_str(&self.body).unwrap();
        let jobs = match &body["jobs"] {
            serde_json::Value::Array(jobs) => jobs.clone(),
            _ => vec![body],
        };
        let key = |job: &serde_json::Value| job["idempotency_key"].as_str().unwrap().to_owned();
        jobs.iter().map(key).collect()
    }
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    /// Ends the silence.
    _end: mpsc::Sender<()>,
}

impl Server {
    pub(crate) fn start(steps: &[Step]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (end, ended) = mpsc::channel();
        let steps = steps.to_vec();
        let kept = Arc::clone(&seen);
        // Connections one after another, as the steps are; it ends with them.
        thread::spawn(move || {
            let (mut silent, mut steps) = (Vec::new(), steps.into_iter());
            for (connection, stream) in (1..).zip(listener.incoming()) {
                match serve(stream.unwrap(), connection, &mut steps, &kept) {
                    Next::Silent(stream) => silent.push(stream),
                    Next::Connection => {}
                    Next::Nothing => break,
                }
            }
            let _ = ended.recv();
        });
        Self {
            address,
            seen,
            _end: end,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

enum Next {
    Connection,
    Silent(TcpStream),
    Nothing,
}

fn serve(
    stream: TcpStream,
    connection: usize,
    steps: &mut impl Iterator<Item = Step>,
    seen: &Mutex<Vec<Seen>>,
) -> Next {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    loop {
        let Some(request) = read(&mut reader, connection) else {
            return Next::Connection;
        };
        seen.lock().unwrap().push(request);
        match steps.next() {
            Some(Step::Answer(bytes)) => stream.write_all(bytes.as_bytes()).unwrap(),
            Some(Step::AnswerAndClose(bytes)) => {
                stream.write_all(bytes.as_bytes()).unwrap();
                return Next::Connection;
            }
            Some(Step::Close) => {
                let _ = stream.shutdown(Shutdown::Both);
                return Next::Connection;
            }
            Some(Step::BreakOff) => {
                let head = "HTTP/1.1 201 Created\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{\"id\"";
                stream.write_all(head.as_bytes()).unwrap();
                return Next::Connection;
            }
            Some(Step::Silence) => return Next::Silent(stream),
            None => return Next::Nothing,
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>, connection: usize) -> Option<Seen> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let (mut headers, mut length) = (Vec::new(), 0);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(": ") else {
            break;
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.parse().unwrap();
        }
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Seen {
        line: line.trim_end().to_owned(),
        headers,
        body: String::from_utf8(body).unwrap(),
        connection,
    })
}

/// An answer with JSON.
pub(crate) fn json(status: u16, body: &str) -> Step {
    Step::Answer(answer(status, "application/json", "", body))
}

/// A refusal by its code.
pub(crate) fn problem(status: u16, code: &str, headers: &str) -> Step {
    let body = format!(r#"{{"code":"{code}","title":"t","detail":"d","status":{status}}}"#);
    Step::Answer(answer(status, "application/problem+json", headers, &body))
}

pub(crate) fn answer(status: u16, media_type: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status} X\r\ncontent-type: {media_type}\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    )
}
