//! The command line: exit codes, JSON shapes, lists in pages, many jobs at once.

use std::{fs, time::Instant};

use sandhog_kit::{Home, plugin};
use serde_json::Value;

use crate::SANDHOG;

#[test]
fn what_is_typed_wrong_is_a_usage_error_that_says_so() {
    let home = Home::new(SANDHOG);
    let wrong: [(&[&str], &str); 9] = [
        (&["strat"], "strat"),
        (&["enqueue"], "KIND"),
        (&["enqueue", "echo", "x", "--file", "y"], "--file"),
        (&["enqueue", "echo", "x", "--in", "soon"], "soon"),
        (
            &["enqueue", "echo", "x", "--header", "no-equals-sign"],
            "no-equals-sign",
        ),
        (&["enqueue", "echo", "x", "--max-attempts", "0"], "0"),
        (&["job", "show", "not-an-id"], "not-an-id"),
        (&["job", "ls", "--limit", "0"], "0"),
        (&["job", "ls", "--state", "happy"], "happy"),
    ];
    for (words, named) in wrong {
        let answer = home.run(words).exits(2);
        assert!(
            answer.stdout.is_empty(),
            "{words:?} wrote to stdout: {}",
            answer.text()
        );
        assert!(
            answer.stderr.contains(named),
            "{words:?}: {}",
            answer.stderr
        );
    }
    assert!(
        !home.data().exists(),
        "a usage error made the data directory"
    );
}

#[test]
fn what_is_not_there_is_told_apart_from_what_failed() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let _runner = home.start();
    let nobody = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    for words in [
        ["job", "show", nobody],
        ["job", "logs", nobody],
        ["dead", "show", nobody],
        ["dead", "retry", nobody],
    ] {
        let answer = home.run(&words).exits(4);
        assert!(
            answer.stderr.contains(nobody),
            "{words:?}: {}",
            answer.stderr
        );
    }
    let _ = home
        .run(&["enqueue", "echo", "--file", "no/such/file"])
        .exits(2);
    let late = home.run(&[
        "enqueue",
        "sleep",
        "x",
        "--header",
        "ms=5000",
        "--wait",
        "--timeout",
        "200ms",
    ]);
    let _ = late.exits(5);
}

#[test]
fn a_job_has_its_fields_and_one_value_is_all_of_stdout() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let _runner = home.start();
    let fresh = home.json(&["enqueue", "echo", "x"]);
    assert_eq!(fresh["id"].as_str().map(str::len), Some(26), "{fresh}");
    let done = home.json(&["enqueue", "echo", "x", "--wait"]);
    let dead = home
        .run(&["enqueue", "permanent", "x", "--wait", "-o", "json"])
        .exits(1)
        .json();
    let rows = home.run(&["job", "ls", "-o", "json"]).exits(0).rows();
    let letters = home.run(&["dead", "ls", "-o", "json"]).exits(0).rows();
    let shown = home.job(done["id"].as_str().unwrap());
    for job in rows.iter().chain(&letters).chain([&done, &dead, &shown]) {
        for field in [
            "id",
            "kind",
            "queue",
            "state",
            "attempt",
            "max_attempts",
            "failure",
            "digest",
        ] {
            assert!(job.get(field).is_some(), "no {field} in {job}");
        }
    }
    for failure in [&dead["failure"], &letters[0]["failure"]] {
        assert!(
            failure["kind"].is_string() && failure["cause"].is_string(),
            "{failure}"
        );
        assert!(failure.get("hint").is_some(), "{failure}");
    }
    assert_eq!(
        (&done["failure"], &done["max_attempts"]),
        (&Value::Null, &25.into())
    );
}

#[test]
fn every_list_is_an_array_even_when_there_is_nothing() {
    let home = Home::new(SANDHOG);
    let _runner = home.start();
    for words in [
        ["job", "ls"],
        ["queue", "ls"],
        ["dead", "ls"],
        ["plugin", "ls"],
    ] {
        let rows = home
            .run(&[words[0], words[1], "-o", "json"])
            .exits(0)
            .rows();
        assert!(rows.is_empty(), "{words:?}: {rows:?}");
    }
    for words in [["stats", "-o"], ["log check", "-o"]] {
        let mut all: Vec<&str> = words[0].split(' ').collect();
        all.extend([words[1], "json"]);
        assert!(home.run(&all).exits(0).json().is_object(), "{words:?}");
    }
}

#[test]
fn a_list_is_walked_page_by_page_without_gaps_or_repeats() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let _runner = home.start();
    let mut ids: Vec<String> = (0..23)
        .map(|n| home.enqueue(&["echo", &n.to_string()]))
        .collect();
    ids.reverse();
    for (limit, expected) in [("5", 5), ("23", 1), ("10", 3)] {
        let (rows, pages) = home.walk(&["job", "ls"], limit);
        let walked: Vec<&str> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
        assert_eq!(walked, ids, "by {limit}");
        assert_eq!(pages, expected, "by {limit}");
    }
    let first = home
        .run(&["job", "ls", "--limit", "5", "-o", "json"])
        .exits(0);
    let cursor = first.cursor().unwrap();
    // What comes in between belongs to an earlier page.
    let _ = home.enqueue(&["echo", "between"]);
    let next = home
        .run(&[
            "job", "ls", "--limit", "5", "--cursor", &cursor, "-o", "json",
        ])
        .exits(0)
        .rows();
    assert_eq!(next[0]["id"], ids[5].as_str());
    let _ = home.run(&["job", "ls", "--cursor", "a cursor"]).exits(2);
}

#[test]
fn dead_letters_are_walked_page_by_page() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let _runner = home.start();
    let ids: Vec<String> = (0..7).map(|_| home.enqueue(&["permanent", "x"])).collect();
    for id in &ids {
        let _ = home.job_in(id, "dead");
    }
    let (rows, pages) = home.walk(&["dead", "ls"], "3");
    let mut walked: Vec<&str> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
    walked.sort_unstable();
    assert_eq!(
        (walked, pages),
        (ids.iter().map(String::as_str).collect(), 3)
    );
}

#[test]
fn many_jobs_are_enqueued_at_once() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let _runner = home.start();
    let file = home.folder().join("many.ndjson");
    let line = |n: usize| format!("{{\"payload\": {{\"n\": {n}}}, \"priority\": 1}}\n");
    fs::write(&file, (0..1_200).map(line).collect::<String>()).unwrap();
    let start = Instant::now();
    let answer = home
        .run(&["enqueue", "echo", "--bulk", file.to_str().unwrap()])
        .exits(0);
    let took = start.elapsed();
    let ids: Vec<String> = answer.text().lines().map(str::to_owned).collect();
    assert_eq!(ids.len(), 1_200, "after {took:?}: {}", answer.stderr);
    let sorted = ids.windows(2).all(|pair| pair[0] < pair[1]);
    assert!(sorted, "the ids are not in the order of the lines");
    let last = home.job_in(&ids[1_199], "completed");
    assert_eq!(
        (&last["result"]["n"], &last["priority"]),
        (&1_199.into(), &1.into()),
        "{last}"
    );
}

#[test]
fn a_bad_line_among_many_enqueues_nothing() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let _runner = home.start();
    let file = home.folder().join("many.ndjson");
    for bad in [
        "{\"payload\": 1",
        "[]",
        "{\"pay-load\": 1}",
        "{\"payload\": 1, \"priority\": \"high\"}",
    ] {
        fs::write(
            &file,
            format!("{{\"payload\": 1}}\n{bad}\n{{\"payload\": 2}}\n"),
        )
        .unwrap();
        let answer = home
            .run(&["enqueue", "echo", "--bulk", file.to_str().unwrap()])
            .exits(2);
        assert!(
            answer.stderr.contains('2'),
            "{bad}: the line is not named: {}",
            answer.stderr
        );
        let rows = home.run(&["job", "ls", "-o", "json"]).exits(0).rows();
        assert!(rows.is_empty(), "{bad}: {rows:?}");
    }
}

#[test]
fn a_payload_over_its_bound_is_refused() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let _runner = home.start();
    let answer = home
        .run_with(&["enqueue", "echo", "--stdin"], &vec![b'x'; (1 << 20) + 1])
        .exits(2);
    assert!(answer.stderr.contains("payload"), "{}", answer.stderr);
    let bytes = vec![b'x'; 1 << 20];
    let answer = home
        .run_with(&["enqueue", "echo", "--stdin", "--wait"], &bytes)
        .exits(0);
    assert_eq!(answer.stdout.len(), 1 << 20);
}

#[test]
fn settings_that_cannot_be_are_refused_with_their_place() {
    let home = Home::new(SANDHOG);
    let wrong = [
        ("[runner]\nslot = 3\n", "slot"),
        ("[runner]\nslots = 0\n", "slots"),
        ("[runner]\nslots = \"many\"\n", "slots"),
        ("[limits]\nmemory = \"1TiB\"\n", "memory"),
        ("[kind.echo]\nbackoff = \"sometimes\"\n", "backoff"),
    ];
    for (text, key) in wrong {
        home.write_config(text);
        for words in [&["config", "check"][..], &["start"]] {
            let answer = home.run(words).exits(2);
            let said = &answer.stderr;
            assert!(
                said.contains(key) && said.contains("sandhog.toml") && said.contains('2'),
                "{text}: {said}"
            );
        }
    }
    home.write_config("[runner]\nslots = 3\n");
    let _ = home.run(&["config", "check"]).exits(0);
}

#[test]
fn a_component_is_checked_and_tried_without_a_runner() {
    let home = Home::new(SANDHOG);
    let good = plugin("table");
    let good = good.to_str().unwrap();
    let _ = home.run(&["plugin", "check", good]).exits(0);
    let bad = home.folder().join("bad.wasm");
    fs::write(&bad, "no component").unwrap();
    let answer = home
        .run(&["plugin", "check", bad.to_str().unwrap()])
        .exits(1);
    let said = format!("{}{}", answer.text(), answer.stderr);
    assert!(said.contains("bad.wasm"), "{said}");
    let answer = home
        .run(&["plugin", "run", good, "table", "a,b\n1,x\n"])
        .exits(0);
    assert!(answer.text().contains("most_frequent"), "{}", answer.text());
    let failed = home.run(&["plugin", "run", good, "table", "a\n\"1"]);
    assert_eq!(failed.code, 1, "{}", failed.stderr);
    assert!(
        !home.data().exists(),
        "trying a component made a data directory"
    );
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let _runner = home.start();
    let _ = home.enqueue(&["echo", "x"]);
    let mut child = home
        .command(&["job", "ls"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let out = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(!said.contains("panicked"), "{said}");
}
