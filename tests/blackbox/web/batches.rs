//! Batches over HTTP: opened, filled, sealed, called off, followed.

use sandhog_kit::{Http, wait};
use serde_json::{Value, json};
use std::time::Duration;

use super::runner;

const BOUND: Duration = Duration::from_secs(60);

fn open(http: &Http, body: &Value) -> String {
    let opened = http.post("/api/v1/batches", body).is(201).json();
    assert_eq!(opened["status"], "open", "{opened}");
    opened["id"].as_str().expect("an id").to_owned()
}

fn show(http: &Http, id: &str) -> Value {
    http.get(&format!("/api/v1/batches/{id}")).is(200).json()
}

#[test]
fn a_batch_is_filled_sealed_and_followed() {
    let (home, _runner, http) = runner();
    let body = json!({
        "name": "import", "on_success": { "kind": "echo", "payload": { "to": "shop" } }, "on_complete": "echo",
    });
    let id = open(&http, &body);
    let jobs =
        json!({ "jobs": [{ "kind": "echo", "payload": 1 }, { "kind": "echo", "payload": 2 }] });
    let path = format!("/api/v1/batches/{id}/jobs");
    let answers = http.post(&path, &jobs).is(200).json();
    assert_eq!(answers["jobs"][1]["batch"], json!(id));
    let bad = json!({ "jobs": [{ "kind": "echo" }, { "kind": "two words" }] });
    assert_eq!(http.post(&path, &bad).problem(), "invalid");
    assert_eq!(show(&http, &id)["jobs"]["total"], 2);
    let sealed = http.post(&format!("/api/v1/batches/{id}/seal"), &json!({}));
    assert!(sealed.is(200).json()["sealed_at"].is_string());
    let ended = wait::until("the end of the batch", BOUND, || {
        Some(show(&http, &id)).filter(|batch| !batch["on_success"]["enqueued_at"].is_null())
    });
    let followed = ended["on_success"]["job"].as_str().expect("an id");
    let told = home.job_in(followed, "completed")["payload"].clone();
    assert_eq!(
        (&told["completed"], &told["payload"]["to"]),
        (&json!(2), &json!("shop"))
    );
    // Over the command line it is the same.
    assert_eq!(home.json(&["batch", "show", &id]), show(&http, &id));
    let late = http.post(&path, &jobs).is(200).json();
    assert_eq!(late["jobs"][0]["error"]["code"], "batch-closed", "{late}");
    let one = json!({ "kind": "echo", "batch": id });
    assert_eq!(http.post("/api/v1/jobs", &one).problem(), "batch-closed");
    let nobody = "00000000000000000000000001";
    for path in ["seal", "cancel"] {
        let path = format!("/api/v1/batches/{nobody}/{path}");
        assert_eq!(http.post(&path, &json!({})).problem(), "not-found");
    }
    assert_eq!(
        http.post(&format!("/api/v1/batches/{nobody}/jobs"), &jobs)
            .problem(),
        "not-found"
    );
    for body in [
        json!({ "on_success": 5 }),
        json!({ "on_success": { "kind": "echo", "then": ["echo"] } }),
        json!({ "title": "x" }),
    ] {
        let refused = http.post("/api/v1/batches", &body);
        assert_eq!(refused.problem(), "bad-request", "{}", refused.text());
    }
    let twice = json!({ "on_success": { "kind": "two words" } });
    assert_eq!(http.post("/api/v1/batches", &twice).problem(), "invalid");
}

#[test]
fn batches_are_listed_page_by_page_and_called_off() {
    let (_home, _runner, http) = runner();
    let mut ids: Vec<String> = (0..5).map(|_| open(&http, &json!({}))).collect();
    let job = json!({ "kind": "unserved", "batch": ids[0] });
    let member = http.post("/api/v1/jobs", &job).is(201).json();
    let path = format!("/api/v1/batches/{}/cancel", ids[0]);
    let off = http
        .post(&path, &json!({ "reason": "wrong file" }))
        .is(200)
        .json();
    assert_eq!(
        (&off["status"], &off["cancel"]["reason"]),
        (&json!("cancelled"), &json!("wrong file"))
    );
    let id = member["id"].as_str().expect("an id");
    wait::until("the job to be called off", BOUND, || {
        let job = http.get(&format!("/api/v1/jobs/{id}")).is(200).json();
        (job["state"] == "cancelled").then_some(())
    });
    let (mut seen, mut next) = (Vec::new(), String::new());
    loop {
        let page = http
            .get(&format!("/api/v1/batches?limit=2{next}"))
            .is(200)
            .json();
        let rows = page["batches"].as_array().expect("rows");
        seen.extend(
            rows.iter()
                .map(|row| row["id"].as_str().expect("an id").to_owned()),
        );
        match page["next"].as_str() {
            Some(cursor) => next = format!("&cursor={cursor}"),
            None => break,
        }
    }
    ids.reverse();
    assert_eq!(seen, ids);
}
