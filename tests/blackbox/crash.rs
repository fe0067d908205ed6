//! `kill -9` under load, again and again: nothing acknowledged is lost, nothing ends twice.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use sandhog_kit::{Home, Ledger, Runner, long, millis, wait};
use serde_json::Value;

use crate::SANDHOG;

/// Clients that enqueue at a time.
const CLIENTS: usize = 4;
/// Jobs in one enqueue of a client that enqueues many.
const BULK: usize = 20;
/// Longest time from a start to the first answer.
const RESTART: Duration = Duration::from_secs(2);

/// Numbers that differ from run to run; the seed is in every message.
struct Chance(u64);

impl Chance {
    fn seeded() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let given = std::env::var("SANDHOG_SEED")
            .ok()
            .and_then(|seed| seed.parse().ok());
        Self(given.unwrap_or_else(|| now.map_or(1, |now| now.as_nanos() as u64 | 1)))
    }

    /// A number from `least` up to and without `end` (xorshift64).
    fn between(&mut self, least: u64, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        least + self.0 % (end - least)
    }
}

/// Enqueues until told to stop or until nobody answers, noting what was acknowledged.
fn client(home: &Home, number: usize, bulk: &Path, ledger: &Ledger, stop: &AtomicBool) {
    while !stop.load(Ordering::Acquire) {
        let answer = if number == 0 {
            home.run(&["enqueue", "echo", "one at a time"])
        } else {
            let file = bulk.to_str().expect("temporary paths are UTF-8");
            home.run(&["enqueue", "echo", "--bulk", file])
        };
        // Cut off by the kill, the answer may be part of the ids: each of those was acknowledged.
        let text = answer.text();
        ledger.note(text.lines().map(str::trim).filter(|line| line.len() == 26));
        if answer.code != 0 {
            return;
        }
    }
}

/// One round: a runner, clients, a kill.
fn round(home: &Home, runner: Runner, bulk: &Path, ledger: &Ledger, time: Duration) {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for number in 0..CLIENTS {
            let stop = &stop;
            scope.spawn(move || client(home, number, bulk, ledger, stop));
        }
        wait::let_run(time);
        // Told first, so that no client of this round finds the directory free and opens it alone.
        stop.store(true, Ordering::Release);
        runner.kill9();
    });
}

fn bulk_file(home: &Home) -> PathBuf {
    let file = home.folder().join("bulk.ndjson");
    let lines: Vec<String> = (0..BULK)
        .map(|n| format!("{{\"payload\":\"bulk {n}\"}}\n"))
        .collect();
    fs::write(&file, lines.concat()).expect("the bulk file can be written");
    file
}

/// Every job by id; an id listed twice is a failure.
fn listed(home: &Home) -> BTreeMap<String, Value> {
    let (rows, _) = home.walk(&["job", "ls"], "1000");
    let count = rows.len();
    let id = |row: &Value| row["id"].as_str().expect("a row has an id").to_owned();
    let jobs: BTreeMap<String, Value> = rows.into_iter().map(|row| (id(&row), row)).collect();
    assert_eq!(jobs.len(), count, "an id is listed twice");
    jobs
}

/// How often the log accepts and ends each job.
fn told(home: &Home) -> (BTreeMap<String, u32>, BTreeMap<String, u32>) {
    let (mut accepted, mut ended) = (BTreeMap::new(), BTreeMap::new());
    for line in home.run(&["log", "dump", "-o", "json"]).exits(0).rows() {
        let event = &line["event"];
        if let Some(job) = event.get("Enqueued") {
            *accepted.entry(job["id"].to_string()).or_default() += 1;
        }
        let Some(settled) = event.get("Settled") else {
            continue;
        };
        let verdict = &settled["verdict"];
        let last = verdict == "Dead"
            || ["Completed", "Discarded"]
                .iter()
                .any(|v| verdict.get(v).is_some());
        if last {
            *ended.entry(settled["id"].to_string()).or_default() += 1;
        }
    }
    (accepted, ended)
}

#[test]
fn nothing_acknowledged_is_lost_and_nothing_ends_twice() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let mut chance = Chance::seeded();
    let seed = chance.0;
    let rounds = if long() { 200 } else { 50 };
    let path = home.folder().join("ledger");
    let (ledger, bulk) = (Ledger::new(&path), bulk_file(&home));
    // Compiles the plugin, so that no later start has to.
    home.start().kill9();
    for number in 0..rounds {
        let runner = home.start();
        assert!(
            runner.ready_after < RESTART,
            "round {number}: {:?} to start (seed {seed})",
            runner.ready_after
        );
        let time = Duration::from_millis(chance.between(5, 300));
        round(&home, runner, &bulk, &ledger, time);
    }
    let runner = home.start();
    let (ids, twice) = Ledger::read(&path);
    assert_eq!(twice, [""; 0], "ids given twice (seed {seed})");
    assert!(
        ids.len() > rounds,
        "only {} jobs were acknowledged (seed {seed})",
        ids.len()
    );
    let open = ["scheduled", "available", "running", "retryable"];
    wait::until("all jobs to end", Duration::from_secs(300), || {
        let row = |state: &&str| {
            home.run(&["job", "ls", "--state", state, "--limit", "1", "-o", "json"])
                .exits(0)
                .rows()
        };
        open.iter().all(|state| row(state).is_empty()).then_some(())
    });
    let jobs = listed(&home);
    let lost: Vec<&String> = ids.iter().filter(|id| !jobs.contains_key(*id)).collect();
    assert!(lost.is_empty(), "lost: {lost:?} (seed {seed})");
    // One that ran at four of the kills is taken for the reason of them.
    let poison = |job: &&Value| job["state"] == "dead" && job["failure"]["kind"] == "lost";
    let poisonous = jobs.values().filter(poison).count();
    let completed = jobs.values().filter(|job| job["state"] == "completed");
    assert_eq!(completed.count() + poisonous, jobs.len(), "(seed {seed})");
    assert!(runner.terminate().success());
    let (accepted, ended) = told(&home);
    assert_eq!(accepted.len(), jobs.len(), "(seed {seed})");
    assert_eq!(ended.len(), jobs.len(), "(seed {seed})");
    let twice = |counts: &BTreeMap<String, u32>| counts.values().filter(|n| **n != 1).count();
    assert_eq!(
        (twice(&accepted), twice(&ended)),
        (0, 0),
        "accepted or ended twice (seed {seed})"
    );
    if std::env::var_os("SANDHOG_TABLE").is_some() {
        println!(
            "T1: {rounds} rounds, {} acknowledged, {} jobs, 0 lost, 0 ended twice, {poisonous} taken for poison, seed {seed}",
            ids.len(),
            jobs.len()
        );
    }
}

#[test]
fn a_job_in_flight_runs_again_without_losing_an_attempt() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let runner = home.start();
    let id = home.enqueue(&["sleep", "x", "--header", "ms=1500", "--max-attempts", "1"]);
    let _ = home.job_in(&id, "running");
    runner.kill9();
    let _runner = home.start();
    let job = home.job_in(&id, "completed");
    assert_eq!(
        (&job["attempt"], &job["losses"]),
        (&1.into(), &1.into()),
        "{job}"
    );
}

#[test]
fn a_job_that_takes_its_runner_down_four_times_is_buried_as_poison() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let id = home.enqueue(&["sleep", "x", "--header", "ms=20000"]);
    for _ in 0..4 {
        let runner = home.start();
        let _ = home.job_in(&id, "running");
        runner.kill9();
    }
    let _runner = home.start();
    let job = home.job_in(&id, "dead");
    assert_eq!(
        (&job["failure"]["kind"], &job["losses"]),
        (&"lost".into(), &4.into()),
        "{job}"
    );
}

#[test]
fn a_runner_killed_before_its_first_job_starts_again() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    for _ in 0..3 {
        home.start().kill9();
    }
    let _runner = home.start();
    let _ = home.run(&["enqueue", "echo", "x", "--wait"]).exits(0);
}

/// T19: all that ran are back with the next start, and have lost no attempt.
#[test]
fn t19_many_jobs_in_flight_all_come_back() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config("[runner]\nworkers = 2\nslots = 25\nmemory_budget = \"64GiB\"\n");
    let runner = home.start();
    let ids: Vec<String> = (0..50)
        .map(|_| home.enqueue(&["sleep", "x", "--header", "ms=30000", "--max-attempts", "1"]))
        .collect();
    let running = |home: &Home| {
        wait::until("all to run", Duration::from_secs(60), || {
            let jobs = &home.json(&["stats"])["store"]["jobs"];
            (jobs["running"] == 50).then_some(())
        });
    };
    running(&home);
    runner.kill9();
    let runner = home.start();
    running(&home);
    for id in &ids {
        let job = home.job(id);
        assert_eq!(
            (&job["attempt"], &job["losses"]),
            (&1.into(), &1.into()),
            "{job}"
        );
    }
    drop(runner);
}

/// T18: a runner that stands still for longer than its leases hold. Nobody else can have its directory, so
/// what it lost it takes up itself: each job ends once, and a queue's limit holds all the while.
#[test]
fn t18_a_runner_that_stands_still_ends_each_job_once() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config(
        "[runner]\nlease = \"1s\"\nworkers = 2\nslots = 4\n[queue.one]\nconcurrency = 1\n",
    );
    let runner = home.start();
    // The queue rests but for a moment, so that there is always one that did not run yet, however slow the machine is.
    let _ = home.run(&["queue", "pause", "one"]).exits(0);
    let ids: Vec<String> = (0..4)
        .map(|_| home.enqueue(&["sleep", "x", "--header", "ms=2000", "--queue", "one"]))
        .collect();
    let running = |count: u64| {
        wait::until(&format!("{count} to run"), Duration::from_secs(60), || {
            let runs = home.json(&["stats"])["store"]["jobs"]["running"].as_u64();
            (runs.unwrap_or(0) == count).then_some(())
        });
    };
    for _ in 0..3 {
        let _ = home.run(&["queue", "resume", "one"]).exits(0);
        running(1);
        let _ = home.run(&["queue", "pause", "one"]).exits(0);
        runner.signal("STOP");
        // Three times as long as a lease holds.
        wait::let_run(Duration::from_secs(3));
        runner.signal("CONT");
        running(0);
    }
    let _ = home.run(&["queue", "resume", "one"]).exits(0);
    let mut spans: Vec<(i64, i64)> = Vec::new();
    for id in &ids {
        let job = home.job_in(id, "completed");
        assert!(job["losses"].as_u64().expect("losses") <= 1, "{job}");
        let ended: Vec<&Value> = job["attempts"]
            .as_array()
            .expect("attempts")
            .iter()
            .filter(|one| one["failure"].is_null())
            .collect();
        assert_eq!(ended.len(), 1, "{job}");
        let at = |field: &str| millis(&ended[0][field]);
        spans.push((at("started_at"), at("ended_at")));
    }
    spans.sort_unstable();
    for pair in spans.windows(2) {
        assert!(
            pair[0].1 <= pair[1].0,
            "two of one queue at a time: {spans:?}"
        );
    }
    assert!(runner.terminate().success());
    let (accepted, ended) = told(&home);
    assert_eq!((accepted.len(), ended.len()), (4, 4));
    assert!(ended.values().all(|times| *times == 1), "{ended:?}");
}
