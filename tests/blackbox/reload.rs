//! The plugin folder while a runner watches it.

use std::{fs, io::Write, time::Duration};

use sandhog_kit::{Home, guest, wait};
use serde_json::Value;

use crate::SANDHOG;

const SOON: Duration = Duration::from_secs(30);

/// The rows of `plugin ls`.
fn plugins(home: &Home) -> Vec<Value> {
    home.run(&["plugin", "ls", "-o", "json"]).exits(0).rows()
}

fn row(home: &Home, name: &str) -> Option<Value> {
    plugins(home).into_iter().find(|row| row["name"] == name)
}

#[test]
fn a_plugin_dropped_in_serves_the_jobs_that_wait_for_it() {
    let home = Home::new(SANDHOG);
    let _runner = home.start();
    let id = home.enqueue(&["echo", "early"]);
    assert_eq!(home.job(&id)["state"], "available");
    home.install("misbehave");
    assert_eq!(home.job_in(&id, "completed")["attempt"], 1);
    assert!(row(&home, "misbehave").is_some(), "{:?}", plugins(&home));
}

#[test]
fn a_file_is_not_read_before_it_is_whole() {
    let home = Home::with(SANDHOG, &["table"]);
    let _runner = home.start();
    let whole = fs::read(guest("misbehave")).unwrap();
    let place = home.plugins().join("misbehave.wasm");
    let mut file = fs::File::create(&place).unwrap();
    file.write_all(&whole[..whole.len() / 2]).unwrap();
    let problem = wait::until("the half file to be seen", SOON, || row(&home, "misbehave"));
    assert_eq!(problem["status"], "unusable", "{problem}");
    file.write_all(&whole[whole.len() / 2..]).unwrap();
    drop(file);
    assert_eq!(
        home.run(&["enqueue", "echo", "x", "--wait"])
            .exits(0)
            .text(),
        "x"
    );
}

#[test]
fn a_bad_file_never_takes_the_place_of_a_good_one() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let _runner = home.start();
    let place = home.plugins().join("misbehave.wasm");
    let good = fs::read(&place).unwrap();
    let digest = row(&home, "misbehave").unwrap()["digest"].clone();
    let half = good[..good.len() / 2].to_vec();
    for bad in [
        b"no component".to_vec(),
        Vec::new(),
        b"\0asm\x01\0\0\0".to_vec(),
        half,
    ] {
        fs::write(&place, &bad).unwrap();
        let what = format!("{} bad bytes to be noticed", bad.len());
        wait::until(&what, SOON, || {
            let rows = plugins(&home);
            rows.iter()
                .any(|row| row["status"] == "unusable")
                .then_some(())
        });
        let job = home.json(&["enqueue", "echo", "x", "--wait"]);
        assert_eq!(
            (&job["state"], &job["digest"]),
            (&"completed".into(), &digest)
        );
    }
    fs::write(&place, &good).unwrap();
    wait::until("the good file to be taken", SOON, || {
        let rows = plugins(&home);
        rows.iter().all(|row| row["status"] == "ok").then_some(())
    });
}

#[test]
fn jobs_of_a_plugin_that_is_taken_away_wait_for_it() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let _runner = home.start();
    let _ = home.run(&["enqueue", "echo", "x", "--wait"]).exits(0);
    fs::remove_file(home.plugins().join("misbehave.wasm")).unwrap();
    wait::until("the plugin to be gone", SOON, || {
        plugins(&home).is_empty().then_some(())
    });
    let id = home.enqueue(&["echo", "waits"]);
    let queues = home.run(&["queue", "ls", "-o", "json"]).exits(0).text();
    assert!(
        queues.contains("echo"),
        "the queue does not say what it waits for: {queues}"
    );
    assert_eq!(home.job(&id)["attempt"], 0);
    home.install("misbehave");
    assert_eq!(home.job_in(&id, "completed")["attempt"], 1);
}

#[test]
fn a_kind_served_by_two_plugins_is_refused_naming_both() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let _runner = home.start();
    fs::copy(guest("misbehave"), home.plugins().join("second.wasm")).unwrap();
    let second = wait::until("the second file to be seen", SOON, || {
        let rows = plugins(&home);
        rows.into_iter().find(|row| row["status"] == "unusable")
    });
    let cause = second["cause"].as_str().unwrap();
    assert!(cause.contains("misbehave"), "{second}");
    assert!(
        second["file"].as_str().unwrap().ends_with("second.wasm"),
        "{second}"
    );
    assert_eq!(
        home.run(&["enqueue", "echo", "x", "--wait"])
            .exits(0)
            .text(),
        "x"
    );
}

#[test]
fn a_second_start_compiles_nothing() {
    let home = Home::with(SANDHOG, &["misbehave", "table"]);
    let runner = home.start();
    wait::until("both plugins", SOON, || {
        (plugins(&home).len() == 2).then_some(())
    });
    assert!(
        plugins(&home).iter().all(|row| row["cached"] == false),
        "{:?}",
        plugins(&home)
    );
    runner.kill9();
    let _runner = home.start();
    assert!(
        plugins(&home).iter().all(|row| row["cached"] == true),
        "{:?}",
        plugins(&home)
    );
}
