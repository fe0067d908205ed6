//! The names a runner answers to. A page whose name was made to lead to this address says another one.

use std::net::{IpAddr, SocketAddr};

/// The names, all in lower case.
#[derive(Debug, Clone)]
pub(super) struct Hosts {
    port: u16,
    /// Those of the settings, each with a port or without.
    named: Vec<String>,
}

impl Hosts {
    /// Those of an address that is listened on, and those the operator names.
    pub(super) fn new(listen: SocketAddr, named: &[String]) -> Self {
        Self {
            port: listen.port(),
            named: named.iter().map(|name| name.to_ascii_lowercase()).collect(),
        }
    }

    /// Whether a `Host`, or the authority of a URI, means this runner. `local` is the address that the
    /// connection came in at.
    pub(super) fn know(&self, host: &str, local: SocketAddr) -> bool {
        let host = host.to_ascii_lowercase();
        if self.named.contains(&host) {
            return true;
        }
        let (name, port) = match host.rsplit_once(':') {
            // The colons of a bare `[::1]` are part of the address.
            Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
            _ => (host.as_str(), None),
        };
        let is_ours = match port {
            Some(port) => port == self.port.to_string(),
            None => self.port == 80,
        };
        if !is_ours {
            return false;
        }
        name == "localhost" && is_loopback(local)
            || self.named.iter().any(|known| known == name)
            || address(name).is_some_and(|ip| ip == local.ip().to_canonical())
            || is_loopback(local) && address(name).is_some_and(|ip| ip.is_loopback())
    }
}

fn is_loopback(local: SocketAddr) -> bool {
    local.ip().to_canonical().is_loopback()
}

/// The address that a name is, when it is one.
fn address(name: &str) -> Option<IpAddr> {
    let inner = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'));
    let ip: IpAddr = match inner {
        Some(inner) => IpAddr::V6(inner.parse().ok()?),
        None => IpAddr::V4(name.parse().ok()?),
    };
    Some(ip.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_mean_this_runner_and_names_that_do_not() {
        let local = |text: &str| text.parse::<SocketAddr>().unwrap();
        let named = ["Jobs.example".to_owned(), "proxy.example:8443".to_owned()];
        let hosts = Hosts::new(local("0.0.0.0:7263"), &named);
        let (loopback, outer) = (local("127.0.0.1:7263"), local("[::ffff:192.0.2.7]:7263"));
        for (host, at, known) in [
            ("127.0.0.1:7263", loopback, true),
            ("LOCALHOST:7263", loopback, true),
            ("[::1]:7263", loopback, true),
            ("192.0.2.7:7263", outer, true),
            ("jobs.example:7263", outer, true),
            ("JOBS.EXAMPLE", outer, true),
            ("proxy.example:8443", outer, true),
            ("proxy.example", outer, false),
            ("proxy.example:7263", outer, false),
            ("jobs.example:80", outer, false),
            ("localhost:7263", outer, false),
            ("127.0.0.1:7263", outer, false),
            ("192.0.2.8:7263", outer, false),
            ("192.0.2.7:7263", loopback, false),
            ("localhost", loopback, false),
            ("localhost:7264", loopback, false),
            ("127.0.0.1.evil:7263", loopback, false),
            ("127.0.0.1:7263.evil.example", loopback, false),
            ("evil.example:7263", loopback, false),
            ("user@127.0.0.1:7263", loopback, false),
            ("2130706433:7263", loopback, false),
            ("0x7f.1:7263", loopback, false),
            ("127.0.0.1:07263", loopback, false),
            ("", loopback, false),
            (":7263", loopback, false),
            ("[::1]", loopback, false),
        ] {
            assert_eq!(hosts.know(host, at), known, "{host} at {at}");
        }
        let http = Hosts::new(local("127.0.0.1:80"), &[]);
        assert!(http.know("localhost", local("127.0.0.1:80")));
    }
}
