//! First net: every state against every fact and every wish, as a text that is kept.

use std::fmt::Write;

use sandhog_model::{
    Entry, Event, FailureKind, Job, JobId, Ledger, Record, RecordAt, Token, UnixMs,
};

use crate::{
    batches,
    cases::{AT, HELD, ID, facts, states, wishes},
    kept::facts_of_keeping,
    sample::now,
    snapshot,
};

pub(crate) fn ledger(facts: &[Event]) -> Ledger {
    let mut ledger = Ledger::default();
    for (fact, place) in facts.iter().zip(100..) {
        ledger
            .evolve(fact, RecordAt(place), 0)
            .expect("a sound log");
    }
    ledger.advance(now(AT));
    ledger
}

/// The lease that holds the job and the number of its attempt; of a job that does not run, some.
pub(crate) fn held(ledger: &Ledger) -> (Token, u32) {
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
        ) + &entry
            .asked
            .map_or(String::new(), |how| format!(" asked={how}"))
            + &match entry.traps {
                0 => String::new(),
                traps => format!(" traps={traps}"),
            }
            + &more(&entry)
    });
    let entries: Vec<String> = entries.collect();
    let last_id = ledger.last_id().map_or(0, |id| id.0);
    let steered: Vec<String> = ledger
        .steered()
        .map(|(queue, to)| format!(" {queue} {}", to.mode.name()))
        .collect();
    let batches = ledger.batches(None).map(|(id, state)| {
        let count = ledger.batch_count(id);
        let ended = count.ended;
        format!(
            " batch {} sealed={} {}+{} of {}, gone {}, wants={}",
            id.0,
            !state.is_open(),
            ended.completed,
            ended.failed(),
            count.total(),
            state.gone.total(),
            ledger.wants_tending()
        )
    });
    let said: String = steered.into_iter().chain(batches).collect();
    format!(
        "[{}]{said} {:?} last {last_id}/{} trimmed {}",
        entries.join("; "),
        ledger.counts(UnixMs(AT)),
        ledger.last_token().0,
        ledger.trimmed().0
    )
}

/// What few jobs have.
fn more(entry: &Entry) -> String {
    let group = entry.group.iter().map(|group| format!(" group={group}"));
    let expires = entry.expires.iter().map(|at| format!(" expires={}", at.0));
    let failing = entry.failing_since.iter();
    let failing = failing.map(|at| format!(" failing since {}", at.0));
    let flags = [(entry.lifted, " lifted"), (entry.unlocked, " unlocked")];
    let flags = flags.into_iter().filter(|(is_so, _)| *is_so);
    let flags = flags.map(|(_, name)| name.to_owned());
    group.chain(expires).chain(failing).chain(flags).collect()
}

#[test]
fn every_state_takes_every_fact_as_the_table_says() {
    let mut text = String::new();
    for (state, before) in states().into_iter().chain(batches::states()) {
        let (token, number) = held(&ledger(&before));
        let kept = facts_of_keeping(ledger(&before).get(ID).as_ref());
        let all = facts(token, number).into_iter().chain(kept);
        for (name, fact) in all.chain(batches::facts()) {
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

/// Facts about job 10 in a log without its beginning, where the record before each lay.
#[test]
fn what_is_told_of_a_job_whose_first_records_are_gone_waits_for_all_of_it() {
    let mut text = String::new();
    let facts = facts(HELD, 1).into_iter().chain(facts_of_keeping(None));
    for (name, event) in facts.filter(|(name, _)| *name != "enqueued") {
        let mut ledger = Ledger::starting_at(RecordAt(101));
        let trimmed = Event::Trimmed {
            before: RecordAt(101),
            at: UnixMs(AT),
            last_id: Some(ID),
            last_token: Token(2),
        };
        ledger.evolve(&trimmed, RecordAt(101), 0).expect("sound");
        let whole = matches!(event, Event::Carried(_) | Event::Pruned { .. });
        let previous = (!whole).then_some(RecordAt(100));
        let record = Record { previous, event };
        let unchanged = ledger.clone();
        if let Err(unsound) = ledger.replay(&record, RecordAt(102), 0) {
            assert_eq!(ledger, unchanged, "{name} was refused but changed");
            writeln!(text, "{name} → refused: {unsound}").expect("a text grows");
            continue;
        }
        let complete = ledger.clone().complete().map_err(|missing| missing.job);
        // The record after it has one before it that is there, and says no more.
        let hastened = Record {
            previous: Some(RecordAt(102)),
            event: Event::Hastened {
                id: ID,
                at: UnixMs(AT),
            },
        };
        let next = ledger.clone().replay(&hastened, RecordAt(103), 0);
        let next = next.map_err(|unsound| unsound.why);
        writeln!(
            text,
            "{name} → {} {complete:?}, then {next:?}",
            shown(&ledger)
        )
        .expect("a text grows");
    }
    snapshot::matches("late.txt", &text);
}

#[test]
fn records_that_are_missing_are_named_by_a_job_they_were_about() {
    let mut ledger = Ledger::starting_at(RecordAt(101));
    let missing = |ledger: &mut Ledger| ledger.complete().expect_err("nothing says so").to_string();
    let why = missing(&mut ledger);
    assert!(why.contains("missing") && !why.contains("job"), "{why}");
    let event = Event::Hastened {
        id: ID,
        at: UnixMs(AT),
    };
    let previous = Some(RecordAt(100));
    let record = Record { previous, event };
    ledger.replay(&record, RecordAt(101), 0).expect("sound");
    let why = missing(&mut ledger);
    assert!(why.contains(&ID.text()), "{why}");
}

#[test]
fn every_state_answers_every_wish_as_the_table_says() {
    let mut text = String::new();
    for (state, before) in states().into_iter().chain(batches::states()) {
        let ledger = ledger(&before);
        let token = held(&ledger).0;
        let of_batch = batches::wishes().into_iter();
        let of_batch = of_batch.map(|(name, wish)| (name.to_string(), wish));
        for (name, wish) in wishes(token).into_iter().chain(of_batch) {
            let result = match ledger.decide(wish, now(AT), 7) {
                Ok(events) => events.iter().map(brief).collect::<Vec<_>>().join("; "),
                Err(rejected) => format!("refused: {rejected}"),
            };
            writeln!(text, "{state} × {name} → {result}").expect("a text grows");
        }
    }
    snapshot::matches("wishes.txt", &text);
}

/// A job that follows a batch.
fn following(job: &Job) -> String {
    let payload = String::from_utf8_lossy(&job.payload);
    format!("{} {} {payload}", job.id.0, job.kind)
}

fn brief(event: &Event) -> String {
    match event {
        Event::Enqueued(job) => format!("enqueued {}", job.id.0),
        Event::Replaced { id, job } => format!("enqueued {} in place of {}", job.id.0, id.0),
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
        Event::Batch { state, jobs, .. } => {
            let jobs: Vec<String> = jobs.iter().map(following).collect();
            format!("{state:?} {jobs:?}").replace(&JobId(50).text(), "50")
        }
        Event::CancelAsked { token, cancel, .. } => {
            format!("asked token={} {cancel:?}", token.0)
        }
        Event::Cancelled { cancel, .. } => format!("cancelled {cancel:?}"),
        Event::Cron { .. }
        | Event::CronForgotten { .. }
        | Event::BatchForgotten { .. }
        | Event::Leased { .. }
        | Event::Lost { .. }
        | Event::Requeued { .. }
        | Event::Hastened { .. }
        | Event::Deleted { .. }
        | Event::Carried(_)
        | Event::Pruned { .. }
        | Event::Trimmed { .. }
        | Event::Postponed { .. }
        | Event::Expired { .. }
        | Event::Dropped { .. }
        | Event::Unlocked { .. }
        | Event::Steered { .. }
        | Event::Merged { .. } => format!("{event:?}").replace(&ID.text(), "10"),
    }
}
