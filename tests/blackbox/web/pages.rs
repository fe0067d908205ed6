//! The dashboard as a browser gets it, without one: what is in the pages, and who may do what there.

use sandhog_kit::{Http, Reply};
use serde_json::json;

use super::{
    ADMIN, VIEWER, guarded,
    resources::{enqueue, job},
    runner,
};

/// Text that would run, or break out, if it were not text.
const NASTY: [&str; 4] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "'onmouseover='alert(1)",
    "</textarea></pre><svg/onload=alert(1)>",
];

/// The word that the forms of a page say.
pub(super) fn word(page: &Reply) -> String {
    let text = page.text();
    let (_, after) = text.split_once("name=\"word\" value=\"").expect("a form");
    after[..64].to_owned()
}

pub(super) fn submit(
    http: &Http,
    path: &str,
    cookie: Option<&str>,
    fields: &[(&str, &str)],
) -> Reply {
    let body: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let mut headers = vec![("content-type", "application/x-www-form-urlencoded")];
    headers.extend(cookie.map(|cookie| ("cookie", cookie)));
    http.send("POST", path, &headers, Some(body.join("&").as_bytes()))
}

#[test]
fn each_page_is_whole_and_loads_nothing_from_elsewhere() {
    let (_home, _runner, http) = runner();
    let id = enqueue(
        &http,
        &json!({ "kind": "echo", "payload": { "a": 1 }, "queue": "mail" }),
    );
    let _ = job(&http, &id, "completed");
    for (path, says) in [
        ("/", "Died last"),
        ("/queues", "mail"),
        ("/jobs?state=&queue=mail&kind=&tag=", id.as_str()),
        ("/jobs?state=dead", "No job fits"),
        ("/dead", "No letter fits"),
        ("/crons", "No schedule"),
        ("/workers", "Workers are"),
        ("/plugins", "misbehave"),
        (&format!("/jobs/{id}"), "Run again"),
    ] {
        let page = http.get(path).is(200);
        let text = page.text();
        assert!(
            text.starts_with("<!DOCTYPE html>") && text.ends_with("</html>"),
            "{text}"
        );
        assert!(text.contains(says), "{path}: {text}");
        assert!(
            !text.contains("style=") && !text.contains("<script>") && !text.contains("http://"),
            "{text}"
        );
        let policy = page.header("content-security-policy").unwrap();
        assert!(
            policy.contains("default-src 'none'") && policy.contains("script-src 'self'"),
            "{policy}"
        );
        assert!(!policy.contains("unsafe"), "{policy}");
    }
    for (path, media_type) in [
        ("/assets/style.css", "text/css"),
        ("/assets/live.js", "text/javascript"),
        ("/assets/icon.svg", "image/svg+xml"),
    ] {
        assert!(
            http.get(path)
                .is(200)
                .header("content-type")
                .unwrap()
                .starts_with(media_type)
        );
    }
    let behind = [("x-forwarded-prefix", "/ops/jobs")];
    let behind = http.send("GET", "/", &behind, None).is(200).text();
    assert!(
        behind.contains("href=\"/ops/jobs/queues\"") && behind.contains("data-base=\"/ops/jobs\"")
    );
    for bad in ["//evil.example", "/a\"b", "javascript:x"] {
        let page = http
            .send("GET", "/", &[("x-forwarded-prefix", bad)], None)
            .is(200)
            .text();
        assert!(page.contains("href=\"/queues\""), "{bad}: {page}");
    }
    let missing = http.get("/jobs/01ARZ3NDEKTSV4RRFFQ69G5FAV").is(404);
    assert!(missing.text().contains("not-found"), "{}", missing.text());
    assert_eq!(http.get("/jobs?state=happy").status, 400);
}

#[test]
fn t48_whatever_callers_and_guests_write_is_text() {
    let (_home, _runner, http) = runner();
    for nasty in NASTY {
        let wish = json!({ "kind": "permanent", "payload_text": nasty, "headers": { "x": nasty }, "tags": [nasty] });
        let id = enqueue(&http, &wish);
        let _ = job(&http, &id, "dead");
        let asked = nasty
            .bytes()
            .map(|byte| format!("%{byte:02x}"))
            .collect::<String>();
        for path in [
            format!("/jobs/{id}"),
            "/".to_owned(),
            "/jobs".to_owned(),
            "/dead".to_owned(),
            format!("/dead/{id}"),
            format!("/dead?text={asked}"),
            format!("/jobs?kind={asked}&queue={asked}&tag={asked}"),
            format!("/jobs?state={asked}"),
            format!("/jobs?cursor={asked}"),
            format!("/jobs/{asked}"),
        ] {
            let text = http.get(&path).text();
            // Every attribute is in double quotes, so that a single one ends none.
            let is_raw = nasty.contains(['<', '"']) && text.contains(nasty);
            assert!(!is_raw, "{path}: {text}");
            assert!(
                !text.contains("<img") && !text.contains("<svg/") && !text.contains("<script>"),
                "{path}: {text}"
            );
        }
        let shown = http.get(&format!("/jobs/{id}")).is(200).text();
        let escaped = nasty
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
            .replace('"', "&quot;");
        assert!(shown.contains(&escaped), "{shown}");
    }
}

#[test]
fn buttons_do_what_they_say_when_the_form_is_of_this_page() {
    let (_home, _runner, http) = runner();
    let id = enqueue(
        &http,
        &json!({ "kind": "echo", "in": "1h", "queue": "mail" }),
    );
    let path = format!("/jobs/{id}");
    let word = word(&http.get(&path).is(200));
    for fields in [&[("do", "cancel")][..], &[("do", "cancel"), ("word", "0")]] {
        let refused = submit(&http, &path, None, fields).is(403);
        assert!(
            refused.text().contains("foreign-origin"),
            "{}",
            refused.text()
        );
    }
    let as_json = http.post(&path, &json!({ "do": "cancel" }));
    assert_eq!(as_json.status, 415);
    assert_eq!(
        job(&http, &id, "scheduled")["cancel"],
        serde_json::Value::Null
    );
    let done = submit(&http, &path, None, &[("do", "cancel"), ("word", &word)]).is(303);
    assert_eq!(done.header("location"), Some(path.as_str()));
    let _ = job(&http, &id, "cancelled");
    let again = submit(&http, &path, None, &[("do", "snooze"), ("word", &word)]);
    assert_eq!(again.status, 409, "{}", again.text());
    let nothing = submit(&http, &path, None, &[("do", "sing"), ("word", &word)]);
    assert_eq!(nothing.status, 400);
    let _ = submit(
        &http,
        "/queues/mail",
        None,
        &[("do", "pause"), ("word", &word)],
    )
    .is(303);
    assert!(http.get("/queues").text().contains("paused"));
    let dead = enqueue(&http, &json!({ "kind": "permanent" }));
    let _ = job(&http, &dead, "dead");
    let back = submit(
        &http,
        &format!("/jobs/{dead}"),
        None,
        &[("do", "requeue"), ("word", &word)],
    );
    assert_eq!(back.status, 303, "{}", back.text());
}

/// Log in with a token: what the browser holds then.
fn come_in(http: &Http, token: &str) -> String {
    let word = word(&http.get("/login").is(200));
    let fields = [("token", token), ("word", word.as_str())];
    let set = submit(http, "/login", None, &fields).is(303);
    let set = set.header("set-cookie").expect("a cookie").to_owned();
    assert!(
        set.contains("HttpOnly; SameSite=Strict") && !set.contains(token),
        "{set}"
    );
    set.split(';').next().unwrap().to_owned()
}

#[test]
fn a_login_goes_with_its_token() {
    let (home, _runner, http) = guarded();
    let boss = come_in(&http, ADMIN);
    let get = |path: &str, cookie: &str| http.send("GET", path, &[("cookie", cookie)], None);
    let _ = get("/jobs", &boss).is(200);
    std::fs::write(
        home.folder().join("tokens"),
        format!("viewer:{VIEWER}\nadmin:{ADMIN}-new\n"),
    )
    .unwrap();
    let _ = http
        .with(ADMIN)
        .post("/api/v1/config/reload", &json!({}))
        .is(200);
    let _ = get("/jobs", &boss).is(303);
}

#[test]
fn who_logs_in_may_what_their_token_may_for_as_long_as_it_counts() {
    let (_home, _runner, http) = guarded();
    let away = http.get("/jobs").is(303);
    assert_eq!(away.header("location"), Some("/login"));
    let login = |token: &str| {
        let word = word(&http.get("/login").is(200));
        submit(&http, "/login", None, &[("token", token), ("word", &word)])
    };
    let wrong = login("0123456789abcdef-wrong").is(401);
    assert!(wrong.text().contains("not known") && wrong.header("set-cookie").is_none());
    let (eyes, boss) = (come_in(&http, VIEWER), come_in(&http, ADMIN));
    let get = |path: &str, cookie: &str| http.send("GET", path, &[("cookie", cookie)], None);
    let id = enqueue(&http.with(ADMIN), &json!({ "kind": "echo", "in": "1h" }));
    let path = format!("/jobs/{id}");
    let seen = get(&path, &eyes).is(200);
    assert!(seen.text().contains("eyes, viewer") && !seen.text().contains("do-cancel"));
    let forced = submit(
        &http,
        &path,
        Some(&eyes),
        &[("do", "cancel"), ("word", &word(&seen))],
    );
    assert_eq!(forced.status, 403, "{}", forced.text());
    let own = word(&get(&path, &boss).is(200));
    // A word of another login, or none: not this browser's form.
    let mixed = submit(
        &http,
        &path,
        Some(&boss),
        &[("do", "cancel"), ("word", &word(&seen))],
    );
    assert_eq!(mixed.status, 403);
    // What a browser sends by itself reads, and changes nothing.
    let _ = get("/api/v1/stats", &boss).is(200);
    let by_cookie = [
        ("cookie", boss.as_str()),
        ("content-type", "application/json"),
    ];
    let cancel = format!("/api/v1/jobs/{id}/cancel");
    let _ = http.send("POST", &cancel, &by_cookie, Some(b"{}")).is(401);
    let _ = submit(
        &http,
        &path,
        Some(&boss),
        &[("do", "cancel"), ("word", &own)],
    )
    .is(303);
    let out = submit(&http, "/logout", Some(&eyes), &[("word", &word(&seen))]).is(303);
    assert!(out.header("set-cookie").unwrap().contains("Max-Age=0"));
    let _ = get("/jobs", &eyes).is(303);
}
