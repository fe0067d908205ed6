//! Samples of what came with format 5.

use sandhog_model::{Backoff, Event, Job, Link, Record, RetryPolicy, Terms};

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
    records
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
