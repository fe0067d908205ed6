//! Outgoing HTTP: `wasi:http` with a client of the host's own.
//!
//! Each request is held against the plugin's grants; a denial is an error value and lines in the
//! job's log. Redirects are not followed: where they lead is another request.

mod body;
mod client;
mod fault;
mod resolve;
#[cfg(test)]
mod tests;
mod tls;

use std::{
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};

use http::{HeaderValue, Request, Response, header};
use http_body_util::BodyExt;
use sandhog_model::LogLevel;
use tokio::sync::Semaphore;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

use body::{LetGo, Off};
pub(crate) use client::Client;
use client::Outgoing;
use fault::Fault;
pub(crate) use tls::settings as client_tls;

use super::{
    denial,
    grants::{Grants, Origin, snippet},
    outside::Outside,
    secrets::{Piece, pieces},
};
use crate::{
    metrics::Denials,
    plugin::{
        Live,
        bytes::{human_bytes, human_ms},
        sandbox::journal::Journal,
    },
};

/// Longest time to look up, connect and agree on TLS.
const CONNECT: Duration = Duration::from_secs(10);
/// Where the limit of bodies is raised.
const BODY_KEY: &str = "`body` under [capabilities] in sandhog.toml";
/// Longest wait for a response's head, and between parts of its body.
const WAIT: Duration = Duration::from_secs(30);

/// What an attempt's guest does by HTTP.
pub(crate) struct Http {
    plugin: String,
    grants: Arc<Grants>,
    outside: Arc<Outside>,
    journal: Arc<Journal>,
    live: Arc<Live>,
    deadline: Instant,
    /// Requests under way; made with the first.
    slots: Option<Arc<Semaphore>>,
    sent: u32,
}

type Io = Box<dyn Future<Output = Result<(), Error>> + Send>;
type Answering = Box<dyn Future<Output = Result<(Response<WasiBody>, Io), Error>> + Send>;

impl Http {
    pub(crate) fn new(
        plugin: String,
        grants: Arc<Grants>,
        outside: Arc<Outside>,
        journal: Arc<Journal>,
        live: Arc<Live>,
        deadline: Instant,
    ) -> Self {
        Self {
            plugin,
            grants,
            outside,
            journal,
            live,
            deadline,
            slots: None,
            sent: 0,
        }
    }

    fn deny(&self, what: &str, toml: &[String]) -> Error {
        self.outside.denials.denied("http");
        denial::log(&self.journal, &self.plugin, what, toml, &self.grants.cuts);
        Error::HttpRequestDenied
    }

    fn warn(&self, text: &str) {
        self.journal.log(LogLevel::Warn, text, Vec::new());
    }

    /// The request as it may be sent.
    fn outgoing(
        &mut self,
        mut request: Request<WasiBody>,
        options: Option<RequestOptions>,
    ) -> Result<Outgoing, Error> {
        let uri = request.uri();
        let authority = uri.authority().map_or("", http::uri::Authority::as_str);
        let origin =
            Origin::new(uri.scheme_str().unwrap_or("https"), authority).map_err(|why| {
                self.warn(&format!("request to {authority:?} not sent: {why}"));
                Error::HttpRequestUriInvalid
            })?;
        let method = request.method().as_str().to_owned();
        let mut granted = (self.grants.http.iter()).filter(|one| one.allows(&origin, &method));
        let private = granted.clone().any(|one| one.private);
        if granted.next().is_none() || method == "CONNECT" {
            let lines = snippet::http(&origin.to_string(), &[&method], false);
            return Err(self.deny(&format!("{method} to {origin}"), &lines));
        }
        self.fill_in(&mut request, &origin)?;
        let slot = self.slot(&origin)?;
        let bounds = &self.grants.bounds;
        let left = self.deadline.saturating_duration_since(Instant::now());
        let wait =
            |wish: Option<Duration>, most: Duration| wish.unwrap_or(most).min(most).min(left);
        let options = options.unwrap_or_default();
        Ok(Outgoing {
            request,
            open: if private {
                bounds.private.clone()
            } else {
                Vec::new()
            },
            connect: wait(options.connect_timeout, CONNECT),
            first_byte: wait(options.first_byte_timeout, WAIT),
            between_bytes: wait(options.between_bytes_timeout, WAIT),
            body: bounds.body,
            slot,
            origin,
        })
    }

    /// Count the request.
    fn slot(&mut self, origin: &Origin) -> Result<tokio::sync::OwnedSemaphorePermit, Error> {
        let bounds = &self.grants.bounds;
        let slots = self
            .slots
            .get_or_insert_with(|| Arc::new(Semaphore::new(bounds.connections as usize)));
        let slot = Arc::clone(slots).try_acquire_owned();
        let (over, key) = match slot {
            Ok(slot) if self.sent < bounds.requests => {
                self.sent += 1;
                return Ok(slot);
            }
            Ok(_) => (format!("{} were sent", bounds.requests), "requests"),
            Err(_) => (
                format!("{} are under way", bounds.connections),
                "connections",
            ),
        };
        self.warn(&format!(
            "request to {origin} not sent: {over} (`{key}` under [capabilities] in sandhog.toml)"
        ));
        Err(Error::ConnectionLimitReached)
    }

    /// Put secrets in the place of their names, and say the host as it was understood.
    fn fill_in(&self, request: &mut Request<WasiBody>, origin: &Origin) -> Result<(), Error> {
        let host = HeaderValue::from_str(&origin.authority());
        let host = host.map_err(|_| Error::HttpRequestUriInvalid)?;
        request.headers_mut().insert(header::HOST, host);
        for value in request.headers_mut().values_mut() {
            if let Some(filled) = self.filled(value, origin)? {
                *value = filled;
            }
        }
        Ok(())
    }

    fn filled(&self, value: &HeaderValue, origin: &Origin) -> Result<Option<HeaderValue>, Error> {
        let Some(pieces) = pieces(value.as_bytes()) else {
            return Ok(None);
        };
        let mut filled = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Plain(bytes) => filled.extend_from_slice(bytes),
                Piece::Secret(name) => filled.extend_from_slice(self.secret(name, origin)?.bytes()),
            }
        }
        let mut filled = HeaderValue::from_bytes(&filled).map_err(|_| {
            self.warn("a secret cannot stand in a header: it has bytes that end a line");
            Error::ConfigurationError
        })?;
        filled.set_sensitive(true);
        Ok(Some(filled))
    }

    fn secret(&self, name: &str, origin: &Origin) -> Result<super::secrets::Secret, Error> {
        let may = |one: &super::grants::SecretGrant| {
            one.name == name && one.origin.as_ref().is_some_and(|to| to.covers(origin))
        };
        if !self.grants.secrets.iter().any(may) {
            let lines = snippet::secret(name, Some(&origin.to_string()), false);
            return Err(self.deny(&format!("secret {name} to {origin}"), &lines));
        }
        self.outside.secrets.value(name).map_err(|why| {
            self.warn(&why);
            Error::ConfigurationError
        })
    }
}

impl WasiHttpHooks for Http {
    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Io,
    ) -> Answering {
        let what = format!("{} {}", request.method(), request.uri());
        let outgoing = match self.outgoing(request, options) {
            Ok(outgoing) => outgoing,
            Err(error) => return Box::new(async move { Err(error) }),
        };
        let said = Said {
            what,
            begun: Instant::now(),
            origin: outgoing.origin.to_string(),
            method: outgoing.request.method().to_string(),
            plugin: self.plugin.clone(),
            journal: Arc::clone(&self.journal),
            grants: Arc::clone(&self.grants),
            denials: Arc::clone(&self.outside.denials),
        };
        let outside = Arc::clone(&self.outside);
        let mut off = called_off(Arc::clone(&self.live));
        Box::new(async move {
            let sent = tokio::select! {
                biased;
                sent = Arc::clone(&outside.client).send(outgoing) => sent,
                () = &mut off => Err(Fault::called_off()),
            };
            match sent {
                Ok((answer, driver)) => {
                    said.answered(answer.status());
                    let answer = answer.map(|body| {
                        let body = LetGo::new(body, off);
                        body.map_err(move |error| said.cut(error)).boxed_unsync()
                    });
                    // How the connection ended is told by the answer and by its body.
                    let io = async move {
                        let _ = driver.await;
                        Ok(())
                    };
                    Ok((answer, Box::new(io) as Io))
                }
                Err(fault) => Err(said.failed(fault)),
            }
        })
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        // What a guest writes in one go is held by the host until it is sent.
        64 << 10
    }
}

/// Resolves when the job is called off. Never when it was before: what its handler sends then is part
/// of its ending.
fn called_off(live: Arc<Live>) -> Off {
    let already = live.is_called_off();
    Box::pin(async move {
        match already {
            true => std::future::pending().await,
            false => live.call_off_asked().await,
        }
    })
}

/// What the job's log says of one request.
struct Said {
    what: String,
    begun: Instant,
    origin: String,
    method: String,
    plugin: String,
    journal: Arc<Journal>,
    grants: Arc<Grants>,
    denials: Arc<Denials>,
}

impl Said {
    fn answered(&self, status: http::StatusCode) {
        let ms = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let text = format!("{}: {status} after {}", self.what, human_ms(ms));
        self.journal.log(LogLevel::Debug, &text, Vec::new());
    }

    /// A body that could not be read to its end.
    fn cut(&self, error: Error) -> Error {
        if let Error::HttpResponseBodySize(limit) = &error {
            let limit = human_bytes(limit.unwrap_or(0));
            let text = format!(
                "{}: the answer's body is over its limit of {limit} ({BODY_KEY})",
                self.what
            );
            self.journal.log(LogLevel::Warn, &text, Vec::new());
        }
        error
    }

    fn failed(&self, fault: Fault) -> Error {
        match fault.closed {
            Some(address) => {
                let what = format!("{}: {}", self.what, fault.why);
                let mut lines = snippet::http(&self.origin, &[&self.method], true);
                lines.push(format!(
                    "# and in sandhog.toml, under [capabilities]: private = [\"{address}\"]"
                ));
                self.denials.denied("http");
                denial::log(
                    &self.journal,
                    &self.plugin,
                    &what,
                    &lines,
                    &self.grants.cuts,
                );
            }
            None => {
                let text = format!("{}: {}", self.what, fault.why);
                self.journal.log(LogLevel::Warn, &text, Vec::new());
            }
        }
        fault.error
    }
}
