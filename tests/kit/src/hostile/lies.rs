//! Guests that answer what the contract does not allow.

use super::{End, Hostile, failed, try_to};
use crate::hand_made::HandMade;

const PLAIN: HandMade<'static> = HandMade::PLAIN;
const LIE: End = failed("bad-result", "bad-result", "not what the contract says");
const TOO_LARGE: End = failed("bad-result", "result-too-large", "more than 16 MiB");

const fn answer(name: &'static str, handle: &'static str) -> Hostile {
    let made = HandMade { handle, ..PLAIN };
    try_to(name, made, LIE).patient()
}

/// The answer is at 512: which of the two cases, and at 520 the result's content type and payload,
/// or which error, its code, message and details from 528 on.
pub(super) const ALL: &[Hostile] = &[
    answer(
        "answer-a-text-outside-memory",
        "(i32.store (i32.const 520) (i32.const 65530)) (i32.store (i32.const 524) (i32.const 100))",
    ),
    answer(
        "answer-a-list-outside-memory",
        "(i32.store (i32.const 528) (i32.const 65530)) (i32.store (i32.const 532) (i32.const 100))",
    ),
    answer(
        "answer-3-gib-that-are-not-there",
        "(i32.store (i32.const 532) (i32.const 0xc0000000))",
    ),
    answer(
        "answer-a-case-there-is-not",
        "(i32.store8 (i32.const 512) (i32.const 9))",
    ),
    answer(
        "answer-an-error-there-is-not",
        "(i32.store8 (i32.const 512) (i32.const 1)) (i32.store8 (i32.const 520) (i32.const 77))",
    ),
    answer(
        "answer-a-text-that-is-no-utf-8",
        "(i32.store (i32.const 520) (i32.const 600)) (i32.store (i32.const 524) (i32.const 1))
         (i32.store8 (i32.const 600) (i32.const 0xff))",
    ),
    answer("answer-from-an-odd-place", "(return (i32.const 513))"),
    answer("answer-from-beyond-memory", "(return (i32.const -8))"),
    try_to(
        "answer-a-message-of-60-mib",
        HandMade {
            handle: "(drop (memory.grow (i32.const 1000)))
              (i32.store8 (i32.const 512) (i32.const 1))
              (i32.store (i32.const 536) (i32.const 65536))
              (i32.store (i32.const 540) (i32.const 62914560))",
            ..PLAIN
        },
        TOO_LARGE,
    )
    .patient(),
    try_to(
        "answer-four-million-details",
        HandMade {
            handle: "(drop (memory.grow (i32.const 1100)))
              (i32.store8 (i32.const 512) (i32.const 1))
              (i32.store (i32.const 544) (i32.const 65536))
              (i32.store (i32.const 548) (i32.const 4000000))",
            ..PLAIN
        },
        TOO_LARGE,
    )
    .patient(),
    try_to(
        "answer-a-result-of-2-mib",
        HandMade {
            handle: "(drop (memory.grow (i32.const 40)))
              (i32.store (i32.const 528) (i32.const 65536))
              (i32.store (i32.const 532) (i32.const 2097152))",
            ..PLAIN
        },
        failed(
            "bad-result",
            "result-too-large",
            "a result of 2 MiB is over the limit of 1 MiB",
        ),
    )
    .patient(),
    try_to(
        "allocate-outside-memory",
        HandMade {
            realloc: "(if (i32.eq (local.get 2) (i32.const 8)) (then (return (i32.const -8))))",
            ..PLAIN
        },
        failed("bad-result", "bad-allocator", "beyond end of memory"),
    )
    .patient(),
    try_to(
        "allocate-at-odd-places",
        HandMade {
            realloc: "(if (i32.eq (local.get 2) (i32.const 8)) (then (return (i32.const 4097))))",
            ..PLAIN
        },
        failed("bad-result", "bad-allocator", "not aligned"),
    )
    .patient(),
];
