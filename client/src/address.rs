//! Where a runner is.

use std::{fmt, net::IpAddr};

use http::Uri;

use crate::error::Error;

#[derive(Debug, Clone)]
pub(crate) struct Address {
    pub(crate) tls: bool,
    /// With brackets, when it is an address of version 6.
    host: String,
    pub(crate) port: u16,
    /// Of every path, without a slash at its end.
    pub(crate) prefix: String,
}

impl Address {
    pub(crate) fn read(text: &str) -> Result<Self, Error> {
        let wrong =
            |why: &str| Error::Unusable(format!("{text:?} is no address of a runner: {why}"));
        // Checked first, so that no password is in a message.
        if text.contains('@') {
            let why = "the address of a runner has no name or password in it: use a token";
            return Err(Error::Unusable(why.into()));
        }
        let uri: Uri = text
            .parse()
            .map_err(|_| wrong("write http://HOST:PORT or https://HOST"))?;
        let tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(wrong("it begins with neither http:// nor https://")),
        };
        let authority = uri.authority().ok_or_else(|| wrong("it names no host"))?;
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

    /// The host as a connection and a certificate know it.
    pub(crate) fn host(&self) -> &str {
        self.host.trim_matches(['[', ']'])
    }

    /// For the header `Host`.
    pub(crate) fn authority(&self) -> String {
        match (self.tls, self.port) {
            (true, 443) | (false, 80) => self.host.clone(),
            (_, port) => format!("{}:{port}", self.host),
        }
    }

    /// Whether what is sent there can be read on the way.
    pub(crate) fn is_open(&self) -> bool {
        let is_here = match self.host().parse::<IpAddr>() {
            Ok(ip) => ip.to_canonical().is_loopback(),
            Err(_) => self.host.eq_ignore_ascii_case("localhost"),
        };
        !self.tls && !is_here
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority(), self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_whole_or_refused() {
        for (text, shown, is_open) in [
            ("http://127.0.0.1:7263", "http://127.0.0.1:7263", false),
            ("http://localhost/", "http://localhost", false),
            ("http://[::1]:7263/", "http://[::1]:7263", false),
            ("http://jobs.example:7263", "http://jobs.example:7263", true),
            ("https://jobs.example/a/", "https://jobs.example/a", false),
        ] {
            let address = Address::read(text).unwrap();
            assert_eq!(
                (address.to_string().as_str(), address.is_open()),
                (shown, is_open)
            );
        }
        for text in [
            "127.0.0.1:7263",
            "ftp://a",
            "http://",
            "http://a/?token=x",
            "",
        ] {
            assert!(Address::read(text).is_err(), "{text}");
        }
        let error = Address::read("http://me:secret@a").unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
