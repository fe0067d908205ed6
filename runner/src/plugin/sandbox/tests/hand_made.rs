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
fn a_bare_attempt_says_where_its_time_went_and_how_it_failed() {
    let bare = |text: &str| {
        let dir = TempDir::new().unwrap();
        let rig = Rig::with(unchecked(dir.path(), text));
        let mut request = rig.request("hand-made", &[]);
        request.limits = within(Duration::from_millis(300));
        rig.bare(request)
    };
    let spent = bare(&HandMade::PLAIN.text()).expect("it completes");
    let parts = [spent.making, spent.calling, spent.ending];
    assert!(parts.iter().all(|part| !part.is_zero()), "{spent:?}");
    assert_eq!(spent.all(), parts.iter().sum::<Duration>());
    let failing = |handle| {
        let failing = HandMade {
            handle,
            ..HandMade::default()
        };
        bare(&failing.text()).expect_err("it does not complete")
    };
    let trapped = failing("unreachable");
    assert!(trapped.contains("unreachable"), "{trapped}");
    let endless = failing("(loop $on (br $on))");
    assert!(endless.contains("Deadline"), "{endless}");
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
