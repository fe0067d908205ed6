//! The listening side: connections, their number and their time.

use std::{io, net::SocketAddr, sync::Arc, task::Context, time::Duration};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::process::{Resource, getrlimit};
use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, watch},
    time::timeout,
};

use super::{
    gate::{Ends, Gate},
    hosts::Hosts,
    patient::{Patient, whole},
    problem::{Code, Problem},
    serve::Front,
    site::Site,
    token::{Guard, Tokens},
};
use crate::api::{Connections, Ctx, Handle};

/// How long the head of a request may take to arrive, and a connection may rest between two.
const HEAD: Duration = Duration::from_secs(10);
/// Most bytes of a head, most headers: over the bounds that are told in words.
const HEAD_BYTES: usize = 64 << 10;
const HEAD_LINES: usize = 128;
/// Of all files that may be open this part may be connections.
const PART_OF_FILES: u64 = 4;

/// How HTTP is served.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where to listen. Port 0 is any free one.
    pub listen: SocketAddr,
    /// Who may ask.
    pub guard: Guard,
    /// Names the runner answers to beside the address.
    pub hosts: Vec<String>,
    /// Connections at a time; fewer when few files may be open.
    pub connections: usize,
    /// How long a stop waits for answers under way.
    pub grace: Duration,
}

/// Why nothing can be served.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Whoever reaches the address could do everything.
    #[error(
        "{listen} can be reached from other machines: name a file of tokens with `http.token_file`, or listen on 127.0.0.1"
    )]
    Unguarded {
        /// The address.
        listen: SocketAddr,
    },
    /// Somebody listens there already.
    #[error(
        "{listen} is in use: another runner may be up; choose another address with `http.listen` or --listen, port 0 for any, or \"off\""
    )]
    InUse {
        /// The address.
        listen: SocketAddr,
    },
    /// Anything else.
    #[error("cannot listen on {listen}: {source}")]
    Failed {
        /// The address.
        listen: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
}

/// Whether an address can be listened on with these tokens: without any, whoever reaches it can do everything.
///
/// # Errors
/// It can be reached from other machines.
pub fn guarded(listen: SocketAddr, tokens: &Tokens) -> Result<(), BindError> {
    match tokens.is_empty() && !listen.ip().to_canonical().is_loopback() {
        true => Err(BindError::Unguarded { listen }),
        false => Ok(()),
    }
}

/// An address that is open but not served yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    options: Options,
    stop: watch::Receiver<bool>,
}

impl Server {
    /// Open the address. Must be called within a tokio runtime.
    pub async fn bind(options: Options) -> Result<(Self, Handle), BindError> {
        let listen = options.listen;
        guarded(listen, &options.guard.now())?;
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => BindError::InUse { listen },
            _ => BindError::Failed { listen, source },
        };
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let (handle, stop) = Handle::new();
        let server = Self {
            listener,
            address,
            options,
            stop,
        };
        Ok((server, handle))
    }

    /// The address that is listened on, with its port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answer until stopped.
    pub async fn run(self, ctx: Ctx) {
        let gate = Gate {
            hosts: Hosts::new(self.address, &self.options.hosts),
            guard: self.options.guard.clone(),
        };
        let site = Site::new(ctx, gate, self.stop.clone());
        let front = Front::new(Arc::new(site));
        let places = places(self.options.connections);
        let (listener, stop) = (self.listener, self.stop);
        let accept = |cx: &mut Context<'_>| listener.poll_accept(cx);
        let begin = |(stream, peer): (TcpStream, SocketAddr),
                     place: Option<OwnedSemaphorePermit>| {
            let Some(place) = place else {
                turn_away(&stream);
                return None;
            };
            let (front, stop) = (front.clone(), stop.clone());
            Some(async move {
                let _place = place;
                connection(stream, peer, front, stop).await;
            })
        };
        let under_way = Connections::take(accept, places, stop.clone(), begin).await;
        drop(listener);
        under_way.end(self.options.grace).await;
    }
}

/// As many connections as are wished for, and never so many that the log lacks files.
fn places(wished: usize) -> usize {
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let most = usize::try_from(files / PART_OF_FILES).unwrap_or(usize::MAX);
    wished.min(most).max(1)
}

/// Say that there is no place. It must not wait: what the other side's buffer does not take is not said.
fn turn_away(stream: &TcpStream) {
    let why = "the runner has as many connections as it keeps room for: try again shortly";
    let _ = stream.try_write(&whole(&Problem::new(Code::Busy, why)));
}

async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    front: Front,
    mut stop: watch::Receiver<bool>,
) {
    let Ok(local) = stream.local_addr() else {
        return;
    };
    // Answers are small, and whoever waits for one waits for all of it.
    let _ = stream.set_nodelay(true);
    let ends = Ends { peer, local };
    let service = service_fn(move |request| {
        let front = front.clone();
        let answering = Box::pin(front.answer(request, ends));
        async move { Ok::<_, std::convert::Infallible>(answering.await) }
    });
    let mut served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEAD_LINES)
        .serve_connection(TokioIo::new(Patient::new(stream)), Box::new(service));
    let mut is_told = false;
    let ended = loop {
        tokio::select! {
            ended = &mut served => break ended,
            _ = stop.wait_for(|stop| *stop), if !is_told => {
                is_told = true;
                std::pin::Pin::new(&mut served).graceful_shutdown();
            }
        }
    };
    if ended.is_err_and(|error| error.is_timeout()) {
        let parts = served.into_parts();
        // One that only rested is closed without a word.
        if !parts.read_buf.is_empty() {
            let why = format!("the head of the request was not there within {HEAD:?}");
            let last = whole(&Problem::new(Code::Timeout, why));
            let _ = timeout(HEAD, parts.io.into_inner().write_all(&last)).await;
        }
    }
}
