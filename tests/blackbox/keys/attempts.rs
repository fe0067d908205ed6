//! What an attempt may use, and when it is made again.

use std::time::Duration;

use sandhog_kit::{Home, millis, wait};
use serde_json::Value;

use super::home;

const SOON: Duration = Duration::from_secs(30);

/// The failure of a job's first attempt.
fn failure(home: &Home, words: &[&str]) -> Value {
    let id = home.enqueue(words);
    wait::until("an attempt to fail", SOON, || {
        let job = home.job(&id);
        let failure = &job["attempts"][0]["failure"];
        failure.is_object().then(|| failure.clone())
    })
}

#[test]
fn each_limit_is_the_one_of_the_settings() {
    let home = home(
        "[limits]\ntimeout = \"300ms\"\nmemory = \"8MiB\"\nresult = \"1KiB\"\npayload = \"2KiB\"\nlog = \"1KiB\"\n\
         checkpoint = \"3B\"\n",
    );
    let _runner = home.start();
    for (words, kind, says) in [
        (
            &["sleep", "x", "--header", "ms=60000"][..],
            "timeout",
            "300 ms",
        ),
        (&["allocate", "x"], "memory", "8 MiB"),
        (
            &["huge", "x", "--header", "bytes=1025"],
            "bad-result",
            "1 KiB",
        ),
    ] {
        let failure = failure(&home, words);
        assert_eq!(failure["kind"], kind, "{failure}");
        assert!(failure.to_string().contains(says), "{says}: {failure}");
    }
    let fits = home.enqueue(&["huge", "x", "--header", "bytes=1024"]);
    let _ = home.job_in(&fits, "completed");
    let refused = failure(&home, &["snooze", "x"]);
    assert!(refused.to_string().contains("checkpoint"), "{refused}");

    let large = "x".repeat(2_049);
    let refused = home.run(&["enqueue", "echo", &large]).exits(2).stderr;
    assert!(refused.contains("limits.payload"), "{refused}");
    let _ = home.enqueue(&["echo", &large[..2_048]]);

    let id = home.enqueue(&["flood", "x", "--header", "lines=100"]);
    let job = home.job_in(&id, "completed");
    let dropped = job["attempts"][0]["dropped_lines"]
        .as_u64()
        .expect("a count");
    assert!(dropped > 0, "{job}");
    let kept = home.run(&["job", "logs", &id]).exits(0).text();
    assert!(kept.len() < 8 << 10, "{} bytes", kept.len());
}

#[test]
fn tables_are_bounded_by_the_settings() {
    let check = |elements: u32| {
        let home = home(&format!("[limits]\ntable_elements = {elements}\n"));
        let file = home.plugins().join("misbehave.wasm");
        home.run(&["plugin", "check", file.to_str().expect("UTF-8")])
    };
    let _ = check(100_000).exits(0);
    let refused = check(3).exits(1).text();
    assert!(refused.contains("table_elements"), "{refused}");
}

#[test]
fn jobs_wait_for_room_in_the_memory_budget() {
    let running = |budget: &str| {
        let home = home(&format!(
            "[runner]\nworkers = 1\nslots = 8\nmemory_budget = \"{budget}\"\n[limits]\nmemory = \"64MiB\"\n"
        ));
        let _runner = home.start();
        for _ in 0..3 {
            let _ = home.enqueue(&["sleep", "x", "--header", "ms=60000"]);
        }
        wait::until("the budget to be used", SOON, || {
            let stats = home.json(&["stats"]);
            let jobs = &stats["store"]["jobs"];
            let (running, waiting) = (jobs["running"].as_u64()?, jobs["available"].as_u64()?);
            let queue = home.run(&["queue", "ls"]).exits(0).text();
            // Nobody is about to be begun: all run, or the queue says what the others wait for.
            let rest = waiting == 0 || queue.contains("memory");
            (running > 0 && rest).then_some(running)
        })
    };
    assert_eq!((running("128MiB"), running("192MiB")), (2, 3));
}

#[test]
fn a_kind_has_its_own_settings() {
    let home = home(
        "[kind.echo]\nqueue = \"far\"\nconfig = { colour = \"red\" }\n[kind.allocate]\nmemory = \"5MiB\"\n\
         [kind.flaky]\nmax_attempts = 3\nbackoff = \"fixed 40ms jitter 0\"\n\
         [kind.checkpoint]\nbackoff = \"fixed 100ms jitter 0\"\nretry_for = \"250ms\"\nmax_attempts = 100\n\
         [kind.config]\nconfig = { colour = \"green\" }\n",
    );
    let _runner = home.start();
    let id = home.enqueue(&["echo", "x"]);
    assert_eq!(home.job_in(&id, "completed")["queue"], "far");

    let memory = failure(&home, &["allocate", "x"]);
    assert!(memory.to_string().contains("5 MiB"), "{memory}");

    let id = home.enqueue(&["flaky", "x", "--header", "fail=1000"]);
    let job = home.job_in(&id, "dead");
    let attempts = job["attempts"].as_array().expect("attempts");
    assert_eq!(attempts.len(), 3, "{job}");
    let waited = millis(&attempts[1]["started_at"]) - millis(&attempts[0]["ended_at"]);
    assert!((40..5_000).contains(&waited), "{waited} ms");

    let id = home.enqueue(&["checkpoint", "x", "--header", "to=1000"]);
    let job = home.job_in(&id, "dead");
    let attempts = job["attempts"].as_array().expect("attempts").len();
    assert!((2..=4).contains(&attempts), "{job}");

    let id = home.enqueue(&["config", "x", "--header", "key=colour"]);
    let _ = home.job_in(&id, "completed");
    let shown = home.run(&["enqueue", "config", "x", "--header", "key=colour", "--wait"]);
    assert!(shown.exits(0).text().contains("green"));
}

#[test]
fn a_group_has_its_own_rate() {
    let home = home("[queue.mail]\ngroup_rate = \"2/1h\"\n");
    let _runner = home.start();
    let enqueue = |group: &str| home.enqueue(&["echo", "x", "--queue", "mail", "--group", group]);
    let first: Vec<String> = (0..3).map(|_| enqueue("a")).collect();
    let other = enqueue("b");
    for id in first[..2].iter().chain([&other]) {
        let _ = home.job_in(id, "completed");
    }
    assert_eq!(home.job(&first[2])["state"], "available");
}
