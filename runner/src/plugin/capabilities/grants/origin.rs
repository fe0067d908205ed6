//! Where a plugin may send requests: scheme, host and port, in one spelling.

use std::{
    fmt,
    net::{Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

use serde::{Deserialize, Serialize};

/// Longest host name, in bytes, as DNS has it.
const HOST_BYTES: usize = 253;

/// A scheme, a host and a port that a request goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) tls: bool,
    /// In lower case, without a dot at its end; an IPv6 address without its brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// One origin, or all those of a domain or a scheme: `https://api.example.com`,
/// `https://*.example.com:8443`, `https://*`, `http://*:*`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct OriginPattern {
    tls: bool,
    /// As in [`Origin`], `*`, or `*.` and a domain.
    host: String,
    /// `None` for every port.
    port: Option<u16>,
}

impl Origin {
    /// From what a request names. The error is for a person.
    pub(crate) fn new(scheme: &str, authority: &str) -> Result<Self, String> {
        let tls = scheme_is_tls(scheme)?;
        if authority.contains('@') {
            return Err("a name or password before the host is not sent: use a header".into());
        }
        let (host, port) = split_port(authority)?;
        Ok(Self {
            tls,
            host: host_of(host)?,
            port: match port {
                Some(text) => port_of(text)?,
                None => default_port(tls),
            },
        })
    }

    /// As a `Host` header says it: without the port that the scheme implies.
    pub(crate) fn authority(&self) -> String {
        authority(&self.host, Some(self.port), self.tls)
    }
}

impl OriginPattern {
    /// Whether it stands for exactly one origin.
    pub(crate) fn is_exact(&self) -> bool {
        !self.host.starts_with('*') && self.port.is_some()
    }

    pub(crate) fn covers(&self, origin: &Origin) -> bool {
        let one = Self {
            tls: origin.tls,
            host: origin.host.clone(),
            port: Some(origin.port),
        };
        self.covers_all_of(&one)
    }

    /// Whether every origin the other stands for is one of its own.
    pub(crate) fn covers_all_of(&self, other: &Self) -> bool {
        let host = match self.host.strip_prefix('*') {
            Some("") => true,
            // `*.a.b` stands for what ends in `.a.b`, so `*.x.a.b` is within it.
            Some(domain) => other.host.len() > domain.len() && other.host.ends_with(domain),
            None => self.host == other.host,
        };
        let port = self.port.is_none() || self.port == other.port;
        self.tls == other.tls && host && port
    }
}

impl FromStr for OriginPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            |why: &str| format!("{text:?} is no origin such as \"https://api.example.com\": {why}");
        let (scheme, rest) = text
            .split_once("://")
            .ok_or_else(|| wrong("it has no scheme"))?;
        let tls = scheme_is_tls(scheme).map_err(|why| wrong(&why))?;
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        if rest.contains(['/', '?', '#', '@']) {
            return Err(wrong("only scheme, host and port belong to it"));
        }
        let (host, port) = split_port(rest).map_err(|why| wrong(&why))?;
        let (star, domain) = match host.strip_prefix("*.") {
            Some(domain) => ("*.", domain),
            None => ("", host),
        };
        let host = match domain {
            "*" if star.is_empty() => "*".to_owned(),
            domain => format!("{star}{}", host_of(domain).map_err(|why| wrong(&why))?),
        };
        let port = match port {
            None => Some(default_port(tls)),
            Some("*") => None,
            Some(port) => Some(port_of(port).map_err(|why| wrong(&why))?),
        };
        Ok(Self { tls, host, port })
    }
}

impl TryFrom<String> for OriginPattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<OriginPattern> for String {
    fn from(pattern: OriginPattern) -> Self {
        pattern.to_string()
    }
}

impl fmt::Display for OriginPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "https" } else { "http" };
        write!(
            f,
            "{scheme}://{}",
            authority(&self.host, self.port, self.tls)
        )
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "https" } else { "http" };
        write!(f, "{scheme}://{}", self.authority())
    }
}

fn authority(host: &str, port: Option<u16>, tls: bool) -> String {
    let host = match host.contains(':') {
        true => format!("[{host}]"),
        false => host.to_owned(),
    };
    match port {
        None => format!("{host}:*"),
        Some(port) if port == default_port(tls) => host,
        Some(port) => format!("{host}:{port}"),
    }
}

const fn default_port(tls: bool) -> u16 {
    if tls { 443 } else { 80 }
}

fn scheme_is_tls(scheme: &str) -> Result<bool, String> {
    match scheme.to_ascii_lowercase().as_str() {
        "https" => Ok(true),
        "http" => Ok(false),
        _ => Err("the scheme is http or https".into()),
    }
}

fn split_port(text: &str) -> Result<(&str, Option<&str>), String> {
    if let Some(inner) = text.strip_prefix('[') {
        let (host, rest) = inner
            .split_once(']')
            .ok_or("an IPv6 address ends in a bracket")?;
        if !host.contains(':') {
            return Err("only an IPv6 address stands in brackets".into());
        }
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if rest.is_empty() => Ok((host, None)),
            None => Err("after the bracket comes a colon and a port".into()),
        };
    }
    match text.split_once(':') {
        Some((_, rest)) if rest.contains(':') => Err("an IPv6 address stands in brackets".into()),
        Some((host, port)) => Ok((host, Some(port))),
        None => Ok((text, None)),
    }
}

fn port_of(text: &str) -> Result<u16, String> {
    text.parse()
        .ok()
        .filter(|port| *port > 0 && text.bytes().all(|byte| byte.is_ascii_digit()))
        .ok_or_else(|| format!("{text:?} is no port from 1 to 65535"))
}

/// A host in one spelling. Numbers that some resolvers take for an address are refused unless they
/// are written as one.
fn host_of(text: &str) -> Result<String, String> {
    if text.contains(':') {
        let address: Ipv6Addr = text
            .parse()
            .map_err(|_| format!("{text:?} is no IPv6 address"))?;
        return Ok(address.to_string());
    }
    let host = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    let fits = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    if host.is_empty() || host.len() > HOST_BYTES || !host.split('.').all(fits) {
        return Err(format!(
            "{text:?} is no host name of letters, digits, - and . (write others in their xn-- form)"
        ));
    }
    let last = host.rsplit('.').next().unwrap_or_default();
    let numeric = last.starts_with("0x") || last.bytes().all(|byte| byte.is_ascii_digit());
    if numeric && host.parse::<Ipv4Addr>().is_err() {
        return Err(format!("{text:?} is no IPv4 address of four numbers"));
    }
    Ok(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> OriginPattern {
        text.parse().unwrap()
    }

    #[test]
    fn one_origin_has_one_spelling() {
        for (scheme, authority, says) in [
            ("https", "API.Example.com.", "https://api.example.com"),
            ("HTTPS", "a.b:443", "https://a.b"),
            ("http", "a.b:443", "http://a.b:443"),
            ("http", "[0:0::1]:80", "http://[::1]"),
            ("http", "127.0.0.1:8080", "http://127.0.0.1:8080"),
        ] {
            assert_eq!(Origin::new(scheme, authority).unwrap().to_string(), says);
        }
    }

    #[test]
    fn what_resolvers_read_in_their_own_way_is_refused() {
        for authority in [
            "127.1",
            "2130706433",
            "0x7f000001",
            "a.0x7f",
            "1.2.3.4.5",
            "a%2eb",
            "u:p@a.b",
            "a@b",
            "",
            ".",
            "a..b",
            "a b",
            "a.b:0",
            "a.b:+80",
            "a.b:99999",
            "[::1",
            "[a]",
            "::1",
            "[::1]80",
            "a.b:",
            "-\u{e9}",
        ] {
            assert!(Origin::new("http", authority).is_err(), "{authority}");
        }
        assert!(Origin::new("ftp", "a.b").is_err());
    }

    #[test]
    fn a_pattern_covers_what_it_says() {
        let to = |text: &str| {
            let (scheme, authority) = text.split_once("://").unwrap();
            Origin::new(scheme, authority).unwrap()
        };
        for (grant, origin, covers) in [
            ("https://a.b", "https://A.b", true),
            ("https://a.b", "http://a.b", false),
            ("https://a.b", "https://a.b:8443", false),
            ("https://a.b:*", "https://a.b:8443", true),
            ("https://*.b.c", "https://a.b.c", true),
            ("https://*.b.c", "https://x.a.b.c", true),
            ("https://*.b.c", "https://b.c", false),
            ("https://*.b.c", "https://ab.c", false),
            ("https://*.b.c", "https://b.c.evil", false),
            ("http://*", "http://10.0.0.1", true),
            ("http://*", "http://10.0.0.1:81", false),
        ] {
            assert_eq!(
                pattern(grant).covers(&to(origin)),
                covers,
                "{grant} {origin}"
            );
        }
    }

    #[test]
    fn a_ceiling_covers_narrower_patterns() {
        for (ceiling, grant, covers) in [
            ("https://*", "https://*.a.b", true),
            ("https://*.a.b", "https://*.x.a.b", true),
            ("https://*.a.b", "https://*.a.b", true),
            ("https://*.a.b", "https://*", false),
            ("https://*.a.b", "https://*.b", false),
            ("https://a.b", "https://a.b:*", false),
        ] {
            let covered = pattern(ceiling).covers_all_of(&pattern(grant));
            assert_eq!(covered, covers, "{ceiling} {grant}");
        }
    }

    #[test]
    fn patterns_are_read_strictly() {
        for text in [
            "a.b",
            "https://",
            "https://a.b/path",
            "https://a*.b",
            "https://*.*",
            "https://*.",
            "ftp://a.b",
            "https://a.b:0",
            "https://u@a.b",
            "https://**",
        ] {
            assert!(text.parse::<OriginPattern>().is_err(), "{text}");
        }
        for text in [
            "https://a.b",
            "http://*:*",
            "https://*.a.b:8443",
            "http://[::1]:81",
        ] {
            assert_eq!(pattern(text).to_string(), text);
        }
    }
}
