//! A piece of work that makes the store do all it does, and what must be true after it was cut off.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    time::Duration,
};

use sandhog_kit::{Home, wait};
use serde_json::Value;

use super::strace::Traced;

/// Jobs of one enqueue.
const BULK: usize = 14;
/// Bytes of a large payload: a few fill a segment.
const LARGE: usize = 9_000;
/// States in which a job waits for something of its own to happen.
const OPEN: [&str; 3] = ["available", "running", "retryable"];

/// What was acknowledged.
#[derive(Debug, Default)]
pub(super) struct Promised {
    /// Jobs that must be there.
    pub(super) kept: BTreeSet<String>,
    /// Jobs whose deletion was acknowledged.
    removed: BTreeSet<String>,
    /// Jobs whose deletion was asked for.
    doubtful: BTreeSet<String>,
}

fn ids(text: &str) -> impl Iterator<Item = String> {
    text.lines()
        .map(str::trim)
        .filter(|line| line.len() == 26)
        .map(str::to_owned)
}

/// Enqueues many; gives what was acknowledged.
fn bulk(home: &Home, promised: &mut Promised) {
    let line = |n: usize| {
        let kind = [
            "echo",
            "echo",
            "permanent",
            "echo",
            "spawn",
            "echo",
            "discard",
        ][n % 7];
        let payload = "x".repeat(if n.is_multiple_of(2) { LARGE } else { 10 });
        format!("{{\"kind\":\"{kind}\",\"payload\":\"{payload}\"}}\n")
    };
    let lines: String = (0..BULK).map(line).collect();
    let file = home.folder().join("bulk.ndjson");
    fs::write(&file, lines).expect("a file");
    let answer = home.run(&["enqueue", "--bulk", file.to_str().expect("UTF-8")]);
    promised.kept.extend(ids(&answer.text()));
}

/// Waits until nothing but the delayed job is open, or the runner has ended.
fn settled(home: &Home, traced: &mut Traced) {
    wait::until("the jobs to end", Duration::from_secs(120), || {
        if traced.ended().is_some() {
            return Some(());
        }
        let open = |state: &&str| {
            let answer = home.run(&["job", "ls", "--state", state, "--limit", "1", "-o", "json"]);
            answer.code == 0 && answer.rows().is_empty()
        };
        OPEN.iter().all(open).then_some(())
    });
}

/// Enqueues, rolls, buries, requeues, deletes and, with a job that stays among many that go,
/// frees segments. Ends early when the runner does.
pub(super) fn work(home: &Home, traced: &mut Traced) -> Promised {
    let mut promised = Promised::default();
    let later = home.run(&["enqueue", "echo", "stays", "--in", "87600h"]);
    promised.kept.extend(ids(&later.text()));
    for _ in 0..2 {
        bulk(home, &mut promised);
        settled(home, traced);
        if traced.ended().is_some() {
            return promised;
        }
        let letters = home.run(&["dead", "ls", "-o", "json"]);
        let letters = if letters.code == 0 {
            letters.rows()
        } else {
            Vec::new()
        };
        let id = |letter: &Value| letter["id"].as_str().expect("an id").to_owned();
        if let [one, other, ..] = &letters[..] {
            let _ = home.run(&["dead", "retry", &id(one)]);
            promised.kept.remove(&id(other));
            promised.doubtful.insert(id(other));
            if home.run(&["dead", "rm", &id(other)]).code == 0 {
                promised.removed.insert(id(other));
            }
        }
    }
    settled(home, traced);
    promised
}

/// Starts a runner on what was left and looks whether every promise is kept.
#[track_caller]
pub(super) fn audit(home: &Home, promised: &Promised, told: &str) {
    let runner = home.start();
    let bound = Duration::from_secs(60);
    let rows = wait::until("the rest to end", bound, || {
        let (rows, _) = home.walk(&["job", "ls"], "1000");
        let open = |row: &Value| OPEN.contains(&row["state"].as_str().expect("a state"));
        (!rows.iter().any(open)).then_some(rows)
    });
    let text = |row: &Value, key: &str| row[key].as_str().expect("a text").to_owned();
    let states: BTreeMap<String, String> = rows
        .iter()
        .map(|row| (text(row, "id"), text(row, "state")))
        .collect();
    assert_eq!(states.len(), rows.len(), "{told}: a job is listed twice");
    for id in &promised.kept {
        let state = states
            .get(id)
            .unwrap_or_else(|| panic!("{told}: {id} is lost"));
        let kind = rows
            .iter()
            .find(|row| row["id"] == id.as_str())
            .expect("a row");
        let wanted: &[&str] = match text(kind, "kind").as_str() {
            "permanent" => &["dead"],
            "discard" => &["discarded"],
            _ => &["completed", "scheduled"],
        };
        assert!(wanted.contains(&state.as_str()), "{told}: {id} is {state}");
    }
    for id in &promised.removed {
        assert!(!states.contains_key(id), "{told}: deleted {id} is back");
    }
    let letters = home
        .run(&["dead", "ls", "--limit", "1000", "-o", "json"])
        .exits(0)
        .rows();
    let letters: BTreeSet<String> = letters.iter().map(|row| text(row, "id")).collect();
    let dead = states.iter().filter(|(_, state)| *state == "dead");
    let dead: BTreeSet<String> = dead.map(|(id, _)| id.clone()).collect();
    assert_eq!(letters, dead, "{told}: dead jobs and letters");
    assert!(runner.terminate().success(), "{told}");
    let report = home.run(&["log", "check", "-o", "json"]).exits(0).json();
    assert_eq!(
        report["findings"].as_array().map(Vec::len),
        Some(0),
        "{told}: {report}"
    );
}
