//! The end of an attempt: every outcome, and what it means for the job.

use alloc::{boxed::Box, collections::BTreeSet, format, string::String, vec, vec::Vec};

use crate::{
    attempt::Attempt,
    command::{Rejected, Settlement},
    event::{Event, Verdict},
    id::{JobId, Token},
    job::{Digest, Job, Output},
    ledger::{Ledger, Status},
    limits::{CHECKPOINT_BYTES, DUE_AHEAD_MS, LOSSES, RESULT_AND_JOBS_BYTES},
    outcome::{Failure, FailureKind, Outcome, Waiting},
    retry::RetryPolicy,
    side::Side,
    slot::Slot,
    time::{Now, UnixMs},
};

use super::held;

/// Keep bytes for the next attempt.
pub(super) fn checkpoint(
    ledger: &Ledger,
    id: JobId,
    token: Token,
    bytes: Vec<u8>,
    now: Now,
) -> Result<Vec<Event>, Rejected> {
    held(ledger, id, token)?;
    if bytes.len() > CHECKPOINT_BYTES {
        let length = bytes.len();
        return Err(Rejected::Invalid(format!(
            "the checkpoint has {length} bytes: at most {CHECKPOINT_BYTES} are kept"
        )));
    }
    Ok(vec![Event::Checkpointed {
        id,
        token,
        at: now.wall,
        bytes,
    }])
}

/// The report of the lease's holder. What only the ledger knows is filled in over what the report
/// says: the attempt's number and token, when its lease was given, and its end, which is now. All
/// waits count from that end.
pub(super) fn settle(
    ledger: &Ledger,
    report: Settlement,
    now: Now,
    entropy: u64,
) -> Result<Vec<Event>, Rejected> {
    let id = report.id;
    let slot = held(ledger, id, report.token)?;
    let number = slot.next_attempt();
    let policy = &report.retry;
    let side = ledger.sides.of(id).side;
    let gives_up = side.and_then(|side| side.gives_up_at(now.wall));
    let failed = |failure: Failure, retry_after_ms: u64| {
        let used = Used {
            attempts: number,
            traps: ledger.traps(id) + u32::from(failure.kind.is_deterministic()),
        };
        let verdict = retry_or_bury(policy, used, failure.kind, retry_after_ms, now, entropy);
        let verdict = match verdict {
            Verdict::Retry { due } if gives_up.is_some_and(|end| due > end) => Verdict::Dead,
            verdict => verdict,
        };
        (verdict, Some(failure))
    };
    let mut children = Vec::new();
    let (mut verdict, failure) = match report.outcome {
        Outcome::Completed(output) => match too_large(&output, &report.children) {
            Some(failure) => failed(failure, 0),
            None => {
                children = adopted(ledger, id, report.children, now)?;
                (Verdict::Completed(output), None)
            }
        },
        Outcome::Failed {
            failure,
            retry_after_ms,
        } => failed(failure, retry_after_ms.unwrap_or(0)),
        Outcome::Permanent(failure) => (Verdict::Dead, Some(failure)),
        Outcome::Snoozed { delay_ms } => {
            let due = later(now, delay_ms);
            (Verdict::Snoozed { due }, None)
        }
        Outcome::Discarded { reason } => (Verdict::Discarded { reason }, None),
        Outcome::NotRun(why) => {
            let due = later(now, pressure_ms(why, entropy));
            (Verdict::PutBack { why, due }, None)
        }
    };
    if ledger.asked.contains_key(&id) {
        verdict = called_off(verdict);
    }
    let attempt = Attempt {
        number,
        token: report.token,
        started_at: since(slot, now),
        ended_at: now.wall,
        failure,
        ..report.attempt
    };
    Ok(vec![Event::Settled {
        id,
        attempt: Box::new(attempt),
        verdict,
        children,
    }])
}

/// A job that was called off while its attempt ran never runs again. What its handler finished before
/// it stopped stays true.
fn called_off(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Completed(_) | Verdict::Discarded { .. } => verdict,
        Verdict::Retry { .. }
        | Verdict::Snoozed { .. }
        | Verdict::PutBack { .. }
        | Verdict::Dead
        | Verdict::Cancelled => Verdict::Cancelled,
    }
}

/// What a job has used of its attempts, the one that ended included.
#[derive(Clone, Copy)]
struct Used {
    attempts: u32,
    /// Those that failed in a way that the same input brings about again.
    traps: u32,
}

/// A failed attempt is followed by another unless they are used up. Failures that the same input
/// brings about again have a cap of their own, by which only they count.
fn retry_or_bury(
    policy: &RetryPolicy,
    used: Used,
    kind: FailureKind,
    retry_after_ms: u64,
    now: Now,
    entropy: u64,
) -> Verdict {
    let is_trapped = kind.is_deterministic() && used.traps >= policy.trap_attempts();
    if is_trapped || used.attempts >= policy.max_attempts() {
        return Verdict::Dead;
    }
    let wait = policy.backoff().delay_ms(used.attempts, entropy);
    Verdict::Retry {
        due: later(now, wait.max(retry_after_ms)),
    }
}

/// How long a job that could not start waits before it is offered again, in milliseconds. What
/// passes by itself soon is asked again soon, at instants spread so that not all come at once.
fn pressure_ms(why: Waiting, entropy: u64) -> u64 {
    match why {
        // It is offered again only to workers that serve its kind, or by the next process.
        Waiting::PluginMissing | Waiting::Shutdown => 0,
        Waiting::PoolFull => 50 + entropy % 101,
        Waiting::PluginInvalid => 1000 + entropy % 1001,
    }
}

fn later(now: Now, ms: u64) -> UnixMs {
    now.wall.plus(ms.min(DUE_AHEAD_MS))
}

/// When the lease was given.
fn since(slot: &Slot, now: Now) -> UnixMs {
    match slot.status() {
        Status::Running { since } => since,
        Status::Waiting { .. }
        | Status::Completed(_)
        | Status::Cancelled(_)
        | Status::Discarded(_)
        | Status::Dead(_)
        | Status::Expired(_) => now.wall,
    }
}

/// The jobs that a completed attempt enqueued, as its children; not those that are there already under their keys,
/// whoever enqueued them.
fn adopted(
    ledger: &Ledger,
    parent: JobId,
    children: Vec<Job>,
    now: Now,
) -> Result<Vec<Job>, Rejected> {
    let (mut seen, mut keys) = (BTreeSet::new(), BTreeSet::new());
    let mut adopted = Vec::with_capacity(children.len());
    for child in children {
        if ledger.slot(child.id).is_some() || !seen.insert(child.id) {
            return Err(Rejected::IdTaken(child.id));
        }
        if !is_there(ledger, parent, &child, &mut keys, now) {
            adopted.push(Job {
                parent: Some(parent),
                ..child
            });
        }
    }
    Ok(adopted)
}

/// Whether another job has a key of this one, or would have it. The parent is about to complete.
fn is_there(
    ledger: &Ledger,
    parent: JobId,
    child: &Job,
    keys: &mut BTreeSet<Digest>,
    now: Now,
) -> bool {
    let locks = &ledger.index.locks;
    let completed = Status::Completed(now.wall);
    let own = ledger.sides.of(parent).side.and_then(Side::unique);
    let own = own.filter(|lock| lock.scope.holds(completed));
    let stands = |key: Digest| {
        let of_parent = own.is_some_and(|lock| lock.key == key);
        of_parent || locks.holder(key, now.wall, Some(parent)).is_some()
    };
    let waiting = Status::Waiting {
        due: child.due,
        backoff: false,
    };
    let unique = child.terms.unique.as_ref();
    let named = child.terms.idempotency.as_ref().map(|named| named.key);
    let is_known = named.is_some_and(|key| locks.holder(key, now.wall, None).is_some());
    if is_known || unique.is_some_and(|unique| stands(unique.key)) {
        return true;
    }
    let lock = unique.filter(|unique| unique.scope.holds(waiting));
    let taken = lock.map(|unique| unique.key).into_iter().chain(named);
    let taken: Vec<Digest> = taken.collect();
    if taken.iter().any(|key| keys.contains(key)) {
        return true;
    }
    keys.extend(taken);
    false
}

/// The result and the jobs of an attempt share one record. When they do not fit in, the attempt
/// failed: a report that could never be written would leave the job running for ever.
fn too_large(output: &Output, children: &[Job]) -> Option<Failure> {
    let total: usize = children
        .iter()
        .map(Job::weight)
        .fold(output.payload.len(), usize::saturating_add);
    (total > RESULT_AND_JOBS_BYTES).then(|| {
        let count = children.len();
        let cause = format!(
            "the result and the {count} jobs it enqueued have {total} bytes together: at most \
             {RESULT_AND_JOBS_BYTES} fit in one record"
        );
        let hint = "enqueue fewer jobs in one attempt, or jobs with smaller payloads";
        Failure::new(FailureKind::Limit, "record", cause).with_hint(hint)
    })
}

/// Take a lease back. Losing the host uses no attempt, but a job that takes its host down again and
/// again is buried.
pub(super) fn lose(
    ledger: &Ledger,
    id: JobId,
    token: Token,
    now: Now,
) -> Result<Vec<Event>, Rejected> {
    let slot = held(ledger, id, token)?;
    let losses = slot.losses() + 1;
    // One that was called off ends with its lease.
    let is_poison = losses > LOSSES && !ledger.asked.contains_key(&id);
    let buried = is_poison.then(|| Box::new(last_loss(slot, losses, now)));
    Ok(vec![Event::Lost {
        id,
        token,
        at: now.wall,
        buried,
    }])
}

/// What the history says of the loss that buried a job.
fn last_loss(slot: &Slot, losses: u32, now: Now) -> Attempt {
    let cause = format!("its worker went away {losses} times while running this job");
    let hint = "look for what ended the runner at these times (out of memory, a kill, a crash), \
                then requeue the job";
    Attempt {
        number: slot.next_attempt(),
        token: slot.token,
        started_at: since(slot, now),
        ended_at: now.wall,
        duration_us: 0,
        digest: String::new(),
        plugin: String::new(),
        peak_memory: 0,
        failure: Some(Failure::new(FailureKind::Lost, "lost", cause).with_hint(hint)),
        logs: Vec::new(),
        dropped_lines: 0,
        cpu_us: 0,
    }
}
