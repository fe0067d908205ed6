//! From the way a visit ended to the outcome of an attempt, in job terms.

use sandhog_model::{Failure, FailureKind, Outcome, Output, TrapKind, Waiting};
use wasmtime::{PoolConcurrencyLimitError, Trap, WasmBacktrace};
use wasmtime_wasi::I32Exit;

use super::{
    backtrace::frames,
    bindings::{exports::sandhog::job::handler, sandhog::job::types},
    journal::clean,
    meter::{Meter, Refused},
    run::{End, Phase},
    state::Stopped,
    trap, untyped,
};
use crate::plugin::{
    Limits,
    bytes::{human_bytes, human_ms},
};

/// Longest failure code, in bytes.
const CODE_BYTES: usize = 64;
/// Longest failure message or discard reason, in bytes.
const MESSAGE_BYTES: usize = 8 << 10;
/// Most details of a failure, and their bytes in all.
const DETAILS: usize = 64;
const DETAIL_BYTES: usize = 16 << 10;
/// Longest media type, in bytes.
const CONTENT_TYPE_BYTES: usize = 256;
/// How Rust says in a panic that it got no memory; most often it aborts without one.
const OUT_OF_MEMORY: &str = "memory allocation of";
/// What the judgement needs beside the end itself.
pub(crate) struct Facts<'a> {
    pub(crate) kind: &'a str,
    /// Whether its wall time is one that the job itself came with.
    pub(crate) own_timeout: bool,
    pub(crate) limits: &'a Limits,
    pub(crate) meter: &'a Meter,
    pub(crate) panic: Option<String>,
}

type Answer = Result<handler::Output, handler::JobError>;

/// The outcome of an attempt's visit.
pub(crate) fn judge(end: End<Answer>, facts: Facts<'_>) -> Outcome {
    match end {
        End::Returned(Ok(output)) => completed(output, &facts),
        End::Returned(Err(error)) => verdict(error),
        End::Stopped(Stopped::Interrupted, _) => Outcome::NotRun(Waiting::Shutdown),
        End::Stopped(Stopped::Deadline, error) => failed(timeout(error.as_ref(), &facts)),
        End::Failed(phase, error) => broken(phase, &error, facts),
        End::Panicked(text) => failed(host_panic(&text)),
    }
}

/// The failure of an attempt during which the host panicked.
pub(crate) fn host_panic(text: &str) -> Failure {
    Failure::new(
        FailureKind::HostError,
        "host-panic",
        format!("the runner failed while it ran the handler: {}", line(text)),
    )
    .with_hint("this is a fault of the runner, not of the handler: please report it")
}

fn failed(failure: Failure) -> Outcome {
    Outcome::Failed {
        failure,
        retry_after_ms: None,
    }
}

fn completed(output: handler::Output, facts: &Facts<'_>) -> Outcome {
    let bytes = output.payload.len() as u64;
    if bytes > facts.limits.result {
        return failed(too_large(
            format!("a result of {}", human_bytes(bytes)),
            facts,
        ));
    }
    let content_type = output.content_type;
    if content_type.len() > CONTENT_TYPE_BYTES || content_type.contains(char::is_control) {
        return failed(Failure::new(
            FailureKind::BadResult,
            "bad-content-type",
            format!(
                "the result's content type is no media type of up to {CONTENT_TYPE_BYTES} bytes"
            ),
        ));
    }
    Outcome::Completed(Output {
        content_type,
        payload: output.payload,
    })
}

fn verdict(error: handler::JobError) -> Outcome {
    use handler::JobError;
    match error {
        JobError::Retryable(said) | JobError::Other(said) => failed(said_failure(said)),
        JobError::RetryAfter((delay_ms, said)) => Outcome::Failed {
            failure: said_failure(said),
            retry_after_ms: Some(delay_ms),
        },
        JobError::Permanent(said) => Outcome::Permanent(said_failure(said)),
        JobError::Snooze(delay_ms) => Outcome::Snoozed { delay_ms },
        JobError::Discard(reason) => Outcome::Discarded {
            reason: line(&reason),
        },
    }
}

fn said_failure(said: types::Failure) -> Failure {
    let code = clean(said.code.as_bytes(), &mut { CODE_BYTES });
    let code = if code.is_empty() {
        "error".into()
    } else {
        code
    };
    let mut failure = Failure::new(FailureKind::Error, code, line(&said.message));
    let mut left = DETAIL_BYTES;
    failure.details = said
        .details
        .into_iter()
        .take(DETAILS)
        .map(|(key, value)| {
            (
                clean(key.as_bytes(), &mut left),
                clean(value.as_bytes(), &mut left),
            )
        })
        .collect();
    failure
}

/// A visit that neither returned nor was stopped. The order matters: a marker of ours says more
/// than the trap that followed from it.
fn broken(phase: Phase, error: &wasmtime::Error, facts: Facts<'_>) -> Outcome {
    if error.is::<PoolConcurrencyLimitError>() {
        return Outcome::NotRun(Waiting::PoolFull);
    }
    if phase == Phase::Instantiate && untyped::is_out_of_room(error) {
        let why = line(&untyped::said(error));
        tracing::debug!("no room for one more sandbox, its job waits: {why}");
        return Outcome::NotRun(Waiting::PoolFull);
    }
    let trap = error.downcast_ref::<Trap>().copied();
    let in_guest = error.is::<WasmBacktrace>();
    let mut failure = if let Some(I32Exit(code)) = error.downcast_ref::<I32Exit>() {
        exit(*code)
    } else if let Some(refused) = memory_refusal(phase, trap, &facts) {
        memory(refused, &facts)
    } else if let Some(trap) = trap {
        trapped(trap, facts.panic.as_deref())
    } else {
        untyped::failure(phase, in_guest, error, &facts)
    };
    failure.backtrace = frames(error);
    failure.panic = facts.panic;
    failed(failure)
}

/// Guests whose language aborts when memory is refused end in `unreachable`; a memory that is too
/// large from the start fails without a trap. Anything else after a refusal is its own fault, and so
/// is a panic about something else: the guest had made do without the memory.
fn memory_refusal(phase: Phase, trap: Option<Trap>, facts: &Facts<'_>) -> Option<Refused> {
    let panicked_otherwise = facts
        .panic
        .as_ref()
        .is_some_and(|panic| !panic.contains(OUT_OF_MEMORY));
    let follows = match trap {
        Some(trap) => trap == Trap::UnreachableCodeReached && !panicked_otherwise,
        None => phase == Phase::Instantiate,
    };
    facts.meter.refused().filter(|_| follows)
}

fn memory(refused: Refused, facts: &Facts<'_>) -> Failure {
    let limits = facts.limits;
    match refused {
        Refused::Memory { wanted } => Failure::new(
            FailureKind::Memory,
            "memory",
            format!(
                "wanted {} of memory, its limit is {}",
                human_bytes(wanted),
                human_bytes(limits.memory)
            ),
        )
        .with_hint(raise("memory", facts.kind)),
        Refused::Table { wanted } => Failure::new(
            FailureKind::Memory,
            "table-elements",
            format!(
                "wanted {wanted} table elements, its limit is {}",
                limits.table_elements
            ),
        )
        .with_hint(raise("table_elements", facts.kind)),
        Refused::Machine { wanted } => Failure::new(
            FailureKind::Memory,
            "memory-ceiling",
            match wanted {
                Some(wanted) => format!(
                    "wanted {} of memory, which the machine did not give it",
                    human_bytes(wanted)
                ),
                None => "wanted more table elements than the machine gave it".to_owned(),
            },
        )
        .with_hint(
            "give the runner more memory, or fewer attempts at a time: lower `slots` under [runner] in sandhog.toml",
        ),
    }
}

fn timeout(error: Option<&wasmtime::Error>, facts: &Facts<'_>) -> Failure {
    let mut failure = Failure::new(
        FailureKind::Timeout,
        "timeout",
        format!(
            "ran longer than {}, its time limit",
            human_ms(facts.limits.timeout_ms)
        ),
    )
    .with_hint(match facts.own_timeout {
        true => "enqueue it with a longer `--attempt-timeout`: it came with this one".to_owned(),
        false => raise("timeout", facts.kind),
    });
    match error {
        Some(error) => failure.backtrace = frames(error),
        None => failure.cause.push_str("; it was waiting for the host"),
    }
    failure
}

fn exit(code: i32) -> Failure {
    Failure::new(
        FailureKind::Exit,
        "exit",
        format!("the handler ended its process with code {code} instead of returning a result"),
    )
    .with_hint("return a result or an error: do not call `exit`")
}

fn trapped(trap: Trap, panic: Option<&str>) -> Failure {
    let (kind, cause) = trap::describe(trap);
    let cause = match panic.and_then(rust_panic) {
        Some(panicked) if kind == TrapKind::Unreachable => panicked,
        _ => cause,
    };
    let kind = FailureKind::Trap(kind);
    let code = kind.name().trim_start_matches("trap:");
    Failure::new(kind, code, cause)
}

/// A Rust panic in one line; other languages' texts say it on lines that differ.
fn rust_panic(text: &str) -> Option<String> {
    let (_, rest) = text.split_once(" panicked at ")?;
    let (place, said) = rest.split_once('\n')?;
    let place = place.trim_end_matches(':');
    let said = said.lines().next().unwrap_or_default();
    Some(format!("the handler panicked at {place}: {said}"))
}

fn too_large(what: String, facts: &Facts<'_>) -> Failure {
    Failure::new(
        FailureKind::BadResult,
        "result-too-large",
        format!(
            "{what} is over the limit of {}",
            human_bytes(facts.limits.result)
        ),
    )
    .with_hint(raise("result", facts.kind))
}

/// Advice to raise a limit, where the settings have it: two of them can be raised for one kind alone.
pub(super) fn raise(key: &str, kind: &str) -> String {
    match key {
        "timeout" | "memory" => format!("raise `{key}` under [kind.{kind}] in sandhog.toml"),
        _ => format!("raise `{key}` under [limits] in sandhog.toml"),
    }
}

pub(super) fn line(text: &str) -> String {
    clean(text.as_bytes(), &mut { MESSAGE_BYTES })
}

/// A component's answer to `describe`, or why there is none, in one line.
pub(crate) fn judge_description(
    end: End<Result<String, String>>,
    facts: Facts<'_>,
) -> Result<String, String> {
    let panic = facts.panic.clone();
    let cause = match end {
        End::Returned(Ok(text)) => return Ok(text),
        End::Returned(Err(why)) => return Err(line(&why)),
        End::Stopped(_, error) => timeout(error.as_ref(), &facts).cause,
        End::Failed(phase, error) => match broken(phase, &error, facts) {
            Outcome::Failed { failure, .. } => failure.cause,
            Outcome::NotRun(_) => "this machine has no room for a sandbox of it".into(),
            outcome => format!("no sandbox for it: {outcome:?}"),
        },
        End::Panicked(text) => host_panic(&text).cause,
    };
    Err(match panic {
        Some(panic) => format!("{cause}: {}", line(&panic)),
        None => cause,
    })
}
