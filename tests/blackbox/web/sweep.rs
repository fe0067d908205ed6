//! All dead letters that fit, brought back and deleted, over HTTP and by the pages.

use std::{
    io::{BufReader, Write as _},
    net::TcpStream,
    time::Duration,
};

use sandhog_kit::{Home, Http, Reply, http, wait};
use serde_json::{Value, json};

use super::{
    pages::{submit, word},
    resources::{enqueue, job},
    runner,
};

/// Signs of ids, in their order.
const SIGNS: &[u8] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

fn count(http: &Http, behind: &str) -> u64 {
    let counted = http.get(&format!("/api/v1/dead/count{behind}")).is(200);
    counted.json()["count"].as_u64().expect("a number")
}

/// Letters that are copies of one, with ids of their own from a number on.
fn import(home: &Home, pattern: &str, numbers: std::ops::Range<usize>) {
    let mut lines = String::new();
    for number in numbers {
        let mut letter: Value = serde_json::from_str(pattern).expect("a line");
        let last = [15, 10, 5, 0].map(|bits| char::from(SIGNS[number >> bits & 31]));
        let id = format!("01ARZ3NDEKTSV4RRFFQ69G{}", last.iter().collect::<String>());
        letter["letter"]["job"]["id"] = id.into();
        lines += &format!("{letter}\n");
    }
    let said = home.run_with(&["dead", "import", "-"], lines.as_bytes());
    let said = said.exits(0);
    assert!(said.stderr.contains(", 0 here already"), "{}", said.stderr);
}

/// The line of a letter of a job that nobody serves when it comes back; it is gone from the runner itself.
fn pattern(home: &Home, http: &Http) -> String {
    let id = enqueue(http, &json!({ "kind": "permanent", "payload": 1 }));
    let _ = job(http, &id, "dead");
    let line = home.run(&["dead", "export"]).exits(0).text();
    let gone = http.post("/api/v1/dead/delete", &json!({ "all": true }));
    let done = json!({ "letters": [], "done": 1, "refused": 0, "stopped": null });
    assert_eq!(gone.is(200).json(), done);
    line.replace("\"permanent\"", "\"nobody\"")
}

#[test]
fn all_that_fit_are_more_than_a_page() {
    let (home, runner, http) = runner();
    let pattern = pattern(&home, &http);
    import(&home, &pattern, 0..1_300);
    import(
        &home,
        &pattern.replace("\"nobody\"", "\"other\""),
        1_300..1_303,
    );
    let all = |verb: &str, more: Value| {
        let mut body = json!({ "filter": { "kind": "nobody" }, "per_second": 0 });
        let more = more.as_object().expect("an object").clone();
        body.as_object_mut().expect("an object").extend(more);
        http.post(&format!("/api/v1/dead/{verb}"), &body)
            .is(200)
            .json()
    };
    let told = |done: u64| json!({ "letters": [], "done": done, "refused": 0, "stopped": null });
    assert_eq!(all("retry", json!({ "dry_run": true })), told(1_300));
    assert_eq!(all("delete", json!({ "dry_run": true })), told(1_300));
    assert_eq!(count(&http, ""), 1_303);
    assert_eq!(all("retry", json!({})), told(1_300));
    assert_eq!(all("retry", json!({})), told(0));
    assert_eq!(count(&http, ""), 3);
    let jobs = home.json(&["stats"])["store"]["jobs"].clone();
    assert_eq!(jobs["available"], 1_300, "{jobs}");
    // However many pieces it took.
    let said = runner.said();
    let lines = said.lines().filter(|line| line.contains("requeue"));
    let lines: Vec<&str> = lines.filter(|line| line.contains("audit")).collect();
    assert_eq!(lines.len(), 4, "{lines:#?}");
    for (line, says) in lines.into_iter().zip([
        ["1300 letters that fit", "begun"],
        ["1300 letters that fit", "1300 done, 0 refused"],
        ["0 letters that fit", "begun"],
        ["0 letters that fit", "0 done, 0 refused"],
    ]) {
        assert!(says.iter().all(|says| line.contains(says)), "{line}");
    }
    let wrong = http.post(
        "/api/v1/dead/retry",
        &json!({ "filter": { "failure": "bad luck" } }),
    );
    assert_eq!(wrong.problem(), "invalid");
}

/// A request under way.
struct Asked(BufReader<TcpStream>);

impl Asked {
    fn new(http: &Http, verb: &str, body: &Value) -> Self {
        let (mut stream, body) = (http.connect(), body.to_string());
        write!(
            stream,
            "POST /api/v1/dead/{verb} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            http.address,
            body.len()
        )
        .expect("sent");
        Self(BufReader::new(stream))
    }

    fn answer(mut self) -> Reply {
        http::read(&mut self.0)
    }
}

#[test]
fn letters_that_come_meanwhile_are_left_alone() {
    let (home, _runner, http) = runner();
    let pattern = pattern(&home, &http);
    import(&home, &pattern, 0..15);
    let body = json!({ "filter": { "kind": "nobody" }, "per_second": 10 });
    let asked = Asked::new(&http, "delete", &body);
    wait::until("the first to go", Duration::from_secs(60), || {
        (count(&http, "") < 15).then_some(())
    });
    // They died when the others did; what counts is when they came.
    import(&home, &pattern, 100..103);
    let told = asked.answer().is(200);
    assert_eq!(told.header("content-type"), Some("application/json"));
    assert_eq!(told.json()["done"], 15, "{}", told.text());
    assert_eq!(count(&http, ""), 3);
}

#[test]
fn whoever_goes_away_ends_it() {
    let (home, runner, http) = runner();
    let pattern = pattern(&home, &http);
    import(&home, &pattern, 0..600);
    let body = json!({ "all": true, "per_second": 20 });
    let asked = Asked::new(&http, "retry", &body);
    wait::until("the first to be back", Duration::from_secs(60), || {
        (count(&http, "") < 600).then_some(())
    });
    drop(asked);
    let line = wait::until("the end", Duration::from_secs(20), || {
        let said = runner.said();
        let line = said.lines().find(|line| line.contains("ended early"))?;
        Some(line.to_owned())
    });
    assert!(line.contains("whoever asked went away"), "{line}");
    let left = count(&http, "");
    assert!(left > 0, "all were brought back");
    assert!(
        line.contains(&format!("done={}", 600 - left)),
        "{left} are left: {line}"
    );
    let rest = http.post(
        "/api/v1/dead/retry",
        &json!({ "all": true, "per_second": 0 }),
    );
    assert_eq!(rest.is(200).json()["done"], left);
}

/// What a form hides in a field.
fn hidden(page: &Reply, name: &str) -> String {
    let text = page.text();
    let (_, after) = text
        .split_once(&format!("name=\"{name}\" value=\""))
        .unwrap_or_else(|| panic!("no field {name} in {text}"));
    after.split('"').next().unwrap_or_default().to_owned()
}

#[test]
fn the_page_asks_about_all_that_match_and_does_what_was_said_yes_to() {
    let (home, _runner, http) = runner();
    let pattern = pattern(&home, &http);
    import(&home, &pattern, 0..1_100);
    import(
        &home,
        &pattern.replace("\"nobody\"", "\"other\""),
        1_100..1_102,
    );
    let page = http.get("/dead?kind=nobody").is(200);
    let word = word(&page);
    assert_eq!(hidden(&page, "kind"), "nobody");
    let with = |act: &str, fields: &[(&str, &str)]| {
        let mut all = vec![("word", word.as_str()), ("do", act)];
        all.extend_from_slice(fields);
        submit(&http, "/dead", None, &all)
    };
    let asked = with("ask-delete-all", &[("kind", "nobody")]).is(200);
    let text = asked.text();
    assert!(
        text.contains("<strong>1100 letters</strong> that match would be deleted"),
        "{text}"
    );
    // What it says stays: no script takes it for the list.
    assert!(!text.contains("live.js"), "{text}");
    assert_eq!(count(&http, ""), 1_102);
    let until = hidden(&asked, "until");
    let said = with("ask-retry-all", &[]).is(200).text();
    assert!(
        said.contains("<strong>1102 letters</strong>") && said.contains("all there are"),
        "{said}"
    );
    // One that dies after the question is none of the answer's business.
    let id = enqueue(&http, &json!({ "kind": "permanent", "payload": 1 }));
    let _ = job(&http, &id, "dead");
    let done = with("delete-all", &[("until", &until)]).is(200);
    assert!(
        done.header("content-security-policy")
            .unwrap_or_default()
            .contains("style-src 'self'")
    );
    let text = done.text();
    assert!(
        text.contains("Deleting 1102 letters")
            && text.contains("<strong>1102 of 1102 letters deleted.</strong>"),
        "{text}"
    );
    assert!(
        text.contains("letters deleted.</p>") && text.ends_with("</html>"),
        "{text}"
    );
    assert_eq!(count(&http, ""), 1);
    let back = with("retry-all", &[]).is(200).text();
    assert!(
        back.contains("Bringing back 1 letter, 100 a second"),
        "{back}"
    );
    assert!(
        back.contains("<strong>1 of 1 letter brought back.</strong>"),
        "{back}"
    );
    assert_eq!(with("burn-all", &[]).status, 400);
}
