//! Plugins looked at over HTTP, and pages of what is not there.

use sandhog_kit::{Http, Reply};
use serde_json::json;

use super::{
    OPERATOR, VIEWER, guarded,
    pages::{submit, word},
    runner,
};

#[test]
fn a_check_says_what_the_command_says_of_the_file() {
    let (home, _runner, http) = runner();
    let file = home.plugins().join("misbehave.wasm");
    let file = file.to_str().expect("UTF-8");
    let mut said = home.json(&["plugin", "check", file])[0].clone();
    let checked = http
        .post("/api/v1/plugins/misbehave/check", &json!({}))
        .is(200)
        .json();
    said["cached"] = checked["cached"].clone();
    assert_eq!(checked, said);
    let missing = checked["missing"].to_string();
    assert!(
        missing.contains("wasi:http/outgoing-handler: it may send requests"),
        "{missing}"
    );
    let gone = http.post("/api/v1/plugins/nobody/check", &json!({}));
    assert_eq!(gone.problem(), "not-found");
    let url = format!("http://{}", http.address);
    let far = home.json(&["plugin", "check", "misbehave", "--url", &url]);
    assert_eq!(far[0]["verdict"], checked["verdict"]);
    let nobody = home.run(&["plugin", "check", "nobody", "--url", &url]);
    assert!(nobody.exits(4).stderr.contains("no plugin nobody"));
}

#[test]
fn the_page_of_a_plugin_says_what_it_imports_for_nothing_and_checks_its_file() {
    let (home, _runner, http) = runner();
    let page = http.get("/plugins/misbehave").is(200);
    let text = page.text();
    assert!(
        text.contains("sandhog:job/enqueue: it may enqueue jobs, and no queue is granted"),
        "{text}"
    );
    let word = word(&page);
    let check = || {
        submit(
            &http,
            "/plugins/misbehave",
            None,
            &[("word", &word), ("do", "check")],
        )
    };
    let said = check().is(200).text();
    assert!(
        said.contains("Verdict: <b>it can run, and is denied what is not granted</b>"),
        "{said}"
    );
    std::fs::write(home.plugins().join("misbehave.wasm"), b"\0asm").expect("written");
    let said = check().is(200).text();
    assert!(said.contains("Verdict: <b>it cannot run</b>"), "{said}");
}

#[test]
fn only_operators_check() {
    let (_home, _runner, http) = guarded();
    let check = |token: &str| {
        http.with(token)
            .post("/api/v1/plugins/misbehave/check", &json!({}))
    };
    assert_eq!(check(VIEWER).problem(), "forbidden");
    let _ = check(OPERATOR).is(200);
}

fn look(http: &Http, path: &str) -> Reply {
    let headers = [
        ("accept", "text/html,*/*;q=0.8"),
        ("x-forwarded-prefix", "/jobs-here"),
    ];
    http.send("GET", path, &headers, None)
}

#[test]
fn what_is_not_there_has_a_page_for_people_and_a_problem_for_programs() {
    let (_home, _runner, http) = runner();
    let unknown = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    for path in [
        "/nothing".to_owned(),
        "/jobs/a/b?c=d".to_owned(),
        format!("/jobs/{unknown}"),
        format!("/dead/{unknown}"),
        format!("/batches/{unknown}"),
        "/crons/nobody".to_owned(),
        "/plugins/nobody".to_owned(),
    ] {
        let page = look(&http, &path).is(404);
        assert_eq!(
            page.header("content-type"),
            Some("text/html; charset=utf-8"),
            "{path}"
        );
        let text = page.text();
        assert!(
            text.contains("<a href=\"/jobs-here/queues\">Queues</a>"),
            "{path}: {text}"
        );
        assert!(text.contains("/jobs-here/docs/errors/"), "{path}: {text}");
        assert!(
            page.header("content-security-policy")
                .unwrap_or_default()
                .contains("style-src")
        );
    }
    assert_eq!(http.get("/nothing").is(404).problem(), "no-such-path");
    assert_eq!(
        look(&http, "/api/v1/nothing").is(404).problem(),
        "no-such-path"
    );
    assert_eq!(
        http.post("/api/v1/nothing", &json!({})).is(404).problem(),
        "no-such-path"
    );
    // Without a token it says no more than that.
    let (_home, _runner, http) = guarded();
    let _ = look(&http, "/nothing").is(404);
}
