//! Why a job waits: each reason, as `job show`, `queue ls` and HTTP say it.

use sandhog_kit::{Home, Http, wait};
use serde_json::Value;
use std::time::Duration;

use crate::SANDHOG;

const CONFIG: &str = r#"
[limits]
timeout = "1h"
[runner]
workers = 1
slots = 4
[kind.flaky]
backoff = "fixed 1h"
[queues]
first = ["urgent"]
[queue.narrow]
concurrency = 1
[queue.slow]
rate = "1/1h"
[queue.shared]
group_concurrency = 1
[queue.measured]
group_rate = "1/1h"
"#;

fn home() -> Home {
    let home = Home::with(SANDHOG, &["misbehave"]).over_http();
    home.write_config(CONFIG);
    home
}

/// A job that runs for an hour.
fn runs(home: &Home, more: &[&str]) -> String {
    let id = home.enqueue(&[&["sleep", "x", "--header", "ms=3600000"], more].concat());
    let _ = home.job_in(&id, "running");
    id
}

fn completes(home: &Home, more: &[&str]) {
    let id = home.enqueue(&[&["echo", "x"], more].concat());
    let _ = home.job_in(&id, "completed");
}

/// The reason begins so, as JSON and as text have it.
#[track_caller]
fn waits(home: &Home, id: &str, because: &str) {
    let mut last = Value::Null;
    wait::until(because, Duration::from_secs(60), || {
        last = home.job(id)["waiting_because"].clone();
        let fits = last.as_str().is_some_and(|why| why.starts_with(because));
        fits.then_some(())
    });
    let shown = home.run(&["job", "show", id]).exits(0).text();
    assert!(shown.contains(&format!("because {because}")), "{shown}");
}

fn of_queue(home: &Home, name: &str) -> String {
    let rows = home.run(&["queue", "ls", "-o", "json"]).exits(0).rows();
    let row = rows.iter().find(|row| row["queue"] == name);
    let reason = row.expect("the queue is shown")["reason"].clone();
    reason.as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_job_and_its_queue_say_which_limit_holds_them_back() {
    let home = home();
    let _runner = home.start();
    let echo = |more: &[&str]| home.enqueue(&[&["echo", "x"], more].concat());

    let _ = runs(&home, &["--queue", "narrow"]);
    let narrow = echo(&["--queue", "narrow"]);
    let says = "1 of queue narrow run, as many as its `concurrency` lets";
    waits(&home, &narrow, says);
    assert_eq!(of_queue(&home, "narrow"), says);

    completes(&home, &["--queue", "slow"]);
    let slow = echo(&["--queue", "slow"]);
    // The instant comes first: a cell of a table may end before the rest.
    waits(&home, &slow, "next at 20");
    let told = of_queue(&home, "slow");
    let says = "as many of queue slow began as its `rate` 1/1h lets";
    assert!(
        told.starts_with("next at 20") && told.contains(says),
        "{told}"
    );

    let _ = runs(&home, &["--queue", "shared", "--group", "g"]);
    completes(&home, &["--queue", "shared", "--group", "h"]);
    let shared = echo(&["--queue", "shared", "--group", "g"]);
    let says = "1 of group g of queue shared run, as many as its `group_concurrency` lets";
    waits(&home, &shared, says);
    assert_eq!(of_queue(&home, "shared"), says);

    completes(&home, &["--queue", "measured", "--group", "g"]);
    let measured = echo(&["--queue", "measured", "--group", "g"]);
    waits(&home, &measured, "next at 20");
    let told = of_queue(&home, "measured");
    let says = "as many of group g of queue measured began as its `group_rate` 1/1h lets";
    assert!(
        told.starts_with("next at 20") && told.contains(says),
        "{told}"
    );

    // All that run fill the places of the one worker.
    let _ = [
        runs(&home, &["--queue", "a"]),
        runs(&home, &["--queue", "a"]),
    ];
    let behind = echo(&["--queue", "b"]);
    let says = "all 4 places of the workers are taken";
    waits(&home, &behind, says);
    assert_eq!(of_queue(&home, "b"), says);
    let _ = home.run(&["worker", "quiet"]).exits(0);
    let says = "the workers are quiet: `sandhog worker resume`";
    waits(&home, &behind, says);
    assert_eq!(of_queue(&home, "narrow"), says);
}

#[test]
fn a_job_says_what_it_waits_for() {
    let home = home();
    let runner = home.start();
    let echo = |more: &[&str]| home.enqueue(&[&["echo", "x"], more].concat());
    let unserved = home.enqueue(&["unserved", "x"]);
    waits(&home, &unserved, "no plugin serves unserved: see");
    let later = echo(&["--in", "1h"]);
    waits(&home, &later, "it is not due before 20");
    let flaky = home.enqueue(&["flaky", "x", "--header", "fail=1"]);
    let _ = home.job_in(&flaky, "retryable");
    waits(
        &home,
        &flaky,
        "its last attempt failed, the next one is not due before 20",
    );
    let _ = home.run(&["queue", "pause", "held"]).exits(0);
    let held = echo(&["--queue", "held"]);
    let says = "queue held is paused: `sandhog queue resume held`";
    waits(&home, &held, says);

    // Every place is taken.
    let _ = [(); 4].map(|()| runs(&home, &[]));
    let first = echo(&["--queue", "busy", "--priority", "2"]);
    let second = echo(&["--queue", "busy"]);
    waits(
        &home,
        &first,
        "all 4 places of the workers are taken; no job of queue busy comes first",
    );
    waits(
        &home,
        &second,
        "all 4 places of the workers are taken; 1 job of queue busy comes first",
    );
    // What comes first, or has its turn, in other queues: as far as a plugin serves it.
    let alone = "all 4 places of the workers are taken; 1 job of queue busy comes first";
    assert_eq!(home.job(&second)["waiting_because"], alone);
    let _ = home.enqueue(&["unserved", "x", "--queue", "urgent"]);
    let _ = echo(&["--queue", "other"]);
    let turns = format!("{alone}, jobs of queue other wait, with which its queue takes turns");
    waits(&home, &second, &turns);
    let _ = echo(&["--queue", "urgent"]);
    let urgent = format!("{alone}, jobs of queue urgent wait, before it by `first` under [queues]");
    waits(&home, &second, &urgent);
    let _ = home.run(&["worker", "quiet"]).exits(0);
    waits(&home, &second, "the workers are quiet");

    let http = Http::new(runner.http());
    let job = http.get(&format!("/api/v1/jobs/{held}")).is(200).json();
    assert_eq!(job["waiting_because"], says);
    let waited = http.get(&format!("/api/v1/jobs/{held}/wait?timeout_ms=0"));
    assert_eq!(waited.is(200).json()["reason"], says);
    runner.kill9();
    waits(&home, &held, says);
    waits(&home, &second, "no runner is up");
    let _ = home.run(&["job", "cancel", &second]).exits(0);
    assert_eq!(home.job(&second)["waiting_because"], Value::Null);
}

#[test]
fn who_waits_for_a_result_gets_it_however_little_is_kept() {
    for keep in ["max_completed = 0", "keep_completed = \"1ms\""] {
        let home = Home::with(SANDHOG, &["misbehave"]);
        home.write_config(&format!("[store]\n{keep}\n"));
        let _runner = home.start();
        for number in 0..20 {
            let text = format!("{number}");
            let waited = home.run(&["enqueue", "echo", &text, "--wait"]);
            assert_eq!(waited.exits(0).text(), text, "{keep}");
        }
    }
}

#[test]
fn a_job_of_a_batch_that_was_called_off_does_not_come_back() {
    let home = home();
    let batch = home.run(&["batch", "open"]).exits(0).text();
    let id = home.enqueue(&["unserved", "x", "--batch", &batch]);
    let _ = home.run(&["batch", "cancel", &batch]).exits(0);
    assert_eq!(home.job(&id)["state"], "cancelled");
    for words in [
        &["job", "retry", &id][..],
        &["job", "retry", "--state", "cancelled"],
    ] {
        let refused = home.run(words).exits(1);
        let says = format!("job {id} is in batch {batch}, which was called off");
        assert!(refused.stderr.contains(&says), "{}", refused.stderr);
        assert_eq!(home.job(&id)["state"], "cancelled");
    }
    let runner = home.start();
    let http = Http::new(runner.http());
    let reply = http.post(&format!("/api/v1/jobs/{id}/retry"), &serde_json::json!({}));
    assert_eq!(reply.problem(), "batch-closed");
}
