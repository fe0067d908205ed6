//! Whose key stands in whose way, and up to which instant.

use sandhog_model::{
    Amend, Asked, Command, Digest, Event, Job, JobId, Link, Named, OnConflict, Outcome, Rejected,
    Scope, Settlement, Standing, Terms, Unique, UnixMs,
};

use crate::{
    cases::{AT, HELD, ID},
    sample::{cancellation, job, now, output, report},
    table::ledger,
};

const KEY: Digest = Digest(9);
const OTHER: JobId = JobId(30);

fn with_terms(id: JobId, terms: Terms) -> Job {
    let mut job = job(id.0, "k", 0);
    job.terms = terms;
    job
}

pub(crate) fn unique(id: JobId, key: Digest, scope: Scope, until: Option<u64>) -> Job {
    let unique = Unique {
        key,
        says: "nine".into(),
        scope,
        until: until.map(UnixMs),
        on_conflict: OnConflict::Reject,
    };
    with_terms(
        id,
        Terms {
            unique: Some(unique),
            ..Terms::default()
        },
    )
}

/// A job that came from a wish with a name.
fn named(id: JobId, key: Digest, batch: Option<JobId>) -> Job {
    let says = "six".into();
    with_terms(
        id,
        Terms {
            idempotency: Some(Named { key, says }),
            batch,
            ..Terms::default()
        },
    )
}

pub(crate) fn enqueued(job: Job) -> Event {
    Event::Enqueued(Box::new(job))
}

pub(crate) fn cancelled(id: JobId) -> Event {
    Event::Cancelled {
        id,
        cancel: Box::new(cancellation(Asked::Cancel)),
    }
}

#[test]
fn a_job_does_not_come_back_where_its_key_still_counts_and_another_has_it() {
    for (scope, until, comes_back) in [
        (Scope::UNFINISHED, None, false),
        (Scope::UNFINISHED, Some(AT + 1), false),
        (Scope::UNFINISHED, Some(AT), true),
        (Scope::RUNNING, None, true),
    ] {
        let ledger = ledger(&[
            enqueued(unique(ID, KEY, scope, until)),
            cancelled(ID),
            enqueued(unique(OTHER, KEY, Scope::UNFINISHED, None)),
        ]);
        let answer = ledger.decide(Command::Amend(Amend::Retry(ID)), now(AT), 0);
        let is_refused = matches!(answer, Err(Rejected::Duplicate { holder: OTHER, .. }));
        assert_eq!(is_refused, !comes_back, "{scope:?} {until:?}: {answer:?}");
        assert_eq!(answer.is_ok(), comes_back, "{scope:?} {until:?}");
    }
}

/// What says nothing is not written, so whatever says something must not count as nothing.
#[test]
fn terms_are_empty_when_they_say_nothing_at_all() {
    assert!(Terms::default().is_empty());
    let says: [fn(&mut Terms); 8] = [
        |terms| terms.expires = Some(UnixMs(1)),
        |terms| terms.retry_for_ms = Some(1),
        |terms| terms.unique = unique(ID, KEY, Scope::KNOWN, None).terms.unique,
        |terms| terms.idempotency = named(ID, KEY, None).terms.idempotency,
        |terms| terms.group = Some("g".into()),
        |terms| terms.batch = Some(JobId(50)),
        |terms| terms.tags = vec!["t".into()],
        |terms| terms.then = vec![Link::default()],
    ];
    for (place, say) in says.into_iter().enumerate() {
        let mut terms = Terms::default();
        say(&mut terms);
        assert!(!terms.is_empty(), "{place}: {terms:?}");
    }
    assert_eq!(KEY.to_string(), format!("{:0>32}", "9"));
}

#[test]
fn a_key_stands_until_its_instant_and_not_at_it() {
    for (until, stands) in [(None, true), (Some(AT + 1), true), (Some(AT), false)] {
        let ledger = ledger(&[enqueued(unique(OTHER, KEY, Scope::UNFINISHED, until))]);
        let another = unique(JobId(40), KEY, Scope::UNFINISHED, None);
        let answer = ledger.decide(Command::Enqueue(Box::new(another)), now(AT), 0);
        assert_eq!(answer.is_err(), stands, "{until:?}");
        let standing: Vec<_> = ledger.standing(Digest(0), UnixMs(AT)).collect();
        let one = Standing {
            key: KEY,
            id: OTHER,
            until: until.map(UnixMs),
        };
        assert_eq!(standing, Vec::from_iter(stands.then_some(one)), "{until:?}");
    }
}

/// The children that a job with a key of its own, which stands as `scope` says, leaves when it completes.
fn adopted(scope: Scope, children: Vec<Job>) -> Vec<u128> {
    let ledger = ledger(&[
        enqueued(unique(ID, KEY, scope, None)),
        enqueued(unique(OTHER, Digest(7), Scope::UNFINISHED, None)),
        enqueued(named(JobId(31), Digest(6), None)),
        Event::Leased {
            id: ID,
            token: HELD,
            at: UnixMs(1_000),
        },
    ]);
    let report = Settlement {
        children,
        ..report(ID.0, HELD.0, Outcome::Completed(output()))
    };
    let events = ledger.decide(Command::Settle(Box::new(report)), now(AT), 0);
    let events = events.expect("the holder may report");
    let [Event::Settled { children, .. }] = &events[..] else {
        panic!("{events:?}");
    };
    children.iter().map(|child| child.id.0).collect()
}

#[test]
fn a_completed_attempt_leaves_no_job_whose_key_is_there_already() {
    let child = |id, key: u128| unique(JobId(id), Digest(key), Scope::UNFINISHED, None);
    let running = |id, key: u128| unique(JobId(id), Digest(key), Scope::RUNNING, None);
    for (what, scope, children, left) in [
        (
            "a key of nobody's",
            Scope::KNOWN,
            vec![child(50, 8)],
            vec![50],
        ),
        ("another's", Scope::KNOWN, vec![child(50, 7)], vec![]),
        ("the parent's", Scope::KNOWN, vec![child(50, 9)], vec![]),
        (
            "the parent's, that stands until it ends",
            Scope::UNFINISHED,
            vec![child(50, 9)],
            vec![50],
        ),
        (
            "the name of another wish",
            Scope::KNOWN,
            vec![named(JobId(50), Digest(6), None)],
            vec![],
        ),
        (
            "one key twice",
            Scope::KNOWN,
            vec![child(50, 8), child(51, 8), child(52, 5)],
            vec![50, 52],
        ),
        (
            "one key twice, of jobs that run",
            Scope::KNOWN,
            vec![running(50, 8), running(51, 8)],
            vec![50, 51],
        ),
    ] {
        assert_eq!(adopted(scope, children), left, "{what}");
    }
}

/// Nobody knows the batch any more, and a wish for it is answered as it was, by the job that joined it.
#[test]
fn the_answer_to_a_wish_outlives_its_batch() {
    let (batch, key) = (JobId(50), Digest(6));
    let ledger = ledger(&[enqueued(named(OTHER, key, Some(batch)))]);
    for (named_batch, expected) in [
        (Some(batch), None),
        (None, None),
        (Some(JobId(51)), Some(JobId(51))),
    ] {
        let again = named(JobId(40), key, named_batch);
        match ledger.decide(Command::Enqueue(Box::new(again)), now(AT), 0) {
            Err(Rejected::Duplicate { holder, .. }) => {
                assert_eq!((holder, expected), (OTHER, None));
            }
            Err(Rejected::NoSuchBatch(unknown)) => assert_eq!(expected, Some(unknown)),
            other => panic!("{named_batch:?}: {other:?}"),
        }
    }
}
