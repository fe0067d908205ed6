//! The rows and columns of the table: states, facts and wishes, all about job 10.

use sandhog_model::{
    Amend, Asked, Attempt, Command, Event, FailureKind, Job, JobId, OnConflict, Outcome, Retention,
    Token, TrapKind, UnixMs, Verdict, Waiting,
};

use crate::sample::{attempt, cancellation, failed, failure, job, output, report, saying_more};

/// The job.
pub(crate) const ID: JobId = JobId(10);
/// The lease of the states in which a run came before.
pub(crate) const HELD: Token = Token(1);
/// When the facts happen and the wishes are made, in milliseconds.
pub(crate) const AT: u64 = 5_000;

/// What leads to each state, in facts about job 10.
pub(crate) fn states() -> Vec<(&'static str, Vec<Event>)> {
    let enqueued = || Event::Enqueued(Box::new(job(10, "k", 0)));
    let leased_with = |token| Event::Leased {
        id: ID,
        token,
        at: UnixMs(1_000),
    };
    let leased = || leased_with(HELD);
    let checkpointed = || Event::Checkpointed {
        id: ID,
        token: Token(2),
        at: UnixMs(1_500),
        bytes: vec![1],
    };
    let settled = |verdict| vec![enqueued(), leased(), settled(HELD, 1, verdict)];
    let mut later = job(10, "k", 0);
    later.due = UnixMs(9_000);
    vec![
        ("unknown", vec![]),
        ("scheduled", vec![Event::Enqueued(Box::new(later))]),
        ("available", vec![enqueued()]),
        ("running", vec![enqueued(), leased()]),
        (
            "running, failed and checkpointed before",
            [
                settled(Verdict::Retry { due: UnixMs(0) }),
                vec![leased_with(Token(2)), checkpointed()],
            ]
            .concat(),
        ),
        ("retryable", settled(Verdict::Retry { due: UnixMs(9_000) })),
        ("completed", settled(Verdict::Completed(output()))),
        (
            "discarded",
            settled(Verdict::Discarded {
                reason: "no".into(),
            }),
        ),
        ("dead", settled(Verdict::Dead)),
        (
            "running, asked to end",
            vec![enqueued(), leased(), asked(HELD, Asked::Cancel)],
        ),
        (
            "running, asked to end at once",
            vec![enqueued(), leased(), asked(HELD, Asked::Kill)],
        ),
        ("cancelled", vec![enqueued(), cancelled()]),
        (
            "available, and says more",
            vec![Event::Enqueued(Box::new(saying_more()))],
        ),
        (
            "expired",
            vec![
                Event::Enqueued(Box::new(saying_more())),
                Event::Expired {
                    id: ID,
                    at: UnixMs(4_000),
                },
            ],
        ),
    ]
}

fn asked(token: Token, how: Asked) -> Event {
    Event::CancelAsked {
        id: ID,
        token,
        cancel: Box::new(cancellation(how)),
    }
}

fn cancelled() -> Event {
    Event::Cancelled {
        id: ID,
        cancel: Box::new(cancellation(Asked::Cancel)),
    }
}

fn settled(token: Token, number: u32, verdict: Verdict) -> Event {
    let mut attempt = attempt();
    (attempt.token, attempt.number) = (token, number);
    attempt.ended_at = UnixMs(2_000);
    if matches!(verdict, Verdict::Retry { .. } | Verdict::Dead) {
        attempt.failure = Some(failure(FailureKind::Error));
    }
    Event::Settled {
        id: ID,
        attempt: Box::new(attempt),
        verdict,
        children: Vec::new(),
    }
}

fn with_children(event: Event, ids: &[u128]) -> Event {
    let Event::Settled {
        id,
        attempt,
        verdict,
        ..
    } = event
    else {
        unreachable!("only attempts leave children");
    };
    let children = ids.iter().map(|id| job(*id, "child", 0)).collect();
    Event::Settled {
        id,
        attempt,
        verdict,
        children,
    }
}

/// Every fact about job 10, of a run with the lease `held` that is attempt `number`.
pub(crate) fn facts(held: Token, number: u32) -> Vec<(&'static str, Event)> {
    let mut facts = facts_of_leases(held);
    facts.extend(facts_of_ends(held, number));
    facts.extend(facts_from_outside());
    facts
}

fn facts_of_leases(held: Token) -> Vec<(&'static str, Event)> {
    let (id, at) = (ID, UnixMs(AT));
    let leased = |token| Event::Leased { id, token, at };
    let checkpointed = |token| Event::Checkpointed {
        id,
        token,
        at,
        bytes: vec![1],
    };
    let lost = |token, buried: Option<Attempt>| Event::Lost {
        id,
        token,
        at,
        buried: buried.map(Box::new),
    };
    vec![
        ("enqueued", Event::Enqueued(Box::new(job(10, "k", AT)))),
        ("leased, larger token", leased(Token(held.0 + 1))),
        ("leased, token of before", leased(held)),
        ("checkpointed", checkpointed(held)),
        ("checkpointed, other token", checkpointed(Token(9))),
        ("lost", lost(held, None)),
        ("lost, other token", lost(Token(9), None)),
        ("lost and buried", lost(held, Some(attempt()))),
        ("asked to end", asked(held, Asked::Cancel)),
        ("asked to end at once", asked(held, Asked::Kill)),
        ("asked to end, other token", asked(Token(9), Asked::Kill)),
    ]
}

fn facts_of_ends(held: Token, number: u32) -> Vec<(&'static str, Event)> {
    let due = UnixMs(9_500);
    let why = Waiting::PoolFull;
    let reason = "no".to_string();
    let done = || Verdict::Completed(output());
    let ended = |verdict| settled(held, number, verdict);
    let completed_with = |children: &[u128]| with_children(ended(done()), children);
    let retry_with = |children: &[u128]| with_children(ended(Verdict::Retry { due }), children);
    vec![
        ("settled completed", ended(done())),
        ("settled completed, 2 children", completed_with(&[20, 21])),
        ("settled completed, child twice", completed_with(&[20, 20])),
        ("settled completed, child known", completed_with(&[10])),
        (
            "settled completed, other token",
            settled(Token(9), number, done()),
        ),
        (
            "settled completed, other number",
            settled(held, number + 1, done()),
        ),
        ("settled retry", retry_with(&[])),
        ("settled retry, a child", retry_with(&[20])),
        ("settled snoozed", ended(Verdict::Snoozed { due })),
        ("settled put back", ended(Verdict::PutBack { why, due })),
        ("settled discarded", ended(Verdict::Discarded { reason })),
        ("settled dead", ended(Verdict::Dead)),
        ("settled cancelled", ended(Verdict::Cancelled)),
        (
            "settled dead, a child",
            with_children(ended(Verdict::Dead), &[20]),
        ),
    ]
}

fn facts_from_outside() -> Vec<(&'static str, Event)> {
    let (id, at) = (ID, UnixMs(AT));
    let requeued = |from_dead| Event::Requeued { id, at, from_dead };
    vec![
        ("requeued from dead", requeued(true)),
        ("requeued", requeued(false)),
        ("hastened", Event::Hastened { id, at }),
        ("deleted", Event::Deleted { id, at }),
        ("cancelled", cancelled()),
        (
            "postponed",
            Event::Postponed {
                id,
                at,
                due: UnixMs(9_700),
            },
        ),
        ("expired", Event::Expired { id, at }),
        (
            "dropped",
            Event::Dropped {
                id,
                at,
                reason: "discarded by ada".into(),
            },
        ),
        ("unlocked", Event::Unlocked { id, at }),
        (
            "replaced",
            Event::Replaced {
                id,
                job: Box::new(job(40, "k", AT)),
            },
        ),
    ]
}

fn outcomes() -> Vec<(String, Outcome)> {
    let trap = FailureKind::Trap(TrapKind::Unreachable);
    let snoozed = |delay_ms| Outcome::Snoozed { delay_ms };
    let asked = Outcome::Failed {
        failure: failure(trap),
        retry_after_ms: Some(5_000),
    };
    let reason = "no".to_string();
    let named = [
        ("completed", Outcome::Completed(output())),
        ("permanent", Outcome::Permanent(failure(FailureKind::Error))),
        ("snoozed", snoozed(700)),
        ("snoozed for ever", snoozed(u64::MAX)),
        ("discarded", Outcome::Discarded { reason }),
        ("failed, retry after 5 s", asked),
        (
            "not run, plugin missing",
            Outcome::NotRun(Waiting::PluginMissing),
        ),
        (
            "not run, plugin invalid",
            Outcome::NotRun(Waiting::PluginInvalid),
        ),
        ("not run, pool full", Outcome::NotRun(Waiting::PoolFull)),
        ("not run, shutdown", Outcome::NotRun(Waiting::Shutdown)),
    ];
    let failures = FailureKind::ALL.map(|kind| (format!("failed {kind}"), failed(kind)));
    let named = named.map(|(name, outcome)| (name.to_string(), outcome));
    named.into_iter().chain(failures).collect()
}

/// Job 30 with the key of job 10.
fn another(on_conflict: OnConflict) -> Command {
    let mut job = Job {
        due: UnixMs(9_000),
        ..saying_more()
    };
    job.id = JobId(30);
    (job.enqueued_at, job.terms.expires) = (UnixMs(AT), None);
    if let Some(unique) = &mut job.terms.unique {
        unique.on_conflict = on_conflict;
    }
    Command::Enqueue(Box::new(job))
}

/// Wishes that change job 10 while no attempt holds it.
fn changes() -> Vec<(String, Command)> {
    let id = ID;
    let snooze = |due| {
        let due = UnixMs(due);
        Command::Amend(Amend::Snooze { id, due })
    };
    let discard = |reason: Option<&str>| {
        Command::Amend(Amend::Discard {
            id,
            by: "ada".into(),
            reason: reason.map(str::to_owned),
        })
    };
    let remove = |force| Command::Amend(Amend::Remove { id, force });
    let named = [
        ("amend snooze", snooze(9_800)),
        ("amend snooze, as it is", snooze(0)),
        ("amend snooze by 100 years", snooze(3_155_760_005_000)),
        ("amend snooze past 100 years", snooze(3_155_760_005_001)),
        ("amend discard", discard(Some("no use"))),
        ("amend discard, no reason", discard(None)),
        (
            "amend discard, reason too long",
            discard(Some(&"r".repeat((4 << 10) + 1))),
        ),
        ("amend remove", remove(false)),
        ("amend remove, forced", remove(true)),
    ];
    let named = named.map(|(name, wish)| (name.to_string(), wish));
    named.into()
}

/// Every wish about job 10, by the holder of the lease `token`.
pub(crate) fn wishes(token: Token) -> Vec<(String, Command)> {
    let id = ID;
    let claim = |kind: &str| Command::Claim([kind.to_string()].into());
    let checkpoint = |length| {
        let bytes = vec![1; length];
        Command::Checkpoint { id, token, bytes }
    };
    let settle = |token: Token, outcome| Command::Settle(Box::new(report(10, token.0, outcome)));
    let late = settle(Token(9), Outcome::Completed(output()));
    let lose = |token| Command::Lose { id, token };
    let spare = |before, keep, spared_from| {
        Command::Prune(Retention {
            ended_before: UnixMs(before),
            keep,
            spared_from: UnixMs(spared_from),
            max: 9,
        })
    };
    let prune = |before, keep| spare(before, keep, u64::MAX);
    let cancel = |how, length| {
        Command::Amend(Amend::Cancel {
            id,
            how,
            by: "ada".into(),
            reason: Some("r".repeat(length)),
        })
    };
    let named = [
        ("enqueue", Command::Enqueue(Box::new(job(10, "k", AT)))),
        ("claim", claim("k")),
        ("claim of other kinds", claim("other")),
        ("checkpoint", checkpoint(1)),
        ("checkpoint as large as may be", checkpoint(1 << 20)),
        ("checkpoint too large", checkpoint((1 << 20) + 1)),
        ("lose", lose(token)),
        ("lose, other token", lose(Token(9))),
        ("amend retry", Command::Amend(Amend::Retry(id))),
        ("amend requeue", Command::Amend(Amend::Requeue(id))),
        ("amend delete", Command::Amend(Amend::Delete(id))),
        ("amend unlock", Command::Amend(Amend::Unlock(id))),
        ("expire", Command::Expire { max: 5 }),
        ("enqueue another, unique", another(OnConflict::Reject)),
        ("enqueue another, keep", another(OnConflict::Keep)),
        ("enqueue another, replace", another(OnConflict::Replace)),
        ("enqueue another, debounce", another(OnConflict::Debounce)),
        ("amend cancel", cancel(Asked::Cancel, 6)),
        ("amend kill", cancel(Asked::Kill, 4 << 10)),
        (
            "amend kill, reason too long",
            cancel(Asked::Kill, (4 << 10) + 1),
        ),
        ("settle completed, other token", late),
        ("prune by age", prune(AT, 9)),
        ("prune by age, ended just then", prune(2_000, 9)),
        ("prune by age, ended just before", prune(2_001, 9)),
        ("prune by number", prune(0, 0)),
        ("prune by age, but what just ended", spare(AT, 9, 2_000)),
        ("prune by age, but what ends later", spare(AT, 9, 2_001)),
    ];
    let reports = outcomes().into_iter();
    let reports = reports.map(|(name, outcome)| (format!("settle {name}"), settle(token, outcome)));
    let named = named.map(|(name, wish)| (name.to_string(), wish));
    named.into_iter().chain(changes()).chain(reports).collect()
}
