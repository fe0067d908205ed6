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
