//! Guests that take more than their share: memory, tables, stack, handles.

use super::{Hostile, failed, try_to};
use crate::hand_made::{HandMade, OWN, TIMERS};

const PLAIN: HandMade<'static> = HandMade::PLAIN;

pub(super) const ALL: &[Hostile] = &[
    try_to(
        "recurse-without-end",
        HandMade {
            fields: "(func $deeper (param i32) (result i32)
              (i32.add (call $deeper (local.get 0)) (i32.const 1)))",
            handle: "(drop (call $deeper (i32.const 0)))",
            ..PLAIN
        },
        failed("trap:stack-overflow", "stack-overflow", "ran out of stack"),
    )
    .patient(),
    // A name that clears the screen of whoever reads the backtrace.
    try_to(
        "trap-under-an-evil-name",
        HandMade {
            fields: r#"(func $"\1b[2J\0d\0aall is well" unreachable)"#,
            handle: r#"(call $"\1b[2J\0d\0aall is well")"#,
            ..PLAIN
        },
        failed("trap:unreachable", "unreachable", "aborted"),
    )
    .patient(),
    try_to(
        "grow-to-4-gib",
        HandMade {
            handle: "(if (i32.eq (memory.grow (i32.const 65535)) (i32.const -1)) (then unreachable))",
            ..PLAIN
        },
        failed("memory", "memory", "wanted 4 GiB of memory, its limit is 128 MiB"),
    )
    .patient(),
    // Four memories of 33 MiB, each of them well below the limit.
    try_to(
        "grow-four-memories",
        HandMade {
            fields: "(memory $a 1) (memory $b 1) (memory $c 1)",
            handle: "(if (i32.eq (memory.grow (i32.const 528)) (i32.const -1)) (then unreachable))
              (if (i32.eq (memory.grow $a (i32.const 528)) (i32.const -1)) (then unreachable))
              (if (i32.eq (memory.grow $b (i32.const 528)) (i32.const -1)) (then unreachable))
              (if (i32.eq (memory.grow $c (i32.const 528)) (i32.const -1)) (then unreachable))",
            ..PLAIN
        },
        failed("memory", "memory", "wanted 132"),
    )
    .patient(),
    try_to(
        "grow-and-touch-for-ever",
        HandMade {
            handle: "(local $at i32)
              (loop $l
                (local.set $at (memory.grow (i32.const 16)))
                (if (i32.eq (local.get $at) (i32.const -1)) (then unreachable))
                (memory.fill (i32.shl (local.get $at) (i32.const 16)) (i32.const 90)
                  (i32.const 1048576))
                (br $l))",
            ..PLAIN
        },
        failed("memory", "memory", "its limit is 128 MiB"),
    )
    .patient(),
    try_to(
        "grow-a-table",
        HandMade {
            fields: "(table $t 10 funcref)",
            handle: "(if (i32.eq (table.grow $t (ref.null func) (i32.const 10000000)) (i32.const -1))
              (then unreachable))",
            ..PLAIN
        },
        failed("memory", "table-elements", "wanted 10000010 table elements"),
    )
    .patient(),
    try_to(
        "grow-three-tables",
        HandMade {
            fields: "(table $a 1 funcref) (table $b 1 funcref) (table $c 1 funcref)",
            handle: "(drop (table.grow $a (ref.null func) (i32.const 40000)))
              (drop (table.grow $b (ref.null func) (i32.const 40000)))
              (if (i32.eq (table.grow $c (ref.null func) (i32.const 40000)) (i32.const -1))
                (then unreachable))",
            ..PLAIN
        },
        failed("memory", "table-elements", "wanted 120003 table elements"),
    )
    .patient(),
    try_to(
        "hold-every-timer",
        HandMade {
            needs: &[TIMERS],
            handle: "(loop $l (drop (call $after (i64.const 0))) (br $l))",
            ..PLAIN
        },
        failed("limit", "handles", "too many"),
    )
    .patient(),
    try_to(
        "hold-every-resource",
        HandMade {
            needs: &[OWN],
            handle: "(loop $l (drop (call $own (i32.const 7))) (br $l))",
            ..PLAIN
        },
        failed("limit", "handles", "too many"),
    )
    .patient(),
    // The same timer, 200,000 times in one list.
    try_to(
        "poll-a-crowd",
        HandMade {
            needs: &[TIMERS],
            handle: "(local $timer i32) (local $at i32)
              (local.set $timer (call $after (i64.const 0)))
              (local.set $at (i32.const 65536))
              (loop $l
                (i32.store (local.get $at) (local.get $timer))
                (local.set $at (i32.add (local.get $at) (i32.const 4)))
                (br_if $l (i32.lt_u (local.get $at) (i32.const 865536))))
              (call $poll (i32.const 65536) (i32.const 200000) (i32.const 600))",
            pages: 20,
            ..PLAIN
        },
        failed("limit", "handles", "too many"),
    )
    .patient(),
];
