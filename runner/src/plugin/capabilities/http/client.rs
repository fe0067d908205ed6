//! The client: dials the addresses that were checked, one connection for each request, on a thread
//! of its own.

use std::{
    fmt, io,
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::client::conn::http1;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    runtime::{Builder, Runtime},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{ClientConfig, pki_types::ServerName},
};
use wasmtime_wasi::runtime::AbortOnDropJoinHandle;
use wasmtime_wasi_http::{Error, io::TokioIo};

use super::{
    body::Bounded,
    fault::{Fault, of_connect, of_hyper, of_tls},
    resolve::{Found, Resolve, System, look_up},
    tls,
};
use crate::plugin::capabilities::grants::{Network, Origin};

/// Connections of all plugins together. More wait, within the time they have to connect.
const CONNECTIONS: usize = 256;
/// Threads that may wait for the system's resolver.
const RESOLVERS: usize = 16;
/// Header lines of a response, and bytes of them all.
const HEADERS: usize = 100;
const HEADER_BYTES: usize = 64 << 10;

/// Sends requests. Costs nothing until the first.
pub(crate) struct Client {
    ca_file: Option<PathBuf>,
    resolver: Arc<dyn Resolve>,
    runtime: OnceLock<Result<Runtime, String>>,
    tls: OnceLock<Result<Arc<ClientConfig>, String>>,
    connections: Arc<Semaphore>,
}

/// A request that may be sent, and within what.
pub(crate) struct Outgoing {
    pub(crate) origin: Origin,
    pub(crate) request: Request<wasmtime_wasi_http::WasiBody>,
    /// Networks beside the internet that it may lead to.
    pub(crate) open: Vec<Network>,
    pub(crate) connect: Duration,
    pub(crate) first_byte: Duration,
    pub(crate) between_bytes: Duration,
    /// Largest body, both ways.
    pub(crate) body: u64,
    /// The attempt's own count of requests under way.
    pub(crate) slot: OwnedSemaphorePermit,
}

/// The permits of a request, held as long as its response's body.
type Held = (OwnedSemaphorePermit, OwnedSemaphorePermit);
type Answer = Response<Bounded<Held>>;
/// A response, and the task that drives its connection.
pub(crate) type Sent = (Answer, AbortOnDropJoinHandle<Result<(), hyper::Error>>);

impl Default for Client {
    fn default() -> Self {
        Self::new(None)
    }
}

impl Client {
    pub(crate) fn new(ca_file: Option<PathBuf>) -> Self {
        Self::with_resolver(ca_file, Arc::new(System))
    }

    pub(crate) fn with_resolver(ca_file: Option<PathBuf>, resolver: Arc<dyn Resolve>) -> Self {
        Self {
            ca_file,
            resolver,
            runtime: OnceLock::new(),
            tls: OnceLock::new(),
            connections: Arc::new(Semaphore::new(CONNECTIONS)),
        }
    }

    /// Send a request; dropping the future stops it.
    pub(crate) async fn send(self: Arc<Self>, outgoing: Outgoing) -> Result<Sent, Fault> {
        let runtime = self.runtime.get_or_init(|| {
            Builder::new_multi_thread()
                .worker_threads(1)
                .max_blocking_threads(RESOLVERS)
                .thread_name("outgoing")
                .enable_all()
                .build()
                .map_err(|error| format!("cannot start the thread of outgoing requests: {error}"))
        });
        let handle = match runtime {
            Ok(runtime) => runtime.handle().clone(),
            Err(why) => return Err(Fault::own(why.clone())),
        };
        let client = Arc::clone(&self);
        let task = handle.spawn(async move { client.exchange(outgoing).await });
        AbortOnDropJoinHandle::from(task).await
    }

    async fn exchange(&self, outgoing: Outgoing) -> Result<Sent, Fault> {
        let Outgoing {
            origin,
            mut request,
            open,
            connect,
            first_byte,
            between_bytes,
            body: limit,
            slot,
        } = outgoing;
        let (stream, permit) = timeout(connect, self.connect(&origin, &open, connect))
            .await
            .map_err(|_| {
                let why = format!("no connection within {}", span(connect));
                Fault::new(Error::ConnectionTimeout, why)
            })??;
        let (mut sender, connection) = http1::Builder::new()
            .max_headers(HEADERS)
            .max_buf_size(HEADER_BYTES)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| of_hyper(&error))?;
        let driver = AbortOnDropJoinHandle::from(tokio::spawn(connection));
        let path = request.uri().path_and_query().cloned();
        *request.uri_mut() = path.map_or_else(|| http::Uri::from_static("/"), Into::into);
        let request = request.map(|body| Bounded::request(body, limit, ()));
        let answer = timeout(first_byte, sender.send_request(request))
            .await
            .map_err(|_| {
                let why = format!("no answer within {}", span(first_byte));
                Fault::new(Error::ConnectionReadTimeout, why)
            })?
            .map_err(|error| of_hyper(&error))?;
        let answer = answer.map(|body| {
            let body = body.map_err(|error| of_hyper(&error).error).boxed_unsync();
            Bounded::response(body, limit, between_bytes, (slot, permit))
        });
        Ok((answer, driver))
    }

    async fn connect(
        &self,
        origin: &Origin,
        open: &[Network],
        within: Duration,
    ) -> Result<(Box<dyn Stream>, OwnedSemaphorePermit), Fault> {
        let permit = Arc::clone(&self.connections)
            .acquire_owned()
            .await
            .map_err(|_| Fault::own("no more requests are sent".into()))?;
        let addresses = match look_up(self.resolver.as_ref(), origin, open).await {
            Found::Open(addresses) => addresses,
            Found::Closed(address) => return Err(Fault::closed(address)),
            Found::Nothing(why) => return Err(Fault::unknown(&origin.host, &why)),
        };
        let stream = dial(&addresses, within).await?;
        if !origin.tls {
            return Ok((Box::new(stream), permit));
        }
        let settings = self
            .tls
            .get_or_init(|| tls::settings(self.ca_file.as_deref()))
            .clone()
            .map_err(Fault::own)?;
        let name = ServerName::try_from(origin.host.clone())
            .map_err(|_| Fault::unknown(&origin.host, "no name that a certificate can have"))?;
        let stream = TlsConnector::from(settings)
            .connect(name, stream)
            .await
            .map_err(|error| of_tls(&error))?;
        Ok((Box::new(stream), permit))
    }
}

/// Try each address for its share of the time.
async fn dial(addresses: &[SocketAddr], within: Duration) -> Result<TcpStream, Fault> {
    let share = within / u32::try_from(addresses.len()).unwrap_or(u32::MAX).max(1);
    let mut last = None;
    for address in addresses {
        let refused = match timeout(share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                // Requests are written whole; waiting for more only delays them.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => error,
            Err(_) => io::ErrorKind::TimedOut.into(),
        };
        last = Some(of_connect(*address, &refused));
    }
    Err(last.unwrap_or_else(|| Fault::own("no address to dial".into())))
}

/// A duration as people read it.
fn span(span: Duration) -> String {
    crate::plugin::bytes::human_ms(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
}

/// A connection, with TLS or without.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(Ok(runtime)) = self.runtime.take() {
            // The last holder may be a task, and waiting inside of one is not allowed.
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("ca_file", &self.ca_file)
            .finish_non_exhaustive()
    }
}
