//! The command line on a runner that is reached over HTTP: `--url` and `--token-file`.

use std::{
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    os::unix::fs::PermissionsExt as _,
    sync::{Arc, OnceLock},
    thread,
};

use sandhog_kit::{Answer, Home};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener as Listener, TcpStream},
    runtime::Runtime,
};
use tokio_rustls::{TlsAcceptor, rustls};

use super::{ADMIN, OPERATOR, VIEWER, guarded, runner};
use crate::SANDHOG;

/// A command from somewhere else: a folder of its own, without a data directory.
fn far(url: &str, words: &[&str]) -> Answer {
    let elsewhere = Home::new(SANDHOG);
    let mut all = words.to_vec();
    all.extend(["--url", url]);
    elsewhere.run(&all)
}

#[test]
fn every_verb_says_the_same_from_elsewhere() {
    let (home, _runner, http) = runner();
    let url = format!("http://{}", http.address);
    let id = far(&url, &["enqueue", "echo", "{\"a\":1}", "--tag", "t"])
        .exits(0)
        .text();
    let _ = home.job_in(&id, "completed");
    let dead = far(&url, &["enqueue", "permanent", "x"]).exits(0).text();
    let _ = home.job_in(&dead, "dead");
    let _ = far(
        &url,
        &["cron", "add", "night", "0 3 * * *", "--kind", "echo"],
    )
    .exits(0);
    for words in [
        &["job", "ls"][..],
        &["job", "show", &id],
        &["job", "logs", &id],
        &["queue", "ls"],
        &["limit", "ls"],
        &["unique", "ls"],
        &["dead", "ls"],
        &["dead", "ls", "--count"],
        &["dead", "show", &dead],
        &["dead", "show", &dead, "--raw"],
        &["dead", "export", "-"],
        &["dead", "purge", "--max-letters", "1", "--dry-run"],
        &["cron", "ls"],
        &["plugin", "ls"],
        &["plugin", "show", "misbehave"],
        &["worker", "ls"],
        &["config", "reload"],
    ] {
        let mut words = words.to_vec();
        words.extend(["-o", "json"]);
        let (here, there) = (home.run(&words).exits(0), far(&url, &words).exits(0));
        assert_eq!(here.text(), there.text(), "{words:?}");
    }
    let waited = far(&url, &["enqueue", "echo", "again", "--wait"]).exits(0);
    assert_eq!(waited.text(), "again");
    for words in [
        &["queue", "pause", "mail"][..],
        &["queue", "resume", "mail"],
        &["limit", "set", "mail", "--concurrency", "2"],
        &["cron", "trigger", "night"],
        &["cron", "rm", "night"],
        &["dead", "retry", &dead],
        &["worker", "quiet"],
        &["worker", "resume"],
        &["plugin", "quarantine", "misbehave"],
        &["plugin", "release", "misbehave"],
        &["stats"],
    ] {
        let _ = far(&url, words).exits(0);
    }
    let missing = far(&url, &["job", "show", "01ARZ3NDEKTSV4RRFFQ69G5FAV"]).exits(4);
    assert!(
        missing.stderr.contains("01ARZ3NDEKTSV4RRFFQ69G5FAV"),
        "{}",
        missing.stderr
    );
    let large = "x".repeat(2 << 20);
    let elsewhere = Home::new(SANDHOG);
    let refused = elsewhere.run_with(
        &["enqueue", "echo", "--stdin", "--url", &url],
        large.as_bytes(),
    );
    assert!(refused.exits(2).stderr.contains("limits.payload"));
}

#[test]
fn many_jobs_and_large_answers_go_over_one_connection() {
    let (home, _runner, http) = runner();
    let url = format!("http://{}", http.address);
    let payload = "y".repeat(20_000);
    let lines: String = (0..1_300)
        .map(|number| format!("{{\"kind\":\"nobody\",\"payload\":[{number},\"{payload}\"]}}\n"))
        .collect();
    let done = home
        .run_with(&["enqueue", "--bulk", "-", "--url", &url], lines.as_bytes())
        .exits(0);
    assert_eq!(done.text().lines().count(), 1_300);
    let rows = far(&url, &["job", "ls", "--limit", "1000", "-o", "json"])
        .exits(0)
        .rows();
    assert_eq!(rows.len(), 1_000);
}

#[test]
fn tokens_are_shown_and_their_roles_hold() {
    let (_home, _runner, http) = guarded();
    let url = format!("http://{}", http.address);
    let elsewhere = Home::new(SANDHOG);
    let with = |token: &str, words: &[&str]| {
        let file = elsewhere.folder().join("token");
        fs::write(&file, token).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let mut all = words.to_vec();
        all.extend(["--url", &url, "--token-file", file.to_str().unwrap()]);
        elsewhere.run(&all)
    };
    let none = far(&url, &["stats"]).exits(1);
    assert!(
        none.stderr.contains("no token came with the request"),
        "{}",
        none.stderr
    );
    let wrong = with("0123456789abcdef-wrong", &["stats"]).exits(1);
    assert!(wrong.stderr.contains("is not known"), "{}", wrong.stderr);
    let _ = with(VIEWER, &["stats"]).exits(0);
    let less = with(VIEWER, &["enqueue", "echo", "x"]).exits(1);
    assert!(
        less.stderr
            .contains("the token's role is viewer: this needs operator"),
        "{}",
        less.stderr
    );
    let _ = with(OPERATOR, &["enqueue", "echo", "x"]).exits(0);
    let _ = with(OPERATOR, &["worker", "stop"]).exits(1);
    let _ = with(OPERATOR, &["dead", "purge", "--max-letters", "1"]).exits(1);
    let _ = with(ADMIN, &["dead", "purge", "--max-letters", "1"]).exits(0);
    let mut by_environment = elsewhere.command(&["stats"]);
    by_environment
        .env("SANDHOG_URL", &url)
        .env("SANDHOG_TOKEN", VIEWER);
    assert!(by_environment.output().unwrap().status.success());
    let file = elsewhere.folder().join("token");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let open = elsewhere.run(&[
        "stats",
        "--url",
        &url,
        "--token-file",
        file.to_str().unwrap(),
    ]);
    assert!(open.exits(2).stderr.contains("chmod 600"));
}

#[test]
fn what_is_no_runner_is_told_apart() {
    let elsewhere = Home::new(SANDHOG);
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = nobody.local_addr().unwrap();
    let url = format!("http://{address}");
    let talk = thread::spawn(move || {
        for answer in [
            "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 2\r\n\r\nno",
            "SSH-2.0-x\r\n",
        ] {
            let (mut stream, _) = nobody.accept().unwrap();
            let mut some = [0; 1024];
            let _ = stream.read(&mut some).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    for says in [
        "has status 502 and is no runner's",
        "went away before it answered",
    ] {
        let answer = elsewhere.run(&["stats", "--url", &url]).exits(3);
        assert!(answer.stderr.contains(says), "{}", answer.stderr);
    }
    talk.join().unwrap();
    let refused = elsewhere.run(&["stats", "--url", &url]).exits(3);
    assert!(
        refused
            .stderr
            .contains(&format!("no runner answers at {url}")),
        "{}",
        refused.stderr
    );
    for (words, says) in [
        (
            &["stats", "--url", "jobs.example"][..],
            "begins with neither http:// nor https://",
        ),
        (
            &["log", "check", "--url", &url],
            "works on files of this machine",
        ),
        (&["stats", "--url", &url, "--data", "x"], "--data"),
    ] {
        let wrong = elsewhere.run(words).exits(2);
        assert!(wrong.stderr.contains(says), "{words:?}: {}", wrong.stderr);
    }
    // A token that can be read on the way is worth a word, even when nobody is there.
    let mut open = elsewhere.command(&["stats", "--url", "http://192.0.2.1.invalid:1"]);
    let out = open.env("SANDHOG_TOKEN", VIEWER).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(said.contains("can read it: use https"), "{said}");
    assert!(!said.contains(VIEWER), "{said}");
}

/// A proxy that speaks TLS in front of a runner, until the runtime is dropped: its port, and the
/// certificate of `localhost` that it shows.
fn proxy(to: impl Fn() -> SocketAddr + Send + 'static) -> (Runtime, u16, String) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let runtime = Runtime::new().unwrap();
    let listener = runtime.block_on(Listener::bind("127.0.0.1:0")).unwrap();
    let port = listener.local_addr().unwrap().port();
    runtime.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, to) = (acceptor.clone(), to());
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(stream).await else {
                    return;
                };
                let mut runner = TcpStream::connect(to).await.unwrap();
                let _ = copy_bidirectional(&mut stream, &mut runner).await;
            });
        }
    });
    (runtime, port, made.cert.pem())
}

#[test]
fn https_is_spoken_to_who_has_a_certificate_that_is_trusted() {
    let address = Arc::new(OnceLock::new());
    let at = Arc::clone(&address);
    let (_runtime, port, certificate) = proxy(move || *at.get().expect("the runner is up"));
    let home = Home::new(SANDHOG).over_http();
    // It is called by the name and port of the proxy.
    home.write_config(&format!("[http]\nhosts = [\"localhost:{port}\"]\n"));
    let (_home, _runner, http) = super::start(home);
    address.set(http.address).unwrap();
    let elsewhere = Home::new(SANDHOG);
    let url = format!("https://localhost:{port}");
    let untrusted = elsewhere.run(&["stats", "--url", &url]).exits(3);
    assert!(
        untrusted.stderr.contains("certificate"),
        "{}",
        untrusted.stderr
    );
    fs::write(elsewhere.folder().join("ca.pem"), certificate).unwrap();
    elsewhere.write_config("[capabilities]\nca_file = \"ca.pem\"\n");
    let stats = elsewhere.run(&["stats", "--url", &url]).exits(0);
    assert!(stats.text().contains("runner"), "{}", stats.text());
    let (_runtime, other, _) = proxy(move || http.address);
    let wrong = elsewhere.run(&["stats", "--url", &format!("https://localhost:{other}")]);
    assert!(wrong.exits(3).stderr.contains("certificate"));
}

#[test]
fn settings_that_nobody_named_stop_no_command_that_goes_elsewhere() {
    let (_home, _runner, http) = runner();
    let url = format!("http://{}", http.address);
    let elsewhere = Home::new(SANDHOG);
    elsewhere.write_config("[runner]\nworkers = \"many\"\n");
    // Nothing but the folder says which settings are meant.
    let run = |words: &[&str]| {
        let mut command = elsewhere.command(words);
        command.env_remove("SANDHOG_CONFIG");
        let out = command.output().unwrap();
        (out.status.code(), String::from_utf8(out.stderr).unwrap())
    };
    let line = "sandhog.toml:2: `runner.workers`";
    let (code, said) = run(&["job", "ls", "--url", &url]);
    assert_eq!(code, Some(0), "{said}");
    for says in [line, "left aside", &url] {
        assert!(said.contains(says), "{says}: {said}");
    }
    let (code, said) = run(&["plugin", "new", "greet"]);
    assert!(code == Some(0) && !said.contains(line), "{said}");
    // What is asked of this machine, and what was named, is held to its settings.
    for words in [
        &["job", "ls"][..],
        &["job", "ls", "--url", &url, "--config", "sandhog.toml"],
        &["plugin", "test", "greet", "--url", &url],
    ] {
        let (code, said) = run(words);
        assert_eq!(code, Some(2), "{words:?}: {said}");
        assert!(
            said.contains(line) && !said.contains("left aside"),
            "{said}"
        );
    }
}
