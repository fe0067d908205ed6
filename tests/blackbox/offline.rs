//! The directory alone, with no runner on it.

use sandhog_kit::Home;

use crate::SANDHOG;

#[test]
fn a_job_enqueued_without_a_runner_runs_at_the_next_start() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let id = home.enqueue(&["echo", "patient"]);
    let job = home.job(&id);
    assert_eq!(
        (&job["state"], &job["attempt"]),
        (&"available".into(), &0.into())
    );
    let _runner = home.start();
    assert_eq!(home.job_in(&id, "completed")["attempt"], 1);
}

#[test]
fn what_happened_can_be_read_after_a_crash() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let runner = home.start();
    let done = home.enqueue(&["echo", "x"]);
    let _ = home.job_in(&done, "completed");
    let late = home.enqueue(&["echo", "x", "--in", "1h"]);
    runner.kill9();
    let rows = home.run(&["job", "ls", "-o", "json"]).exits(0).rows();
    let ids: Vec<&str> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(ids, [late.as_str(), &done], "newest first");
    assert_eq!(home.job(&done)["attempts"][0]["attempt"], 1);
    let queues = home.run(&["queue", "ls", "-o", "json"]).exits(0).rows();
    assert_eq!(queues[0]["queue"], "default", "{queues:?}");
    let stats = home.json(&["stats"]);
    assert!(stats["runner"].is_null(), "{stats}");
}

#[test]
fn reading_makes_no_directory() {
    let home = Home::new(SANDHOG);
    for words in [
        ["job", "ls"],
        ["dead", "ls"],
        ["queue", "ls"],
        ["log", "check"],
    ] {
        let _ = home.run(&words);
        assert!(!home.data().exists(), "{words:?} made the data directory");
    }
}
