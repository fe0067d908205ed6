//! The rows and columns of the table that are about batches: job 10 in batch 50.

use sandhog_model::{
    BatchChange, BatchState, BatchWish, Callback, Command, Event, JobId, Ledger, Link, Record,
    RecordAt, Rejected, Retention, Terms, UnixMs, Verdict,
};

use crate::{
    cases::{AT, HELD, ID},
    sample::{attempt, cancellation, job, now, output},
    table::ledger,
};

const BATCH: JobId = JobId(50);

fn callback(id: u128) -> Box<Callback> {
    Box::new(Callback {
        id: JobId(id),
        link: Link {
            kind: "after".into(),
            payload: Some(b"{}".to_vec()),
            ..Link::default()
        },
        fired_at: None,
    })
}

fn state() -> BatchState {
    BatchState {
        opened_at: UnixMs(0),
        success: Some(callback(51)),
        complete: Some(callback(52)),
        ..BatchState::default()
    }
}

fn sealed() -> BatchState {
    BatchState {
        sealed_at: Some(UnixMs(1)),
        ..state()
    }
}

fn told(state: BatchState, jobs: &[u128]) -> Event {
    Event::Batch {
        id: BATCH,
        at: UnixMs(AT),
        state: Box::new(state),
        jobs: jobs.iter().map(|id| job(*id, "after", AT)).collect(),
    }
}

fn member() -> Event {
    let mut job = job(10, "k", 0);
    job.terms = Terms {
        batch: Some(BATCH),
        ..Terms::default()
    };
    Event::Enqueued(Box::new(job))
}

/// What leads to each state of a job in a batch.
pub(crate) fn states() -> Vec<(&'static str, Vec<Event>)> {
    let (id, token, at) = (ID, HELD, UnixMs(1_000));
    let leased = || Event::Leased { id, token, at };
    let ended = |verdict| {
        let mut attempt = attempt();
        (attempt.token, attempt.number, attempt.ended_at) = (token, 1, UnixMs(2_000));
        Event::Settled {
            id,
            attempt: Box::new(attempt),
            verdict,
            children: Vec::new(),
        }
    };
    let cancelled = BatchState {
        cancelled: Some(Box::new(cancellation(sandhog_model::Asked::Cancel))),
        ..sealed()
    };
    let done = || Verdict::Completed(output());
    vec![
        ("in an open batch", vec![told(state(), &[]), member()]),
        (
            "running, in a sealed batch",
            vec![told(state(), &[]), member(), leased(), told(sealed(), &[])],
        ),
        (
            "in a cancelled batch",
            vec![told(state(), &[]), member(), told(cancelled, &[])],
        ),
        (
            "completed, in a sealed batch",
            vec![told(sealed(), &[]), member(), leased(), ended(done())],
        ),
        (
            "dead, in a sealed batch",
            vec![
                told(sealed(), &[]),
                member(),
                leased(),
                ended(Verdict::Dead),
            ],
        ),
    ]
}

/// Every fact about the batch.
pub(crate) fn facts() -> Vec<(&'static str, Event)> {
    let (id, at) = (BATCH, UnixMs(AT));
    vec![
        ("batch sealed", told(sealed(), &[])),
        ("batch ended, and its job", told(sealed(), &[52])),
        (
            "batch ended, and a job that is there",
            told(sealed(), &[10]),
        ),
        ("batch forgotten", Event::BatchForgotten { id, at }),
    ]
}

/// Every wish about the batch.
pub(crate) fn wishes() -> Vec<(&'static str, Command)> {
    let wish = |change| Command::Batch(BatchWish { id: BATCH, change });
    let open = |id: u128, bytes: usize| {
        let mut complete = callback(id);
        complete.link.payload = Some(vec![b' '; bytes]);
        wish(BatchChange::Open {
            name: Some("n".into()),
            success: None,
            complete: Some(complete),
        })
    };
    let cancel = BatchChange::Cancel {
        by: "ada".into(),
        reason: None,
    };
    let mut another = job(30, "k", AT);
    another.terms.batch = Some(BATCH);
    vec![
        ("batch open", open(53, 1)),
        ("batch open, with a taken id", open(10, 1)),
        ("batch open, payload as large as may be", open(53, 64 << 10)),
        ("batch open, payload too large", open(53, (64 << 10) + 1)),
        ("batch seal", wish(BatchChange::Seal)),
        ("batch cancel", wish(cancel)),
        ("tend", Command::Tend { max: 9 }),
        (
            "enqueue another into the batch",
            Command::Enqueue(Box::new(another)),
        ),
    ]
}

/// A record that forgets a job does not say of which batch it was, so who gives up the job's first record tells the
/// batch again.
#[test]
fn what_was_forgotten_of_a_batch_stays_counted_without_the_beginning_of_the_log() {
    let (_, ended) = states()
        .into_iter()
        .find(|(name, _)| *name == "completed, in a sealed batch")
        .expect("a state");
    let (at, ids) = (UnixMs(AT), vec![ID]);
    let mut log = ended;
    log.extend([told(sealed(), &[]), Event::Pruned { ids, at }]);
    let place = |index: usize| RecordAt(index as u64 + 1);
    let mut live = Ledger::default();
    for (index, event) in log.iter().enumerate() {
        live.evolve(event, place(index), 0).expect("sound");
    }
    // Given up before the end of the job's attempt; the batch's latest record lies behind that.
    let before = RecordAt(4);
    let retold = live.retold(before, at);
    log.extend(retold);
    log.push(Event::Trimmed {
        before,
        at,
        last_id: live.last_id(),
        last_token: live.last_token(),
    });
    let mut again = Ledger::starting_at(before);
    for (index, event) in log.into_iter().enumerate().skip(3) {
        let previous = (event.id() == Some(ID)).then_some(place(index - 1));
        let record = Record { previous, event };
        again.replay(&record, place(index), 0).expect("sound");
    }
    assert_eq!(again.complete(), Ok(()));
    assert_eq!(live.batch_count(BATCH).ended.completed, 1);
    assert_eq!(again.batch_count(BATCH), live.batch_count(BATCH));
}

/// Job 10 in a batch that ended at 2 s, when its only attempt ended so.
fn ended(verdict: Verdict) -> Ledger {
    let mut attempt = attempt();
    (attempt.token, attempt.number, attempt.ended_at) = (HELD, 1, UnixMs(2_000));
    let over = BatchState {
        ended_at: Some(UnixMs(2_000)),
        ..sealed()
    };
    ledger(&[
        told(sealed(), &[]),
        member(),
        Event::Leased {
            id: ID,
            token: HELD,
            at: UnixMs(1_000),
        },
        Event::Settled {
            id: ID,
            attempt: Box::new(attempt),
            verdict,
            children: Vec::new(),
        },
        told(over, &[]),
    ])
}

/// Whether the batch is among what is forgotten.
fn is_forgotten(ledger: &Ledger, ended_before: u64, spared_from: u64) -> bool {
    let retention = Retention {
        ended_before: UnixMs(ended_before),
        keep: 9,
        spared_from: UnixMs(spared_from),
        max: 9,
    };
    let events = ledger.decide(Command::Prune(retention), now(AT), 0);
    let events = events.expect("nothing stands against it");
    let mut forgotten = events.iter().map(|event| match event {
        Event::BatchForgotten { id, .. } => Some(*id),
        _ => None,
    });
    forgotten.any(|id| id == Some(BATCH))
}

#[test]
fn a_batch_is_forgotten_when_it_ended_before_the_instant_and_nobody_asks_for_it() {
    let ledger = ended(Verdict::Completed(output()));
    assert_eq!(ledger.batches_over(), 1);
    for (ended_before, spared_from, expected) in [
        (2_000, u64::MAX, false),
        (2_001, u64::MAX, true),
        (2_001, 2_001, true),
        (2_001, 2_000, false),
    ] {
        let forgotten = is_forgotten(&ledger, ended_before, spared_from);
        assert_eq!(forgotten, expected, "{ended_before} {spared_from}");
    }
}

/// Its dead letter may still be brought back and complete, and then what follows a success follows.
#[test]
fn a_batch_is_kept_while_a_dead_letter_of_it_may_still_make_it_succeed() {
    let reason = "no".to_string();
    let dead = ended(Verdict::Dead);
    assert!(!is_forgotten(&dead, AT, u64::MAX) && dead.batches_over() == 0);
    let dropped = ended(Verdict::Discarded { reason });
    assert!(is_forgotten(&dropped, AT, u64::MAX));
}

#[test]
fn the_id_of_a_batch_is_taken_as_long_as_there_are_jobs_of_it() {
    let (name, success, complete) = (None, None, None);
    let change = BatchChange::Open {
        name,
        success,
        complete,
    };
    let open = || {
        Command::Batch(BatchWish {
            id: BATCH,
            change: change.clone(),
        })
    };
    let refused = ledger(&[member()]).decide(open(), now(AT), 0);
    assert!(
        matches!(refused, Err(Rejected::IdTaken(BATCH))),
        "{refused:?}"
    );
    assert!(ledger(&[]).decide(open(), now(AT), 0).is_ok());
}

#[test]
fn ledgers_that_know_other_things_of_a_batch_are_not_the_same() {
    let named = |name: &str| {
        let name = Some(name.into());
        let state = BatchState { name, ..state() };
        ledger(&[told(state, &[])])
    };
    assert_eq!(named("one"), named("one"));
    assert_ne!(named("one"), named("another"));
}

#[test]
fn a_batch_lies_where_it_was_last_told_of() {
    let ledger = ledger(&[told(state(), &[]), member(), told(sealed(), &[])]);
    assert_eq!(ledger.batch_at(BATCH), Some(RecordAt(102)));
    assert_eq!(ledger.batch_at(ID), None);
    let retold = |place| ledger.retold(RecordAt(place), UnixMs(AT)).len();
    assert_eq!((retold(102), retold(103)), (0, 1));
}

#[test]
fn what_follows_a_batch_is_within_the_bounds_of_a_job() {
    let mut complete = callback(53);
    complete.link.kind = "no kind".into();
    let change = BatchChange::Open {
        name: None,
        success: None,
        complete: Some(complete),
    };
    let wish = Command::Batch(BatchWish { id: BATCH, change });
    let refused = ledger(&[])
        .decide(wish, now(AT), 0)
        .expect_err("a bad kind");
    let why = refused.to_string();
    assert!(
        why.contains("what follows the batch: ") && why.contains("kind"),
        "{why}"
    );
}
