//! Secrets in headers.

use sandhog_kit::Receiver;
use wasmtime_wasi_http::Error;

use super::{Bench, any, open, request};
use crate::plugin::capabilities::{
    grants::{Ceilings, SecretRule, SecretSource},
    http::Client,
};

fn with_secret(value: &str) -> (tempfile::TempDir, Ceilings) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("key");
    std::fs::write(&path, value).unwrap();
    let mut ceilings = open();
    let rule = SecretRule {
        source: SecretSource::File(path),
        plugins: vec!["*".into()],
        origins: vec!["http://127.0.0.1:*".parse().unwrap()],
        sign: true,
    };
    ceilings.secrets.insert("token".into(), rule);
    (dir, ceilings)
}

#[test]
fn a_secret_is_filled_in_for_its_origin_and_no_other() {
    let (one, other) = (Receiver::start(), Receiver::start());
    let (_dir, ceilings) = with_secret("s3cr3t\n");
    let toml = format!(
        "{}[[grants.secrets]]\nname = \"token\"\norigin = \"{}\"\n",
        any("GET"),
        one.origin()
    );
    let mut bench = Bench::new(&toml, &ceilings, Client::default());
    let headers = [("authorization", "Bearer {{secret:token}}")];
    let sent = bench.start(
        request("GET", &format!("{}/", one.origin()), &headers),
        None,
    );
    bench.runtime.block_on(sent).unwrap();
    assert_eq!(one.next().header("authorization"), Some("Bearer s3cr3t"));

    let sent = bench.start(
        request("GET", &format!("{}/", other.origin()), &headers),
        None,
    );
    let denied = bench.runtime.block_on(sent);
    assert!(matches!(denied, Err(Error::HttpRequestDenied)));
    assert_eq!(other.came(), None);
    let headers = [("x", "{{secret:unknown}}")];
    let sent = bench.start(
        request("GET", &format!("{}/", one.origin()), &headers),
        None,
    );
    assert!(matches!(
        bench.runtime.block_on(sent),
        Err(Error::HttpRequestDenied)
    ));
    let logged = bench.logged();
    assert!(
        logged.contains("name = \"token\"") && logged.contains(&other.origin()),
        "{logged}"
    );
    assert!(!logged.contains("s3cr3t"), "{logged}");
}

#[test]
fn a_secret_that_would_end_a_header_line_is_not_sent() {
    let receiver = Receiver::start();
    let (_dir, ceilings) = with_secret("one\r\nx-forged: yes\n");
    let toml = format!(
        "{}[[grants.secrets]]\nname = \"token\"\norigin = \"{}\"\n",
        any("GET"),
        receiver.origin()
    );
    let mut bench = Bench::new(&toml, &ceilings, Client::default());
    let headers = [("authorization", "{{secret:token}}")];
    let sent = bench.start(
        request("GET", &format!("{}/", receiver.origin()), &headers),
        None,
    );
    let refused = bench.runtime.block_on(sent);
    assert!(matches!(refused, Err(Error::ConfigurationError)));
    assert!(!bench.logged().contains("forged"), "{}", bench.logged());
    assert_eq!(receiver.came(), None);
}
