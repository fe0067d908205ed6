//! Guests that flood the host with calls, bytes and lines.

use super::{End, Hostile, STOPPED, failed, try_to};
use crate::hand_made::{CONFIG, CONTEXT, ENQUEUE, EXIT, HandMade, LOG, PROGRESS, RANDOM, STREAMS};

const PLAIN: HandMade<'static> = HandMade::PLAIN;
const TOO_MANY_BYTES: End = failed("limit", "host-call-bytes", "more than 16 MiB in one call");

pub(super) const ALL: &[Hostile] = &[
    try_to(
        "exit-as-if-done",
        HandMade {
            needs: &[EXIT],
            handle: "(call $exit (i32.const 0))",
            ..PLAIN
        },
        failed("exit", "exit", "with code 0"),
    )
    .patient(),
    try_to(
        "exit-from-start",
        HandMade {
            needs: &[CONFIG, EXIT],
            fields: r#"(data (i32.const 16) "go")
              (func $start (call $config (i32.const 16) (i32.const 2) (i32.const 32))
                (if (i32.load8_u (i32.const 32)) (then (call $exit (i32.const 1)))))
              (start $start)"#,
            ..PLAIN
        },
        failed("exit", "exit", "with code 1"),
    )
    .patient(),
    try_to(
        "ask-for-4-gib-of-chance",
        HandMade {
            needs: &[RANDOM],
            handle: "(call $random (i64.const 0x100000000) (i32.const 600))",
            ..PLAIN
        },
        failed("limit", "random-bytes", "4 GiB of random bytes in one call"),
    )
    .patient(),
    try_to(
        "log-60-mib-in-one-line",
        HandMade {
            needs: &[LOG],
            handle: "(drop (memory.grow (i32.const 1000)))
              (call $log (i32.const 2) (i32.const 0) (i32.const 62914560) (i32.const 0) (i32.const 0))",
            ..PLAIN
        },
        TOO_MANY_BYTES,
    )
    .patient(),
    try_to(
        "log-a-million-fields",
        HandMade {
            needs: &[LOG],
            handle: "(drop (memory.grow (i32.const 300)))
              (call $log (i32.const 2) (i32.const 0) (i32.const 1)
                (i32.const 1048576) (i32.const 1000000))",
            ..PLAIN
        },
        TOO_MANY_BYTES,
    )
    .patient(),
    try_to(
        "log-without-end",
        HandMade {
            needs: &[LOG],
            handle: "(loop $l
              (call $log (i32.const 4) (i32.const 1024) (i32.const 16) (i32.const 0) (i32.const 0))
              (br $l))",
            ..PLAIN
        },
        STOPPED,
    ),
    try_to(
        "ask-for-a-setting-of-60-mib",
        HandMade {
            needs: &[CONFIG],
            handle: "(drop (memory.grow (i32.const 1000)))
              (call $config (i32.const 0) (i32.const 62914560) (i32.const 600))",
            ..PLAIN
        },
        TOO_MANY_BYTES,
    )
    .patient(),
    try_to(
        "report-progress-without-end",
        HandMade {
            needs: &[PROGRESS],
            handle: "(loop $l
              (call $progress (i64.const 1) (i32.const 0) (i64.const 0) (i32.const 1)
                (i32.const 8192) (i32.const 50000))
              (br $l))",
            ..PLAIN
        },
        STOPPED,
    ),
    // A GiB in 64 KiB pieces, and never an end of the line.
    try_to(
        "print-a-line-of-1-gib",
        HandMade {
            needs: &[STREAMS],
            handle: "(local $out i32) (local $left i32)
              (local.set $out (call $stdout))
              (local.set $left (i32.const 16384))
              (loop $l
                (call $room (local.get $out) (i32.const 600))
                (call $write (local.get $out) (i32.const 0) (i32.const 65536) (i32.const 600))
                (local.set $left (i32.sub (local.get $left) (i32.const 1)))
                (br_if $l (local.get $left)))",
            ..PLAIN
        },
        End::Completed,
    )
    .patient(),
    try_to(
        "print-bytes-that-are-no-text",
        HandMade {
            needs: &[STREAMS],
            fields: r#"(data (i32.const 16) "\1b[2J\ff\fe\00\0d\0aforged\0a")"#,
            handle: "(local $out i32) (local.set $out (call $stdout))
              (call $room (local.get $out) (i32.const 600))
              (call $write (local.get $out) (i32.const 16) (i32.const 16) (i32.const 600))",
            ..PLAIN
        },
        End::Completed,
    )
    .patient(),
    try_to(
        "read-what-nobody-sends",
        HandMade {
            needs: &[STREAMS],
            handle: "(call $read (call $stdin) (i64.const 1000) (i32.const 600))
              (if (i32.ne (i32.load8_u (i32.const 600)) (i32.const 1)) (then unreachable))",
            ..PLAIN
        },
        End::Completed,
    )
    .patient(),
    // The refusal is an error for the guest, which goes on.
    try_to(
        "enqueue-with-40000-headers",
        HandMade {
            needs: &[ENQUEUE],
            handle: "(call $enqueue (i32.const 1026) (i32.const 6) (i32.const 0) (i32.const 0)
                (i32.const 0) (i32.const 0) (i32.const 65536) (i32.const 40000)
                (i32.const 0) (i32.const 0) (i32.const 600))
              (if (i32.ne (i32.load8_u (i32.const 600)) (i32.const 1)) (then unreachable))",
            pages: 20,
            ..PLAIN
        },
        End::Completed,
    )
    .patient(),
    // A hundred thousand jobs, of which a thousand are taken, and then none.
    try_to(
        "enqueue-without-end",
        HandMade {
            needs: &[ENQUEUE],
            handle: "(local $left i32) (local.set $left (i32.const 100000))
              (loop $l
                (call $enqueue (i32.const 1026) (i32.const 6) (i32.const 0) (i32.const 0)
                  (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)
                  (i32.const 0) (i32.const 0) (i32.const 600))
                (local.set $left (i32.sub (local.get $left) (i32.const 1)))
                (br_if $l (local.get $left)))
              unreachable",
            ..PLAIN
        },
        failed("trap:unreachable", "unreachable", "aborted"),
    )
    .patient(),
    // Until the host keeps no more.
    try_to(
        "checkpoint-without-end",
        HandMade {
            needs: &[CONTEXT],
            handle: "(loop $l
              (call $checkpoint (i32.const 0) (i32.const 262144) (i32.const 600))
              (br_if $l (i32.eqz (i32.load8_u (i32.const 600)))))",
            pages: 5,
            ..PLAIN
        },
        End::Completed,
    )
    .patient(),
];
