//! T45: requests that do not mean this runner, or come from who may not ask, on every path and method.

use sandhog_kit::{Home, Http, Reply, wait};
use serde_json::Value;
use std::{fs, time::Duration};

use super::{ADMIN, OPERATOR, VIEWER, guarded, runner};
use crate::SANDHOG;

/// Every path and method of the document, with what is filled in standing for something, and whether it
/// asks for no token.
fn operations(http: &Http) -> Vec<(String, String, Value)> {
    let document = http.get("/api/v1/openapi.json").is(200).json();
    let mut all = Vec::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        let path = path
            .replace("{id}", "01M8PZ6285SYQBN8SK09T2DV1D")
            .replace("{name}", "01M8PZ6285SYQBN8SK09T2DV1D")
            .replace("{queue}", "default")
            .replace("{code}", "busy");
        for (method, operation) in methods.as_object().expect("methods") {
            let method = method.to_ascii_uppercase();
            all.push((method, path.clone(), operation.clone()));
        }
    }
    assert!(all.len() > 40, "{}", all.len());
    all
}

/// With what every write must have.
fn send(http: &Http, method: &str, path: &str, headers: &[(&str, &str)]) -> Reply {
    let mut all = headers.to_vec();
    if !all.iter().any(|(name, _)| *name == "content-type") {
        all.push(("content-type", "application/json"));
    }
    let body = (method != "GET").then_some(&b"{}"[..]);
    http.send(method, path, &all, body)
}

#[test]
fn t45_no_request_for_another_host_reaches_anything() {
    let (_home, runner, http) = runner();
    let port = http.address.port();
    let hosts = [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        format!("127.0.0.1.evil:{port}"),
        "127.0.0.1".to_owned(),
        format!("127.0.0.1:{}", port - 1),
        format!("localhost.:{port}"),
        String::new(),
    ];
    let mut paths = operations(&http);
    for path in [
        "/",
        "/x/../api/v1/stats",
        "/nothing",
        "/api/v1/rpc",
        "/metrics",
    ] {
        paths.push(("GET".into(), path.into(), Value::Null));
        paths.push(("POST".into(), path.into(), Value::Null));
    }
    for (method, path, _) in &paths {
        for host in &hosts {
            let reply = send(&http, method, path, &[("host", host)]);
            assert_eq!(
                reply.status,
                421,
                "{method} {path} for {host:?}: {}",
                reply.text()
            );
            assert_eq!(reply.problem(), "misdirected");
        }
        let whole = format!("http://evil.example{path}");
        assert_eq!(
            send(&http, method, &whole, &[]).status,
            421,
            "{method} {whole}"
        );
    }
    for bytes in [
        "GET /api/v1/stats HTTP/1.1\r\nconnection: close\r\n\r\n".to_owned(),
        "GET /api/v1/stats HTTP/1.0\r\n\r\n".to_owned(),
        format!(
            "GET /api/v1/stats HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nhost: evil\r\nconnection: close\r\n\r\n"
        ),
    ] {
        assert_eq!(
            http.raw(bytes.as_bytes()).problem(),
            "misdirected",
            "{bytes}"
        );
    }
    // What is meant is answered, by each of its names.
    for host in [
        format!("127.0.0.1:{port}"),
        format!("LocalHost:{port}"),
        format!("[::1]:{port}"),
    ] {
        let _ = send(&http, "GET", "/api/v1/stats", &[("host", &host)]).is(200);
    }
    let whole = format!("http://127.0.0.1:{port}/api/v1/stats");
    let _ = http.get(&whole).is(200);
    let dots = http.get("/x/../api/v1/stats");
    assert_eq!(dots.problem(), "no-such-path");
    assert!(!runner.said().contains("audit"), "{}", runner.said());
}

#[test]
fn t45_pages_of_other_sites_change_nothing() {
    let (_home, runner, http) = runner();
    for (method, path, _) in operations(&http) {
        if method == "GET" {
            continue;
        }
        for (name, value) in [
            ("origin", "http://evil.example"),
            ("origin", "null"),
            ("origin", "http://127.0.0.1"),
            ("origin", "file://"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
        ] {
            let reply = send(&http, &method, &path, &[(name, value)]);
            assert_eq!(
                reply.status,
                403,
                "{method} {path} {value}: {}",
                reply.text()
            );
            assert_eq!(reply.problem(), "foreign-origin");
        }
        if method == "DELETE" {
            continue;
        }
        for media_type in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
            "",
        ] {
            let reply = send(&http, &method, &path, &[("content-type", media_type)]);
            assert_eq!(
                reply.status,
                415,
                "{method} {path} {media_type}: {}",
                reply.text()
            );
        }
        let bare = http.send(&method, &path, &[], None);
        assert_eq!(bare.problem(), "unsupported-media-type", "{method} {path}");
        let packed = [("content-encoding", "gzip")];
        let packed = send(&http, &method, &path, &packed);
        assert_eq!(
            packed.problem(),
            "unsupported-media-type",
            "{method} {path}"
        );
    }
    assert!(!runner.said().contains("audit"), "{}", runner.said());
}

#[test]
fn pages_of_the_runner_and_programs_may_write() {
    let (home, runner, http) = runner();
    let own = format!("http://{}", http.address);
    let job = br#"{"kind":"echo"}"#;
    let json = ("content-type", "application/json; charset=utf-8");
    for headers in [
        &[json, ("origin", own.as_str())][..],
        &[json, ("sec-fetch-site", "same-origin")],
        &[json],
    ] {
        let _ = http
            .send("POST", "/api/v1/jobs", headers, Some(job))
            .is(201);
    }
    assert_eq!(
        home.run(&["job", "ls", "-o", "json"]).exits(0).rows().len(),
        3
    );
    assert_eq!(
        runner.said().matches("audit").count(),
        3,
        "{}",
        runner.said()
    );
}

#[test]
fn t45_without_the_right_token_nothing_is_done_or_told() {
    let (home, runner, http) = guarded();
    let open = [
        "/health",
        "/ready",
        "/api/v1/openapi.json",
        "/docs/errors/busy",
    ];
    let near = format!("{}x", &ADMIN[..ADMIN.len() - 1]);
    let long = "a".repeat(8_000);
    for (method, path, operation) in operations(&http) {
        if open.contains(&path.as_str()) {
            let _ = send(&http, &method, &path, &[]).is(200);
            continue;
        }
        for wrong in ["", "x", &near, &long] {
            let reply = send(&http.with(wrong), &method, &path, &[]);
            assert_eq!(reply.status, 401, "{method} {path}: {}", reply.text());
            assert_eq!(reply.problem(), "unauthorized");
            assert!(reply.header("www-authenticate").is_some());
        }
        let _ = send(&http, &method, &path, &[]).is(401);
        let basic = format!("Basic {ADMIN}");
        let _ = send(&http, &method, &path, &[("authorization", &basic)]).is(401);
        let in_address = format!("{path}?token={ADMIN}&access_token={ADMIN}");
        let _ = send(&http, &method, &in_address, &[]).is(401);
        // Who may less is told so before anything else is looked at.
        let role = operation["x-sandhog-role"].as_str().expect("a role");
        let below: &[&str] = match role {
            "viewer" => &[],
            "operator" => &[VIEWER],
            _ => &[VIEWER, OPERATOR],
        };
        for token in below {
            let reply = send(&http.with(token), &method, &path, &[]);
            assert_eq!(reply.problem(), "forbidden", "{method} {path}");
        }
    }
    for round in 0..1_000 {
        let wrong = format!("guess-{round:012}-{round}");
        let _ = http.with(&wrong).get("/api/v1/stats").is(401);
    }
    let _ = http.with(VIEWER).get("/api/v1/stats").is(200);
    let named = [
        ("host", "jobs.example"),
        ("authorization", &format!("bearer {VIEWER}")),
    ];
    let _ = http.send("GET", "/api/v1/stats", &named, None).is(200);
    let job = serde_json::json!({ "kind": "echo" });
    let _ = http.with(OPERATOR).post("/api/v1/jobs", &job).is(201);
    assert_eq!(
        home.run(&["job", "ls", "-o", "json"]).exits(0).rows().len(),
        1
    );
    let said = runner.said();
    for token in [VIEWER, OPERATOR, ADMIN, "guess-"] {
        assert!(!said.contains(token), "{said}");
    }
    assert!(said.contains("who=\"line 2\" role=\"operator\""), "{said}");
}

/// Nothing listens where everybody could come in, and one address has one listener.
#[test]
fn an_address_that_cannot_be_served_is_told_at_the_start() {
    let (_home, _runner, http) = runner();
    let taken = http.address.to_string();
    let home = Home::new(SANDHOG).over_http();
    for (listen, says) in [
        (taken.as_str(), "is in use: another runner may be up"),
        (
            "0.0.0.0:0",
            "can be reached from other machines: name a file of tokens",
        ),
        ("[::]:0", "can be reached from other machines"),
        ("192.0.2.1:80", "cannot listen on 192.0.2.1:80"),
    ] {
        let refused = home.run(&["start", "--listen", listen]);
        let refused = match listen {
            // An address of another machine needs tokens before anything else.
            "192.0.2.1:80" => {
                let mut command = home.command(&["start", "--listen", listen]);
                let out = command.env("SANDHOG_HTTP_TOKEN", ADMIN).output().unwrap();
                assert_eq!(out.status.code(), Some(1));
                String::from_utf8_lossy(&out.stderr).into_owned()
            }
            // The settings are not right, where nothing was tried.
            "0.0.0.0:0" | "[::]:0" => refused.exits(2).stderr,
            _ => refused.exits(1).stderr,
        };
        assert!(refused.contains(says), "{listen}: {refused}");
    }
    fs::write(home.folder().join("tokens"), format!("admin:{ADMIN}")).unwrap();
    home.write_config("[http]\ntoken_file = \"tokens\"\n");
    let place = format!("{}:2: `http.token_file`", home.config().display());
    for words in [&["start"][..], &["config", "check"]] {
        let refused = home.run(words).exits(2).stderr;
        let told = refused.contains("chmod 600") && refused.contains(&place);
        assert!(told, "{words:?}: {refused}");
    }
}

#[test]
fn with_off_nothing_listens() {
    let home = Home::new(SANDHOG);
    let runner = home.start();
    wait::until("the runner to be ready", Duration::from_secs(20), || {
        runner.said().contains("http=off").then_some(())
    });
}

/// Tokens rotate without a restart, and a runner that asks for them goes on asking.
#[test]
fn tokens_are_read_again_by_a_reload() {
    let (home, _runner, http) = guarded();
    let fresh = "viewer-fedcba9876543210";
    let file = home.folder().join("tokens");
    fs::write(&file, format!("viewer:{fresh}\nadmin:{ADMIN}\n")).unwrap();
    let _ = http.with(VIEWER).get("/api/v1/stats").is(200);
    let reload = |token: &str| {
        http.with(token)
            .post("/api/v1/config/reload", &serde_json::json!({}))
    };
    assert_eq!(reload(VIEWER).problem(), "forbidden");
    let told = reload(ADMIN).is(200).json();
    let tokens = &told["differs"][0];
    assert_eq!(
        (&tokens["key"], &tokens["after"]),
        (
            &"the tokens of http.token_file".into(),
            &"2, 1 of them new, 2 gone".into()
        )
    );
    assert!(!told.to_string().contains(fresh) && !told.to_string().contains(ADMIN));
    let again = reload(ADMIN).is(200).json();
    assert_eq!(again, serde_json::json!({ "differs": [] }));
    let _ = http.with(VIEWER).get("/api/v1/stats").is(401);
    let _ = http.with(fresh).get("/api/v1/stats").is(200);
    for (text, says) in [
        ("viewer:short\n", "the token has 5 characters"),
        ("# none\n", "there is no token in it"),
    ] {
        fs::write(&file, text).unwrap();
        let refused = reload(ADMIN);
        assert_eq!(refused.problem(), "invalid");
        assert!(refused.text().contains(says), "{}", refused.text());
    }
    home.write_config("");
    assert!(reload(ADMIN).text().contains("no token is left"));
    let _ = http.with(fresh).get("/api/v1/stats").is(200);
    let _ = http.get("/api/v1/stats").is(401);
}
