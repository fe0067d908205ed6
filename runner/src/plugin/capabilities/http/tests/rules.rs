//! Which requests are sent, and where to.

use std::{
    io,
    net::IpAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use sandhog_kit::Receiver;
use wasmtime_wasi_http::Error;

use super::{Bench, any, open, request, soon};
use crate::plugin::capabilities::{
    grants::{Ceilings, parse},
    http::{Client, resolve::Resolve},
};

#[test]
fn a_granted_request_arrives_as_it_was_written() {
    let receiver = Receiver::start();
    let mut bench = Bench::opened(&any("POST"));
    let url = format!("{}/a/b?c=d", receiver.origin());
    let sent = bench.start(request("POST", &url, &[("x-own", "1")]), None);
    let answer = bench.runtime.block_on(sent).unwrap();
    assert_eq!(answer.status(), 200);
    let came = receiver.next();
    assert_eq!(
        (came.method.as_str(), came.path.as_str()),
        ("POST", "/a/b?c=d")
    );
    assert_eq!(
        came.header("host"),
        Some(receiver.address().to_string().as_str())
    );
    assert_eq!(came.header("x-own"), Some("1"));
    assert_eq!(came.body, b"payload");
}

#[test]
fn what_is_not_granted_is_denied_with_the_lines_that_would() {
    let receiver = Receiver::start();
    let url = format!("{}/", receiver.origin());
    for (toml, what) in [
        (String::new(), "GET to http://127.0.0.1"),
        (any("POST"), "GET to http://127.0.0.1"),
        (
            "[[grants.http]]\norigin = \"https://*:*\"\nmethods = [\"*\"]\n".into(),
            "GET to http://",
        ),
    ] {
        let mut bench = Bench::opened(&toml);
        let denied = bench.get(&url, None);
        assert!(
            matches!(denied, Err(Error::HttpRequestDenied)),
            "{denied:?}"
        );
        let logged = bench.logged();
        assert!(
            logged.contains(what) && logged.contains("p.toml"),
            "{logged}"
        );
        // The lines that are shown are a file that grants it.
        let at = logged.find("[[grants.http]]").unwrap();
        let shown = parse(&logged[at..]).unwrap();
        assert_eq!(shown.http[0].origin.to_string(), receiver.origin());
        assert_eq!(shown.http[0].methods, ["GET"]);
    }
    assert_eq!(receiver.came(), None);
}

#[test]
fn an_address_that_is_not_on_the_internet_is_closed_unless_opened_twice() {
    let receiver = Receiver::start();
    let port = receiver.address().port();
    let plain = "[[grants.http]]\norigin = \"http://*:*\"\nmethods = [\"GET\"]\n";
    for (toml, ceilings) in [
        (plain.to_owned(), open()),
        (any("GET"), Ceilings::default()),
    ] {
        for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"] {
            let mut bench = Bench::new(&toml, &ceilings, Client::default());
            let denied = bench.get(&format!("http://{host}:{port}/"), None);
            assert!(
                matches!(denied, Err(Error::DestinationIpProhibited)),
                "{host}: {denied:?}"
            );
            let logged = bench.logged();
            for says in ["not on the internet", "private = true", "[capabilities]"] {
                assert!(logged.contains(says), "{says}: {logged}");
            }
        }
    }
    assert_eq!(receiver.came(), None);
    let mut bench = Bench::opened(&any("GET"));
    assert_eq!(
        bench
            .get(&format!("http://localhost:{port}/"), None)
            .unwrap()
            .0,
        200
    );
}

/// A name that stands for a public address when it is asked for first, and for this machine ever
/// after.
pub(super) struct Rebinding(pub(super) AtomicUsize);

impl Resolve for Rebinding {
    fn resolve<'a>(
        &'a self,
        _: &'a str,
    ) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>> {
        let address = match self.0.fetch_add(1, Ordering::Relaxed) {
            // TEST-NET-1: nobody answers there.
            0 => "192.0.2.1",
            _ => "127.0.0.1",
        };
        Box::pin(async move { Ok(vec![address.parse().unwrap()]) })
    }
}

#[test]
fn a_name_is_looked_up_once_and_that_address_dialled() {
    let receiver = Receiver::start();
    let port = receiver.address().port();
    let names = Arc::new(Rebinding(AtomicUsize::new(0)));
    let mut ceilings = open();
    ceilings.general.private = Some(vec!["192.0.2.0/24".parse().unwrap()]);
    let client = Client::with_resolver(None, Arc::<Rebinding>::clone(&names));
    let mut bench = Bench::new(&any("GET"), &ceilings, client);
    let url = format!("http://rebinding.example:{port}/");
    let first = bench.get(&url, soon());
    assert!(
        matches!(
            first,
            Err(Error::ConnectionTimeout
                | Error::DestinationIpUnroutable
                | Error::DestinationUnavailable
                | Error::ConnectionRefused)
        ),
        "{first:?}"
    );
    assert_eq!(names.0.load(Ordering::Relaxed), 1, "it was looked up again");
    // Now it stands for this machine, and that is closed.
    let second = bench.get(&url, soon());
    assert!(
        matches!(second, Err(Error::DestinationIpProhibited)),
        "{second:?}"
    );
    assert_eq!(receiver.came(), None);
}
