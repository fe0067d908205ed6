//! T33: attempts ended in mid-call again and again, by a kill, a cancel or a shutdown of the runner.

use std::{collections::BTreeMap, fs, time::Duration};

use sandhog_kit::{Home, long, wait};

use crate::SANDHOG;

/// Attempts of one round; the runner is stopped in mid-call in every fourth round.
const ROUND: usize = 40;
const SOON: Duration = Duration::from_secs(60);

/// What runs until it is ended: in its own code, in a wait of the host's, in the contract's wait, and
/// looking whether it shall end.
const KINDS: [&str; 4] = ["loop", "sleep", "rest", "heed"];

fn enqueue(home: &Home) -> Vec<String> {
    let line = |n: usize| {
        let kind = KINDS[n % KINDS.len()];
        format!("{{\"kind\":\"{kind}\",\"payload\":\"x\",\"headers\":{{\"ms\":\"600000\"}}}}\n")
    };
    let file = home.folder().join("round.ndjson");
    fs::write(&file, (0..ROUND).map(line).collect::<String>()).expect("a file");
    let words = [
        "enqueue",
        "--bulk",
        file.to_str().expect("UTF-8"),
        "-o",
        "json",
    ];
    let ids = home.run(&words).exits(0).rows();
    ids.iter()
        .map(|row| row["id"].as_str().expect("an id").to_owned())
        .collect()
}

fn in_state(home: &Home, state: &str) -> u64 {
    let jobs = &home.json(&["stats"])["store"]["jobs"];
    jobs[state].as_u64().unwrap_or(0)
}

fn until_running(home: &Home) {
    wait::until("the round to run", SOON, || {
        (in_state(home, "running") >= ROUND as u64 / 2).then_some(())
    });
}

#[test]
fn t33_kills_cancels_and_shutdowns_in_mid_call() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config(
        "[runner]\nworkers = 4\nslots = 10\ncancel_grace = \"50ms\"\nshutdown_grace = \"100ms\"\n\
         memory_budget = \"64GiB\"\n[limits]\ntimeout = \"1h\"\n",
    );
    let mut runner = home.start();
    let rounds = if long() { 10_000 / ROUND } else { 4 };
    let mut jobs = Vec::new();
    for round in 0..rounds {
        let ids = enqueue(&home);
        until_running(&home);
        if round % 4 == 3 {
            let status = runner.terminate();
            assert_eq!(status.code(), Some(0), "a stop in mid-call");
            // Those that were put back run again, and are ended now.
            runner = home.start();
            until_running(&home);
        }
        let (first, rest) = ids.split_at(ROUND / 2);
        for (verb, ids) in [("kill", first), ("cancel", rest)] {
            let mut words = vec!["job", verb];
            words.extend(ids.iter().map(String::as_str));
            let _ = home.run(&words).exits(0);
        }
        jobs.extend(ids);
        wait::until("the round to end", SOON, || {
            (in_state(&home, "cancelled") == jobs.len() as u64).then_some(())
        });
    }
    assert!(runner.ended().is_none(), "{}", runner.said());
    let said = runner.said();
    for bad in ["panicked", "a run broke", "cannot enter component instance"] {
        assert!(!said.contains(bad), "{bad} in {said}");
    }
    let mut failures: BTreeMap<String, usize> = BTreeMap::new();
    let (rows, _) = home.walk(&["job", "ls", "--state", "cancelled"], "500");
    for row in &rows {
        let code = row["failure"]["kind"].as_str().unwrap_or("none").to_owned();
        *failures.entry(code).or_default() += 1;
    }
    assert_eq!(rows.len(), jobs.len(), "{failures:?}");
    // The runner is as well as before.
    let echo = home.run(&["enqueue", "echo", "still here", "--wait"]);
    assert_eq!(echo.exits(0).text(), "still here");
    if std::env::var_os("SANDHOG_TABLE").is_some() {
        println!(
            "T33: {} attempts ended in mid-call: {failures:?}",
            jobs.len()
        );
    }
}
