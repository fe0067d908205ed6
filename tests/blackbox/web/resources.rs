//! Jobs over HTTP, on a real runner.

use std::time::Duration;

use sandhog_kit::{Http, wait};
use serde_json::{Value, json};

use super::runner;

pub(super) fn job(http: &Http, id: &str, state: &str) -> Value {
    let path = format!("/api/v1/jobs/{id}");
    wait::until(
        &format!("job {id} to be {state}"),
        Duration::from_secs(60),
        || {
            let job = http.get(&path).is(200).json();
            (job["state"] == state).then_some(job)
        },
    )
}

pub(super) fn enqueue(http: &Http, job: &Value) -> String {
    let reply = http.post("/api/v1/jobs", job).is(201).json();
    reply["id"].as_str().expect("an id").to_owned()
}

#[test]
fn a_job_from_its_enqueue_to_its_result() {
    let (home, _runner, http) = runner();
    let payload = r#"{"a":[1,2.5,"é\u0000"],"n":9007199254740993}"#;
    let body =
        format!(r#"{{"kind":"echo","payload":{payload},"tags":["t"],"headers":{{"x":"1"}}}}"#);
    let json = ("content-type", "application/json");
    let key = ("idempotency-key", "order-7");
    let first = http
        .send("POST", "/api/v1/jobs", &[json, key], Some(body.as_bytes()))
        .is(201)
        .json();
    let again = http
        .send("POST", "/api/v1/jobs", &[json, key], Some(body.as_bytes()))
        .is(200)
        .json();
    assert_eq!(first["id"], again["id"]);
    assert_eq!(
        (&first["existing"], &again["existing"]),
        (&json!(false), &json!(true))
    );
    let id = first["id"].as_str().unwrap();
    let waited = http
        .get(&format!("/api/v1/jobs/{id}/wait?timeout_ms=60000"))
        .is(200)
        .json();
    assert_eq!(waited["ended"], true);
    let done = &waited["job"];
    assert_eq!(done["state"], "completed");
    assert_eq!(
        done["payload"],
        serde_json::from_str::<Value>(payload).unwrap()
    );
    assert_eq!(done["payload_bytes"], payload.len());
    assert_eq!(done["idempotency_key"], "order-7");
    // The same as the command line says.
    let mut shown = home.job(id);
    shown["progress"] = Value::Null;
    assert_eq!(*done, shown);
    // Byte for byte as it came, also what no number of 64 bits holds.
    let huge = br#"{"kind":"echo","payload":{"n":18446744073709551616}}"#;
    let huge = http
        .send("POST", "/api/v1/jobs", &[json], Some(huge))
        .is(201)
        .json();
    let huge = job(&http, huge["id"].as_str().unwrap(), "completed");
    assert_eq!(
        huge["payload_base64"],
        "eyJuIjoxODQ0Njc0NDA3MzcwOTU1MTYxNn0="
    );
    assert!(huge.get("payload").is_none());
}

#[test]
fn many_jobs_are_listed_page_by_page() {
    let (_home, _runner, http) = runner();
    let jobs: Vec<Value> = (0..25)
        .map(|number| json!({ "kind": "nobody", "queue": format!("q{}", number % 3), "payload": number }))
        .collect();
    let answers = http
        .post("/api/v1/jobs/bulk", &json!({ "jobs": jobs }))
        .is(200)
        .json();
    let answers = answers["jobs"].as_array().unwrap().clone();
    assert_eq!(answers.len(), 25);
    let mut ids: Vec<&Value> = answers.iter().map(|answer| &answer["id"]).collect();
    ids.reverse();
    let (mut seen, mut next) = (Vec::new(), String::new());
    loop {
        let page = http
            .get(&format!("/api/v1/jobs?limit=10{next}"))
            .is(200)
            .json();
        seen.extend(
            page["jobs"]
                .as_array()
                .unwrap()
                .iter()
                .map(|job| job["id"].clone()),
        );
        match page["next"].as_str() {
            Some(cursor) => next = format!("&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(seen.iter().collect::<Vec<_>>(), ids);
    let few = http
        .get("/api/v1/jobs?queue=q1&state=available&kind=nobody&limit=1000")
        .is(200)
        .json();
    assert_eq!(few["jobs"].as_array().unwrap().len(), 8);
    for bad in [
        "-1",
        "a",
        "%00",
        "18446744073709551616",
        "01M8PZ6285SYQBN8SK09T2DV1DX",
    ] {
        let reply = http.get(&format!("/api/v1/jobs?cursor={bad}"));
        assert!(
            matches!(reply.problem().as_str(), "invalid" | "bad-request"),
            "{bad}: {}",
            reply.text()
        );
    }
    let queues = http.get("/api/v1/queues?limit=2").is(200).json();
    assert_eq!(
        (&queues["queues"][0]["queue"], &queues["next"]),
        (&json!("q0"), &json!("q2"))
    );
}

#[test]
fn jobs_are_called_off_and_tried_again() {
    let (_home, _runner, http) = runner();
    let waits = enqueue(&http, &json!({ "kind": "echo", "in": "1h" }));
    let runs = enqueue(&http, &json!({ "kind": "loop" }));
    let _ = job(&http, &runs, "running");
    let reason = json!({ "reason": "no more" });
    let told = http
        .post(&format!("/api/v1/jobs/{waits}/cancel"), &reason)
        .is(200)
        .json();
    assert_eq!(told, json!({ "id": waits, "state": "cancelled" }));
    assert_eq!(
        job(&http, &waits, "cancelled")["cancel"]["by"],
        "local (admin over HTTP)"
    );
    let _ = http
        .post(&format!("/api/v1/jobs/{runs}/kill"), &json!({}))
        .is(200);
    let killed = job(&http, &runs, "cancelled");
    assert_eq!(killed["cancel"]["how"], "kill", "{killed}");
    let again = http
        .post(&format!("/api/v1/jobs/{waits}/retry"), &json!({}))
        .is(200)
        .json();
    assert_eq!(again["id"], json!(waits));
    let _ = job(&http, &waits, "completed");
    let logs = http
        .get(&format!("/api/v1/jobs/{runs}/logs"))
        .is(200)
        .json();
    assert_eq!(
        (&logs["attempt"], &logs["running"]),
        (&json!(1), &json!(false))
    );
    let none = http.get("/api/v1/jobs/01M8PZ6285SYQBN8SK09T2DV1D");
    assert_eq!(none.problem(), "not-found");
}

/// Whoever waits is told when the job ends, not later.
#[test]
fn a_wait_ends_with_the_job_or_with_its_time() {
    let (_home, _runner, http) = runner();
    let id = enqueue(
        &http,
        &json!({ "kind": "sleep", "headers": { "ms": "60000" } }),
    );
    let _ = job(&http, &id, "running");
    let short = http
        .get(&format!("/api/v1/jobs/{id}/wait?timeout_ms=10"))
        .is(200)
        .json();
    assert_eq!(
        (&short["ended"], &short["job"]["state"]),
        (&json!(false), &json!("running"))
    );
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            http.get(&format!("/api/v1/jobs/{id}/wait?timeout_ms=60000"))
                .is(200)
                .json()
        });
        let _ = http
            .post(&format!("/api/v1/jobs/{id}/kill"), &json!({}))
            .is(200);
        let waited = waiting.join().unwrap();
        assert_eq!(waited["job"]["state"], "cancelled", "{waited}");
    });
    assert_eq!(
        http.get(&format!("/api/v1/jobs/{id}/wait?timeout_ms=-1"))
            .problem(),
        "bad-request"
    );
}
