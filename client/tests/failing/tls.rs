//! The client before a server with a certificate.

use std::{fs, net::SocketAddr, sync::Arc};

use sandhog_client::{Client, Error, NewJob, Options, Token};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
    },
};

use crate::{ID, SECRET, quick, server::answer};

/// A server for `localhost`, and its certificate in PEM form.
async fn start() -> (SocketAddr, String) {
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(own.signing_key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            // A caller that does not trust it hangs up.
            let Ok(mut stream) = acceptor.accept(stream).await else {
                continue;
            };
            let mut request = Vec::new();
            while !request.ends_with(b"}") {
                stream.read_buf(&mut request).await.unwrap();
            }
            let request = String::from_utf8(request).unwrap();
            assert!(request.contains(&format!("Bearer {SECRET}")));
            let body = format!(r#"{{"id":"{ID}","existing":false}}"#);
            let told = answer(201, "application/json", "", &body);
            stream.write_all(told.as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
        }
    });
    (address, own.cert.pem())
}

#[tokio::test]
async fn a_server_is_believed_by_its_certificate_alone() {
    let (address, certificate) = start().await;
    let folder = tempfile::tempdir().unwrap();
    let ca_file = folder.path().join("ca.pem");
    fs::write(&ca_file, certificate).unwrap();
    let options = |host: &str, ca_file| Options {
        token: Some(Token::new(SECRET).unwrap()),
        retry_for: std::time::Duration::ZERO,
        ca_file,
        ..quick(format!("https://{host}:{}", address.port()))
    };
    let known = Client::with(options("localhost", Some(ca_file.clone()))).unwrap();
    assert_eq!(known.enqueue(&NewJob::new("k", 1)).await.unwrap().id, ID);

    // Another name than that of the certificate.
    let other = Client::with(options("127.0.0.1", Some(ca_file.clone()))).unwrap();
    let error = other.enqueue(&NewJob::new("k", 1)).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("certificate"), "{error}");

    // An authority that is not known; machines without any refuse to begin.
    let error = match Client::with(options("localhost", None)) {
        Ok(unknown) => unknown.enqueue(&NewJob::new("k", 1)).await.unwrap_err(),
        Err(error) => error,
    };
    assert!(error.to_string().contains("certificate"), "{error}");

    fs::write(&ca_file, "hello").unwrap();
    let error = Client::with(options("localhost", Some(ca_file))).unwrap_err();
    assert!(error.to_string().contains("ca.pem"), "{error}");
}
