//! Samples of what came with format 5.

use sandhog_model::{
    Asked, Backoff, BatchState, Callback, Cancellation, Event, Job, JobId, Link, Record,
    RetryPolicy, Tally, Terms,
};

use super::first::{AT, ID, bare, named};

/// The samples.
pub(super) fn records() -> Vec<(String, Record)> {
    let (id, at) = (ID, AT);
    let dropped = |reason: &str| Event::Dropped {
        id,
        at,
        reason: reason.into(),
    };
    let mut records = vec![
        named("dropped", dropped("discarded by ada: größer & älter")),
        named("dropped, no reason", dropped("")),
    ];
    for (name, then) in chains() {
        let terms = Terms {
            then,
            ..Terms::default()
        };
        let job = Job { terms, ..bare() };
        let event = Event::Enqueued(Box::new(job));
        records.push(named(&format!("enqueued, {name}"), event));
    }
    for (name, state, jobs) in batches() {
        let state = Box::new(state);
        let event = Event::Batch {
            id,
            at,
            state,
            jobs,
        };
        records.push(named(&format!("batch, {name}"), event));
    }
    let terms = Terms {
        group: Some("g".into()),
        ..Terms::default()
    };
    for (name, job) in [
        ("replaced", bare()),
        ("replaced, says more", Job { terms, ..bare() }),
    ] {
        let job = Box::new(job);
        records.push(named(name, Event::Replaced { id: JobId(3), job }));
    }
    records.push(named("batch forgotten", Event::BatchForgotten { id, at }));
    records
}

/// A batch that says nothing, and one that says all and came to its end.
fn batches() -> Vec<(&'static str, BatchState, Vec<Job>)> {
    let callback = |id: u128, fired_at| {
        let (_, mut chain) = chains().pop().expect("there are some");
        Box::new(Callback {
            id: JobId(id),
            link: chain.pop().expect("a link"),
            fired_at,
        })
    };
    let all = BatchState {
        name: Some("größe".into()),
        opened_at: AT,
        sealed_at: Some(AT),
        cancelled: Some(Box::new(Cancellation {
            how: Asked::Cancel,
            at: AT,
            by: "ada".into(),
            reason: Some("no use".into()),
        })),
        success: Some(callback(7, None)),
        complete: Some(callback(8, Some(AT))),
        gone: Tally {
            completed: 1,
            cancelled: 2,
            discarded: 3,
            dead: 4,
            expired: 5,
            deleted: 6,
        },
        ended_at: Some(AT),
    };
    let terms = Terms {
        group: Some("g".into()),
        ..Terms::default()
    };
    let following = vec![bare(), Job { terms, ..bare() }];
    vec![
        ("opened", BatchState::default(), Vec::new()),
        ("with everything", all, following),
    ]
}

/// A chain of one that says nothing but its kind, and of two that say all.
fn chains() -> Vec<(&'static str, Vec<Link>)> {
    let short = || Link {
        kind: "mail".into(),
        ..Link::default()
    };
    let long = || Link {
        kind: "mail".into(),
        queue: Some("slow".into()),
        priority: Some(-3),
        payload: Some(vec![0, 255]),
        content_type: Some("image/png".into()),
        headers: vec![("k".into(), "v".into())],
        delay_ms: 5_000,
        retry: RetryPolicy {
            max_attempts: Some(7),
            trap_attempts: Some(2),
            backoff: Some(Backoff::Polynomial),
        },
        timeout_ms: Some(1_000),
        retry_for_ms: Some(2_000),
        expires_in_ms: Some(3_000),
        group: Some("größe".into()),
        tags: vec!["t".into()],
    };
    vec![
        ("one to follow", vec![short()]),
        ("two to follow", vec![long(), long()]),
    ]
}
