//! TLS: whom the client trusts, and what it says when it does not.

use std::{io::Write, net::SocketAddr, sync::Arc};

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
    },
};
use wasmtime_wasi_http::Error;

use super::{Bench, open};
use crate::plugin::capabilities::http::Client;

/// A server with a certificate of its own for these names, until the runtime is dropped.
pub(super) struct Secured {
    pub(super) address: SocketAddr,
    pub(super) ca: tempfile::NamedTempFile,
    _runtime: tokio::runtime::Runtime,
}

impl Secured {
    pub(super) fn start(name: &str) -> Self {
        Self::with(CertificateParams::new([name.to_owned()]).unwrap())
    }

    /// With a certificate that was good until the end of 2001.
    pub(super) fn expired(name: &str) -> Self {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(2001, 12, 31);
        Self::with(params)
    }

    fn with(params: CertificateParams) -> Self {
        let signing_key = KeyPair::generate().unwrap();
        let cert = params.self_signed(&signing_key).unwrap();
        let mut ca = tempfile::NamedTempFile::new().unwrap();
        ca.write_all(cert.pem().as_bytes()).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime
            .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
            .unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    let Ok(mut stream) = acceptor.accept(stream).await else {
                        return;
                    };
                    let mut head = [0; 1024];
                    let _ = stream.read(&mut head).await;
                    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nsafe";
                    let _ = stream.write_all(answer).await;
                    let _ = stream.shutdown().await;
                });
            }
        });
        Self {
            address,
            ca,
            _runtime: runtime,
        }
    }

    fn get(&self, host: &str, trusted: bool) -> (Result<u16, Error>, String) {
        let toml =
            "[[grants.http]]\norigin = \"https://*:*\"\nmethods = [\"GET\"]\nprivate = true\n";
        let client = Client::new(trusted.then(|| self.ca.path().to_owned()));
        let mut bench = Bench::new(toml, &open(), client);
        let url = format!("https://{host}:{}/", self.address.port());
        let answer = bench.get(&url, None).map(|(status, body)| {
            assert_eq!(&body[..], b"safe");
            status
        });
        (answer, bench.logged())
    }
}

#[test]
fn a_certificate_of_an_authority_that_was_named_is_trusted() {
    let server = Secured::start("localhost");
    let (answer, logged) = server.get("localhost", true);
    assert_eq!(answer.unwrap(), 200, "{logged}");
}

#[test]
fn a_certificate_of_nobody_known_is_refused() {
    let server = Secured::start("localhost");
    let (answer, logged) = server.get("localhost", false);
    // A machine without any authority has none to hold it against.
    assert!(
        matches!(
            answer,
            Err(Error::TlsCertificateError | Error::ConfigurationError)
        ),
        "{answer:?}"
    );
    assert!(logged.contains("certificate"), "{logged}");
}

#[test]
fn a_certificate_for_another_name_is_refused() {
    let server = Secured::start("example.com");
    let (answer, logged) = server.get("localhost", true);
    assert!(
        matches!(answer, Err(Error::TlsCertificateError)),
        "{answer:?}"
    );
    assert!(logged.contains("certificate"), "{logged}");
}

#[test]
fn a_certificate_whose_time_is_over_is_refused() {
    let server = Secured::expired("localhost");
    let (answer, logged) = server.get("localhost", true);
    assert!(
        matches!(answer, Err(Error::TlsCertificateError)),
        "{answer:?}"
    );
    assert!(logged.contains("expired"), "{logged}");
}
