//! The calling side, without async: one request, one answer.

use std::{
    io::{self, Read, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    ApiError, Reply, Request, Response, SOCKET_NAME,
    frame::{self, FrameError},
    socket::ShortPath,
};

/// How long a runner may take to greet. One that is up greets at once.
const GREETING_WAIT: Duration = Duration::from_secs(5);
/// How long a runner may take to answer. The slowest answer waits for a sync of a busy disk.
const ANSWER_WAIT: Duration = Duration::from_secs(60);

/// A connection to a runner.
#[derive(Debug)]
pub struct Client {
    stream: UnixStream,
    path: PathBuf,
}

/// Why no runner could be reached.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// No socket, or nobody listens on it.
    #[error("no runner listens on {}", path.display())]
    Nobody {
        /// The socket.
        path: PathBuf,
    },
    /// Somebody listens but does not answer as a runner does.
    #[error("the runner on {} does not answer: {source}", path.display())]
    Silent {
        /// The socket.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The other side is another program or version.
    #[error("cannot talk to the runner on {}: {source}", path.display())]
    Protocol {
        /// The socket.
        path: PathBuf,
        /// What differs.
        source: FrameError,
    },
}

/// Why a call gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The runner refused.
    #[error(transparent)]
    Refused(#[from] ApiError),
    /// The connection broke: it is unknown whether the request was done.
    #[error("the runner on {} went away", path.display())]
    Gone {
        /// The socket.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The answer, or the request, is no frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

impl Client {
    /// Connect to the runner that holds a data directory.
    pub fn connect(data: &Path) -> Result<Self, ConnectError> {
        let path = data.join(SOCKET_NAME);
        let silent = |source| ConnectError::Silent {
            path: path.clone(),
            source,
        };
        let connected =
            ShortPath::of(data, SOCKET_NAME).and_then(|short| UnixStream::connect(short.path()));
        let mut stream = match connected {
            Ok(stream) => stream,
            Err(error) if is_nobody(&error) => return Err(ConnectError::Nobody { path }),
            Err(error) => return Err(silent(error)),
        };
        let mut greeting = [0; frame::GREETING_BYTES];
        stream
            .set_read_timeout(Some(GREETING_WAIT))
            .and_then(|()| stream.set_write_timeout(Some(ANSWER_WAIT)))
            .and_then(|()| stream.write_all(&frame::greeting()))
            .and_then(|()| stream.read_exact(&mut greeting))
            .and_then(|()| stream.set_read_timeout(Some(ANSWER_WAIT)))
            .map_err(silent)?;
        match frame::check_greeting(greeting) {
            Ok(()) => Ok(Self { stream, path }),
            Err(source) => Err(ConnectError::Protocol { path, source }),
        }
    }

    /// Ask, and wait for the answer.
    pub fn call(&mut self, request: &Request) -> Result<Response, CallError> {
        let outgoing = frame::encode(request)?;
        let body = self.exchange(&outgoing)?;
        let reply: Reply = frame::decode_body(&body)?;
        Ok(reply?)
    }

    fn exchange(&mut self, outgoing: &[u8]) -> Result<Vec<u8>, CallError> {
        let gone = |source| CallError::Gone {
            path: self.path.clone(),
            source,
        };
        let mut length = [0; 4];
        let mut stream = &self.stream;
        // A runner that turns a caller away closes before it reads, and its answer says why.
        let written = stream.write_all(outgoing);
        let read = stream.read_exact(&mut length);
        if read.is_err() {
            written.and(read).map_err(gone)?;
        }
        let mut body = vec![0; frame::check_length(length)?];
        stream.read_exact(&mut body).map_err(gone)?;
        Ok(body)
    }
}

fn is_nobody(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused | io::ErrorKind::NotADirectory
    )
}
