//! Components that are refused before any job meets them.

use super::{End, Hostile, try_to};
use crate::hand_made::{EXIT, HandMade};

const PLAIN: HandMade<'static> = HandMade::PLAIN;

pub(super) const ALL: &[Hostile] = &[
    try_to(
        "describe-for-ever",
        HandMade {
            asked: "(loop $l (br $l))",
            ..PLAIN
        },
        End::Refused("ran longer than 1 s"),
    ),
    try_to(
        "describe-from-a-start-that-never-ends",
        HandMade {
            fields: "(func $start (loop $l (br $l))) (start $start)",
            ..PLAIN
        },
        End::Refused("ran longer than 1 s"),
    ),
    try_to(
        "describe-with-a-trap",
        HandMade {
            asked: "unreachable",
            ..PLAIN
        },
        End::Refused("aborted"),
    ),
    try_to(
        "describe-with-an-exit",
        HandMade {
            needs: &[EXIT],
            asked: "(call $exit (i32.const 0))",
            ..PLAIN
        },
        End::Refused("ended its process with code 0"),
    ),
    // 60,000 brackets: a reader that calls itself for each would run out of the host's stack.
    try_to(
        "describe-in-60000-brackets",
        HandMade {
            asked: "(memory.fill (i32.const 5000) (i32.const 91) (i32.const 60000))
              (i32.store (i32.const 516) (i32.const 5000))
              (i32.store (i32.const 520) (i32.const 60000))
              (return (i32.const 512))",
            ..PLAIN
        },
        End::Refused("cannot be read"),
    ),
    try_to(
        "describe-at-length",
        HandMade {
            asked: "(memory.fill (i32.const 65536) (i32.const 32) (i32.const 2097152))
              (i32.store (i32.const 516) (i32.const 65536))
              (i32.store (i32.const 520) (i32.const 2097152))
              (return (i32.const 512))",
            pages: 40,
            ..PLAIN
        },
        End::Refused("the limit is 65536"),
    ),
    try_to(
        "describe-with-much-memory",
        HandMade {
            pages: 600,
            ..PLAIN
        },
        End::Refused("its limit is 32 MiB"),
    ),
    try_to(
        "made-of-200-instances",
        HandMade {
            parts: "(core module $empty)",
            copies: (200, "(core instance (instantiate $empty))"),
            ..PLAIN
        },
        End::Refused("instances"),
    ),
    try_to(
        "made-of-nine-memories",
        HandMade {
            parts: "(core module $four (memory 1) (memory 1) (memory 1) (memory 1))",
            copies: (2, "(core instance (instantiate $four))"),
            ..PLAIN
        },
        End::Refused("memories"),
    ),
];
