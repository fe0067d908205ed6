//! The webhook handler against a receiver that behaves well and badly.

use std::{fs, time::Duration};

use hmac::{Hmac, KeyInit, Mac};
use sandhog_kit::{Home, Received, Receiver, millis, wait};
use sha2::Sha256;

use crate::SANDHOG;

/// What a receiver computes.
fn hmac(key: &str, text: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).unwrap();
    mac.update(text);
    let bytes = mac.finalize().into_bytes();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

const SOON: Duration = Duration::from_secs(60);
const KEY: &str = "k3y-of-the-receiver";
const GRANTS: &str = "[[grants.http]]\norigin = \"http://127.0.0.1:*\"\nmethods = [\"POST\"]\nprivate = true\n\
    [[grants.secrets]]\nname = \"webhook-key\"\nsign = true\n";

/// A home whose webhooks reach this machine and are signed.
fn home() -> Home {
    let home = Home::with(SANDHOG, &["webhook"]);
    home.grant("webhook", GRANTS);
    fs::write(home.folder().join("key"), format!("{KEY}\n")).unwrap();
    home.write_config(
        "[kind.webhook]\nbackoff = \"fixed 50ms\"\nmax_attempts = 2\n\
         [capabilities]\nprivate = [\"127.0.0.0/8\"]\nbody = \"64KiB\"\n\
         [secrets.webhook-key]\nfile = \"key\"\nplugins = [\"webhook\"]\nsign = true\n",
    );
    home
}

fn post(home: &Home, url: &str) -> String {
    let header = format!("url={url}");
    home.enqueue(&["webhook", "{\"order\": 17}", "--header", &header])
}

fn is_signed(request: &Received) -> bool {
    let signature = request.header("sandhog-signature").unwrap();
    let (time, mac) = signature.split_once(",v1=").unwrap();
    let seconds = time.strip_prefix("t=").unwrap();
    let mut text = format!("{seconds}.").into_bytes();
    text.extend_from_slice(&request.body);
    hmac(KEY, &text) == mac
}

#[test]
fn a_webhook_arrives_signed_and_its_retries_have_one_key() {
    let receiver = Receiver::start();
    let home = home();
    let _runner = home.start();
    let id = post(&home, &format!("{}/status/503", receiver.origin()));
    let dead = home.job_in(&id, "dead");
    assert_eq!(dead["attempts"].as_array().unwrap().len(), 2, "{dead}");
    assert_eq!(dead["attempts"][1]["failure"]["code"], "http-503", "{dead}");
    let (first, second) = (receiver.next(), receiver.next());
    for request in [&first, &second] {
        assert_eq!(request.body, b"{\"order\": 17}");
        assert_eq!(request.header("content-type"), Some("application/json"));
        assert_eq!(request.header("idempotency-key"), Some(id.as_str()));
        assert!(is_signed(request), "{request:?}");
    }
    assert_eq!(first.header("sandhog-attempt"), Some("1"));
    assert_eq!(second.header("sandhog-attempt"), Some("2"));
    let shown = home
        .run(&["job", "show", &id, "-o", "json"])
        .exits(0)
        .text();
    let config = home.run(&["config", "show"]).exits(0).text();
    assert!(!shown.contains(KEY) && !config.contains(KEY));
    assert!(config.contains("[secrets.\"webhook-key\"]"), "{config}");
}

#[test]
fn answers_and_accidents_have_their_ends() {
    let receiver = Receiver::start();
    let home = home();
    let _runner = home.start();
    let sent = |path: &str| post(&home, &format!("{}/{path}", receiver.origin()));
    let permanent = [
        ("status/404", "http-404"),
        ("status/410", "http-410"),
        ("redirect", "http-302"),
    ];
    let again = [
        ("status/429", "http-429"),
        ("half", "http-broken"),
        ("reset", "http-broken"),
        ("garbage", "http-broken"),
        ("headers", "http-too-large"),
    ];
    let jobs: Vec<_> = permanent
        .iter()
        .map(|one| (one, 1))
        .chain(again.iter().map(|one| (one, 2)))
        .map(|((path, code), attempts)| (sent(path), *path, *code, attempts))
        .collect();
    // The head of a huge body is an answer like any other: nobody reads the rest.
    let huge = sent("huge");
    for (id, path, code, attempts) in jobs {
        let dead = home.job_in(&id, "dead");
        let made = dead["attempts"].as_array().unwrap();
        assert_eq!(made.len(), attempts, "{path}: {dead}");
        assert_eq!(
            made[attempts - 1]["failure"]["code"],
            code,
            "{path}: {dead}"
        );
    }
    let huge = home.job_in(&huge, "completed");
    let peak = huge["attempts"][0]["peak_memory"].as_u64().unwrap();
    assert!(peak < 8 << 20, "{huge}");
}

#[test]
fn what_retry_after_asks_for_is_waited() {
    let receiver = Receiver::start();
    let home = home();
    let _runner = home.start();
    let id = post(
        &home,
        &format!("{}/status/503?retry-after=3600", receiver.origin()),
    );
    let job = home.job_in(&id, "retryable");
    let due = millis(&job["at"]);
    let ended = millis(&job["attempts"][0]["ended_at"]);
    assert!(due >= ended + 3_590_000, "{job}");
}

#[test]
fn a_denial_is_told_with_its_cure_and_the_cure_counts_at_once() {
    let receiver = Receiver::start();
    let home = home();
    home.grant("webhook", "");
    home.write_config(
        "[kind.webhook]\nbackoff = \"fixed 200ms\"\nmax_attempts = 1000\n[capabilities]\nprivate = [\"127.0.0.0/8\"]\n\
         [kind.webhook.config]\nsecret = \"none\"\n",
    );
    let _runner = home.start();
    let id = post(&home, &format!("{}/", receiver.origin()));
    let job = wait::until("an attempt to be denied", SOON, || {
        let job = home.job(&id);
        job["attempts"][0]["failure"].is_object().then_some(job)
    });
    assert_eq!(
        job["attempts"][0]["failure"]["code"], "http-denied",
        "{job}"
    );
    let logs = home.run(&["job", "logs", &id]).exits(0).text();
    for says in [
        "denied: POST to http://127.0.0.1",
        "webhook.toml",
        "[[grants.http]]",
    ] {
        assert!(logs.contains(says), "{says}: {logs}");
    }
    assert_eq!(receiver.came(), None);
    home.grant("webhook", GRANTS);
    let _ = home.job_in(&id, "completed");
    // Taken away again, and wrong: its jobs wait, and it is said why.
    home.grant("webhook", "[grants]\nhtpp = []\n");
    wait::until("the wrong file to be told", SOON, || {
        let rows = home.run(&["plugin", "ls", "-o", "json"]).exits(0).rows();
        rows.iter()
            .any(|row| {
                let cause = row["cause"].as_str().unwrap_or_default();
                cause.contains("line 2, `htpp`")
            })
            .then_some(())
    });
}

#[test]
fn a_check_says_what_it_is_granted_and_what_not() {
    let home = home();
    let file = home.plugins().join("webhook.wasm");
    let checked = home
        .run(&["plugin", "check", file.to_str().unwrap()])
        .exits(0)
        .text();
    for says in [
        "wasi:http/outgoing-handler@0.2",
        "sandhog:job/signing@0.1.0",
        "origin = \"http://127.0.0.1:*\"",
        "POST to https://*",
        "verdict: it can run, and is denied what is not granted",
    ] {
        assert!(checked.contains(says), "{says}: {checked}");
    }
    home.grant("webhook", "[grants]\nscratch = 1\n");
    let refused = home
        .run(&["plugin", "check", file.to_str().unwrap()])
        .exits(1)
        .text();
    assert!(refused.contains("line 2, `scratch`"), "{refused}");
    assert!(refused.contains("verdict: it cannot run"), "{refused}");
}
