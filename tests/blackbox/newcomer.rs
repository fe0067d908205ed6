//! What someone is told who does not know the program yet.

use std::{fs, path::Path, process::Command, time::Duration};

use sandhog_kit::{Home, wait};

use crate::SANDHOG;

#[test]
fn a_wait_tells_each_failure_and_when_the_job_is_tried_again() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let _runner = home.start();
    let words = [
        "enqueue",
        "flaky",
        "x",
        "--header",
        "fail=2",
        "--wait",
        "--max-attempts",
        "3",
        "--backoff",
        "fixed 3s",
    ];
    let said = home.run(&words).exits(0).stderr;
    for number in ["1 of 3", "2 of 3"] {
        let line = said
            .lines()
            .find(|line| line.contains(&format!("attempt {number} failed: error: ")));
        let line = line.unwrap_or_else(|| panic!("nothing of attempt {number}: {said}"));
        assert!(
            line.contains("; it is tried again in ") && line.contains("Z"),
            "{line}"
        );
    }
    assert_eq!(said.matches(" failed: ").count(), 2, "{said}");
}

#[test]
fn a_letter_of_a_job_that_died_again_says_what_is_counted() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let runner = home.start();
    let id = home.enqueue(&["unreachable", "x", "--max-attempts", "1"]);
    let _ = home.job_in(&id, "dead");
    let _ = home.run(&["dead", "retry", &id]).exits(0);
    // It is dead again once its letter has both.
    wait::until("another death", Duration::from_secs(30), || {
        let letter = home.run(&["dead", "show", &id, "-o", "json"]);
        (letter.code == 0 && letter.json()["attempts"].as_array()?.len() == 2).then_some(())
    });
    let rows = home.run(&["dead", "ls"]).exits(0).text();
    assert!(
        rows.contains("1 of 1, 2 in all") && !rows.contains("2/1"),
        "{rows}"
    );
    let letter = home.json(&["dead", "show", &id]);
    assert_eq!(
        (&letter["attempts_in_all"], &letter["attempts"][1]["in_all"]),
        (&2.into(), &2.into())
    );
    let shown = home.run(&["dead", "show", &id]).exits(0).text();
    for says in ["\nattempt 1 failed", "\nattempt 1, number 2 in all, failed"] {
        assert!(shown.contains(says), "{says}: {shown}");
    }
    let job = home.run(&["job", "show", &id]).exits(0).text();
    assert!(job.contains("1 of 1, 2 in all"), "{job}");
    // The same number twice: the later is meant, and how to see the other is told.
    let logs = |words: &[&str]| home.run(&[&["job", "logs", &id], words].concat()).exits(0);
    let latest = logs(&["--attempt", "1"]);
    let told = "this is attempt 1, number 2 in all: see number 1 with --in-all";
    assert!(latest.stderr.contains(told), "{}", latest.stderr);
    let first = logs(&["--in-all", "1", "-o", "json"]).json();
    assert_eq!(
        (&first["attempt"], &first["in_all"], &first["also"]),
        (&1.into(), &1.into(), &serde_json::json!([2]))
    );
    drop(runner);
}

/// The samples of a page, run as whoever reads it would.
#[test]
fn the_samples_about_jobs_that_belong_together_work_as_they_stand() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/composition.md");
    let page = fs::read_to_string(page).expect("the page");
    let samples = page.split("```sh\n").skip(1);
    let samples: Vec<&str> = samples.filter_map(|one| one.split("```").next()).collect();
    assert!(samples.len() >= 2, "{samples:?}");
    let home = Home::new(SANDHOG);
    let program = Path::new(SANDHOG).parent().expect("its folder").display();
    let path = std::env::var("PATH").unwrap_or_default();
    for sample in samples {
        let out = Command::new("sh")
            .args(["-ec", sample])
            .current_dir(home.folder())
            .env("PATH", format!("{program}:{path}"))
            .env("SANDHOG_DATA", home.data())
            .output()
            .expect("it runs");
        let told = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "{sample}: {told}");
    }
    let batches = home.json(&["batch", "ls"]);
    assert_eq!(batches[0]["status"], "sealed", "{batches}");
}

#[test]
fn names_that_nothing_has_yet_are_told_and_taken() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config("[queue.known]\nmax_depth = 9\n");
    let _runner = home.start();
    let paused = home.run(&["queue", "pause", "mial", "known"]).exits(0);
    assert_eq!(paused.text(), "mial paused\nknown paused");
    assert_eq!(
        paused.stderr,
        "no queue mial yet: it is paused all the same, for jobs to come; `sandhog queue ls` shows those there are\n"
    );
    let again = home.run(&["queue", "drain", "mial"]).exits(0);
    assert_eq!(again.stderr, "", "someone said something of it");
    let add = |kind: &str| {
        let words = ["cron", "add", kind, "0 3 * * *", "--kind", kind];
        home.run(&words).exits(0).stderr
    };
    assert!(add("ecko").contains("no plugin serves ecko yet: its jobs wait"));
    assert_eq!(add("echo"), "");
}

#[test]
fn a_letter_of_a_job_that_is_dead_no_more_leads_on() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let _runner = home.start();
    let done = home.enqueue(&["echo", "x"]);
    let _ = home.job_in(&done, "completed");
    let waits = home.enqueue(&["echo", "x", "--in", "1h"]);
    let retry = |id: &str| {
        let said = home.run(&["dead", "retry", id]);
        assert_ne!(said.code, 0);
        said.stderr
    };
    let said = retry(&done);
    assert!(
        said.contains(&format!(
            "job {done} is not dead but completed: `sandhog job retry {done}` runs it again"
        )),
        "{said}"
    );
    let said = retry(&waits);
    assert!(
        said.contains(&format!(
            "is not dead but scheduled: `sandhog job show {waits}`"
        )),
        "{said}"
    );
    let said = retry("01ARZ3NDEKTSV4RRFFQ69G5FAV");
    assert!(
        said.contains("no dead letter of job 01ARZ3NDEKTSV4RRFFQ69G5FAV"),
        "{said}"
    );
}
