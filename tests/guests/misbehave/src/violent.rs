//! Kinds that end in a trap, in a time-out or in noise.

use std::hint::black_box;
use std::time::Duration;

use sandhog_sdk::{Bytes, Context, Level};

use crate::number;

/// Prints header `lines` (0) lines, then panics with the payload as text.
#[sandhog_sdk::job]
pub(crate) fn panic(input: Bytes, ctx: &Context) {
    for n in 0..number(ctx, "lines", 0) {
        println!("line {n} before the end");
    }
    panic!("{}", String::from_utf8_lossy(&input.bytes));
}

/// Runs into the `unreachable` instruction, without a panic.
#[sandhog_sdk::job]
pub(crate) fn unreachable(_: Bytes) {
    #[cfg(target_family = "wasm")]
    core::arch::wasm32::unreachable();
    #[cfg(not(target_family = "wasm"))]
    unreachable!("the instruction exists in a sandbox only");
}

/// Divides by zero with the machine's instruction, past Rust's own check.
#[sandhog_sdk::job]
pub(crate) fn divide(_: Bytes) -> i32 {
    let zero = black_box(0i32);
    divide_unchecked(black_box(17), zero)
}

#[cfg(target_family = "wasm")]
#[inline(never)]
fn divide_unchecked(a: i32, b: i32) -> i32 {
    // SAFETY: none, on purpose: the promise is false. The compiler cannot see through the caller's
    // `black_box`, so all it does with the promise is to leave out its check; `i32.div_s` stays and
    // traps. A test of the host looks for that trap by name.
    unsafe { core::hint::assert_unchecked(b != 0 && b != -1) };
    a / b
}

#[cfg(not(target_family = "wasm"))]
fn divide_unchecked(a: i32, b: i32) -> i32 {
    a / b
}

/// Reads far beyond the end of its memory.
#[sandhog_sdk::job(kind = "out-of-bounds")]
pub(crate) fn out_of_bounds(_: Bytes) -> u8 {
    #[cfg(target_family = "wasm")]
    {
        let far = black_box(0xffff_fff0usize as *const u8);
        // SAFETY: none, on purpose: a volatile load is one load instruction, and in a sandbox it
        // can only trap, as no memory is that large.
        unsafe { far.read_volatile() }
    }
    #[cfg(not(target_family = "wasm"))]
    [0u8; 4][black_box(16usize)]
}

/// Calls itself for ever.
#[sandhog_sdk::job]
pub(crate) fn recurse(_: Bytes) -> u64 {
    deeper(1, black_box(u64::MAX))
}

/// The rotation keeps the compiler from making a loop of it.
#[inline(never)]
fn deeper(depth: u64, end: u64) -> u64 {
    if depth == end {
        return depth;
    }
    deeper(depth + 1, end).rotate_left(7) ^ depth
}

/// Loops for ever without a call.
#[sandhog_sdk::job]
pub(crate) fn r#loop(_: Bytes, ctx: &Context) {
    ctx.info("looping");
    let mut turns = 0u64;
    loop {
        turns = black_box(turns.wrapping_add(1));
    }
}

/// Leaves the process with the code in header `code` (0).
#[sandhog_sdk::job]
pub(crate) fn exit(_: Bytes, ctx: &Context) {
    std::process::exit(i32::try_from(number(ctx, "code", 0)).unwrap_or(1));
}

/// Writes header `lines` (1000000) lines to the log and as many to stderr and stdout.
#[sandhog_sdk::job]
pub(crate) fn flood(_: Bytes, ctx: &Context) -> u64 {
    let lines = number(ctx, "lines", 1_000_000);
    for n in 0..lines {
        ctx.log(
            Level::Info,
            &format!("log line {n} of the flood"),
            &[("n", "x")],
        );
        eprintln!("stderr line {n} of the flood");
        println!("stdout line {n} of the flood");
    }
    lines
}

/// Sleeps for header `ms` (1000) milliseconds in the host's hands.
#[sandhog_sdk::job]
pub(crate) fn sleep(_: Bytes, ctx: &Context) -> u64 {
    ctx.info("sleeping");
    let ms = number(ctx, "ms", 1_000);
    std::thread::sleep(Duration::from_millis(ms));
    ms
}
