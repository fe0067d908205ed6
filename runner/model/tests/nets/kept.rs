//! The columns of the table for facts that keep a log short.

use sandhog_model::{
    Asked, Carried, Entry, Event, FailureKind, JobId, QueueLimits, QueueMode, RecordAt, Status,
    Steering, Token, UnixMs,
};

use crate::{
    cases::{AT, ID},
    sample::{cancellation, job},
};

/// Job 10 written anew as `entry` has it; as one that waits when there is none.
fn carried(entry: Option<&Entry>) -> Carried {
    let (due, backoff) = (UnixMs(0), false);
    Carried {
        job: job(10, "k", 0),
        at: UnixMs(AT),
        status: entry.map_or(Status::Waiting { due, backoff }, |entry| entry.status),
        attempts: entry.map_or(0, |entry| entry.attempts),
        losses: entry.map_or(0, |entry| entry.losses),
        token: entry.map_or(Token(0), |entry| entry.token),
        failure: entry.and_then(|entry| entry.failure),
        history: Vec::new(),
        output: None,
        reason: None,
        children: Vec::new(),
        checkpoint: entry.and_then(|entry| entry.checkpoint).map(|_| vec![1]),
        cancel: entry.and_then(|entry| entry.asked).map(cancellation),
        traps: entry.map_or(0, |entry| entry.traps),
        lifted: entry.is_some_and(|entry| entry.lifted),
        unlocked: entry.is_some_and(|entry| entry.unlocked),
        failing_since: entry.and_then(|entry| entry.failing_since),
    }
}

/// Every fact about a job that is written anew or forgotten, and about the log itself.
pub(crate) fn facts_of_keeping(entry: Option<&Entry>) -> Vec<(&'static str, Event)> {
    let same = || carried(entry);
    let token = same().token;
    let ended = |token| Carried {
        status: Status::Completed(UnixMs(4_000)),
        attempts: 2,
        losses: 1,
        token,
        failure: Some(FailureKind::Memory),
        ..same()
    };
    let runs = Carried {
        status: Status::Running {
            since: UnixMs(4_500),
        },
        token: Token(token.0 + 7),
        checkpoint: Some(vec![1]),
        cancel: None,
        ..same()
    };
    let asked = Carried {
        cancel: Some(cancellation(Asked::Kill)),
        ..runs.clone()
    };
    let ended_alike = Carried {
        attempts: same().attempts,
        losses: same().losses,
        failure: same().failure,
        ..ended(Token(token.0 + 7))
    };
    let leased_again = Carried {
        token: Token(token.0 + 7),
        ..same()
    };
    let unlocked = Carried {
        unlocked: true,
        ..same()
    };
    let mut other_kind = same();
    other_kind.job.kind = "other".into();
    let mut other_queue = same();
    other_queue.job.queue = "other".into();
    let mut other_priority = same();
    other_priority.job.priority = 9;
    let anew = |carried| Event::Carried(Box::new(carried));
    let mut facts = vec![
        ("carried as it is", anew(same())),
        ("carried, ended meanwhile", anew(ended(Token(token.0 + 7)))),
        (
            "carried, ended meanwhile, and nothing else",
            anew(ended_alike),
        ),
        ("carried, runs meanwhile", anew(runs)),
        ("carried, with a later lease", anew(leased_again)),
        ("carried, unlocked meanwhile", anew(unlocked)),
        ("carried, asked to end meanwhile", anew(asked)),
        ("carried, other state, same token", anew(ended(token))),
        ("carried, another kind", anew(other_kind)),
        ("carried, another queue", anew(other_queue)),
        ("carried, another priority", anew(other_priority)),
    ];
    if let Some(older) = token.0.checked_sub(1) {
        facts.push(("carried, older token", anew(ended(Token(older)))));
    }
    facts.extend(facts_of_the_log());
    facts
}

fn facts_of_the_log() -> Vec<(&'static str, Event)> {
    let at = UnixMs(AT);
    let pruned = |ids: &[JobId]| Event::Pruned {
        ids: ids.to_vec(),
        at,
    };
    vec![
        ("pruned", pruned(&[ID])),
        ("pruned with one nobody knows", pruned(&[ID, JobId(11)])),
        (
            "trimmed",
            Event::Trimmed {
                before: RecordAt(101),
                at,
                last_id: Some(JobId(70)),
                last_token: Token(80),
            },
        ),
        (
            "trimmed, nothing larger",
            Event::Trimmed {
                before: RecordAt(0),
                at,
                last_id: None,
                last_token: Token(0),
            },
        ),
        (
            "queue steered",
            Event::Steered {
                queue: "default".into(),
                at,
                by: "ada".into(),
                to: Box::new(Steering {
                    mode: QueueMode::Paused,
                    limits: QueueLimits::default(),
                }),
            },
        ),
        (
            "merged",
            Event::Merged {
                log: "ab".repeat(16),
                at,
                last_token: Token(90),
            },
        ),
    ]
}
