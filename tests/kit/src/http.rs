//! HTTP as it is written on the wire, by hand: requests that no client would send, and answers as they come.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use serde_json::Value;

/// Longest time for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A runner's address, and the token that is shown there.
#[derive(Debug, Clone)]
pub struct Http {
    /// Where it is.
    pub address: SocketAddr,
    /// What is shown.
    pub token: Option<String>,
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Reply {
    /// Such as 200; 0 when the connection ended without an answer.
    pub status: u16,
    /// Names in lower case, in order.
    pub headers: Vec<(String, String)>,
    /// The body, whole.
    pub body: Vec<u8>,
}

impl Reply {
    /// A header's value.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Panics
    ///
    /// When it is none.
    #[track_caller]
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{} is no JSON: {error}\n{}", self.status, self.text()))
    }

    /// The same answer, once its status is known to be this one.
    ///
    /// # Panics
    ///
    /// When it is another.
    #[track_caller]
    #[must_use]
    pub fn is(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text());
        self
    }

    /// The code of the problem that it is, with its media type and the page it leads to looked at.
    ///
    /// # Panics
    ///
    /// When it is no problem.
    #[track_caller]
    #[must_use]
    pub fn problem(&self) -> String {
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json"),
            "{} {}",
            self.status,
            self.text()
        );
        let problem = self.json();
        let code = problem["code"].as_str().expect("a code").to_owned();
        assert_eq!(problem["status"], self.status, "{problem}");
        assert_eq!(problem["type"], format!("/docs/errors/{code}"), "{problem}");
        code
    }
}

impl Http {
    /// Without a token.
    #[must_use]
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            token: None,
        }
    }

    /// With one.
    #[must_use]
    pub fn with(&self, token: &str) -> Self {
        Self {
            address: self.address,
            token: Some(token.to_owned()),
        }
    }

    /// `GET` a path.
    #[track_caller]
    #[must_use]
    pub fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], None)
    }

    /// `POST` JSON to a path.
    #[track_caller]
    #[must_use]
    pub fn post(&self, path: &str, body: &Value) -> Reply {
        self.write("POST", path, body)
    }

    /// Send JSON to a path with some method.
    #[track_caller]
    #[must_use]
    pub fn write(&self, method: &str, path: &str, body: &Value) -> Reply {
        let json = ("content-type", "application/json");
        self.send(method, path, &[json], Some(body.to_string().as_bytes()))
    }

    /// Send a request with these headers; `Host` and what the body needs are added.
    #[track_caller]
    #[must_use]
    pub fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Reply {
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| *name == "host") {
            head += &format!("host: {}\r\n", self.address);
        }
        if let Some(token) = &self.token {
            head += &format!("authorization: Bearer {token}\r\n");
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        if let Some(body) = body {
            head += &format!("content-length: {}\r\n", body.len());
        }
        let mut bytes = (head + "connection: close\r\n\r\n").into_bytes();
        bytes.extend_from_slice(body.unwrap_or_default());
        self.raw(&bytes)
    }

    /// Send bytes, and read one answer.
    ///
    /// # Panics
    ///
    /// When nobody listens, or no answer comes in a minute.
    #[track_caller]
    #[must_use]
    pub fn raw(&self, bytes: &[u8]) -> Reply {
        let mut stream = self.connect();
        // What is refused early is not read to its end; the answer says why.
        let _ = stream.write_all(bytes);
        read(&mut BufReader::new(stream))
    }

    /// A connection.
    ///
    /// # Panics
    ///
    /// When nobody listens.
    #[track_caller]
    #[must_use]
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("someone listens");
        stream
            .set_read_timeout(Some(PATIENCE))
            .expect("a time can be set");
        stream
    }
}

/// Where a runner is reached, as the line of its log says with which it was ready.
#[must_use]
pub fn announced(said: &str) -> Option<SocketAddr> {
    let line = said
        .lines()
        .rev()
        .find(|line| line.contains("ready") && line.contains("http"))?;
    let (_, after) = line.split_once("http")?;
    let after = after.trim_start_matches(['=', '"', ':']);
    let end = after.find([' ', '"', ',', '}']).unwrap_or(after.len());
    after[..end].parse().ok()
}

/// Read one answer.
///
/// # Panics
///
/// When it is no HTTP.
#[must_use]
pub fn read(reader: &mut impl BufRead) -> Reply {
    let mut reply = Reply {
        status: 0,
        headers: Vec::new(),
        body: Vec::new(),
    };
    let mut line = String::new();
    if !matches!(reader.read_line(&mut line), Ok(1..)) {
        return reply;
    }
    let status = line
        .split_whitespace()
        .nth(1)
        .and_then(|word| word.parse().ok());
    reply.status = status.unwrap_or_else(|| panic!("{line:?} is no answer"));
    loop {
        let mut line = String::new();
        if !matches!(reader.read_line(&mut line), Ok(1..)) {
            return reply;
        }
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        let (name, value) = (name.to_ascii_lowercase(), value.trim().to_owned());
        reply.headers.push((name, value));
    }
    match (
        reply.header("content-length"),
        reply.header("transfer-encoding"),
    ) {
        (Some(length), _) => {
            let length = length.parse().expect("a length is a number");
            // A connection that breaks off leaves what came.
            let _ = reader.take(length).read_to_end(&mut reply.body);
        }
        (None, Some(_)) => while chunk(reader, &mut reply.body) {},
        (None, None) => {}
    }
    reply
}

/// Read one chunk of a body; `false` at its end.
pub fn chunk(reader: &mut impl BufRead, body: &mut Vec<u8>) -> bool {
    let mut line = String::new();
    if !matches!(reader.read_line(&mut line), Ok(1..)) {
        return false;
    }
    let length = u64::from_str_radix(line.trim(), 16).unwrap_or(0);
    let read = reader.by_ref().take(length).read_to_end(body);
    let _ = reader.read_line(&mut String::new());
    length > 0 && read.is_ok()
}
