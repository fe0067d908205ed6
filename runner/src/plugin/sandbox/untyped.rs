//! Failures that have no type to know them by: told apart by their texts, which tests hold, and by
//! where they happened.

use std::io;

use rustix::io::Errno;
use sandhog_model::{Failure, FailureKind, TrapKind};
use wasmtime_wasi::ResourceTableError;

use super::{
    engines::{INSTANCES, MEMORIES, TABLES},
    outcome::{Facts, line, raise},
    run::{COMPONENT_HANDLES, HOSTCALL_BYTES, Phase},
    state::{HANDLES, RANDOM_BYTES},
};
use crate::plugin::bytes::human_bytes;

/// How the text begins that lists the guest's frames.
const FRAMES: &str = "error while executing at wasm backtrace";
/// How wasmtime says that a guest's own allocator gave a bad place; what follows is the reason.
const BAD_ALLOCATOR: &str = "realloc return: ";
/// How wasmtime says that a component holds too many handles.
const TOO_MANY_HANDLES: &str = "store handle limit exceeded";
/// How wasmtime-wasi says that too many random bytes are wanted, around their number.
const TOO_RANDOM: (&str, &str) = ("requested len ", " exceeds limit ");
/// How wasmtime says that its copying allowance is used up; it has no public type for it.
const COPIED_TOO_MUCH: &str = "too much data is being copied between the host and the guest";

/// The failure of an error that is no trap, no exit and no refused memory. `in_guest` when the guest's
/// code was being run, up to its call to the host.
pub(super) fn failure(
    phase: Phase,
    in_guest: bool,
    error: &wasmtime::Error,
    facts: &Facts<'_>,
) -> Failure {
    let text = &said(error);
    if let Some(failure) = over_a_limit(phase, in_guest, error, text, facts) {
        return failure;
    }
    match (phase, in_guest) {
        (_, true) => Failure::new(
            FailureKind::Trap(TrapKind::Unknown),
            "bad-host-call",
            format!("a call of the handler to the host failed: {}", line(text)),
        ),
        (Phase::Call, false) if text.contains(BAD_ALLOCATOR) => Failure::new(
            FailureKind::BadResult,
            "bad-allocator",
            format!(
                "its allocator gave the host no place for the job: {}",
                line(text)
            ),
        ),
        (Phase::Call, false) => Failure::new(
            FailureKind::BadResult,
            "bad-result",
            format!("the result is not what the contract says: {}", line(text)),
        ),
        (Phase::Instantiate, false) if text.contains("resource limit exceeded") => Failure::new(
            FailureKind::Limit,
            "instances",
            format!("the component is made of too many parts: {}", line(text)),
        )
        .with_hint(format!(
            "join its modules: an attempt may have {INSTANCES} instances, {MEMORIES} memories and {TABLES} tables, whatever the settings"
        )),
        (Phase::Instantiate, false) => Failure::new(
            FailureKind::HostError,
            "instantiate",
            format!("the sandbox could not be set up: {}", line(text)),
        ),
    }
}

/// An error's texts, without the one that lists the guest's frames: their names are of its choosing.
pub(super) fn said(error: &wasmtime::Error) -> String {
    let texts: Vec<String> = error
        .chain()
        .map(ToString::to_string)
        .filter(|text| !text.starts_with(FRAMES))
        .collect();
    texts.join(": ")
}

/// Whether the machine had no memory or address space for a sandbox to begin with. No fault of the
/// guest's: it did not run yet.
pub(super) fn is_out_of_room(error: &wasmtime::Error) -> bool {
    error.chain().any(|cause| {
        let of_rustix = cause.downcast_ref::<Errno>() == Some(&Errno::NOMEM);
        let of_std = cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::OutOfMemory);
        of_rustix || of_std
    })
}

/// A limit of the engine or of WASI, which have texts for them but no types.
fn over_a_limit(
    phase: Phase,
    in_guest: bool,
    error: &wasmtime::Error,
    text: &str,
    facts: &Facts<'_>,
) -> Option<Failure> {
    let limit = |code: &str, cause: String, instead: &str| {
        let hint = format!("{instead}: this limit is the same for all");
        Some(Failure::new(FailureKind::Limit, code, cause).with_hint(hint))
    };
    if text.contains(COPIED_TOO_MUCH) {
        if phase == Phase::Call && !in_guest {
            return Some(unreadable(facts));
        }
        return limit(
            "host-call-bytes",
            format!(
                "the handler handed the host more than {} in one call",
                human_bytes(HOSTCALL_BYTES as u64)
            ),
            "hand over less at a time",
        );
    }
    let full = matches!(
        error.downcast_ref::<ResourceTableError>(),
        Some(ResourceTableError::Full)
    );
    if full || text.contains(TOO_MANY_HANDLES) {
        return limit(
            "handles",
            format!(
                "the handler held too many streams, timers, files or other resources at a time: {HANDLES} of the host's, or {COMPONENT_HANDLES} in all"
            ),
            "let go of what is not needed any more",
        );
    }
    if let Some(wanted) = random_bytes(text) {
        return limit(
            "random-bytes",
            format!(
                "the handler asked for {} of random bytes in one call: at most {} are given",
                human_bytes(wanted),
                human_bytes(RANDOM_BYTES)
            ),
            "ask for less at a time",
        );
    }
    None
}

/// How many random bytes were wanted, when that was too many.
fn random_bytes(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once(TOO_RANDOM.0)?;
    rest.split_once(TOO_RANDOM.1)?.0.parse().ok()
}

/// An answer that the host stopped reading, before it knew what it is.
fn unreadable(facts: &Facts<'_>) -> Failure {
    Failure::new(
        FailureKind::BadResult,
        "result-too-large",
        format!(
            "its answer takes more than {} to read; the limit of a result is {}",
            human_bytes(HOSTCALL_BYTES as u64),
            human_bytes(facts.limits.result)
        ),
    )
    .with_hint(raise("result", facts.kind))
}
