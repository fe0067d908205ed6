//! Dead letters: read, requeued and removed, with a runner and without.

use sandhog_kit::Home;
use serde_json::Value;

use crate::SANDHOG;

/// Buries jobs, one after the other.
fn bury(home: &Home, count: usize) -> Vec<String> {
    let one = |n: usize| {
        let id = home.enqueue(&["permanent", &format!("letter {n}")]);
        let _ = home.job_in(&id, "dead");
        id
    };
    (0..count).map(one).collect()
}

fn letters(home: &Home) -> Vec<Value> {
    home.run(&["dead", "ls", "-o", "json"]).exits(0).rows()
}

fn ids(rows: &[Value]) -> Vec<&str> {
    rows.iter().map(|row| row["id"].as_str().unwrap()).collect()
}

#[test]
fn letters_are_listed_newest_first_and_shown_whole() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let runner = home.start();
    let mut buried = bury(&home, 3);
    buried.reverse();
    for up in [true, false] {
        let rows = letters(&home);
        assert_eq!(ids(&rows), buried, "runner up: {up}");
        assert_eq!(rows[0]["failure"]["kind"], "error");
        let letter = home.json(&["dead", "show", &buried[0]]);
        assert!(
            letter
                .to_string()
                .contains("no attempt will mend this: letter 2"),
            "{letter}"
        );
        assert_eq!(letter["attempts"].as_array().map(Vec::len), Some(1));
        if up {
            // The second turn reads the same directory with no runner on it.
            runner.signal("TERM");
            sandhog_kit::wait::until(
                "the runner to stop",
                std::time::Duration::from_secs(30),
                || {
                    let left = home.folder().join("data/sandhog.sock");
                    (std::os::unix::net::UnixStream::connect(left).is_err()).then_some(())
                },
            );
        }
    }
    drop(runner);
}

#[test]
fn a_requeued_letter_gets_fresh_attempts_and_keeps_its_history() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let _runner = home.start();
    let id = home.enqueue(&["flaky", "x", "--header", "fail=1", "--max-attempts", "1"]);
    let _ = home.job_in(&id, "dead");
    let _ = home.run(&["dead", "retry", &id]).exits(0);
    let job = home.job_in(&id, "dead");
    assert_eq!(letters(&home).len(), 1, "{job}");
    let letter = home.json(&["dead", "show", &id]);
    assert_eq!(
        letter["attempts"].as_array().map(Vec::len),
        Some(2),
        "{letter}"
    );
}

#[test]
fn a_removed_letter_is_gone_for_good() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let runner = home.start();
    let buried = bury(&home, 2);
    let _ = home.run(&["dead", "rm", &buried[0]]).exits(0);
    assert_eq!(ids(&letters(&home)), [&buried[1]]);
    assert_ne!(
        home.run(&["dead", "rm", &buried[0]]).code,
        0,
        "removed twice"
    );
    assert_ne!(
        home.run(&["dead", "show", &buried[0]]).code,
        0,
        "still shown"
    );
    runner.kill9();
    let _runner = home.start();
    assert_eq!(ids(&letters(&home)), [&buried[1]], "back after a crash");
}

#[test]
fn letters_are_requeued_and_removed_without_a_runner() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let runner = home.start();
    let buried = bury(&home, 2);
    assert!(runner.terminate().success());
    let _ = home.run(&["dead", "rm", &buried[0]]).exits(0);
    let _ = home.run(&["dead", "retry", &buried[1]]).exits(0);
    assert_eq!(letters(&home), [Value::Null; 0]);
    assert_eq!(home.job(&buried[1])["state"], "available");
    let _runner = home.start();
    let job = home.job_in(&buried[1], "dead");
    assert_eq!(job["attempts"].as_array().map(Vec::len), Some(2), "{job}");
}

#[test]
fn letters_are_chosen_dry_run_exported_and_imported_with_a_runner_and_without() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let runner = home.start();
    let buried = bury(&home, 4);
    let mut runner = Some(runner);
    for up in [true, false] {
        if !up {
            assert!(runner.take().expect("it is up").terminate().success());
        }
        let count = |words: &[&str]| {
            let words = [&["dead", "ls", "--count"], words].concat();
            home.run(&words).exits(0).text().trim().to_owned()
        };
        assert_eq!(count(&[]), "4", "up: {up}");
        assert_eq!(count(&["--failure", "error", "--since", "1h"]), "4");
        assert_eq!(count(&["--failure", "trap"]), "0");
        assert_eq!(count(&["--text", "LETTER 2"]), "1");
        assert_eq!(count(&["--until", "2001-01-01T00:00:00Z"]), "0");
        let _ = home.run(&["dead", "ls", "--failure", "trip"]).exits(2);
        let _ = home
            .run(&["dead", "ls", "--cursor", "9223372036854775808"])
            .exits(2);
        let dry = home.run(&["dead", "rm", "--all", "--dry-run"]).exits(0);
        assert!(
            dry.stderr.contains("4 letters would be deleted"),
            "{}",
            dry.stderr
        );
        let file = home.folder().join("letters.ndjson");
        let file = file.to_str().expect("a plain path");
        let _ = home.run(&["dead", "export", file]).exits(0);
        let _ = home.run(&["dead", "rm", &buried[0], &buried[1]]).exits(0);
        assert_eq!(count(&[]), "2");
        let told = home.run(&["dead", "import", file]).exits(0).stderr;
        let expected = "2 letters imported, 2 here already and left alone";
        assert!(told.contains(expected), "{told}");
        assert_eq!(count(&[]), "4");
        let shown = home.json(&["dead", "show", &buried[0]]);
        assert_eq!(shown["attempts"].as_array().map(Vec::len), Some(1));
    }
    let other = Home::with(SANDHOG, &["misbehave"]);
    let file = home.folder().join("letters.ndjson");
    let file = file.to_str().expect("a plain path");
    let _ = other.run(&["dead", "import", file]).exits(0);
    let _runner = other.start();
    let _ = other
        .run(&["dead", "retry", "--all", "--rate", "50/s"])
        .exits(0);
    let job = other.job_in(&buried[3], "dead");
    assert_eq!(job["attempts"].as_array().map(Vec::len), Some(2), "{job}");
}

#[test]
fn the_bounds_of_the_settings_hold_and_a_purge_by_hand_takes_its_own() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config("[dead]\nmax_letters = 3\n");
    let runner = home.start();
    let mut buried = bury(&home, 5);
    buried.reverse();
    assert_eq!(ids(&letters(&home)), buried[..3]);
    let stats = home.json(&["stats"]);
    assert_eq!(stats["store"]["purged"]["number"], 2, "{stats}");
    let dry = home
        .run(&["dead", "purge", "--max-letters", "1", "--dry-run"])
        .exits(0);
    assert!(
        dry.stderr.contains("2 letters would be purged"),
        "{}",
        dry.stderr
    );
    let _ = home.run(&["dead", "purge", "--max-letters", "1"]).exits(0);
    assert_eq!(ids(&letters(&home)), buried[..1]);
    assert!(runner.terminate().success());
}

#[test]
fn whoever_only_looks_deletes_nothing_whatever_the_settings_say() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let runner = home.start();
    let buried = bury(&home, 3);
    let done = home.enqueue(&["echo", "done"]);
    let _ = home.job_in(&done, "completed");
    assert!(runner.terminate().success());
    home.write_config("[dead]\nmax_letters = 1\n[store]\nmax_completed = 0\n");
    assert_eq!(letters(&home).len(), 3, "{buried:?}");
    let dry = home.run(&["dead", "purge", "--dry-run"]).exits(0);
    assert!(
        dry.stderr.contains("2 letters would be purged"),
        "{}",
        dry.stderr
    );
    for words in [["queue", "ls"], ["job", "ls"], ["dead", "ls"]] {
        let _ = home.run(&words).exits(0);
    }
    for filter in ["--queue", "--kind", "--failure", "--digest", "--text"] {
        // What a script says whose variable was never set.
        let _ = home.run(&["dead", "rm", filter, ""]).exits(2);
    }
    assert_eq!(letters(&home).len(), 3, "looked at without a runner");
    assert_eq!(home.job(&done)["state"], "completed");
}

#[test]
fn a_broken_letter_is_listed_seen_and_deleted_by_its_place() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let runner = home.start();
    let buried = bury(&home, 3);
    assert!(runner.terminate().success());
    let path = home.folder().join("data/dead/letters");
    let mut bytes = std::fs::read(&path).expect("the letters");
    // In the first letter's id: what is left of it belongs to no job.
    bytes[48 + 34] ^= 1;
    std::fs::write(&path, &bytes).expect("written");
    let rows = letters(&home);
    assert_eq!(
        rows.len(),
        4,
        "three, one of them from the log again, and the broken one"
    );
    let broken = rows.iter().find(|row| row["unreadable"].is_string());
    let name = broken.expect("it is listed")["id"]
        .as_str()
        .expect("a name")
        .to_owned();
    let shown = home.run(&["dead", "show", &name]).exits(1);
    assert!(shown.stderr.contains("--raw"), "{}", shown.stderr);
    let _ = home.run(&["dead", "show", "@7"]).exits(4);
    let raw = home
        .run(&["dead", "show", "--raw", &name, "-o", "json"])
        .exits(0);
    assert!(raw.text().contains("raw_base64"), "{}", raw.text());
    let _ = home.run(&["dead", "rm", &name]).exits(0);
    let rows = letters(&home);
    let mut left = ids(&rows);
    left.sort_unstable();
    assert_eq!(left, buried);
}
