//! Guests that never end, wherever the host runs their code.

use super::{Hostile, STOPPED, WAITED, try_to};
use crate::hand_made::{CONFIG, CONTEXT, HandMade, OWN, RANDOM, TIMERS};

const PLAIN: HandMade<'static> = HandMade::PLAIN;
const FOREVER: &str = "(loop $l (br $l))";

pub(super) const ALL: &[Hostile] = &[
    try_to(
        "loop-in-handle",
        HandMade {
            handle: FOREVER,
            ..PLAIN
        },
        STOPPED,
    ),
    try_to(
        "loop-in-start",
        HandMade {
            needs: &[CONFIG],
            fields: r#"(data (i32.const 16) "go")
              (func $start (call $config (i32.const 16) (i32.const 2) (i32.const 32))
                (if (i32.load8_u (i32.const 32)) (then (loop $l (br $l)))))
              (start $start)"#,
            ..PLAIN
        },
        STOPPED,
    ),
    // As the linker of a language calls `_initialize`: from the start function of one more module.
    try_to(
        "loop-in-constructor",
        HandMade {
            needs: &[CONFIG],
            fields: r#"(data (i32.const 16) "go")
              (func (export "_initialize") (call $config (i32.const 16) (i32.const 2) (i32.const 32))
                (if (i32.load8_u (i32.const 32)) (then (loop $l (br $l)))))"#,
            after: r#"(core module $init
                (import "core" "_initialize" (func $initialize)) (start $initialize))
              (core instance (instantiate $init (with "core" (instance $core))))"#,
            ..PLAIN
        },
        STOPPED,
    ),
    // Only a job, which has numbers of 8 bytes, is aligned so.
    try_to(
        "loop-in-realloc",
        HandMade {
            realloc: "(if (i32.eq (local.get 2) (i32.const 8)) (then (loop $l (br $l))))",
            ..PLAIN
        },
        STOPPED,
    ),
    try_to(
        "loop-in-post-return",
        HandMade {
            fields: r#"(func (export "post") (param i32) (loop $l (br $l)))"#,
            lifted: r#"(post-return (func $core "post"))"#,
            ..PLAIN
        },
        STOPPED,
    ),
    try_to(
        "loop-in-destructor",
        HandMade {
            needs: &[OWN],
            handle: "(call $disown (call $own (i32.const 7)))",
            ..PLAIN
        },
        STOPPED,
    ),
    // One instruction of the guest that the host cannot stop half-way.
    try_to(
        "loop-of-fills",
        HandMade {
            handle: "(drop (memory.grow (i32.const 1900)))
              (loop $l (memory.fill (i32.const 0) (i32.const 1) (i32.const 124000000)) (br $l))",
            ..PLAIN
        },
        STOPPED,
    ),
    try_to(
        "loop-of-host-calls",
        HandMade {
            needs: &[CONTEXT],
            handle: "(loop $l (drop (call $cancelled)) (br $l))",
            ..PLAIN
        },
        STOPPED,
    ),
    try_to(
        "wait-584-years",
        HandMade {
            needs: &[TIMERS],
            handle: "(call $block (call $after (i64.const -1)))",
            ..PLAIN
        },
        WAITED,
    ),
    try_to(
        "loop-of-no-waits",
        HandMade {
            needs: &[TIMERS],
            handle: "(local $none i32) (local.set $none (call $after (i64.const 0)))
              (loop $l (call $block (local.get $none)) (br $l))",
            ..PLAIN
        },
        STOPPED,
    ),
    try_to(
        "loop-of-short-waits",
        HandMade {
            needs: &[TIMERS],
            handle: "(local $soon i32)
              (loop $l (local.set $soon (call $after (i64.const 100000)))
                (call $block (local.get $soon)) (call $let-go (local.get $soon)) (br $l))",
            ..PLAIN
        },
        STOPPED,
    ),
    try_to(
        "loop-of-random-bytes",
        HandMade {
            needs: &[RANDOM],
            handle: "(loop $l (call $random (i64.const 1048576) (i32.const 600)) (br $l))",
            pages: 20,
            ..PLAIN
        },
        STOPPED,
    ),
];
