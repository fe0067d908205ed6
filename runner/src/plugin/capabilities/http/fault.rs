//! What can go wrong on the way: the error a guest gets, and a line for the job's log.

use std::{
    error::Error as _,
    io,
    net::{IpAddr, SocketAddr},
};

use tokio_rustls::rustls;
use wasmtime_wasi_http::Error;

use super::BODY_KEY;
use crate::plugin::bytes::human_bytes;

/// What a guest reads of a request that was given up; the SDK knows it by its first word.
const CALLED_OFF: &str = "cancelled: the job was called off";

/// Why a request had no answer.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) error: Error,
    /// For a person.
    pub(crate) why: String,
    /// The address that may not be reached, when that is the cause.
    pub(crate) closed: Option<IpAddr>,
}

impl Fault {
    pub(crate) fn new(error: Error, why: impl Into<String>) -> Self {
        Self {
            error,
            why: why.into(),
            closed: None,
        }
    }

    /// A fault of the runner or its machine.
    pub(crate) fn own(why: String) -> Self {
        Self::new(Error::ConfigurationError, why)
    }

    /// The job was called off while it waited.
    pub(crate) fn called_off() -> Self {
        Self::new(
            Error::InternalError(Some(CALLED_OFF.into())),
            "given up, as the job was called off",
        )
    }

    pub(crate) fn closed(address: IpAddr) -> Self {
        Self {
            error: Error::DestinationIpProhibited,
            why: format!("it leads to {address}, which is not on the internet"),
            closed: Some(address),
        }
    }

    pub(crate) fn unknown(host: &str, why: &str) -> Self {
        let error = Error::DnsError {
            rcode: Some("no address".into()),
            info_code: None,
        };
        Self::new(error, format!("{host} has no address: {why}"))
    }
}

pub(super) fn of_connect(address: SocketAddr, error: &io::Error) -> Fault {
    use io::ErrorKind as Kind;
    let why = format!("cannot connect to {address}: {error}");
    let error = match error.kind() {
        Kind::ConnectionRefused => Error::ConnectionRefused,
        Kind::TimedOut => Error::ConnectionTimeout,
        Kind::NetworkUnreachable | Kind::HostUnreachable => Error::DestinationIpUnroutable,
        _ => Error::DestinationUnavailable,
    };
    Fault::new(error, why)
}

pub(super) fn of_tls(error: &io::Error) -> Fault {
    let inner = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let why = format!("no TLS connection: {error}");
    let error = match inner {
        Some(rustls::Error::InvalidCertificate(_)) => Error::TlsCertificateError,
        Some(rustls::Error::AlertReceived(alert)) => Error::TlsAlertReceived {
            alert_id: Some(u8::from(*alert)),
            alert_message: Some(format!("{alert:?}")),
        },
        Some(_) => Error::TlsProtocolError,
        None => Error::ConnectionTerminated,
    };
    Fault::new(error, why)
}

pub(super) fn of_hyper(error: &hyper::Error) -> Fault {
    // An error of the request's own body comes back as what it was.
    let own = error.source().and_then(|source| source.downcast_ref());
    if let Some(Error::HttpRequestBodySize(limit)) = own {
        let why = format!(
            "the request's body is over its limit of {} ({BODY_KEY})",
            human_bytes(limit.unwrap_or(0))
        );
        return Fault::new(Error::HttpRequestBodySize(*limit), why);
    }
    let mut why = error.to_string();
    let mut cut_off = error.is_incomplete_message();
    let mut source = error.source();
    while let Some(cause) = source {
        why = format!("{why}: {cause}");
        let io = cause.downcast_ref::<io::Error>();
        cut_off |= io.is_some_and(|error| error.kind() == io::ErrorKind::UnexpectedEof);
        source = cause.source();
    }
    let error = if error.is_parse_too_large() {
        Error::HttpResponseHeaderSectionSize(None)
    } else if cut_off {
        Error::HttpResponseIncomplete
    } else if error.is_parse() {
        Error::HttpProtocolError
    } else {
        Error::ConnectionTerminated
    };
    Fault::new(error, why)
}
