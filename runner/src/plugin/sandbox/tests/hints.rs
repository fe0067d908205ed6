//! What is said of each limit that was met: the limit, its value, and the key that raises it.

use sandhog_kit::hand_made::{CONTEXT, HandMade, LOG, OWN, RANDOM, TIMERS};
use sandhog_model::Outcome;
use tempfile::TempDir;

use super::kit::{Rig, failure, unchecked};
use crate::plugin::{Limits, Report, SandboxOptions};

const PLAIN: HandMade<'static> = HandMade::PLAIN;

/// A way over one limit.
struct Over {
    made: HandMade<'static>,
    limits: Limits,
    /// Whether the job came with its wall time.
    own_timeout: bool,
    pool: bool,
    code: &'static str,
    value: &'static str,
    hint: &'static str,
}

fn over(
    made: HandMade<'static>,
    code: &'static str,
    value: &'static str,
    hint: &'static str,
) -> Over {
    Over {
        made,
        limits: Limits::default(),
        own_timeout: false,
        pool: true,
        code,
        value,
        hint,
    }
}

fn run(one: &Over) -> Report {
    let dir = TempDir::new().unwrap();
    let plugin = unchecked(dir.path(), &one.made.text());
    let rig = match one.pool {
        true => Rig::with(plugin),
        false => Rig::on_demand(plugin),
    };
    let mut request = rig.request("hand-made", &[]);
    request.limits = one.limits.clone();
    request.job.timeout_ms = one.own_timeout.then_some(one.limits.timeout_ms);
    rig.attempt(request)
}

const fn doing(handle: &'static str) -> HandMade<'static> {
    HandMade { handle, ..PLAIN }
}

/// Limits that a key raises.
fn with_a_key() -> Vec<Over> {
    let forever = doing("(loop $l (br $l))");
    let short = Limits {
        timeout_ms: 60,
        ..Limits::default()
    };
    let grow =
        doing("(if (i32.eq (memory.grow (i32.const 9000)) (i32.const -1)) (then unreachable))");
    vec![
        Over {
            limits: short.clone(),
            ..over(
                forever,
                "timeout",
                "60 ms",
                "raise `timeout` under [kind.hand-made]",
            )
        },
        Over {
            limits: short,
            own_timeout: true,
            ..over(forever, "timeout", "60 ms", "longer `--attempt-timeout`")
        },
        over(
            grow,
            "memory",
            "128 MiB",
            "raise `memory` under [kind.hand-made]",
        ),
        Over {
            limits: Limits {
                memory: 2 << 30,
                ..Limits::default()
            },
            ..over(
                grow,
                "memory-ceiling",
                "MiB of memory, which the machine",
                "lower `slots` under [runner]",
            )
        },
        over(
            HandMade {
                fields: "(table $t 1 funcref)",
                handle: "(if (i32.eq (table.grow $t (ref.null func) (i32.const 100000)) (i32.const -1)) (then unreachable))",
                ..PLAIN
            },
            "table-elements",
            "its limit is 100000",
            "raise `table_elements` under [limits]",
        ),
        over(
            doing(
                "(drop (memory.grow (i32.const 40))) (i32.store (i32.const 528) (i32.const 65536))
                 (i32.store (i32.const 532) (i32.const 2097152))",
            ),
            "result-too-large",
            "limit of 1 MiB",
            "raise `result` under [limits]",
        ),
    ]
}

/// Limits that are the same for all.
fn without_a_key() -> Vec<Over> {
    let fixed = "this limit is the same for all";
    let handles = "4096 of the host's, or 10000 in all";
    vec![
        over(
            HandMade {
                needs: &[LOG],
                ..doing(
                    "(drop (memory.grow (i32.const 1000)))
                     (call $log (i32.const 2) (i32.const 0) (i32.const 62914560) (i32.const 0) (i32.const 0))",
                )
            },
            "host-call-bytes",
            "16 MiB",
            fixed,
        ),
        over(
            HandMade {
                needs: &[TIMERS],
                ..doing("(loop $l (drop (call $after (i64.const 0))) (br $l))")
            },
            "handles",
            handles,
            fixed,
        ),
        over(
            HandMade {
                needs: &[OWN],
                ..doing("(loop $l (drop (call $own (i32.const 7))) (br $l))")
            },
            "handles",
            handles,
            fixed,
        ),
        over(
            HandMade {
                needs: &[RANDOM],
                ..doing("(call $random (i64.const 0x100000000) (i32.const 600))")
            },
            "random-bytes",
            "at most 1 MiB",
            fixed,
        ),
        Over {
            pool: false,
            ..over(
                HandMade {
                    parts: "(core module $more)",
                    copies: (80, "(core instance (instantiate $more))"),
                    ..PLAIN
                },
                "instances",
                "65",
                "64 instances, 16 memories and 64 tables, whatever the settings",
            )
        },
    ]
}

#[test]
fn each_limit_says_its_value_and_the_key_to_raise() {
    for one in with_a_key().into_iter().chain(without_a_key()) {
        let report = run(&one);
        let failed = failure(&report);
        assert_eq!(failed.code, one.code, "{failed:?}");
        assert!(failed.cause.contains(one.value), "{}: {failed:?}", one.code);
        let hint = failed.hint.as_deref().unwrap_or_default();
        assert!(hint.contains(one.hint), "{}: {hint:?}", one.code);
    }
}

#[test]
fn a_checkpoint_over_its_limit_says_the_key() {
    let dir = TempDir::new().unwrap();
    // The answer's text lies where its place says; what it is goes into the log.
    let made = HandMade {
        needs: &[CONTEXT, LOG],
        handle: "(call $checkpoint (i32.const 0) (i32.const 300000) (i32.const 600))
          (call $log (i32.const 2) (i32.load (i32.const 604)) (i32.load (i32.const 608))
            (i32.const 0) (i32.const 0))",
        pages: 5,
        ..PLAIN
    };
    let rig = Rig::with(unchecked(dir.path(), &made.text()));
    let report = rig.run("hand-made", &[]);
    assert!(
        matches!(report.outcome, Outcome::Completed(_)),
        "{report:?}"
    );
    let said = &report.attempt.logs[0].text;
    for part in ["256 KiB", "`checkpoint` under [limits]"] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn more_table_elements_are_had_where_the_operator_allows_them() {
    let dir = TempDir::new().unwrap();
    let made = HandMade {
        fields: "(table $t 1 funcref)",
        handle: "(if (i32.eq (table.grow $t (ref.null func) (i32.const 300000)) (i32.const -1)) (then unreachable))",
        ..PLAIN
    };
    let plugin = unchecked(dir.path(), &made.text());
    let options = SandboxOptions {
        table_elements: 400_000,
        ..SandboxOptions::default()
    };
    let rig = Rig::of(plugin, options);
    let mut request = rig.request("hand-made", &[]);
    request.limits.table_elements = 400_000;
    let report = rig.attempt(request);
    assert!(
        matches!(report.outcome, Outcome::Completed(_)),
        "{report:?}"
    );
}
