//! Jobs that fail first: retries, waits a handler asks for, what an attempt leaves to the next.

use sandhog_kit::{Home, millis};
use serde_json::Value;

use crate::SANDHOG;

/// Milliseconds between the first attempt and the second.
fn backoff(job: &Value) -> i64 {
    millis(&job["attempts"][1]["started_at"]) - millis(&job["attempts"][0]["ended_at"])
}

#[test]
fn a_job_that_fails_twice_succeeds_at_its_third_attempt() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let _runner = home.start();
    let id = home.enqueue(&["flaky", "x", "--header", "fail=2"]);
    let job = home.job_in(&id, "completed");
    assert_eq!(
        (&job["attempt"], &job["attempts"][2]["failure"]),
        (&3.into(), &Value::Null)
    );
    let first = &job["attempts"][0]["failure"];
    assert_eq!(
        (&first["kind"], &first["code"]),
        (&"error".into(), &"flaky".into())
    );
    assert!(
        first["cause"].as_str().unwrap().contains("attempt 1 of 2"),
        "{first}"
    );
    let waited = backoff(&job);
    assert!(
        (15..10_000).contains(&waited),
        "the backoff is 20 ms, it was {waited}"
    );
}

#[test]
fn a_handler_chooses_when_to_come_back() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config("[kind.retry-after]\nbackoff = \"fixed 1ms\"\n");
    let _runner = home.start();
    let id = home.enqueue(&["retry-after", "x", "--header", "ms=700"]);
    let job = home.job_in(&id, "completed");
    let waited = backoff(&job);
    assert!(waited >= 700, "asked for 700 ms, it was {waited}");
}

#[test]
fn a_snooze_uses_no_attempt() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let _runner = home.start();
    let answer = home.run(&["enqueue", "snooze", "x", "--max-attempts", "1", "--wait"]);
    assert_eq!(answer.exits(0).json()["attempt"], 1);
}

#[test]
fn an_attempt_goes_on_where_the_one_before_stopped() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config("[kind.checkpoint]\nbackoff = \"fixed 10ms\"\n");
    let _runner = home.start();
    let answer = home.run(&["enqueue", "checkpoint", "x", "--header", "to=4", "--wait"]);
    let end = answer.exits(0).json();
    assert_eq!((&end["count"], &end["attempt"]), (&4.into(), &4.into()));
}

#[test]
fn a_job_out_of_attempts_is_dead_with_its_history() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let _runner = home.start();
    let answer = home.run(&[
        "enqueue",
        "flaky",
        "x",
        "--header",
        "fail=9",
        "--max-attempts",
        "3",
        "--wait",
    ]);
    let answer = answer.exits(1);
    assert!(
        answer.stderr.contains("attempt 3 of 9"),
        "--wait does not say why: {}",
        answer.stderr
    );
    let rows = home.run(&["dead", "ls", "-o", "json"]).exits(0).rows();
    let letter = home.json(&["dead", "show", rows[0]["id"].as_str().unwrap()]);
    let causes: Vec<&str> = letter["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|attempt| attempt["failure"]["cause"].as_str().unwrap())
        .collect();
    assert_eq!(causes.len(), 3, "{letter}");
    for (n, cause) in causes.iter().enumerate() {
        assert!(
            cause.contains(&format!("attempt {} of 9", n + 1)),
            "{causes:?}"
        );
    }
}

/// A kind, its headers, the kind of its failures, and how many of five attempts it gets.
type Capped = (&'static str, &'static [&'static str], &'static str, u64);

#[test]
fn what_fails_the_same_way_each_time_has_its_own_cap() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let quick = "backoff = \"fixed 1ms\"\n";
    let mut config = format!("[kind.divide]\ntrap_attempts = 4\n{quick}");
    for kind in ["flaky", "panic", "recurse", "allocate", "exit", "huge"] {
        config += &format!("[kind.{kind}]\n{quick}");
    }
    for kind in ["loop", "sleep"] {
        config += &format!("[kind.{kind}]\ntimeout = \"50ms\"\n{quick}");
    }
    home.write_config(&config);
    let _runner = home.start();
    let cases: [Capped; 9] = [
        ("flaky", &["fail=99"], "error", 5),
        ("loop", &[], "timeout", 5),
        ("sleep", &["ms=60000"], "timeout", 5),
        ("panic", &[], "trap:unreachable", 3),
        ("recurse", &[], "trap:stack-overflow", 3),
        ("divide", &[], "trap:divide-by-zero", 4),
        ("allocate", &[], "memory", 3),
        ("exit", &[], "exit", 3),
        ("huge", &["bytes=3000000"], "bad-result", 3),
    ];
    let jobs = cases.map(|(kind, headers, ..)| {
        let mut words = vec![kind, "x", "--max-attempts", "5"];
        words.extend(headers.iter().flat_map(|header| ["--header", header]));
        home.enqueue(&words)
    });
    for ((kind, _, failure, attempts), id) in cases.iter().zip(&jobs) {
        let job = home.job_in(id, "dead");
        let letter = home.json(&["dead", "show", id]);
        for told in [&job, &letter] {
            let history = told["attempts"].as_array().unwrap();
            assert_eq!(history.len() as u64, *attempts, "{kind}: {told}");
            let same = history
                .iter()
                .all(|attempt| attempt["failure"]["kind"] == *failure);
            assert!(same, "{kind}: {told}");
        }
    }
}

#[test]
fn a_permanent_failure_and_a_discard_use_one_attempt() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let _runner = home.start();
    let dead = home.enqueue(&["permanent", "x"]);
    let job = home.job_in(&dead, "dead");
    assert_eq!(
        (&job["attempt"], &job["failure"]["kind"]),
        (&1.into(), &"error".into())
    );
    let dropped = home.enqueue(&["discard", "no longer wanted"]);
    let job = home.job_in(&dropped, "discarded");
    assert!(job.to_string().contains("no longer wanted"), "{job}");
    let answer = home
        .run(&["enqueue", "discard", "nor this", "--wait"])
        .exits(1);
    assert!(answer.stderr.contains("nor this"), "{}", answer.stderr);
    let rows = home.run(&["dead", "ls", "-o", "json"]).exits(0).rows();
    assert_eq!(rows.len(), 1, "a discarded job is no dead letter: {rows:?}");
}
