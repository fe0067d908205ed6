//! The limits that hold over all parts of a component together.

use sandhog_model::{FailureKind, Outcome};
use tempfile::TempDir;

use super::kit::{HandMade, Rig, failure, unchecked};
use crate::plugin::{Limits, Report};

fn run(text: &str, limits: Limits) -> Report {
    let dir = TempDir::new().unwrap();
    let rig = Rig::with(unchecked(dir.path(), text));
    let mut request = rig.request("hand-made", &[]);
    request.limits = limits;
    rig.attempt(request)
}

/// A handler with more memories of so many pages beside its own of one page.
fn with_memories(count: usize, pages: u32) -> String {
    let more = format!("(core module $more (memory {pages}))")
        + &"(core instance (instantiate $more))".repeat(count);
    HandMade::default()
        .text()
        .replacen("(component", &format!("(component {more}"), 1)
}

#[test]
fn memory_counts_over_all_memories() {
    // Five memories of 30 MiB are 150 MiB, each of them well below the limit.
    let report = run(&with_memories(5, 480), Limits::default());
    let failed = failure(&report);
    assert_eq!(
        (failed.kind, failed.code.as_str()),
        (FailureKind::Memory, "memory")
    );
    assert!(
        failed.cause.contains("its limit is 128 MiB"),
        "{}",
        failed.cause
    );
    let report = run(&with_memories(3, 480), Limits::default());
    assert!(matches!(report.outcome, Outcome::Completed(_)));
    assert_eq!(report.attempt.peak_memory, (3 * 480 + 1) << 16);
}

#[test]
fn a_memory_too_large_from_the_start_names_its_limit() {
    let text = HandMade {
        pages: 3_000,
        ..HandMade::default()
    }
    .text();
    let report = run(&text, Limits::default());
    let failed = failure(&report);
    assert_eq!(failed.kind, FailureKind::Memory);
    assert!(
        failed.cause.starts_with("wanted 187.5 MiB of memory"),
        "{}",
        failed.cause
    );
}

#[test]
fn a_refused_growth_that_is_handled_is_no_failure() {
    let text = HandMade {
        handle: "(if (i32.ne (memory.grow (i32.const 30000)) (i32.const -1)) (then unreachable))",
        ..HandMade::default()
    }
    .text();
    let report = run(&text, Limits::default());
    assert!(
        matches!(report.outcome, Outcome::Completed(_)),
        "{:?}",
        report.outcome
    );
}

#[test]
fn a_trap_of_another_kind_after_a_refusal_is_that_trap() {
    let text = HandMade {
        handle: "(drop (memory.grow (i32.const 30000))) (drop (i32.div_u (i32.const 1) (i32.const 0)))",
        ..HandMade::default()
    }
    .text();
    let report = run(&text, Limits::default());
    assert_eq!(failure(&report).code, "divide-by-zero");
}

#[test]
fn the_ceiling_of_the_pool_is_told_apart_from_the_jobs_limit() {
    let text = HandMade {
        handle: "(if (i32.eq (memory.grow (i32.const 8000)) (i32.const -1)) (then unreachable))",
        ..HandMade::default()
    }
    .text();
    let report = run(
        &text,
        Limits {
            memory: 2 << 30,
            ..Limits::default()
        },
    );
    let failed = failure(&report);
    assert_eq!(
        (failed.kind, failed.code.as_str()),
        (FailureKind::Memory, "memory-ceiling")
    );
    assert_eq!(report.attempt.peak_memory, 1 << 16);
}

#[test]
fn table_elements_count_over_all_tables() {
    let text = HandMade {
        fields: "(table $t 10 funcref)",
        handle: "(if (i32.eq (table.grow $t (ref.null func) (i32.const 1000000)) (i32.const -1)) (then unreachable))",
        ..HandMade::default()
    }
    .text();
    let report = run(&text, Limits::default());
    let failed = failure(&report);
    assert_eq!(
        (failed.kind, failed.code.as_str()),
        (FailureKind::Memory, "table-elements")
    );
    assert!(failed.cause.contains("limit is 100000"), "{}", failed.cause);
    assert!(failed.hint.as_ref().unwrap().contains("table_elements"));
}

#[test]
fn the_limiters_counts_are_in_force() {
    // Sixty-four core instances and the handler's own are one too many; the pool refuses at load
    // what has more, so only an engine without a pool would get as far as the limiter.
    let dir = TempDir::new().unwrap();
    let more = "(core module $more)".to_owned() + &"(core instance (instantiate $more))".repeat(80);
    let text = HandMade::default()
        .text()
        .replacen("(component", &format!("(component {more}"), 1);
    let rig = Rig::with(unchecked(dir.path(), &text));
    let report = rig.run("hand-made", &[]);
    assert_eq!(
        report.outcome,
        Outcome::NotRun(sandhog_model::Waiting::PluginInvalid)
    );
}
