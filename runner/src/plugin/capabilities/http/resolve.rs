//! From a host's name to the addresses that may be dialled.

use std::{
    future::Future,
    io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
};

use crate::plugin::capabilities::grants::{Network, Origin, is_public, plain};

/// Most addresses of a name that are tried.
const TRIED: usize = 8;

/// Asks what a name stands for.
pub(crate) trait Resolve: Send + Sync + 'static {
    fn resolve<'a>(
        &'a self,
        host: &'a str,
    ) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;
}

/// The system's resolver.
pub(crate) struct System;

impl Resolve for System {
    fn resolve<'a>(
        &'a self,
        host: &'a str,
    ) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// What came of a name.
#[derive(Debug)]
pub(crate) enum Found {
    /// These may be dialled, and no other.
    Open(Vec<SocketAddr>),
    /// None of its addresses may; this is one of them.
    Closed(IpAddr),
    /// It has no address, or cannot be asked for.
    Nothing(String),
}

/// Look an origin up, once: what is dialled are the addresses that were checked.
pub(crate) async fn look_up(resolver: &dyn Resolve, origin: &Origin, open: &[Network]) -> Found {
    let found = match origin.host.parse::<IpAddr>() {
        Ok(address) => vec![address],
        Err(_) => match resolver.resolve(&origin.host).await {
            Ok(found) => found,
            Err(error) => return Found::Nothing(error.to_string()),
        },
    };
    let Some(first) = found.first().copied() else {
        return Found::Nothing("it has no address".into());
    };
    let may = |address: &IpAddr| {
        is_public(*address) || open.iter().any(|network| network.contains(*address))
    };
    let allowed: Vec<SocketAddr> = found
        .into_iter()
        .filter(may)
        .take(TRIED)
        .map(|address| SocketAddr::new(plain(address), origin.port))
        .collect();
    match allowed.is_empty() {
        true => Found::Closed(first),
        false => Found::Open(allowed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(&'static [&'static str]);

    impl Resolve for Fixed {
        fn resolve<'a>(
            &'a self,
            _: &'a str,
        ) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>> {
            let found = self.0.iter().map(|text| text.parse().unwrap()).collect();
            Box::pin(async move { Ok(found) })
        }
    }

    fn look(addresses: &'static [&'static str], host: &str, open: &[&str]) -> Found {
        let origin = Origin::new("http", host).unwrap();
        let open: Vec<Network> = open.iter().map(|text| text.parse().unwrap()).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime
            .unwrap()
            .block_on(look_up(&Fixed(addresses), &origin, &open))
    }

    #[test]
    fn only_open_addresses_are_left() {
        let Found::Open(left) = look(&["10.0.0.1", "8.8.8.8", "::1"], "a.b", &[]) else {
            panic!("one address is open")
        };
        assert_eq!(left, ["8.8.8.8:80".parse().unwrap()]);
        for closed in [
            "127.0.0.1",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "169.254.169.254",
        ] {
            assert!(
                matches!(look(&[], closed, &[]), Found::Closed(_)),
                "{closed}"
            );
        }
        assert!(matches!(
            look(&["::ffff:10.0.0.1"], "a.b", &[]),
            Found::Closed(_)
        ));
        assert!(matches!(look(&[], "a.b", &[]), Found::Nothing(_)));
    }

    #[test]
    fn a_network_the_operator_opened_is_open() {
        let open = &["127.0.0.0/8"];
        let found = look(&["127.0.0.1"], "a.b:81", open);
        assert!(matches!(found, Found::Open(left) if left == ["127.0.0.1:81".parse().unwrap()]));
        assert!(matches!(look(&["10.0.0.1"], "a.b", open), Found::Closed(_)));
    }
}
