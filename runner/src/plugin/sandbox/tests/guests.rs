//! The guest of many bad habits: what each habit ends as.

use std::time::{Duration, Instant};

use sandhog_model::{FailureKind, LogSource, Outcome, TrapKind};

use super::kit::{Rig, failure, within};

/// Kind, headers, failure kind, code, and what the cause says.
type Ending = (
    &'static str,
    &'static [(&'static str, &'static str)],
    FailureKind,
    &'static str,
    &'static str,
);

const ENDS: [Ending; 12] = [
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
    // What it was refused, it did without.
    (
        "relent",
        &[],
        FailureKind::Trap(TrapKind::Unreachable),
        "unreachable",
        "one is not two, and 1 GiB refused: true",
    ),
    (
        "huge",
        &[("bytes", "20000000")],
        FailureKind::BadResult,
        "result-too-large",
        "the limit of a result is 1 MiB",
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
    // The line is the one that the panic names, in the words of whoever reads the source.
    let line = panic.split("violent.rs:").nth(1).unwrap();
    let line = line.split(':').next().unwrap();
    let place = format!(" at misbehave/src/violent.rs:{line}");
    assert!(
        failure
            .backtrace
            .iter()
            .any(|frame| frame.contains("panic") && frame.ends_with(&place)),
        "no {place} in {:#?}",
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
    let folded = backtrace.iter().any(|line| {
        line.contains("violent::deeper at misbehave/src/violent.rs:") && line.ends_with("times)")
    });
    assert!(folded && backtrace.len() < 10, "{backtrace:?}");
}

#[test]
fn processor_time_tells_a_loop_from_a_wait() {
    let rig = Rig::misbehaving();
    let used = |kind: &str| {
        let mut request = rig.request(kind, &[("ms", "60000")]);
        request.limits = within(Duration::from_millis(400));
        let attempt = rig.attempt(request).attempt;
        assert!(attempt.cpu_us <= attempt.duration_us, "{attempt:?}");
        attempt.cpu_us
    };
    let (looped, waited) = (used("loop"), used("sleep"));
    assert!(waited > 0, "its start takes some");
    assert!(looped > waited + 20_000, "{looped} and {waited} us");
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
