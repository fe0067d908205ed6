//! T14: a job that stays for ten years among many that go.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use sandhog_kit::{Home, long, wait};

use crate::SANDHOG;

/// Bytes of a small job with its one attempt, as the log keeps it.
const LIVE: u64 = 400;
/// Jobs that stay listed after their end.
const KEPT: u64 = 100;

/// Bytes of all files below a directory.
fn bytes(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).expect("a directory can be read");
    let of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(about) if about.is_dir() => bytes(&entry.path()),
        Ok(about) => about.len(),
        // It went between the listing and the look.
        Err(_) => 0,
    };
    entries.flatten().map(of).sum()
}

#[test]
fn t14_a_job_delayed_for_years_does_not_hold_the_space_of_those_after_it() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let (jobs, segment) = if long() {
        (1_000_000, 16 << 20)
    } else {
        (5_000, 64 << 10)
    };
    home.write_config(&format!(
        "[store]\nsegment_size = {segment}\nmax_completed = {KEPT}\n"
    ));
    let runner = home.start();
    let stays = home.enqueue(&["echo", "stays", "--in", "3650d"]);
    let line = |n| format!("{{\"payload\":\"{n}\"}}\n");
    let lines: String = (0..jobs).map(line).collect();
    let file = home.folder().join("bulk.ndjson");
    fs::write(&file, lines).expect("a file");
    let start = Instant::now();
    let file = file.to_str().expect("UTF-8");
    let _ = home.run(&["enqueue", "echo", "--bulk", file]).exits(0);
    let open = |state: &&str| {
        let answer = home.run(&["job", "ls", "--state", state, "--limit", "1", "-o", "json"]);
        !answer.exits(0).rows().is_empty()
    };
    wait::until("all to end", Duration::from_secs(1_800), || {
        (!["available", "running"].iter().any(open)).then_some(())
    });
    let took = start.elapsed();
    let bound = 10 * LIVE * (KEPT + 1) + 2 * segment;
    let used = || bytes(&home.data().join("logs")) + bytes(&home.data().join("dead"));
    let mut last = 0;
    let began = Instant::now();
    wait::until(
        "the log to settle or half a minute",
        Duration::from_secs(60),
        || {
            last = used();
            (last <= bound || began.elapsed() > Duration::from_secs(30)).then_some(())
        },
    );
    assert!(
        last <= bound,
        "{last} bytes after {jobs} jobs, allowed are {bound}"
    );
    assert!(runner.terminate().success());
    let runner = home.start();
    let ready = runner.ready_after;
    assert!(ready < Duration::from_secs(5), "{ready:?} to start");
    assert_eq!(home.job(&stays)["state"], "scheduled");
    if std::env::var_os("SANDHOG_TABLE").is_some() {
        println!(
            "T14: {jobs} jobs in {took:?}, {last} bytes left of {bound} allowed, started in {ready:?}"
        );
    }
}
