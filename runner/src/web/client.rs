//! The calling side of [`rpc`](super::rpc), without async: one request, one answer.

use std::{io, net::IpAddr, path::Path, str::FromStr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Uri, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    runtime::{Builder, Runtime},
    time::timeout,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{ClientConfig, pki_types::ServerName},
};

use super::rpc;
use crate::{
    api::{
        ApiError, ErrorCode, FRAME_BYTES, FrameError, Reply, Request, Response, decode_body,
        encode_body,
    },
    plugin::client_tls,
};

/// How long a runner may take to be reached, and to answer.
const CONNECT: Duration = Duration::from_secs(10);
const ANSWER: Duration = Duration::from_secs(60);
/// Largest answer that is no frame, in bytes.
const PROBLEM_BYTES: usize = 64 << 10;

/// Where a runner is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    tls: bool,
    /// With brackets, when it is an address of version 6.
    host: String,
    port: u16,
    /// Of the path, without a slash at its end.
    prefix: String,
}

impl FromStr for Url {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("{text:?} is no address of a runner: {why}");
        let uri: Uri = text
            .parse()
            .map_err(|_| wrong("write http://HOST:PORT or https://HOST"))?;
        let tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(wrong("it begins with neither http:// nor https://")),
        };
        let authority = uri.authority().ok_or_else(|| wrong("it names no host"))?;
        if authority.as_str().contains('@') {
            return Err(wrong(
                "a name or password has no place in it, use --token-file",
            ));
        }
        if uri.query().is_some() {
            return Err(wrong("it ends with the path, no `?` follows"));
        }
        Ok(Self {
            tls,
            host: authority.host().to_owned(),
            port: authority.port_u16().unwrap_or(if tls { 443 } else { 80 }),
            prefix: uri.path().trim_end_matches('/').to_owned(),
        })
    }
}

impl std::fmt::Display for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = if self.tls { "https" } else { "http" };
        write!(f, "{scheme}://{}:{}{}", self.host, self.port, self.prefix)
    }
}

impl Url {
    /// Whether what is sent there can be read on the way.
    #[must_use]
    pub fn is_open(&self) -> bool {
        let is_here = match self.bare_host().parse::<IpAddr>() {
            Ok(ip) => ip.to_canonical().is_loopback(),
            Err(_) => self.host.eq_ignore_ascii_case("localhost"),
        };
        !self.tls && !is_here
    }

    pub(super) const fn is_tls(&self) -> bool {
        self.tls
    }

    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    fn bare_host(&self) -> &str {
        self.host.trim_matches(['[', ']'])
    }

    pub(super) fn authority(&self) -> String {
        match (self.tls, self.port) {
            (true, 443) | (false, 80) => self.host.clone(),
            (_, port) => format!("{}:{port}", self.host),
        }
    }
}

/// Why a call gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The runner refused.
    #[error(transparent)]
    Refused(#[from] ApiError),
    /// Nobody answers there, or not as a runner does.
    #[error("no runner answers at {url}: {why}")]
    Unreachable {
        /// Where.
        url: Url,
        /// What went wrong.
        why: String,
    },
    /// The connection broke: it is unknown whether the request was done.
    #[error("the runner at {url} went away before it answered: {why}")]
    Gone {
        /// Where.
        url: Url,
        /// What went wrong.
        why: String,
    },
    /// The request, or the answer, is no frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// Nothing could be tried.
    #[error("{0}")]
    Unable(String),
}

/// A way to a runner.
pub struct Client {
    url: Url,
    token: Option<String>,
    tls: Option<Arc<ClientConfig>>,
    runtime: Runtime,
    sender: Option<SendRequest<Full<Bytes>>>,
}

impl Client {
    /// Find a runner. `ca_file` holds certificate authorities beside those of the system.
    pub fn connect(
        url: Url,
        token: Option<String>,
        ca_file: Option<&Path>,
    ) -> Result<Self, ClientError> {
        let tls = match url.tls {
            true => Some(client_tls(ca_file).map_err(ClientError::Unable)?),
            false => None,
        };
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| ClientError::Unable(error.to_string()))?;
        let mut client = Self {
            url,
            token,
            tls,
            runtime,
            sender: None,
        };
        match client.call(&Request::Ping)? {
            Response::Pong(_) => Ok(client),
            _ => Err(client.unreachable("it gave an answer to another question")),
        }
    }

    /// Ask, and wait for the answer.
    pub fn call(&mut self, request: &Request) -> Result<Response, ClientError> {
        let body = Bytes::from(encode_body(request)?);
        let (status, media_type, answer) = self.exchange(body)?;
        if media_type == rpc::MEDIA_TYPE {
            let reply: Reply = decode_body(&answer)?;
            return Ok(reply?);
        }
        Err(self.problem(status, &answer))
    }

    fn unreachable(&self, why: impl Into<String>) -> ClientError {
        ClientError::Unreachable {
            url: self.url.clone(),
            why: why.into(),
        }
    }

    /// An answer that is none of the runner's to a request.
    fn problem(&self, status: u16, answer: &[u8]) -> ClientError {
        let problem: Value = serde_json::from_slice(answer).unwrap_or_default();
        let (code, detail) = (&problem["code"], problem["detail"].as_str());
        match (code.as_str(), detail) {
            (Some("unsupported-media-type" | "no-such-path"), _) => {
                self.unreachable("use the same sandhog version on both sides")
            }
            (Some(_), Some(detail)) => {
                let code = serde_json::from_value(code.clone());
                ApiError::new(code.unwrap_or(ErrorCode::BadRequest), detail).into()
            }
            _ => self.unreachable(format!("the answer has status {status} and is no runner's")),
        }
    }

    fn exchange(&mut self, body: Bytes) -> Result<(u16, String, Bytes), ClientError> {
        let gone = |why: String| ClientError::Gone {
            url: self.url.clone(),
            why,
        };
        let mut request = http::Request::post(format!("{}{}", self.url.prefix, rpc::PATH))
            .header(header::HOST, self.url.authority())
            .header(header::CONTENT_TYPE, rpc::MEDIA_TYPE);
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request.body(Full::new(body));
        let mut request = request.map_err(|error| ClientError::Unable(error.to_string()))?;
        let (url, tls) = (&self.url, &self.tls);
        let sender = &mut self.sender;
        self.runtime.block_on(async {
            loop {
                let mut kept = sender.take();
                if let Some(to) = &mut kept
                    && to.ready().await.is_err()
                {
                    kept = None;
                }
                let is_new = kept.is_none();
                let mut to = match kept {
                    Some(to) => to,
                    None => open(url, tls.as_ref()).await?,
                };
                match timeout(ANSWER, to.try_send_request(request)).await {
                    Ok(Ok(answer)) => {
                        let read = read(answer).await.map_err(&gone)?;
                        *sender = Some(to);
                        return Ok(read);
                    }
                    Ok(Err(mut error)) => match error.take_message() {
                        // It had rested too long, and nothing of the request went out.
                        Some(unsent) if !is_new => request = unsent,
                        _ => return Err(gone(error.error().to_string())),
                    },
                    Err(_) => return Err(gone(format!("nothing within {ANSWER:?}"))),
                }
            }
        })
    }
}

/// A connection that is ready for a request.
pub(super) async fn open(
    url: &Url,
    tls: Option<&Arc<ClientConfig>>,
) -> Result<SendRequest<Full<Bytes>>, ClientError> {
    let unreachable = |why: String| ClientError::Unreachable {
        url: url.clone(),
        why,
    };
    let told = |error: io::Error| unreachable(error.to_string());
    let connecting = async {
        let stream = TcpStream::connect((url.bare_host(), url.port))
            .await
            .map_err(told)?;
        // Requests are written whole; waiting for more only delays them.
        let _ = stream.set_nodelay(true);
        match tls {
            None => handshake(stream).await.map_err(unreachable),
            Some(tls) => {
                let name = ServerName::try_from(url.bare_host().to_owned());
                let name =
                    name.map_err(|_| unreachable("no certificate can have that name".into()))?;
                let connector = TlsConnector::from(Arc::clone(tls));
                let stream = connector.connect(name, stream).await.map_err(told)?;
                handshake(stream).await.map_err(unreachable)
            }
        }
    };
    match timeout(CONNECT, connecting).await {
        Ok(opened) => opened,
        Err(_) => Err(unreachable(format!("no connection within {CONNECT:?}"))),
    }
}

async fn handshake(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> Result<SendRequest<Full<Bytes>>, String> {
    let (sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| error.to_string())?;
    // Driven whenever a request is under way; it ends with the sender.
    tokio::spawn(connection);
    Ok(sender)
}

async fn read(
    answer: hyper::Response<hyper::body::Incoming>,
) -> Result<(u16, String, Bytes), String> {
    let status = answer.status().as_u16();
    let media_type = answer.headers().get(header::CONTENT_TYPE);
    let media_type = media_type
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
        .to_owned();
    let most = match media_type == rpc::MEDIA_TYPE {
        true => FRAME_BYTES,
        false => PROBLEM_BYTES,
    };
    let body = timeout(ANSWER, Limited::new(answer.into_body(), most).collect()).await;
    let body = body.map_err(|_| format!("nothing within {ANSWER:?}"))?;
    let body = body.map_err(|error| error.to_string())?;
    Ok((status, media_type, body.to_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_whole_or_refused() {
        for (text, shown, is_open) in [
            ("http://127.0.0.1:7263", "http://127.0.0.1:7263", false),
            ("http://localhost", "http://localhost:80", false),
            ("http://[::1]:7263/", "http://[::1]:7263", false),
            ("http://jobs.example:7263", "http://jobs.example:7263", true),
            (
                "https://jobs.example/sandhog/",
                "https://jobs.example:443/sandhog",
                false,
            ),
        ] {
            let url: Url = text.parse().unwrap();
            assert_eq!((url.to_string().as_str(), url.is_open()), (shown, is_open));
        }
        for text in [
            "127.0.0.1:7263",
            "ftp://a",
            "http://",
            "http://me:secret@a",
            "http://a/?token=x",
            "",
        ] {
            assert!(text.parse::<Url>().is_err(), "{text}");
        }
    }
}
