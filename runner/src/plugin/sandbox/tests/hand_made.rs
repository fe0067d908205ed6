//! Components written by hand, for what no compiler would make.

use std::time::Duration;

use sandhog_model::{FailureKind, Outcome, TrapKind};
use tempfile::TempDir;

use super::kit::{HandMade, Rig, failure, unchecked, within};
use crate::plugin::Report;

fn run(text: &str) -> Report {
    let dir = TempDir::new().unwrap();
    let rig = Rig::with(unchecked(dir.path(), text));
    let mut request = rig.request("hand-made", &[]);
    request.limits = within(Duration::from_millis(300));
    rig.attempt(request)
}

fn handle(fields: &str, handle: &str) -> Report {
    run(&HandMade {
        fields,
        handle,
        ..HandMade::default()
    }
    .text())
}

#[test]
fn a_hand_made_handler_completes() {
    let report = handle("", "");
    assert_eq!(
        report.outcome,
        Outcome::Completed(sandhog_model::Output::default())
    );
    assert_eq!(report.attempt.peak_memory, 1 << 16);
}

#[test]
fn every_trap_has_its_name() {
    let table = "(table 2 2 funcref) (type $f (func)) (func $wrong (param i32)) (elem (i32.const 0) $wrong)";
    for (trap, body) in [
        (TrapKind::Unreachable, "unreachable"),
        (TrapKind::OutOfBounds, "(drop (i32.load (i32.const -1)))"),
        (
            TrapKind::TableOutOfBounds,
            "(call_indirect (type $f) (i32.const 9))",
        ),
        (
            TrapKind::IndirectCall,
            "(call_indirect (type $f) (i32.const 0))",
        ),
        (
            TrapKind::IndirectCall,
            "(call_indirect (type $f) (i32.const 1))",
        ),
        (
            TrapKind::DivideByZero,
            "(drop (i32.div_s (i32.const 1) (i32.const 0)))",
        ),
        (
            TrapKind::DivideByZero,
            "(drop (i64.rem_u (i64.const 1) (i64.const 0)))",
        ),
        (
            TrapKind::IntegerOverflow,
            "(drop (i32.div_s (i32.const 0x80000000) (i32.const -1)))",
        ),
        (
            TrapKind::IntegerOverflow,
            "(drop (i32.trunc_f32_s (f32.const 1e30)))",
        ),
        (
            TrapKind::BadConversion,
            "(drop (i32.trunc_f32_s (f32.const nan)))",
        ),
    ] {
        let report = handle(table, body);
        let failure = failure(&report);
        assert_eq!(failure.kind, FailureKind::Trap(trap), "{body}: {failure:?}");
        assert_eq!(failure.hint, None);
    }
}

#[test]
fn a_loop_is_stopped_wherever_it_is() {
    let forever = "(loop $l (br $l))";
    let start = format!("(func $start {forever}) (start $start)");
    let when_the_job_is_written =
        format!("(if (i32.eq (local.get 2) (i32.const 8)) (then {forever}))");
    for (place, text) in [
        (
            "handle",
            HandMade {
                handle: forever,
                ..HandMade::default()
            }
            .text(),
        ),
        (
            "start",
            HandMade {
                fields: &start,
                ..HandMade::default()
            }
            .text(),
        ),
        (
            "realloc",
            HandMade {
                realloc: &when_the_job_is_written,
                ..HandMade::default()
            }
            .text(),
        ),
        (
            "post-return",
            HandMade {
                fields: &format!("(func (export \"post\") (param i32) {forever})"),
                ..HandMade::default()
            }
            .text()
            .replace(
                "(core func $core \"handle\")",
                "(core func $core \"handle\") (post-return (func $core \"post\"))",
            ),
        ),
    ] {
        let report = run(&text);
        let failure = failure(&report);
        assert_eq!(failure.kind, FailureKind::Timeout, "{place}: {failure:?}");
        assert!(report.attempt.duration_us < 10_000_000, "{place}");
    }
}

#[test]
fn results_that_lie_are_bad_results() {
    for (what, body) in [
        (
            "a string outside memory",
            "(i32.store (i32.const 520) (i32.const 65530)) (i32.store (i32.const 524) (i32.const 100))",
        ),
        (
            "a list outside memory",
            "(i32.store (i32.const 528) (i32.const 65530)) (i32.store (i32.const 532) (i32.const 100))",
        ),
        ("no such case", "(i32.store8 (i32.const 512) (i32.const 9))"),
        (
            "no UTF-8",
            "(i32.store (i32.const 520) (i32.const 600)) (i32.store (i32.const 524) (i32.const 1)) (i32.store8 (i32.const 600) (i32.const 0xff))",
        ),
    ] {
        let report = handle("", body);
        let failure = failure(&report);
        assert_eq!(failure.kind, FailureKind::BadResult, "{what}: {failure:?}");
        assert_eq!(failure.code, "bad-result", "{what}");
    }
}
