//! `sandhog bench`: a handler measured for real, on a data directory that is gone afterwards.

use std::fs;

use sandhog_kit::Home;

use crate::SANDHOG;

/// A few attempts: what is tried is that it measures, not how fast this machine is.
fn bench(home: &Home, kind: &str, more: &[&str]) -> sandhog_kit::Answer {
    let component = home.plugins().join("misbehave.wasm");
    let words = [
        "bench",
        "--plugin",
        component.to_str().unwrap(),
        "--kind",
        kind,
    ];
    home.run(&[&words[..], &["--jobs", "40", "--rounds", "2"], more].concat())
}

fn files(home: &Home) -> Vec<String> {
    let entries = fs::read_dir(home.folder()).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_handler_is_measured_and_nothing_stays() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.grant("misbehave", "[grants]\nenqueue = { queues = [\"*\"] }\n");
    let before = files(&home);
    for durability in ["commit", "interval", "none"] {
        let more = ["--payload", "{}", "--durability", durability, "-o", "json"];
        // It enqueues a job of the same plugin, which it may with the grant beside it.
        let figures = bench(&home, "spawn", &more).exits(0).json();
        assert_eq!(figures["durability"], durability);
        assert_eq!(figures["rounds"].as_array().map(Vec::len), Some(2));
        let place = home.folder().canonicalize().unwrap();
        assert_eq!(figures["place"].as_str(), place.to_str());
        let us = |name: &str| figures["us"][name].as_f64().unwrap();
        assert!(us("bare") > 0.0 && us("runner") > 0.0, "{figures}");
        let parts = figures["parts_us"].as_object().unwrap();
        for bare in ["making", "handler", "ending"] {
            assert!(parts[bare].as_f64().unwrap() > 0.0, "{bare}: {figures}");
        }
        let synced = figures["reports"]["jobs_for_a_sync"].as_f64();
        assert!(durability != "commit" || synced.is_some(), "{figures}");
    }
    assert_eq!(files(&home), before, "something stayed");

    let picture = home.folder().join("rounds.svg");
    let told = bench(&home, "echo", &["--plot", picture.to_str().unwrap()]).exits(0);
    assert!(told.text().contains("durability commit"), "{}", told.text());
    let drawn = fs::read_to_string(picture).unwrap();
    assert!(drawn.starts_with("<svg ") && drawn.contains("bare attempts"));
}

#[test]
fn attempts_that_do_not_complete_are_no_figures() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let before = files(&home);
    for (kind, says) in [
        ("permanent", "of 8 attempts did not complete"),
        ("snooze", "snoozed for"),
        ("spawn", "queue"),
    ] {
        let told = bench(&home, kind, &["--payload", "a text of the test"]).exits(1);
        assert!(told.stderr.contains(says), "{kind}: {}", told.stderr);
        assert!(told.stdout.is_empty(), "{kind}: figures were shown");
    }
    let other = bench(&home, "none-such", &[]).exits(2);
    assert!(
        other.stderr.contains("it serves echo, flaky"),
        "{}",
        other.stderr
    );
    assert_eq!(files(&home), before, "something stayed");
}
