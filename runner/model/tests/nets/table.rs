//! First net: every state against every fact and every wish, as a text that is kept.

use std::fmt::Write;

use sandhog_model::{
    Amend, ClaimRequest, Command, Event, FailureKind, JobId, Ledger, Outcome, RecordAt, Token,
    TrapKind, UnixMs, Verdict, Waiting,
};

use crate::{
    sample::{attempt, failed, failure, job, now, output, report},
    snapshot,
};

const ID: JobId = JobId(10);
const HELD: Token = Token(1);
const AT: u64 = 5_000;

/// What leads to each state, in facts about job 10.
fn states() -> Vec<(&'static str, Vec<Event>)> {
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
    ]
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
fn facts(held: Token, number: u32) -> Vec<(&'static str, Event)> {
    let (id, at) = (ID, UnixMs(AT));
    let due = UnixMs(9_500);
    let done = || Verdict::Completed(output());
    let lost = |token, buried| Event::Lost {
        id,
        token,
        at,
        buried,
    };
    let requeued = |from_dead| Event::Requeued { id, at, from_dead };
    let why = Waiting::PoolFull;
    vec![
        ("enqueued", Event::Enqueued(Box::new(job(10, "k", AT)))),
        (
            "leased, larger token",
            Event::Leased {
                id,
                token: Token(held.0 + 1),
                at,
            },
        ),
        (
            "leased, token of before",
            Event::Leased {
                id,
                token: held,
                at,
            },
        ),
        (
            "checkpointed",
            Event::Checkpointed {
                id,
                token: held,
                at,
                bytes: vec![1],
            },
        ),
        (
            "checkpointed, other token",
            Event::Checkpointed {
                id,
                token: Token(9),
                at,
                bytes: vec![1],
            },
        ),
        ("settled completed", settled(held, number, done())),
        (
            "settled completed, 2 children",
            with_children(settled(held, number, done()), &[20, 21]),
        ),
        (
            "settled completed, child twice",
            with_children(settled(held, number, done()), &[20, 20]),
        ),
        (
            "settled completed, child known",
            with_children(settled(held, number, done()), &[10]),
        ),
        (
            "settled completed, other token",
            settled(Token(9), number, done()),
        ),
        (
            "settled completed, other number",
            settled(held, number + 1, done()),
        ),
        (
            "settled retry",
            settled(held, number, Verdict::Retry { due }),
        ),
        (
            "settled retry, a child",
            with_children(settled(held, number, Verdict::Retry { due }), &[20]),
        ),
        (
            "settled snoozed",
            settled(held, number, Verdict::Snoozed { due }),
        ),
        (
            "settled put back",
            settled(held, number, Verdict::PutBack { why, due }),
        ),
        (
            "settled discarded",
            settled(
                held,
                number,
                Verdict::Discarded {
                    reason: "no".into(),
                },
            ),
        ),
        ("settled dead", settled(held, number, Verdict::Dead)),
        (
            "settled dead, a child",
            with_children(settled(held, number, Verdict::Dead), &[20]),
        ),
        ("lost", lost(held, None)),
        ("lost, other token", lost(Token(9), None)),
        ("lost and buried", lost(held, Some(Box::new(attempt())))),
        ("requeued from dead", requeued(true)),
        ("requeued", requeued(false)),
        ("hastened", Event::Hastened { id, at }),
        ("deleted", Event::Deleted { id, at }),
    ]
}

/// Every wish about job 10, by the holder of the lease `token`.
fn wishes(token: Token) -> Vec<(String, Command)> {
    let id = ID;
    let trap = FailureKind::Trap(TrapKind::Unreachable);
    let mut outcomes = vec![
        ("completed".to_string(), Outcome::Completed(output())),
        (
            "permanent".into(),
            Outcome::Permanent(failure(FailureKind::Error)),
        ),
        ("snoozed".into(), Outcome::Snoozed { delay_ms: 700 }),
        (
            "snoozed for ever".into(),
            Outcome::Snoozed { delay_ms: u64::MAX },
        ),
        (
            "discarded".into(),
            Outcome::Discarded {
                reason: "no".into(),
            },
        ),
        (
            "failed, retry after 5 s".into(),
            Outcome::Failed {
                failure: failure(trap),
                retry_after_ms: Some(5_000),
            },
        ),
    ];
    for kind in FailureKind::ALL {
        outcomes.push((format!("failed {kind}"), failed(kind)));
    }
    for why in [
        Waiting::PluginMissing,
        Waiting::PluginInvalid,
        Waiting::PoolFull,
        Waiting::Shutdown,
    ] {
        outcomes.push((format!("not run {why:?}"), Outcome::NotRun(why)));
    }
    let claim = |kind: &str| {
        Command::Claim(ClaimRequest {
            kinds: vec![kind.into()],
            max: 5,
        })
    };
    let mut wishes = vec![
        (
            "enqueue".to_string(),
            Command::Enqueue(Box::new(job(10, "k", AT))),
        ),
        ("claim".into(), claim("k")),
        ("claim of other kinds".into(), claim("other")),
        (
            "checkpoint".into(),
            Command::Checkpoint {
                id,
                token,
                bytes: vec![1],
            },
        ),
        (
            "checkpoint too large".into(),
            Command::Checkpoint {
                id,
                token,
                bytes: vec![0; (1 << 20) + 1],
            },
        ),
        ("lose".into(), Command::Lose { id, token }),
        (
            "lose, other token".into(),
            Command::Lose {
                id,
                token: Token(9),
            },
        ),
        ("amend retry".into(), Command::Amend(Amend::Retry(id))),
        ("amend requeue".into(), Command::Amend(Amend::Requeue(id))),
        ("amend delete".into(), Command::Amend(Amend::Delete(id))),
    ];
    let late = report(10, 9, Outcome::Completed(output()));
    wishes.push((
        "settle completed, other token".into(),
        Command::Settle(Box::new(late)),
    ));
    for (name, outcome) in outcomes {
        let wish = Command::Settle(Box::new(report(10, token.0, outcome)));
        wishes.push((format!("settle {name}"), wish));
    }
    wishes
}

fn ledger(facts: &[Event]) -> Ledger {
    let mut ledger = Ledger::default();
    for (fact, place) in facts.iter().zip(100..) {
        ledger
            .evolve(fact, RecordAt(place), 0)
            .expect("a sound log");
    }
    ledger.advance(UnixMs(AT));
    ledger
}

/// The lease that holds the job and the number of its attempt; of a job that does not run, some.
fn held(ledger: &Ledger) -> (Token, u32) {
    let entry = ledger.get(ID);
    let running = entry.and_then(|entry| Some((entry.token, entry.running_attempt()?)));
    running.unwrap_or((HELD, 1))
}

/// A job's whole entry in one line.
fn shown(ledger: &Ledger) -> String {
    let entries = ledger.newest(None).map(|(id, entry)| {
        format!(
            "{}: {:?} attempts={} losses={} token={} failure={:?} at={}/{} checkpoint={:?}",
            id.0,
            entry.status,
            entry.attempts,
            entry.losses,
            entry.token.0,
            entry.failure.map(FailureKind::name),
            entry.enqueued.0,
            entry.latest.0,
            entry.checkpoint.map(|at| at.0),
        )
    });
    let entries: Vec<String> = entries.collect();
    format!("[{}] {:?}", entries.join("; "), ledger.counts(UnixMs(AT)))
}

#[test]
fn every_state_takes_every_fact_as_the_table_says() {
    let mut text = String::new();
    for (state, before) in states() {
        let (token, number) = held(&ledger(&before));
        for (name, fact) in facts(token, number) {
            let mut ledger = ledger(&before);
            let unchanged = ledger.clone();
            let result = match ledger.evolve(&fact, RecordAt(500), 0) {
                Ok(()) => shown(&ledger),
                Err(unsound) => {
                    assert_eq!(
                        ledger, unchanged,
                        "{state} × {name} was refused but changed"
                    );
                    format!("refused: {unsound}")
                }
            };
            writeln!(text, "{state} × {name} → {result}").expect("a text grows");
        }
    }
    snapshot::matches("facts.txt", &text);
}

#[test]
fn every_state_answers_every_wish_as_the_table_says() {
    let mut text = String::new();
    for (state, before) in states() {
        let ledger = ledger(&before);
        for (name, wish) in wishes(held(&ledger).0) {
            let result = match ledger.decide(&wish, now(AT), 7) {
                Ok(events) => events.iter().map(brief).collect::<Vec<_>>().join("; "),
                Err(rejected) => format!("refused: {rejected}"),
            };
            writeln!(text, "{state} × {name} → {result}").expect("a text grows");
        }
    }
    snapshot::matches("wishes.txt", &text);
}

fn brief(event: &Event) -> String {
    match event {
        Event::Enqueued(job) => format!("enqueued {}", job.id.0),
        Event::Checkpointed { bytes, .. } => format!("checkpointed {} bytes", bytes.len()),
        Event::Settled {
            attempt,
            verdict,
            children,
            ..
        } => format!(
            "settled #{} token={} {}..{} {:?} {verdict:?} children={}",
            attempt.number,
            attempt.token.0,
            attempt.started_at.0,
            attempt.ended_at.0,
            attempt.failure.as_ref().map(|failure| failure.kind.name()),
            children.len()
        ),
        Event::Leased { .. }
        | Event::Lost { .. }
        | Event::Requeued { .. }
        | Event::Hastened { .. }
        | Event::Deleted { .. } => format!("{event:?}").replace(&ID.text(), "10"),
    }
}
