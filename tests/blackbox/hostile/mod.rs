//! Guests that misbehave, through the whole runner: each ends as its own kind of failure, says why
//! in one line, and harms nobody.
//!
//! `SANDHOG_TABLE=1 cargo test --test blackbox hostile -- --nocapture` prints what came of each.

mod narrow;
mod soak;
mod table;

use std::time::{Duration, Instant};

use sandhog_kit::{Home, Runner, wait};
use serde_json::Value;

use crate::SANDHOG;

/// How a guest of this kind ends.
struct Case {
    kind: &'static str,
    headers: &'static [&'static str],
    /// The failure's kind.
    failure: &'static str,
    /// What its cause line has to say.
    cause: &'static [&'static str],
    /// Whether its hint has to name the config key to raise.
    hint: &'static str,
}

const fn case(kind: &'static str, failure: &'static str, cause: &'static [&'static str]) -> Case {
    Case {
        kind,
        headers: &[],
        failure,
        cause,
        hint: "",
    }
}

const CASES: [Case; 13] = [
    case(
        "panic",
        "trap:unreachable",
        &["a text of the test", "violent.rs"],
    ),
    case("unreachable", "trap:unreachable", &["aborted"]),
    case("divide", "trap:divide-by-zero", &["zero"]),
    case("out-of-bounds", "trap:out-of-bounds", &["memory"]),
    case("recurse", "trap:stack-overflow", &["stack"]),
    Case {
        hint: "timeout",
        ..case("loop", "timeout", &["500"])
    },
    Case {
        headers: &["ms=3600000"],
        hint: "timeout",
        ..case("sleep", "timeout", &["500"])
    },
    Case {
        hint: "memory",
        ..case("allocate", "memory", &["128"])
    },
    Case {
        hint: "memory",
        ..case("huge", "memory", &["128"])
    },
    Case {
        headers: &["bytes=3000000"],
        hint: "result",
        ..case("huge", "bad-result", &["2.8 MiB", "1 MiB"])
    },
    case("exit", "exit", &["code 0"]),
    Case {
        headers: &["code=7"],
        ..case("exit", "exit", &["code 1"])
    },
    case("permanent", "error", &["a text of the test"]),
];

/// Time limits that a test can wait for.
const LIMITS: &str = "[kind.loop]\ntimeout = \"500ms\"\n[kind.sleep]\ntimeout = \"500ms\"\n";

fn hostile_home() -> Home {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config(LIMITS);
    home
}

fn words(case: &Case) -> Vec<&'static str> {
    let mut words = vec![case.kind, "a text of the test", "--max-attempts", "1"];
    for header in case.headers {
        words.extend(["--header", header]);
    }
    words
}

fn check(case: &Case, job: &Value) {
    let failure = &job["failure"];
    let told = format!("{} {:?}: {failure}", case.kind, case.headers);
    assert_eq!(
        (&job["state"], &failure["kind"]),
        (&"dead".into(), &case.failure.into()),
        "{told}"
    );
    let cause = failure["cause"].as_str().unwrap_or_default();
    assert!(
        !cause.is_empty() && !cause.contains('\n'),
        "no cause in one line: {told}"
    );
    for part in case.cause {
        assert!(
            cause.contains(part),
            "the cause does not say {part:?}: {told}"
        );
    }
    let hint = failure["hint"].as_str().unwrap_or_default();
    assert!(
        hint.contains(case.hint),
        "the hint does not name {:?}: {told}",
        case.hint
    );
    assert_eq!(job["digest"].as_str().map(str::len), Some(64), "{told}");
}

#[test]
fn every_misbehaving_guest_is_told_apart_and_others_go_on() {
    let home = hostile_home();
    let mut runner = home.start();
    let before = runner.resident_kib();
    // Two that hold a worker for their whole time limit run beside everything below.
    for _ in 0..2 {
        let _ = home.enqueue(&["loop", "x", "--max-attempts", "1"]);
    }
    let mut lines = Vec::new();
    for case in &CASES {
        let (from, start) = (runner.resident_kib(), Instant::now());
        let mut enqueue = vec!["enqueue"];
        enqueue.extend(words(case));
        enqueue.extend(["--wait", "-o", "json"]);
        let job = home.run(&enqueue).exits(1).json();
        let took = start.elapsed();
        check(case, &job);
        assert!(
            took < Duration::from_secs(20),
            "{} took {took:?}",
            case.kind
        );
        let echo = home.run(&["enqueue", "echo", "still here", "--wait"]);
        assert_eq!(echo.exits(0).text(), "still here");
        lines.push(line(case, &job, took, from, &runner));
    }
    assert!(
        runner.ended().is_none(),
        "the runner ended: {}",
        runner.said()
    );
    let grown = runner.resident_kib().saturating_sub(before);
    assert!(grown < (128 + 64) << 10, "the runner grew by {grown} KiB");
    if std::env::var_os("SANDHOG_TABLE").is_some() {
        println!(
            "| guest | failure | cause | ms | resident MiB before → after |\n|---|---|---|---|---|"
        );
        println!("{}", lines.join("\n"));
    }
}

fn line(case: &Case, job: &Value, took: Duration, from: u64, runner: &Runner) -> String {
    let text = |key: &str| job["failure"][key].as_str().unwrap_or_default().to_owned();
    let (kind, cause, ms) = (text("kind"), text("cause"), took.as_millis());
    let name = format!("{} {}", case.kind, case.headers.join(" "));
    let (from, to) = (from >> 10, runner.resident_kib() >> 10);
    format!(
        "| {} | {kind} | {cause} | {ms} | {from} → {to} |",
        name.trim()
    )
}

#[test]
fn the_key_a_hint_names_is_one_that_the_settings_take() {
    let home = hostile_home();
    let _runner = home.start();
    let wide = [
        ("timeout", "\"1m\""),
        ("memory", "\"256MiB\""),
        ("result", "\"2MiB\""),
    ];
    let mut tried = 0;
    for case in CASES.iter().filter(|case| !case.hint.is_empty()) {
        let id = home.enqueue(&words(case));
        let job = home.job_in(&id, "dead");
        let hint = job["failure"]["hint"].as_str().unwrap();
        let table = hint
            .split_once('[')
            .and_then(|(_, rest)| rest.split_once(']'));
        let (table, _) = table.unwrap_or_else(|| panic!("no table in {hint:?}"));
        let (_, value) = wide.iter().find(|(key, _)| *key == case.hint).unwrap();
        home.write_config(&format!("[{table}]\n{} = {value}\n", case.hint));
        let answer = home.run(&["config", "check"]);
        assert_eq!(answer.code, 0, "{hint:?} does not help: {}", answer.stderr);
        tried += 1;
    }
    assert_eq!(tried, 5);
}

#[test]
fn a_panic_leaves_its_text_its_place_and_where_it_was_called_from() {
    let home = hostile_home();
    let _runner = home.start();
    let id = home.enqueue(&["panic", "the lens is cracked", "--max-attempts", "1"]);
    let job = home.job_in(&id, "dead");
    let failure = &job["attempts"][0]["failure"];
    let panic = failure["panic"].as_str().unwrap_or_default();
    assert!(
        panic.contains("the lens is cracked") && panic.contains("violent.rs"),
        "{failure}"
    );
    let frames = failure["backtrace"].as_array().cloned().unwrap_or_default();
    let named = frames
        .iter()
        .filter_map(Value::as_str)
        .any(|frame| frame.contains("panic") && frame.contains(" at misbehave/src/violent.rs:"));
    assert!(
        named,
        "no function of the guest with its line in {frames:?}"
    );
    let peak = job["attempts"][0]["peak_memory"].as_u64().unwrap();
    assert!((65_536..128 << 20).contains(&peak), "peak memory {peak}");
    assert!(job["attempts"][0]["duration_us"].as_u64().unwrap() > 0);
    let logs = home.run(&["job", "logs", &id]).exits(0).text();
    assert!(logs.contains("the lens is cracked"), "{logs}");
}

#[test]
fn a_dead_letter_has_the_first_lines_of_the_last_attempt_and_its_last() {
    let home = hostile_home();
    let _runner = home.start();
    let text = "the lens is cracked";
    let id = home.enqueue(&[
        "panic",
        text,
        "--header",
        "lines=30000",
        "--max-attempts",
        "1",
    ]);
    let _ = home.job_in(&id, "dead");
    let letter = home.json(&["dead", "show", &id]);
    let attempt = &letter["attempts"][0];
    let logs = attempt["logs"].as_array().unwrap();
    let line = |n: usize| logs[n]["text"].as_str().unwrap();
    assert_eq!(line(0), "line 0 before the end");
    let end: Vec<&str> = (logs.len() - 8..logs.len()).map(line).collect();
    for said in ["line 29999 before the end", "panicked at", text] {
        let told = end.iter().any(|line| line.contains(said));
        assert!(told, "no {said:?} at the end of {end:?}");
    }
    assert!(attempt["dropped_lines"].as_u64().unwrap() > 20_000);
}

#[test]
fn a_flood_of_log_lines_is_bounded_and_what_is_left_out_is_counted() {
    let home = hostile_home();
    let runner = home.start();
    let before = runner.resident_kib();
    let lines = 100_000;
    let id = home.enqueue(&["flood", "x", "--header", &format!("lines={lines}")]);
    let job = home.job_in(&id, "completed");
    let attempt = &job["attempts"][0];
    let kept = attempt["logs"].as_array().unwrap();
    let text: usize = kept
        .iter()
        .map(|line| line["text"].as_str().unwrap().len())
        .sum();
    assert!(
        (1..=256 << 10).contains(&text),
        "{text} bytes of log text kept"
    );
    let dropped = attempt["dropped_lines"].as_u64().unwrap();
    assert_eq!(
        dropped + kept.len() as u64,
        3 * lines,
        "lines kept and dropped"
    );
    let grown = runner.resident_kib().saturating_sub(before);
    assert!(grown < 64 << 10, "the runner grew by {grown} KiB");
}

#[test]
fn a_deterministic_failure_has_fewer_attempts_than_one_that_may_pass() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config("[kind.divide]\nbackoff = \"fixed 5ms\"\ntrap_attempts = 2\n");
    let _runner = home.start();
    let id = home.enqueue(&["divide", "x", "--max-attempts", "20"]);
    assert_eq!(home.job_in(&id, "dead")["attempt"], 2);
}

#[test]
fn runaways_on_every_worker_do_not_keep_the_command_line_from_answering() {
    let home = hostile_home();
    home.write_config(&format!("[runner]\nworkers = 2\nslots = 2\n{LIMITS}"));
    let _runner = home.start();
    let ids: Vec<String> = (0..8)
        .map(|_| home.enqueue(&["loop", "x", "--max-attempts", "1"]))
        .collect();
    let mut slowest = Duration::ZERO;
    wait::until(
        "the runaways to be stopped",
        Duration::from_secs(60),
        || {
            let start = Instant::now();
            let states: Vec<Value> = ids.iter().map(|id| home.job(id)["state"].clone()).collect();
            slowest = slowest.max(start.elapsed() / 8);
            states.iter().all(|state| state == "dead").then_some(())
        },
    );
    assert!(
        slowest < Duration::from_secs(2),
        "an answer took {slowest:?}"
    );
}
