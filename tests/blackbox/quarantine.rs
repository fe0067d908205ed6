//! A version that breaks again and again: its jobs wait, and one command brings the last good one
//! back.

use std::{fs, time::Duration};

use sandhog_kit::{Home, component::handler, wait};
use serde_json::Value;

use crate::SANDHOG;

const SOON: Duration = Duration::from_secs(30);
const CONFIG: &str = "[plugins]\nquarantine_after = 3\n[kind.work]\nbackoff = \"fixed 20ms\"\ntrap_attempts = 100\nmax_attempts = 100\n";

fn drop_in(home: &Home, handle: &str, mark: &str) {
    let bytes = wat::parse_str(handler("work", handle, "", mark)).expect("a component's text");
    let passing = home.folder().join("passing");
    fs::write(&passing, bytes).expect("a file");
    fs::rename(passing, home.plugins().join("worker.wasm")).expect("a rename");
}

fn show(home: &Home) -> Value {
    home.json(&["plugin", "show", "worker"])
}

fn once(home: &Home, status: &str) -> Value {
    wait::until(&format!("the plugin to be {status}"), SOON, || {
        let answer = home.run(&["plugin", "show", "worker", "-o", "json"]);
        (answer.code == 0)
            .then(|| answer.json())
            .filter(|shown| shown["status"] == status)
    })
}

fn served(home: &Home, mark: &str) -> String {
    wait::until(&format!("version {mark} to be served"), SOON, || {
        let answer = home.run(&["plugin", "show", "worker", "-o", "json"]);
        let shown = (answer.code == 0).then(|| answer.json())?;
        let summary = &shown["served"]["kinds"][0]["summary"];
        (summary == mark).then(|| shown["served"]["digest"].as_str().map(str::to_owned))?
    })
}

fn enqueue(home: &Home, count: usize) -> Vec<String> {
    (0..count).map(|_| home.enqueue(&["work", "x"])).collect()
}

fn dead(home: &Home) -> usize {
    home.run(&["dead", "ls", "-o", "json"])
        .exits(0)
        .rows()
        .len()
}

/// A home with a good version that completed a job, then one that traps until it is held back.
fn held_back() -> (Home, sandhog_kit::Runner, String, Vec<String>) {
    let home = Home::new(SANDHOG);
    home.write_config(CONFIG);
    let runner = home.start();
    drop_in(&home, "", "good");
    let good = served(&home, "good");
    let first = home.enqueue(&["work", "x"]);
    assert_eq!(home.job_in(&first, "completed")["digest"], good.as_str());
    drop_in(&home, "unreachable", "bad");
    served(&home, "bad");
    let broke = enqueue(&home, 3);
    once(&home, "quarantined");
    (home, runner, good, broke)
}

#[test]
fn the_jobs_of_a_version_that_traps_wait_until_the_last_good_one_is_brought_back() {
    let (home, runner, good, broke) = held_back();
    let shown = show(&home);
    let why = shown["held"]["why"].as_str().unwrap();
    assert!(why.contains("3 jobs of kind work in a row"), "{shown}");
    assert!(runner.said().contains("held back"), "{}", runner.said());
    // What comes now waits, and whoever enqueues it is told why.
    let enqueued = home.run(&["enqueue", "work", "x"]).exits(0);
    let waits = enqueued.text();
    let digest = shown["held"]["digest"].as_str().unwrap_or_default();
    let version = format!("plugin worker, whose version {}", &digest[..12]);
    for part in [
        &version,
        "is quarantined",
        "`sandhog plugin release worker`",
    ] {
        assert!(
            enqueued.stderr.contains(part),
            "{part}: {}",
            enqueued.stderr
        );
    }
    let queues = home.run(&["queue", "ls", "-o", "json"]).exits(0).text();
    assert!(
        queues.contains("is quarantined") && queues.contains("sandhog plugin rollback worker"),
        "{queues}"
    );
    let stats = home.json(&["stats"]);
    assert_eq!(stats["runner"]["held"], 1, "{stats}");
    let used: Vec<Value> = broke
        .iter()
        .map(|id| home.job(id)["attempt"].clone())
        .collect();
    // A restart knows of it.
    assert!(runner.terminate().success());
    let runner = home.start();
    assert_eq!(
        once(&home, "quarantined")["held"]["why"],
        shown["held"]["why"]
    );
    assert_eq!(home.job(&waits)["attempt"], 0);
    let after: Vec<Value> = broke
        .iter()
        .map(|id| home.job(id)["attempt"].clone())
        .collect();
    assert_eq!(used, after);
    assert_eq!(dead(&home), 0);
    let told = home.run(&["plugin", "rollback", "worker"]).exits(0).text();
    assert!(
        told.contains(&good[..12]) || told.contains("being loaded"),
        "{told}"
    );
    for id in broke.iter().chain([&waits]) {
        assert_eq!(home.job_in(id, "completed")["digest"], good.as_str());
    }
    let shown = once(&home, "rolled-back");
    assert_eq!(shown["served"]["digest"], good.as_str());
    assert_eq!((dead(&home), &home.job(&waits)["attempt"]), (0, &1.into()));
    // That choice holds over a restart, and until the file is another.
    runner.kill9();
    let _runner = home.start();
    once(&home, "rolled-back");
    drop_in(&home, "", "better");
    let better = served(&home, "better");
    let id = home.enqueue(&["work", "x"]);
    assert_eq!(home.job_in(&id, "completed")["digest"], better.as_str());
    assert_eq!(show(&home)["status"], "ok");
}

#[test]
fn a_release_lets_it_run_again_and_another_file_is_served_at_once() {
    let (home, _runner, _, broke) = held_back();
    let _ = home.run(&["plugin", "release", "worker"]).exits(0);
    // It still traps, so it is held back again.
    once(&home, "quarantined");
    drop_in(&home, "", "mended");
    let mended = served(&home, "mended");
    for id in &broke {
        assert_eq!(home.job_in(id, "completed")["digest"], mended.as_str());
    }
    // The bad bytes again, under another name too, are still held back.
    drop_in(&home, "unreachable", "bad");
    once(&home, "quarantined");
    assert_eq!(home.run(&["plugin", "release", "worker"]).exits(0).code, 0);
    assert_eq!(show(&home)["status"], "ok");
    let refused = home.run(&["plugin", "release", "worker"]).exits(1).stderr;
    assert!(
        refused.contains("neither held back nor rolled back"),
        "{refused}"
    );
}

#[test]
fn a_version_is_held_back_and_chosen_by_hand() {
    let home = Home::new(SANDHOG);
    let _runner = home.start();
    drop_in(&home, "", "first");
    let first = served(&home, "first");
    let none = home.run(&["plugin", "rollback", "worker"]).exits(1).stderr;
    assert!(none.contains("no earlier version of worker"), "{none}");
    drop_in(&home, "", "second");
    let second = served(&home, "second");
    let told = home
        .run(&["plugin", "quarantine", "worker", "--reason", "wrong prices"])
        .exits(0);
    assert!(told.text().contains("wrong prices"), "{}", told.text());
    assert_eq!(once(&home, "quarantined")["held"]["by_hand"], true);
    let waits = home.enqueue(&["work", "x"]);
    let _ = home
        .run(&["plugin", "rollback", "worker", "--to", &first[..8]])
        .exits(0);
    assert_eq!(home.job_in(&waits, "completed")["digest"], first.as_str());
    let refused = home
        .run(&["plugin", "rollback", "worker", "--to", &second])
        .exits(1)
        .stderr;
    assert!(refused.contains("held back: wrong prices"), "{refused}");
    let shown = home.run(&["plugin", "show", "worker"]).exits(0).text();
    for part in [
        &first[..12],
        &second[..12],
        "wrong prices",
        "in the folder",
        "served",
    ] {
        assert!(shown.contains(part), "{shown}");
    }
    let nobody = home.run(&["plugin", "rollback", "nobody"]).exits(4).stderr;
    assert!(nobody.contains("known are worker"), "{nobody}");
    let unknown = home
        .run(&["plugin", "rollback", "worker", "--to", "zz"])
        .exits(4)
        .stderr;
    assert!(unknown.contains("0 kept versions"), "{unknown}");
}

#[test]
fn a_bad_file_does_not_unseat_the_good_one_over_a_restart_either() {
    let home = Home::new(SANDHOG);
    let runner = home.start();
    drop_in(&home, "", "good");
    let good = served(&home, "good");
    fs::write(home.plugins().join("worker.wasm"), b"\0asm\x0d\0\x01\0cut").unwrap();
    assert!(runner.terminate().success());
    let _runner = home.start();
    let id = home.enqueue(&["work", "x"]);
    assert_eq!(home.job_in(&id, "completed")["digest"], good.as_str());
    let rows = home.run(&["plugin", "ls", "-o", "json"]).exits(0).rows();
    let problem = rows.iter().find(|row| row["status"] == "unusable");
    assert_eq!(problem.unwrap()["earlier_served"], true, "{rows:?}");
}

#[test]
fn a_version_whose_jobs_take_the_runner_down_is_held_back_before_it_buries_them() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config("[runner]\nworkers = 1\nslots = 1\n[limits]\ntimeout = \"1h\"\n");
    let mut runner = home.start();
    // One after the other: a job that was lost comes after those that wait.
    let jobs = [home.enqueue(&["loop", "x"]), home.enqueue(&["loop", "x"])];
    for id in jobs.iter().cycle().take(3) {
        let _ = home.job_in(id, "running");
        runner.kill9();
        runner = home.start();
    }
    let shown = home.json(&["plugin", "show", "misbehave"]);
    assert_eq!(shown["status"], "quarantined", "{shown}");
    let why = shown["held"]["why"].as_str().unwrap();
    assert!(why.contains("went away 3 times in a row"), "{shown}");
    assert!(runner.said().contains("held back"), "{}", runner.said());
    for (id, losses) in jobs.iter().zip([2, 1]) {
        let job = home.job(id);
        assert_eq!(
            (&job["state"], &job["losses"], &job["attempt"]),
            (&"available".into(), &losses.into(), &0.into()),
            "{job}"
        );
    }
    let _ = home.run(&["plugin", "release", "misbehave"]).exits(0);
    let _ = home.job_in(&jobs[1], "running");
}
