//! T16: a copy of the directory, taken with `cp` while the runner works.

use std::{
    process::Command,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use sandhog_kit::{Home, long};

use crate::SANDHOG;

/// Enqueues until told to stop; what was acknowledged is in the list.
fn enqueue(home: &Home, acknowledged: &Mutex<Vec<String>>, stop: &AtomicBool) {
    let payload = "x".repeat(4_000);
    while !stop.load(Ordering::Acquire) {
        for kind in ["echo", "permanent"] {
            let id = home.enqueue(&[kind, &payload]);
            acknowledged.lock().expect("a list").push(id);
        }
    }
}

/// Copies and opens the copy: what was acknowledged before must be in it. Whether it opened.
fn copied(home: &Home, before: &[String]) -> bool {
    let other = Home::new(SANDHOG);
    let cp = Command::new("cp")
        .arg("-r")
        .args([home.data(), other.data()])
        .output();
    // A spare that was renamed meanwhile is missing from the copy, and `cp` says so.
    let _ = cp.expect("cp can be run");
    let answer = other.run(&["job", "ls", "--limit", "1", "-o", "json"]);
    if answer.code != 0 {
        let clear = answer.stderr.contains("missing") || answer.stderr.contains("log check");
        assert!(clear, "{}", answer.stderr);
        return false;
    }
    let (rows, _) = other.walk(&["job", "ls"], "1000");
    let there: Vec<&str> = rows.iter().filter_map(|row| row["id"].as_str()).collect();
    let lost: Vec<_> = before
        .iter()
        .filter(|id| !there.contains(&id.as_str()))
        .collect();
    assert!(lost.is_empty(), "not in the copy: {lost:?}");
    let _ = other.run(&["log", "check"]).exits(0);
    true
}

#[test]
fn t16_a_copy_of_a_working_runners_directory_opens_elsewhere() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config("[store]\nsegment_size = \"64KiB\"\n");
    let runner = home.start();
    let (acknowledged, stop) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    let rounds = if long() { 30 } else { 4 };
    let refused = thread::scope(|scope| {
        scope.spawn(|| enqueue(&home, &acknowledged, &stop));
        let round = |_| {
            let before = acknowledged.lock().expect("a list").clone();
            let first = copied(&home, &before);
            // A copy that met a segment on its way out is refused; the next one is whole.
            assert!(first || copied(&home, &before), "two copies were refused");
            usize::from(!first)
        };
        let refused: usize = (0..rounds).map(round).sum();
        stop.store(true, Ordering::Release);
        refused
    });
    assert!(runner.terminate().success());
    if std::env::var_os("SANDHOG_TABLE").is_some() {
        println!("T16: {rounds} copies, {refused} refused and taken again, nothing missing");
    }
}
