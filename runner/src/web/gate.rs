//! What is looked at before a request is led anywhere: whom it means, who sends it, how it is made.

use std::net::SocketAddr;

use http::{HeaderMap, HeaderName, Method, header, request::Parts};

use super::{
    hosts::Hosts,
    problem::{Code, Problem},
    token::{Caller, Guard},
};

/// Most headers of a request, and most bytes of them together.
const HEADERS: usize = 64;
const HEADER_BYTES: usize = 32 << 10;
/// Longest address, in bytes.
const URI_BYTES: usize = 8 << 10;
/// Longest token that is looked at, in bytes.
const BEARER_BYTES: usize = 1 << 10;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Where a connection came from and in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    pub(super) peer: SocketAddr,
    pub(super) local: SocketAddr,
}

/// The checks.
#[derive(Debug)]
pub(super) struct Gate {
    pub(super) hosts: Hosts,
    pub(super) guard: Guard,
}

impl Gate {
    /// Refuse what is not for this runner, or not made by who may make it. Whether a token is needed is
    /// for the resource to say: who asks is found out here.
    pub(super) fn check(&self, head: &Parts, ends: Ends) -> Result<(), Problem> {
        sizes(head)?;
        let host = self.host(head, ends)?;
        if is_write(&head.method) {
            origin(&head.headers, host)?;
            content(head)?;
        }
        Ok(())
    }

    /// The host that is asked for, one of ours.
    fn host<'h>(&self, head: &'h Parts, ends: Ends) -> Result<&'h str, Problem> {
        let mut hosts = head.headers.get_all(header::HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        let named = head.uri.authority().map(http::uri::Authority::as_str);
        let known = |host: &str| self.hosts.know(host, ends.local);
        match host {
            Some(host) if hosts.next().is_none() && known(host) && named.is_none_or(known) => {
                Ok(host)
            }
            _ => Err(Problem::new(
                Code::Misdirected,
                "the host that is asked for is none of this runner's: add it to `http.hosts` if it is meant",
            )),
        }
    }

    /// Who asks.
    pub(super) fn caller(&self, headers: &HeaderMap) -> Result<Caller, Problem> {
        let mut given = headers.get_all(header::AUTHORIZATION).iter();
        let (first, more) = (given.next(), given.next());
        let token = first
            .filter(|value| more.is_none() && value.len() <= BEARER_BYTES)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, token)| token.trim());
        let caller = self.guard.now().caller(token);
        caller.ok_or_else(|| {
            let why = match first {
                None => "no token came with the request: send `Authorization: Bearer TOKEN`",
                Some(_) => "the token that came with the request is not known",
            };
            Problem::new(Code::Unauthorized, why)
        })
    }
}

fn is_write(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

fn sizes(head: &Parts) -> Result<(), Problem> {
    let uri = head
        .uri
        .path_and_query()
        .map_or(0, |path| path.as_str().len());
    if uri > URI_BYTES {
        let text = format!("the address has {uri} bytes: {URI_BYTES} are allowed");
        return Err(Problem::new(Code::UriTooLong, text));
    }
    let headers = &head.headers;
    let lengths = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len());
    let (count, bytes) = (headers.len(), lengths.sum::<usize>());
    if count > HEADERS || bytes > HEADER_BYTES {
        let text = format!(
            "{count} headers of {bytes} bytes: allowed are {HEADERS} of {HEADER_BYTES} bytes together"
        );
        return Err(Problem::new(Code::HeadersTooLarge, text));
    }
    Ok(())
}

/// What a browser says of the page that has it send this.
fn origin(headers: &HeaderMap, host: &str) -> Result<(), Problem> {
    let foreign = |what: &'static str| Err(Problem::new(Code::ForeignOrigin, what));
    for origin in headers.get_all(header::ORIGIN) {
        let origin = origin.to_str().unwrap_or_default();
        let from = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        if !from.is_some_and(|from| from.eq_ignore_ascii_case(host)) {
            return foreign("the `Origin` is not the address that the runner was called by");
        }
    }
    for site in headers.get_all(SEC_FETCH_SITE) {
        if site != "same-origin" && site != "none" {
            return foreign("`Sec-Fetch-Site` says that a page of another site asks");
        }
    }
    Ok(())
}

/// What the body says it is. Without a body too: forms of a foreign page can send those as well.
fn content(head: &Parts) -> Result<(), Problem> {
    let refused = |what: String| Err(Problem::new(Code::UnsupportedMediaType, what));
    if let Some(coding) = head.headers.get(header::CONTENT_ENCODING)
        && coding != "identity"
    {
        return refused("the body is compressed: send it as it is".to_owned());
    }
    // No page of another site can send any other without asking first, which is always refused.
    if !matches!(head.method, Method::POST | Method::PUT | Method::PATCH) {
        return Ok(());
    }
    let wanted = match head.uri.path() {
        super::rpc::PATH => super::rpc::MEDIA_TYPE,
        path if path.starts_with("/api/") => "application/json",
        _ => "application/x-www-form-urlencoded",
    };
    let mut types = head.headers.get_all(header::CONTENT_TYPE).iter();
    let given = types.next().and_then(|value| value.to_str().ok());
    let essence = given
        .and_then(|value| value.split(';').next())
        .map(str::trim);
    match essence {
        Some(essence) if essence.eq_ignore_ascii_case(wanted) && types.next().is_none() => Ok(()),
        _ => refused(format!(
            "a {} must say `Content-Type: {wanted}`",
            head.method
        )),
    }
}
