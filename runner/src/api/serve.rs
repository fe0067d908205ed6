//! The listening side. One connection carries any number of requests, one at a time.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    task::Context,
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
    sync::{OwnedSemaphorePermit, watch},
    time::timeout,
};

use super::{
    ApiError, Ctx, ErrorCode, Handle, Reply, Request, SOCKET_NAME,
    accept::Connections,
    frame::{self, FrameError},
    handle,
    socket::ShortPath,
};

/// How long a caller may take to say who it is.
const GREETING: Duration = Duration::from_secs(2);

/// How the socket is served.
#[derive(Debug, Clone)]
pub struct Options {
    /// The data directory. The caller holds its `LOCK`: only then is a socket found there stale.
    pub data: PathBuf,
    /// Connections at a time. One more is greeted, told so and closed.
    pub connections: usize,
    /// How long a connection may rest between two requests.
    pub idle: Duration,
    /// How long a frame may take to arrive or leave once it began.
    pub transfer: Duration,
    /// How long a stop waits for answers under way.
    pub grace: Duration,
}

impl Options {
    /// The defaults for a data directory.
    #[must_use]
    pub fn new(data: &Path) -> Self {
        Self {
            data: data.into(),
            connections: 512,
            idle: Duration::from_secs(60),
            transfer: Duration::from_secs(30),
            grace: Duration::from_secs(2),
        }
    }
}

/// Why the socket could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {}: {source}", path.display())]
pub struct BindError {
    /// The socket.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// A socket that is open but not served yet.
#[derive(Debug)]
pub struct Server {
    listener: UnixListener,
    options: Options,
    stop: watch::Receiver<bool>,
}

impl Server {
    /// Open the socket, readable and writable for the owner alone. Must be called within a tokio
    /// runtime.
    pub fn bind(options: Options) -> Result<(Self, Handle), BindError> {
        let listener = bind(&options.data).map_err(|source| BindError {
            path: options.data.join(SOCKET_NAME),
            source,
        })?;
        let (handle, stop) = Handle::new();
        let server = Self {
            listener,
            options,
            stop,
        };
        Ok((server, handle))
    }

    /// Answer until stopped, then remove the socket.
    pub async fn run(self, ctx: Ctx) {
        let ctx = Arc::new(ctx);
        let options = Arc::new(self.options);
        let (listener, stop) = (self.listener, self.stop);
        let accept = |cx: &mut Context<'_>| listener.poll_accept(cx);
        let begin = |(stream, _), place: Option<OwnedSemaphorePermit>| {
            let connection = Connection {
                stream,
                options: Arc::clone(&options),
                stop: stop.clone(),
            };
            let ctx = Arc::clone(&ctx);
            Some(async move {
                match place {
                    Some(_place) => connection.serve(&ctx).await,
                    None => connection.turn_away().await,
                }
            })
        };
        let under_way = Connections::take(accept, options.connections, stop.clone(), begin).await;
        drop(listener);
        let _ = fs::remove_file(options.data.join(SOCKET_NAME));
        under_way.end(options.grace).await;
    }
}

/// Bind beside the final name and rename, so that the name never leads to a socket others can
/// open, and a stale one is replaced in one step.
fn bind(data: &Path) -> io::Result<UnixListener> {
    let fresh = format!("{SOCKET_NAME}.new");
    let target = data.join(&fresh);
    match fs::remove_file(&target) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let short = ShortPath::of(data, &fresh)?;
    let listener = std::os::unix::net::UnixListener::bind(short.path())?;
    fs::set_permissions(&target, fs::Permissions::from_mode(0o600))?;
    fs::rename(&target, data.join(SOCKET_NAME))?;
    listener.set_nonblocking(true)?;
    UnixListener::from_std(listener)
}

/// Why a connection ends.
enum End {
    /// The other side is done, too slow, or broke the connection.
    Quiet,
    /// The other side broke the protocol.
    Broken(FrameError),
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> Self {
        Self::Quiet
    }
}

impl From<tokio::time::error::Elapsed> for End {
    fn from(_: tokio::time::error::Elapsed) -> Self {
        Self::Quiet
    }
}

impl From<FrameError> for End {
    fn from(error: FrameError) -> Self {
        Self::Broken(error)
    }
}

struct Connection {
    stream: UnixStream,
    options: Arc<Options>,
    stop: watch::Receiver<bool>,
}

impl Connection {
    async fn serve(mut self, ctx: &Ctx) {
        if let Err(End::Broken(error)) = self.requests(ctx).await {
            let reply = Err(ApiError::new(ErrorCode::BadRequest, error.to_string()));
            let _ = self.answer(&reply).await;
        }
    }

    async fn turn_away(mut self) {
        let text = format!(
            "the runner has its {} connections: try again shortly",
            self.options.connections
        );
        if self.greet().await.is_ok() {
            let _ = self
                .answer(&Err(ApiError::new(ErrorCode::Busy, text)))
                .await;
        }
    }

    async fn greet(&mut self) -> Result<(), End> {
        let mut theirs = [0; frame::GREETING_BYTES];
        let transfer = self.options.transfer;
        // Eight bytes that every caller sends first: one that does not is none.
        timeout(GREETING, self.stream.read_exact(&mut theirs)).await??;
        // Ours goes out in any case, so that an older or newer caller can say what differs.
        timeout(transfer, self.stream.write_all(&frame::greeting())).await??;
        Ok(frame::check_greeting(theirs)?)
    }

    async fn requests(&mut self, ctx: &Ctx) -> Result<(), End> {
        self.greet().await?;
        loop {
            let mut length = [0; 4];
            tokio::select! {
                read = timeout(self.options.idle, self.stream.read_exact(&mut length)) => read??,
                _ = self.stop.wait_for(|stop| *stop) => return Ok(()),
            };
            let mut body = Vec::new();
            let bytes = frame::check_length(length)? as u64;
            // Grows as bytes arrive: a length alone reserves nothing.
            let mut bounded = (&mut self.stream).take(bytes);
            timeout(self.options.transfer, bounded.read_to_end(&mut body)).await??;
            if body.len() as u64 != bytes {
                return Err(End::Quiet);
            }
            let request: Request = frame::decode_body(&body)?;
            drop(body);
            let reply = handle(ctx, request).await;
            self.answer(&reply).await?;
        }
    }

    async fn answer(&mut self, reply: &Reply) -> Result<(), End> {
        let bytes = match frame::encode(reply) {
            Ok(bytes) => bytes,
            Err(error) => {
                let error: Reply = Err(ApiError::new(ErrorCode::TooLarge, error.to_string()));
                frame::encode(&error)?
            }
        };
        timeout(self.options.transfer, self.stream.write_all(&bytes)).await??;
        Ok(())
    }
}
