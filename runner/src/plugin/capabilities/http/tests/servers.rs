//! Servers that behave badly, and what is bounded whatever they do.

use std::{
    collections::BTreeMap,
    io,
    net::IpAddr,
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant},
};

use sandhog_kit::Receiver;
use wasmtime_wasi_http::Error;

use super::{Bench, any, open, request, soon};
use crate::plugin::capabilities::http::{Client, resolve::Resolve};

#[test]
fn bad_servers_are_errors_within_the_time_allowed() {
    let receiver = Receiver::start();
    let mut bench = Bench::opened(&any("GET"));
    bench.http = {
        let mut many = open();
        many.general.requests = Some(100);
        Bench::new(&any("GET"), &many, Client::default()).http
    };
    let mut said = BTreeMap::new();
    for path in ["silent", "half", "stall", "huge", "headers", "garbage"] {
        let begun = Instant::now();
        let url = format!("{}/{path}", receiver.origin());
        let error = bench.get(&url, soon()).expect_err(path);
        assert!(begun.elapsed() < Duration::from_secs(20), "{path}");
        let debug = format!("{error:?}");
        let name = debug.split(['(', ' ', '{']).next().unwrap().to_owned();
        said.insert(path, name);
    }
    let expected = [
        ("garbage", "HttpProtocolError"),
        ("half", "HttpResponseIncomplete"),
        ("headers", "HttpResponseHeaderSectionSize"),
        ("huge", "HttpResponseBodySize"),
        ("silent", "ConnectionReadTimeout"),
        ("stall", "ConnectionReadTimeout"),
    ];
    let expected: BTreeMap<&str, String> =
        expected.map(|(path, name)| (path, name.to_owned())).into();
    assert_eq!(said, expected);
}

#[test]
fn nobody_listening_no_name_and_no_tls_are_told_apart() {
    let receiver = Receiver::start();
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let toml = format!(
        "{}[[grants.http]]\norigin = \"https://*:*\"\nmethods = [\"GET\"]\nprivate = true\n",
        any("GET")
    );
    let mut bench = Bench::opened(&toml);
    let refused = bench.get(&format!("http://{free}/"), None);
    assert!(
        matches!(refused, Err(Error::ConnectionRefused)),
        "{refused:?}"
    );
    let reset = bench.get(&format!("{}/reset", receiver.origin()), None);
    assert!(
        matches!(
            reset,
            Err(Error::ConnectionTerminated | Error::HttpResponseIncomplete)
        ),
        "{reset:?}"
    );
    let plain = bench.get(&format!("https://{}/", receiver.address()), None);
    assert!(
        matches!(
            plain,
            Err(Error::TlsProtocolError | Error::ConfigurationError)
        ),
        "{plain:?}"
    );
    assert!(
        bench.logged().contains("cannot connect to"),
        "{}",
        bench.logged()
    );
}

/// Knows no name.
struct Nameless;

impl Resolve for Nameless {
    fn resolve<'a>(
        &'a self,
        _: &'a str,
    ) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>> {
        Box::pin(async { Err(io::Error::other("no such name")) })
    }
}

#[test]
fn a_name_without_an_address_is_told() {
    let client = Client::with_resolver(None, Arc::new(Nameless));
    let mut bench = Bench::new(&any("GET"), &open(), client);
    let unknown = bench.get("http://no-such-name.example/", None);
    assert!(
        matches!(unknown, Err(Error::DnsError { .. })),
        "{unknown:?}"
    );
    assert!(
        bench.logged().contains("no such name"),
        "{}",
        bench.logged()
    );
}

#[test]
fn a_redirect_is_an_answer() {
    let receiver = Receiver::start();
    let mut bench = Bench::opened(&any("GET"));
    let (status, _) = bench
        .get(&format!("{}/redirect", receiver.origin()), None)
        .unwrap();
    assert_eq!(status, 302);
}

#[test]
fn requests_under_way_and_in_all_are_bounded() {
    let receiver = Receiver::start();
    let mut bench = Bench::opened(&any("GET"));
    let url = format!("{}/", receiver.origin());
    let held: Vec<_> = (0..2)
        .map(|_| bench.start(request("GET", &url, &[]), None))
        .collect();
    let third = bench.get(&url, None);
    assert!(
        matches!(third, Err(Error::ConnectionLimitReached)),
        "{third:?}"
    );
    assert!(
        bench.logged().contains("`connections`"),
        "{}",
        bench.logged()
    );
    drop(held);
    for _ in 0..3 {
        bench.get(&url, None).unwrap();
    }
    let sixth = bench.get(&url, None);
    assert!(
        matches!(sixth, Err(Error::ConnectionLimitReached)),
        "{sixth:?}"
    );
    assert!(bench.logged().contains("`requests`"), "{}", bench.logged());
}

#[test]
fn a_request_that_is_let_go_closes_its_connection() {
    let receiver = Receiver::start();
    let mut bench = Bench::opened(&any("GET"));
    let url = format!("{}/", receiver.origin());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("http://{}/", listener.local_addr().unwrap());
    let sent = bench.start(request("GET", &silent, &[]), None);
    let mut stream = bench.runtime.block_on(async {
        tokio::select! {
            _ = sent => panic!("nobody answers"),
            accepted = tokio::task::spawn_blocking(move || listener.accept()) => accepted.unwrap().unwrap().0,
        }
    });
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let read = io::Read::read_to_end(&mut stream, &mut Vec::new());
    assert!(
        read.is_ok() || read.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionReset)
    );
    bench.get(&url, None).unwrap();
}
