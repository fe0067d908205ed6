//! Connections, kept for the next request, and one exchange on one of them.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, Method, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{
    body::Incoming,
    client::conn::http1::{self, SendRequest},
};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{ClientConfig, pki_types::ServerName},
};

use crate::{address::Address, error::Error, options::Options, tls};

type Sender = SendRequest<Full<Bytes>>;

/// Most connections that wait for a next request; those beyond are closed.
const KEPT: usize = 16;
/// Largest answer, in bytes: a job with its payload, its result and the history of its attempts.
const ANSWER_BYTES: usize = 256 << 20;

/// A request, as often as it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: Method,
    /// With its query.
    pub(crate) path: String,
    pub(crate) body: Option<Bytes>,
    /// Longest time until its answer is there.
    pub(crate) within: Duration,
}

/// An answer, whole.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Why there is no answer.
pub(crate) struct NoAnswer {
    pub(crate) why: String,
    /// Whether a part of the request may have reached the runner.
    pub(crate) sent: bool,
}

/// The way to one runner.
pub(crate) struct Connections {
    pub(crate) address: Address,
    /// The header that shows the token.
    authorization: Option<http::HeaderValue>,
    tls: Option<Arc<ClientConfig>>,
    connect_within: Duration,
    kept: Mutex<Vec<Sender>>,
}

impl Connections {
    pub(crate) fn new(options: &Options) -> Result<Self, Error> {
        let address = Address::read(&options.address)?;
        if options.token.is_some() && address.is_open() && !options.token_in_the_open {
            let why = format!(
                "the token would go to {address} as it is, and whoever is on the way could read it: use https, or set `token_in_the_open`"
            );
            return Err(Error::Unusable(why));
        }
        let authorization = options.token.as_ref().map(|token| {
            let value = http::HeaderValue::from_str(&token.header());
            let mut value = value.map_err(|error| Error::Unusable(error.to_string()))?;
            value.set_sensitive(true);
            Ok(value)
        });
        let tls = match address.tls {
            true => Some(tls::settings(options.ca_file.as_deref())?),
            false => None,
        };
        Ok(Self {
            authorization: authorization.transpose()?,
            address,
            tls,
            connect_within: options.connect_within,
            kept: Mutex::default(),
        })
    }

    /// Send a request once, and take its answer.
    pub(crate) async fn exchange(&self, request: &Request) -> Result<Answer, NoAnswer> {
        let mut written = self.write(request)?;
        loop {
            let kept = self.take();
            let is_kept = kept.is_some();
            let mut to = match kept {
                Some(kept) => kept,
                None => self
                    .open()
                    .await
                    .map_err(|why| NoAnswer { why, sent: false })?,
            };
            let sent = |why: String| NoAnswer { why, sent: true };
            let asked = async {
                match to.try_send_request(written).await {
                    Ok(answer) => Ok(read(answer).await),
                    Err(error) => Err(error),
                }
            };
            let late = || sent(format!("nothing within {:?}", request.within));
            match timeout(request.within, asked).await.map_err(|_| late())? {
                Ok(answer) => {
                    let answer = answer.map_err(sent)?;
                    self.keep(to);
                    return Ok(answer);
                }
                Err(mut error) => match error.take_message() {
                    // It had rested too long, and nothing of the request went out.
                    Some(unsent) if is_kept => written = unsent,
                    unsent => {
                        return Err(NoAnswer {
                            why: error.error().to_string(),
                            sent: unsent.is_none(),
                        });
                    }
                },
            }
        }
    }

    fn write(&self, request: &Request) -> Result<http::Request<Full<Bytes>>, NoAnswer> {
        let path = format!("{}{}", self.address.prefix, request.path);
        let mut written = http::Request::builder()
            .method(request.method.clone())
            .uri(path)
            .header(header::HOST, self.address.authority())
            .header(
                header::USER_AGENT,
                concat!("sandhog-client/", env!("CARGO_PKG_VERSION")),
            );
        if let Some(authorization) = &self.authorization {
            written = written.header(header::AUTHORIZATION, authorization);
        }
        if request.method != Method::GET {
            written = written.header(header::CONTENT_TYPE, "application/json");
        }
        let body = request.body.clone().unwrap_or_default();
        written.body(Full::new(body)).map_err(|error| NoAnswer {
            why: error.to_string(),
            sent: false,
        })
    }

    /// A connection that rests and is not known to be closed.
    fn take(&self) -> Option<Sender> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(to) = kept.pop() {
            if to.is_ready() {
                return Some(to);
            }
        }
        None
    }

    fn keep(&self, to: Sender) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|to| !to.is_closed());
        if kept.len() < KEPT && !to.is_closed() {
            kept.push(to);
        }
    }

    async fn open(&self) -> Result<Sender, String> {
        let told = |error: io::Error| error.to_string();
        let connecting = async {
            let to = (self.address.host(), self.address.port);
            let stream = TcpStream::connect(to).await.map_err(told)?;
            // Requests are written whole; waiting for more only delays them.
            let _ = stream.set_nodelay(true);
            let Some(tls) = &self.tls else {
                return handshake(stream).await;
            };
            let name = ServerName::try_from(self.address.host().to_owned());
            let name = name.map_err(|_| "no certificate can have that name".to_owned())?;
            let connector = TlsConnector::from(Arc::clone(tls));
            handshake(connector.connect(name, stream).await.map_err(told)?).await
        };
        match timeout(self.connect_within, connecting).await {
            Ok(opened) => opened,
            Err(_) => Err(format!("no connection within {:?}", self.connect_within)),
        }
    }
}

async fn handshake(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> Result<Sender, String> {
    let (sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| error.to_string())?;
    // It ends with the sender, or when the other side ends it; what went wrong is told to the sender.
    tokio::spawn(connection);
    Ok(sender)
}

async fn read(answer: http::Response<Incoming>) -> Result<Answer, String> {
    let (head, body) = answer.into_parts();
    let body = Limited::new(body, ANSWER_BYTES).collect().await;
    let body = body.map_err(|error| format!("the answer breaks off: {error}"))?;
    Ok(Answer {
        status: head.status.as_u16(),
        headers: head.headers,
        body: body.to_bytes(),
    })
}
