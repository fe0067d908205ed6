//! The guest of many bad habits: what each habit ends as.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use sandhog_model::{FailureKind, LogLevel, LogSource, Outcome, TrapKind};
use serde_json::json;

use super::kit::{Rig, failure, json, within};
use crate::plugin::{Limits, Progress};

/// Kind, headers, failure kind, code, and what the cause says.
type Ending = (
    &'static str,
    &'static [(&'static str, &'static str)],
    FailureKind,
    &'static str,
    &'static str,
);

const ENDS: [Ending; 11] = [
    (
        "panic",
        &[],
        FailureKind::Trap(TrapKind::Unreachable),
        "unreachable",
        "panicked at tests/guests/misbehave/src/violent.rs:",
    ),
    (
        "unreachable",
        &[],
        FailureKind::Trap(TrapKind::Unreachable),
        "unreachable",
        "aborted",
    ),
    (
        "divide",
        &[],
        FailureKind::Trap(TrapKind::DivideByZero),
        "divide-by-zero",
        "by zero",
    ),
    (
        "out-of-bounds",
        &[],
        FailureKind::Trap(TrapKind::OutOfBounds),
        "out-of-bounds",
        "outside its memory",
    ),
    (
        "recurse",
        &[],
        FailureKind::Trap(TrapKind::StackOverflow),
        "stack-overflow",
        "out of stack",
    ),
    (
        "loop",
        &[],
        FailureKind::Timeout,
        "timeout",
        "ran longer than 400 ms",
    ),
    (
        "sleep",
        &[("ms", "60000")],
        FailureKind::Timeout,
        "timeout",
        "waiting for the host",
    ),
    (
        "allocate",
        &[],
        FailureKind::Memory,
        "memory",
        "its limit is 128 MiB",
    ),
    ("huge", &[], FailureKind::Memory, "memory", "of memory"),
    (
        "huge",
        &[("bytes", "20000000")],
        FailureKind::BadResult,
        "result-too-large",
        "limit of 1 MiB",
    ),
    ("exit", &[], FailureKind::Exit, "exit", "code 0"),
];

#[test]
fn every_bad_habit_ends_as_its_own_kind_of_failure_in_bounded_time() {
    let rig = Rig::misbehaving();
    for (kind, headers, expected, code, says) in ENDS {
        let started = Instant::now();
        let mut request = rig.request(kind, headers);
        if expected == FailureKind::Timeout {
            request.limits = within(Duration::from_millis(400));
        }
        let report = rig.attempt(request);
        let took = started.elapsed();
        let failure = failure(&report);
        println!(
            "{kind:14} {:20} {:>6} ms  {}",
            failure.kind,
            took.as_millis(),
            failure.cause
        );
        assert_eq!(
            (failure.kind, failure.code.as_str()),
            (expected, code),
            "{kind}: {failure:?}"
        );
        assert!(failure.cause.contains(says), "{kind}: {}", failure.cause);
        // Far from what any of them takes, far below for ever.
        assert!(took < Duration::from_secs(20), "{kind} took {took:?}");
        assert_eq!(report.attempt.digest, rig.plugin.digest);
        assert_eq!(report.attempt.plugin, "misbehave");
        assert!(report.attempt.peak_memory > 0 && report.attempt.duration_us > 0);
        assert!(report.children.is_empty());
    }
    // And the host is none the worse.
    assert!(matches!(
        rig.run("echo", &[]).outcome,
        Outcome::Completed(_)
    ));
}

#[test]
fn limits_name_the_key_to_raise() {
    let rig = Rig::misbehaving();
    for (kind, hint) in [
        ("allocate", "`memory` under [kind.allocate]"),
        ("huge", "`memory` under [kind.huge]"),
    ] {
        let report = rig.run(kind, &[]);
        assert!(failure(&report).hint.as_ref().unwrap().contains(hint));
    }
    let report = rig.run("huge", &[("bytes", "1048577")]);
    let failure = failure(&report);
    assert_eq!(failure.code, "result-too-large");
    assert_eq!(
        failure.hint.as_deref(),
        Some("raise `result` under [limits] in sandhog.toml")
    );
    assert!(matches!(
        rig.run("huge", &[("bytes", "1048576")]).outcome,
        Outcome::Completed(_)
    ));
}

#[test]
fn a_panic_tells_its_text_and_place() {
    let rig = Rig::misbehaving();
    let report = rig.run("panic", &[]);
    let failure = failure(&report);
    let panic = failure.panic.as_ref().unwrap();
    assert!(panic.contains("violent.rs:"), "{panic}");
    assert!(panic.ends_with("\npayload"), "{panic}");
    assert!(failure.cause.ends_with(": payload"), "{}", failure.cause);
    assert!(
        failure
            .backtrace
            .iter()
            .any(|frame| frame.contains("misbehave::violent::panic")),
        "{:?}",
        failure.backtrace
    );
    assert!(
        report
            .attempt
            .logs
            .iter()
            .any(|line| line.source == LogSource::Stderr && line.text == "payload")
    );
}

#[test]
fn a_stack_overflow_folds_its_frames() {
    let report = Rig::misbehaving().run("recurse", &[]);
    let backtrace = &failure(&report).backtrace;
    assert!(
        backtrace[0].contains("violent::deeper") && backtrace[0].ends_with("times)"),
        "{backtrace:?}"
    );
}

#[test]
fn a_loop_says_where_it_was() {
    let rig = Rig::misbehaving();
    let mut request = rig.request("loop", &[]);
    request.limits = within(Duration::from_millis(100));
    let report = rig.attempt(request);
    let backtrace = &failure(&report).backtrace;
    assert!(
        backtrace.iter().any(|frame| frame.contains("violent::")),
        "{backtrace:?}"
    );
}

#[test]
fn verdicts_become_outcomes() {
    let rig = Rig::misbehaving();
    let outcome = |kind, headers: &[_]| rig.run(kind, headers).outcome;
    let Outcome::Failed {
        failure,
        retry_after_ms,
    } = outcome("flaky", &[("fail", "1")])
    else {
        panic!("flaky did not fail");
    };
    assert_eq!(
        (failure.kind, failure.code.as_str()),
        (FailureKind::Error, "flaky")
    );
    assert_eq!(
        (failure.cause.as_str(), retry_after_ms),
        ("attempt 1 of 1 that fail", None)
    );
    let Outcome::Failed {
        failure,
        retry_after_ms,
    } = outcome("retry-after", &[("ms", "1234")])
    else {
        panic!("retry-after did not fail");
    };
    assert_eq!(
        (failure.code.as_str(), retry_after_ms),
        ("busy", Some(1_234))
    );
    let Outcome::Permanent(failure) = outcome("permanent", &[]) else {
        panic!("permanent was not");
    };
    assert_eq!(failure.details, [("payload-bytes".into(), "7".into())]);
    assert_eq!(
        outcome("snooze", &[("ms", "77")]),
        Outcome::Snoozed { delay_ms: 77 }
    );
    assert_eq!(
        outcome("discard", &[]),
        Outcome::Discarded {
            reason: "payload".into()
        }
    );
}

#[test]
fn a_flood_keeps_within_the_log_limit() {
    let rig = Rig::misbehaving();
    let mut request = rig.request("flood", &[("lines", "20000")]);
    request.limits.log = 8 << 10;
    let report = rig.attempt(request);
    assert!(matches!(report.outcome, Outcome::Completed(_)));
    let logs = &report.attempt.logs;
    assert_eq!(logs.len() as u64 + report.attempt.dropped_lines, 60_000);
    assert!(logs.iter().map(|line| line.text.len()).sum::<usize>() <= 8 << 10);
    assert_eq!(logs[0].text, "log line 0 of the flood");
    assert_eq!(logs.last().unwrap().text, "stdout line 19999 of the flood");
}

#[test]
fn log_lines_and_progress_reach_the_live_view() {
    let rig = Rig::misbehaving();
    let request = rig.request("progress", &[("steps", "4")]);
    let live = Arc::clone(&request.live);
    let report = rig.attempt(request);
    let levels: Vec<LogLevel> = report.attempt.logs.iter().map(|line| line.level).collect();
    assert_eq!(
        levels,
        [
            LogLevel::Trace,
            LogLevel::Debug,
            LogLevel::Info,
            LogLevel::Warn,
            LogLevel::Error
        ]
    );
    live.with(|view| {
        assert_eq!(view.logs, report.attempt.logs);
        assert_eq!(
            view.progress,
            Some(Progress {
                done: 4,
                total: Some(4),
                note: Some("stepping".into())
            })
        );
    });
}

#[test]
fn children_come_with_success_only() {
    let rig = Rig::misbehaving();
    let report = rig.run("spawn", &[("children", "3")]);
    assert_eq!(report.children.len(), 3);
    let child = &report.children[1];
    assert_eq!(
        (child.kind.as_str(), child.queue.as_str()),
        ("echo", "completed-queue")
    );
    assert_eq!(child.payload, b"child 1 of attempt 1");
    assert_eq!(child.parent, Some(sandhog_model::JobId(7)));
    let ids: Vec<String> = report
        .children
        .iter()
        .map(|child| child.id.text())
        .collect();
    assert_eq!(json(&report)["children"], json!(ids));
    assert!(
        rig.run("spawn", &[("children", "3"), ("fail", "1")])
            .children
            .is_empty()
    );
}

#[test]
fn a_quota_of_children_is_an_error_for_the_guest() {
    let rig = Rig::misbehaving();
    let mut request = rig.request("spawn", &[("children", "3")]);
    request.limits.children = 2;
    let report = rig.attempt(request);
    assert!(
        failure(&report).cause.contains("may enqueue 2 jobs"),
        "{:?}",
        report.outcome
    );
    let mut request = rig.request("spawn", &[("children", "3")]);
    request.limits.children_bytes = 50;
    let report = rig.attempt(request);
    assert!(
        failure(&report).cause.contains("may be 50 bytes in all"),
        "{:?}",
        report.outcome
    );
}

#[test]
fn a_checkpoint_goes_to_the_services_and_comes_back() {
    let rig = Rig::misbehaving();
    let mut request = rig.request("checkpoint", &[]);
    request.checkpoint = Some(b"2".to_vec());
    assert_eq!(json(&rig.attempt(request))["count"], 3);
    assert_eq!(*rig.services.checkpoints.lock().unwrap(), [b"3"]);
    let mut request = rig.request("checkpoint", &[]);
    request.limits = Limits {
        checkpoint: 0,
        ..Limits::default()
    };
    assert!(
        failure(&rig.attempt(request))
            .cause
            .contains("over its limit of 0 bytes")
    );
}

#[test]
fn a_guest_sees_its_job_and_nothing_of_the_machine() {
    let rig = Rig::misbehaving();
    let seen = json(&rig.run("headers", &[("a", "1"), ("a", "2")]));
    assert_eq!(seen["id"], sandhog_model::JobId(7).text());
    assert_eq!(seen["idempotency_key"], seen["id"]);
    assert_eq!(
        (&seen["attempt"], &seen["max_attempts"]),
        (&json!(1), &json!(5))
    );
    assert_eq!(seen["headers"], json!([["a", "1"], ["a", "2"]]));
    assert_eq!(seen["deadline_ms"], 5_000 + 30_000);
    assert_eq!(
        (&seen["enqueued_at_ms"], &seen["cancelled"]),
        (&json!(1_000), &json!(false))
    );
    assert_eq!(
        (&seen["env"], &seen["args"], &seen["root_readable"]),
        (&json!(0), &json!(0), &json!(false))
    );
    assert_eq!(json(&rig.run("config", &[("key", "colour")])), json!("red"));
    assert_eq!(json(&rig.run("config", &[("key", "shape")])), json!(null));
}

#[test]
fn the_next_guest_finds_zeros() {
    // One slot, so that the second attempt gets the first one's memory.
    let rig = Rig::with_slots(Arc::unwrap_or_clone(Rig::misbehaving().plugin), 1);
    for _ in 0..3 {
        assert_eq!(
            json(&rig.run("poison", &[("pages", "512")]))["bytes"],
            512 << 16
        );
        assert_eq!(json(&rig.run("peek", &[("pages", "512")]))["nonzero"], 0);
    }
}

#[test]
fn a_host_call_that_panics_is_a_failed_attempt() {
    let mut rig = Rig::misbehaving();
    rig.services = Arc::new(super::kit::Scripted {
        panics: true,
        ..Default::default()
    });
    let report = rig.run("checkpoint", &[]);
    let failed = failure(&report);
    assert_eq!(failed.kind, FailureKind::HostError);
    assert!(
        failed.cause.contains("the disk caught fire"),
        "{}",
        failed.cause
    );
    assert_eq!(report.attempt.digest, rig.plugin.digest);
    assert!(matches!(
        rig.run("echo", &[]).outcome,
        Outcome::Completed(_)
    ));
}
