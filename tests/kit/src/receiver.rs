//! An HTTP server that behaves as it is told, in good ways and in bad ones.

use std::{
    io::{self, BufRead, BufReader, ErrorKind, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        mpsc::{Receiver as Inbox, Sender, channel},
    },
    thread,
    time::Duration,
};

/// How long a test waits for a request that must come.
const PATIENCE: Duration = Duration::from_secs(60);
/// The size of the body that is too large, in bytes.
const HUGE: u64 = 10 << 30;

/// A server on a port of its own, until it is dropped. The path says what it does:
///
/// | path | answer |
/// |---|---|
/// | `/status/503` | that status, with the query's pairs as headers |
/// | `/silent` | none, ever; the connection stays open |
/// | `/reset` | the connection is reset while the request is under way |
/// | `/half` | a tenth of the body it announced, then the end |
/// | `/stall` | the same, but the connection stays open |
/// | `/drip-head` | a header, a byte every 50 ms, without an end |
/// | `/drip-body` | a body the same way |
/// | `/huge` | a body of 10 GiB, as fast as it is taken |
/// | `/headers` | a header without an end |
/// | `/garbage` | bytes that are no HTTP |
/// | `/redirect` | 302 to the address of a cloud's metadata service |
/// | anything else | 200, with the request's headers as its body |
#[derive(Debug)]
pub struct Receiver {
    address: SocketAddr,
    inbox: Mutex<Inbox<Received>>,
    /// Kept open for as long as the server lives.
    held: Arc<Mutex<Vec<TcpStream>>>,
}

/// A request as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// Such as `POST`.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Names in lower case, in order.
    pub headers: Vec<(String, String)>,
    /// The body, whole.
    pub body: Vec<u8>,
}

impl Received {
    /// A header's value.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

impl Receiver {
    /// Listen on a free port of 127.0.0.1.
    ///
    /// # Panics
    ///
    /// When there is none.
    #[must_use]
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener
            .local_addr()
            .expect("a bound socket has an address");
        let (inform, inbox) = channel();
        let held = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&held);
        // Ends with the test's process: nobody waits for it.
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (inform, keep) = (inform.clone(), Arc::clone(&keep));
                // A client that goes away is what half of these answers are about.
                thread::spawn(move || drop(serve(stream, &inform, &keep)));
            }
        });
        Self {
            address,
            inbox: Mutex::new(inbox),
            held,
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The next request that came whole.
    ///
    /// # Panics
    ///
    /// When none comes for a minute.
    #[must_use]
    pub fn next(&self) -> Received {
        let inbox = self.inbox.lock().expect("no test panics while it waits");
        inbox.recv_timeout(PATIENCE).expect("a request")
    }

    /// The next request, if one came already.
    #[must_use]
    pub fn came(&self) -> Option<Received> {
        let inbox = self.inbox.lock().expect("no test panics while it waits");
        inbox.try_recv().ok()
    }

    /// Connections that are held open without an answer.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held.lock().expect("nothing panics in here").len()
    }
}

fn serve(
    stream: TcpStream,
    inform: &Sender<Received>,
    held: &Mutex<Vec<TcpStream>>,
) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut out = stream.try_clone()?;
    // Only part of the request is taken: an end with the rest unread is a reset.
    let mut start = [0; 16];
    let mut seen = 0;
    while seen < start.len() {
        match stream.peek(&mut start)? {
            0 => return Ok(()),
            more => seen = more,
        }
    }
    if String::from_utf8_lossy(&start).contains(" /reset") {
        return Ok(());
    }
    if start[0] == 0x16 {
        // Whoever speaks TLS here is told in plain text.
        reader.fill_buf()?;
        return out.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
    }
    let Some(request) = read(&mut reader)? else {
        return Ok(());
    };
    let path = request.path.clone();
    let echo: String = request
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\n"))
        .collect();
    // The test that asked may be over.
    let _ = inform.send(request);
    match path.split(['/', '?']).nth(1).unwrap_or_default() {
        "silent" => held.lock().expect("nothing panics in here").push(stream),
        "status" => {
            let (status, headers) = status(&path);
            write!(out, "HTTP/1.1 {status} Said\r\n{headers}content-length: 4\r\n\r\nbody")?;
        }
        kind @ ("half" | "stall") => {
            out.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n0123456789")?;
            if kind == "stall" {
                held.lock().expect("nothing panics in here").push(stream);
            }
        }
        "drip-head" => drip(&mut out, b"HTTP/1.1 200 OK\r\nslow: ")?,
        "drip-body" => drip(&mut out, b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n")?,
        "huge" => {
            write!(out, "HTTP/1.1 200 OK\r\ncontent-length: {HUGE}\r\n\r\n")?;
            io::copy(&mut io::repeat(b'x').take(HUGE), &mut out)?;
        }
        "headers" => {
            out.write_all(b"HTTP/1.1 200 OK\r\nendless: ")?;
            io::copy(&mut io::repeat(b'x').take(HUGE), &mut out)?;
        }
        "garbage" => out.write_all(b"\x16\x03\x01 this is no HTTP at all\r\n\r\n")?,
        "redirect" => out.write_all(
            b"HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/latest/\r\ncontent-length: 0\r\n\r\n",
        )?,
        _ => write!(out, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{echo}", echo.len())?,
    }
    Ok(())
}

/// A beginning, then a byte at a time for as long as somebody takes them.
fn drip(out: &mut TcpStream, begin: &[u8]) -> io::Result<()> {
    out.write_all(begin)?;
    out.set_read_timeout(Some(Duration::from_millis(50)))?;
    loop {
        out.write_all(b"x")?;
        // Until the client goes, or the time for the next byte has come.
        match out.read(&mut [0]) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) => return Err(error),
        }
    }
}

/// `/status/503?retry-after=5`: the status, and the query's pairs as header lines.
fn status(path: &str) -> (String, String) {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let status = path.rsplit('/').next().unwrap_or_default();
    let headers = query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| format!("{name}: {}\r\n", value.replace('+', " ")));
    (status.to_owned(), headers.collect())
}

fn read(reader: &mut impl BufRead) -> io::Result<Option<Received>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Ok(None);
    };
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut request = Received {
        method,
        path,
        headers,
        body: Vec::new(),
    };
    let length = request
        .header("content-length")
        .and_then(|text| text.parse().ok());
    request.body = match length {
        Some(length) => {
            let mut body = vec![0; length];
            reader.read_exact(&mut body)?;
            body
        }
        None if request.header("transfer-encoding").is_some() => chunks(reader)?,
        None => Vec::new(),
    };
    Ok(Some(request))
}

fn chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let length = usize::from_str_radix(line.trim(), 16)
            .map_err(|_| io::Error::from(ErrorKind::InvalidData))?;
        let from = body.len();
        body.resize(from + length, 0);
        reader.read_exact(&mut body[from..])?;
        reader.read_line(&mut String::new())?;
        if length == 0 {
            return Ok(body);
        }
    }
}
