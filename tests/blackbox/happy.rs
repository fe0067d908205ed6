//! Jobs that go well: payloads in, results out, children and delays.

use std::fs;

use sandhog_kit::{Home, millis, own, size_of_png};

use crate::SANDHOG;

#[test]
fn a_photo_goes_in_and_a_thumbnail_comes_out() {
    let home = Home::with(SANDHOG, &["thumbnail"]);
    let _runner = home.start();
    let photo = own("hills.jpg");
    let small = home.folder().join("small.png");
    let answer = home.run(&[
        "enqueue",
        "thumbnail",
        "--file",
        photo.to_str().unwrap(),
        "--header",
        "width=320",
        "--header",
        "height=240",
        "--wait",
        "--output",
        small.to_str().unwrap(),
    ]);
    let _ = answer.exits(0);
    let bytes = fs::read(small).unwrap();
    assert_eq!(size_of_png(&bytes), (160, 240));
}

#[test]
fn a_page_becomes_html() {
    let home = Home::with(SANDHOG, &["page"]);
    let _runner = home.start();
    let page = own("lighthouse.md");
    let answer = home.run(&[
        "enqueue",
        "page",
        "--file",
        page.to_str().unwrap(),
        "--wait",
    ]);
    let html = answer.exits(0).text();
    for part in [
        "<!DOCTYPE html>",
        "<table>",
        "<h1",
        "The lighthouse keeper",
        "</html>",
    ] {
        assert!(
            html.to_lowercase().contains(&part.to_lowercase()),
            "no {part} in\n{html}"
        );
    }
}

#[test]
fn bytes_pass_through_unread() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let _runner = home.start();
    let bytes: Vec<u8> = (0..=255u8).cycle().take(100_000).collect();
    let answer = home.run_with(&["enqueue", "echo", "--stdin", "--wait"], &bytes);
    let answer = answer.exits(0);
    assert!(
        answer.stdout == bytes,
        "{} bytes came back, or others",
        answer.stdout.len()
    );
    let answer = home.run(&["enqueue", "echo", r#"{"an": "argument"}"#, "--wait"]);
    assert_eq!(answer.exits(0).text(), r#"{"an": "argument"}"#);
}

#[test]
fn headers_and_options_reach_the_handler_in_order() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let _runner = home.start();
    let answer = home.run(&[
        "enqueue",
        "headers",
        "x",
        "--header",
        "a=1",
        "--header",
        "b==",
        "--header",
        "a=2",
        "--queue",
        "side",
        "--max-attempts",
        "7",
        "--wait",
    ]);
    let seen = answer.exits(0).json();
    let headers = serde_json::json!([["a", "1"], ["b", "="], ["a", "2"]]);
    assert_eq!(seen["headers"], headers, "{seen}");
    assert_eq!(
        (&seen["queue"], &seen["attempt"], &seen["max_attempts"]),
        (&"side".into(), &1.into(), &7.into())
    );
    assert_eq!(
        (&seen["env"], &seen["root_readable"]),
        (&0.into(), &false.into()),
        "{seen}"
    );
}

#[test]
fn children_are_there_when_their_parent_completed_and_not_before() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.grant("misbehave", "[grants]\nenqueue = { queues = [\"*\"] }\n");
    home.write_config("[kind.spawn]\nbackoff = \"fixed 50ms\"\n");
    let _runner = home.start();
    let id = home.enqueue(&["spawn", "x", "--header", "children=3", "--header", "fail=2"]);
    let parent = home.job_in(&id, "completed");
    assert_eq!(parent["attempt"], 3);
    let children: Vec<String> = serde_json::from_value(parent["children"].clone()).unwrap();
    assert_eq!(children.len(), 3, "{parent}");
    for child in &children {
        let child = home.job_in(child, "completed");
        assert_eq!(
            (&child["kind"], &child["parent"]),
            (&"echo".into(), &id.as_str().into())
        );
    }
    let listed = home
        .run(&["job", "ls", "--kind", "echo", "-o", "json"])
        .exits(0)
        .rows();
    assert_eq!(
        listed.len(),
        3,
        "the failed attempts left children: {listed:?}"
    );
}

#[test]
fn a_page_asked_to_follow_its_links_enqueues_them() {
    let home = Home::with(SANDHOG, &["page"]);
    home.grant("page", "[grants]\nenqueue = { queues = [\"*\"] }\n");
    let _runner = home.start();
    let page = own("lighthouse.md");
    let id = home.enqueue(&[
        "page",
        "--file",
        page.to_str().unwrap(),
        "--header",
        "follow=true",
    ]);
    let parent = home.job_in(&id, "completed");
    let children = parent["children"].as_array().unwrap();
    assert_eq!(
        children.len(),
        2,
        "weather and harbour, not the address elsewhere: {parent}"
    );
}

#[test]
fn a_delayed_job_runs_when_it_is_due() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let _runner = home.start();
    let id = home.enqueue(&["echo", "later", "--in", "2s"]);
    let waiting = home.job(&id);
    assert_eq!(waiting["state"], "scheduled");
    // Counted from when the command was given, a moment before it was accepted.
    let (accepted, due) = (millis(&waiting["enqueued_at"]), millis(&waiting["due"]));
    assert!(accepted < due && due <= accepted + 2000, "{waiting}");
    let job = home.job_in(&id, "completed");
    let started = millis(&job["attempts"][0]["started_at"]);
    assert!(started >= due, "due {due}, started at {started}");
}

#[test]
fn higher_priorities_run_first() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config("[runner]\nworkers = 1\nslots = 1\n");
    let job = |priority: &str| {
        let priority = format!("--priority={priority}");
        home.enqueue(&["sleep", "x", "--header", "ms=50", &priority])
    };
    let (low, plain, high) = (job("-5"), job("0"), job("5"));
    let _runner = home.start();
    let started = |id: &str| millis(&home.job_in(id, "completed")["attempts"][0]["started_at"]);
    let (low, plain, high) = (started(&low), started(&plain), started(&high));
    assert!(
        high < plain && plain < low,
        "high at {high}, plain at {plain}, low at {low}"
    );
}

#[test]
fn a_sandbox_shows_nothing_of_the_one_before() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config("[runner]\nworkers = 1\nslots = 1\n");
    let _runner = home.start();
    for _ in 0..3 {
        let _ = home.run(&["enqueue", "poison", "x", "--wait"]).exits(0);
        let found = home
            .run(&["enqueue", "peek", "x", "--wait"])
            .exits(0)
            .json();
        assert_eq!(
            (&found["bytes"], &found["nonzero"]),
            (&(256 * 65_536).into(), &0.into())
        );
    }
}
