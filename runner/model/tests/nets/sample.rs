//! Jobs, attempts and failures to test with.

use sandhog_model::{
    Asked, Attempt, Cancellation, Digest, Failure, FailureKind, Job, JobId, KindDefaults, NewJob,
    Now, OnConflict, Outcome, Output, RetryPolicy, Scope, Settlement, Terms, Token, Unique, UnixMs,
};

/// Both clocks at `ms`.
pub(crate) fn now(ms: u64) -> Now {
    Now {
        wall: UnixMs(ms),
        mono: ms,
    }
}

/// A policy of `max` attempts, `trap` for deterministic failures, 1 s apart.
pub(crate) fn policy(max: u32, trap: u32) -> RetryPolicy {
    RetryPolicy {
        max_attempts: Some(max),
        trap_attempts: Some(trap),
        backoff: Some("fixed 1s jitter 0".parse().expect("a backoff")),
    }
}

/// A job of `kind`, accepted at `at`, due then.
pub(crate) fn job(id: u128, kind: &str, at: u64) -> Job {
    let new = NewJob {
        kind: kind.into(),
        retry: policy(3, 2),
        ..NewJob::default()
    };
    new.accept(JobId(id), UnixMs(at), &KindDefaults::default())
        .expect("within bounds")
}

/// Job 10 with a group, a unique key, an end of its waiting and of its retries.
pub(crate) fn saying_more() -> Job {
    let mut job = job(10, "k", 0);
    job.terms = Terms {
        expires: Some(UnixMs(4_000)),
        retry_for_ms: Some(2_000),
        group: Some("g".into()),
        unique: Some(Unique {
            key: Digest(9),
            says: "nine".into(),
            scope: Scope::UNFINISHED,
            until: None,
            on_conflict: OnConflict::Reject,
        }),
        ..Terms::default()
    };
    job
}

/// An attempt as a worker reports it: what the ledger knows better is left wrong.
pub(crate) fn attempt() -> Attempt {
    Attempt {
        number: 77,
        token: Token(77),
        started_at: UnixMs(77),
        ended_at: UnixMs(77),
        duration_us: 5,
        digest: "d".into(),
        plugin: "p".into(),
        peak_memory: 6,
        failure: None,
        logs: Vec::new(),
        dropped_lines: 0,
        cpu_us: 0,
    }
}

/// A failure of a kind.
pub(crate) fn failure(kind: FailureKind) -> Failure {
    Failure::new(kind, "code", "cause")
}

/// A failed outcome of a kind.
pub(crate) fn failed(kind: FailureKind) -> Outcome {
    Outcome::Failed {
        failure: failure(kind),
        retry_after_ms: None,
    }
}

/// A calling off at 3 s.
pub(crate) fn cancellation(how: Asked) -> Cancellation {
    Cancellation {
        how,
        at: UnixMs(3_000),
        by: "ada".into(),
        reason: Some("no use".into()),
    }
}

/// A result.
pub(crate) fn output() -> Output {
    Output {
        content_type: "text/plain".into(),
        payload: b"done".to_vec(),
    }
}

/// A report with the policy of [`job`].
pub(crate) fn report(id: u128, token: u64, outcome: Outcome) -> Settlement {
    Settlement {
        id: JobId(id),
        token: Token(token),
        outcome,
        attempt: attempt(),
        children: Vec::new(),
        retry: policy(3, 2),
    }
}
