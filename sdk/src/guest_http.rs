//! `wasi:http` from inside of a sandbox.

use wasip2::http::outgoing_handler;
use wasip2::http::types::{
    ErrorCode, Fields, IncomingBody, Method, OutgoingBody, OutgoingRequest, RequestOptions, Scheme,
    http_error_code,
};
use wasip2::io::streams::StreamError;

use crate::http::{HttpError, HttpErrorKind, Request, Response};

/// Bytes handed over in one go; the contract of streams allows no more.
const CHUNK: usize = 4096;

pub(crate) fn send(request: &Request) -> Result<Response, HttpError> {
    let outgoing = outgoing(request)?;
    let body = outgoing
        .body()
        .map_err(|()| invalid("the request has no body"))?;
    let future = outgoing_handler::handle(outgoing, options(request)).map_err(|code| of(&code))?;
    write(body, &request.body);
    future.subscribe().block();
    let incoming = match future.get() {
        Some(Ok(Ok(incoming))) => incoming,
        Some(Ok(Err(code))) => return Err(of(&code)),
        Some(Err(())) | None => {
            return Err(HttpError::new(HttpErrorKind::Host, "no answer is left"));
        }
    };
    let headers = incoming.headers().entries();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let (body, cut) = match incoming.consume() {
        Ok(body) => read(body, request.read)?,
        Err(()) => (Vec::new(), false),
    };
    Ok(Response {
        status: incoming.status(),
        headers: headers
            .into_iter()
            .map(|(name, value)| (name, text(value)))
            .collect(),
        body,
        cut,
    })
}

fn outgoing(request: &Request) -> Result<OutgoingRequest, HttpError> {
    let (scheme, authority, path) = request.parts()?;
    let headers = Fields::new();
    for (name, value) in &request.headers {
        headers
            .append(name, value.as_bytes())
            .map_err(|error| invalid(format!("header {name:?} cannot be sent: {error:?}")))?;
    }
    if !headers.has("content-length") {
        let length = request.body.len().to_string();
        headers
            .set("content-length", &[length.into_bytes()])
            .map_err(|error| invalid(format!("content-length cannot be sent: {error:?}")))?;
    }
    let scheme = match scheme.to_ascii_lowercase().as_str() {
        "https" => Scheme::Https,
        "http" => Scheme::Http,
        other => return Err(invalid(format!("scheme {other:?} is not http or https"))),
    };
    let outgoing = OutgoingRequest::new(headers);
    outgoing
        .set_method(&method(&request.method))
        .and_then(|()| outgoing.set_scheme(Some(&scheme)))
        .and_then(|()| outgoing.set_authority(Some(authority)))
        .and_then(|()| outgoing.set_path_with_query(Some(&path)))
        .map_err(|()| {
            let Request { method, url, .. } = request;
            invalid(format!("{method} {url:?} cannot be sent"))
        })?;
    Ok(outgoing)
}

fn method(name: &str) -> Method {
    match name {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        "OPTIONS" => Method::Options,
        "PATCH" => Method::Patch,
        other => Method::Other(other.to_owned()),
    }
}

fn options(request: &Request) -> Option<RequestOptions> {
    let timeout = u64::try_from(request.timeout?.as_nanos()).ok()?;
    let options = RequestOptions::new();
    // A host that knows no such bound goes without it.
    let _ = options.set_connect_timeout(Some(timeout));
    let _ = options.set_first_byte_timeout(Some(timeout));
    let _ = options.set_between_bytes_timeout(Some(timeout));
    Some(options)
}

/// Write the body. When it is not taken, the answer says why: a server may answer before it read all.
fn write(body: OutgoingBody, bytes: &[u8]) {
    let Ok(stream) = body.write() else { return };
    let whole = bytes
        .chunks(CHUNK)
        .all(|chunk| stream.blocking_write_and_flush(chunk).is_ok());
    drop(stream);
    if whole {
        let _ = OutgoingBody::finish(body, None);
    }
}

fn read(body: IncomingBody, most: usize) -> Result<(Vec<u8>, bool), HttpError> {
    let stream = body
        .stream()
        .map_err(|()| HttpError::new(HttpErrorKind::Host, "the body is gone"))?;
    let mut read = Vec::new();
    // One byte more tells whether it goes on.
    while read.len() <= most {
        match stream.blocking_read((most + 1 - read.len()).min(64 << 10) as u64) {
            Ok(bytes) => read.extend_from_slice(&bytes),
            Err(StreamError::Closed) => break,
            Err(StreamError::LastOperationFailed(error)) => {
                return Err(match http_error_code(&error) {
                    Some(code) => of(&code),
                    None => HttpError::new(HttpErrorKind::Broken, error.to_debug_string()),
                });
            }
        }
    }
    let cut = read.len() > most;
    read.truncate(most);
    Ok((read, cut))
}

fn invalid(why: impl Into<String>) -> HttpError {
    HttpError::new(HttpErrorKind::Invalid, why)
}

fn of(code: &ErrorCode) -> HttpError {
    use HttpErrorKind as Kind;
    let (kind, why) = match code {
        ErrorCode::HttpRequestDenied => (
            Kind::Denied,
            "the request is not granted; the job's log says how to grant it".to_owned(),
        ),
        ErrorCode::DestinationIpProhibited => (
            Kind::Denied,
            "the address is not granted; the job's log says how to grant it".to_owned(),
        ),
        ErrorCode::HttpRequestUriInvalid
        | ErrorCode::HttpRequestUriTooLong
        | ErrorCode::HttpRequestMethodInvalid
        | ErrorCode::HttpRequestLengthRequired
        | ErrorCode::HttpRequestHeaderSectionSize(_)
        | ErrorCode::HttpRequestHeaderSize(_) => (Kind::Invalid, said(code)),
        ErrorCode::HttpRequestBodySize(_) => (
            Kind::Invalid,
            "the body is larger than the host allows".to_owned(),
        ),
        ErrorCode::DnsError(_)
        | ErrorCode::DestinationNotFound
        | ErrorCode::DestinationUnavailable
        | ErrorCode::DestinationIpUnroutable
        | ErrorCode::ConnectionRefused => (Kind::Unreachable, said(code)),
        ErrorCode::DnsTimeout
        | ErrorCode::ConnectionTimeout
        | ErrorCode::ConnectionReadTimeout
        | ErrorCode::ConnectionWriteTimeout
        | ErrorCode::HttpResponseTimeout => (Kind::Timeout, said(code)),
        ErrorCode::TlsProtocolError
        | ErrorCode::TlsCertificateError
        | ErrorCode::TlsAlertReceived(_) => (Kind::Tls, said(code)),
        ErrorCode::HttpResponseBodySize(_)
        | ErrorCode::HttpResponseHeaderSectionSize(_)
        | ErrorCode::HttpResponseHeaderSize(_) => (Kind::TooLarge, said(code)),
        ErrorCode::InternalError(Some(why)) if why.starts_with("cancelled") => {
            (Kind::Cancelled, why.clone())
        }
        ErrorCode::ConnectionLimitReached
        | ErrorCode::ConfigurationError
        | ErrorCode::InternalError(_) => (Kind::Host, said(code)),
        _ => (Kind::Broken, said(code)),
    };
    HttpError::new(kind, why)
}

/// `ErrorCode::ConnectionRefused` as `connection refused`.
fn said(code: &ErrorCode) -> String {
    let debug = format!("{code:?}");
    let name = debug
        .strip_prefix("ErrorCode::")
        .unwrap_or(&debug)
        .split(['(', ' '])
        .next()
        .unwrap_or_default();
    let mut text = String::new();
    for (at, letter) in name.char_indices() {
        if letter.is_ascii_uppercase() && at > 0 {
            text.push(' ');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}
