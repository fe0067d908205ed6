//! Samples of what came with format 4.

use sandhog_model::{
    Backoff, Carried, Digest, Event, Job, JobId, Named, OnConflict, Output, QueueLimits, QueueMode,
    Rate, Record, Scope, Status, Steering, Terms, Unique, UnixMs, Verdict,
};

use super::{
    first::{AT, ID, bare, bare_attempt, full, named, settled},
    second::carried,
};

fn later(ms: u64) -> UnixMs {
    UnixMs(AT.0 + ms)
}

fn unique(until: Option<UnixMs>, on_conflict: OnConflict) -> Unique {
    Unique {
        key: Digest(0x0011_2233_4455_6677_8899_AABB_CCDD_EEFF),
        says: "{\"user\":7}".into(),
        scope: Scope::UNFINISHED,
        until,
        on_conflict,
    }
}

fn named_key() -> Named {
    Named {
        key: Digest(7),
        says: "order-7".into(),
    }
}

/// Each term alone, and all of them.
fn terms() -> Vec<(&'static str, Terms)> {
    let none = Terms::default;
    let expires = Some(later(60_000));
    let idempotency = Some(named_key());
    let lock = |until, on_conflict| Some(unique(until, on_conflict));
    vec![
        ("expires", Terms { expires, ..none() }),
        (
            "retry for",
            Terms {
                retry_for_ms: Some(86_400_000),
                ..none()
            },
        ),
        (
            "unique",
            Terms {
                unique: lock(None, OnConflict::Reject),
                ..none()
            },
        ),
        (
            "unique for a while",
            Terms {
                unique: lock(Some(later(5)), OnConflict::Debounce),
                ..none()
            },
        ),
        (
            "idempotency",
            Terms {
                idempotency,
                ..none()
            },
        ),
    ]
}

fn more_terms() -> Vec<(&'static str, Terms)> {
    let none = Terms::default;
    let expires = Some(later(60_000));
    let group = Some("größe & co".to_owned());
    let idempotency = Some(named_key());
    vec![
        (
            "group",
            Terms {
                group: group.clone(),
                ..none()
            },
        ),
        (
            "batch",
            Terms {
                batch: Some(JobId(ID.0 + 2)),
                ..none()
            },
        ),
        (
            "tags",
            Terms {
                tags: vec!["a".into(), "ä b".into()],
                ..none()
            },
        ),
        (
            "everything",
            Terms {
                expires,
                retry_for_ms: Some(1),
                unique: Some(unique(Some(later(9)), OnConflict::Replace)),
                idempotency,
                group,
                batch: Some(ID),
                tags: vec!["t".into()],
                ..none()
            },
        ),
    ]
}

fn jobs() -> Vec<(&'static str, Job)> {
    let saying = |(name, terms)| (name, Job { terms, ..bare() });
    terms()
        .into_iter()
        .chain(more_terms())
        .map(saying)
        .collect()
}

fn steered() -> Vec<(&'static str, Steering)> {
    let limits = QueueLimits::default;
    let rate = |count| {
        Some(Rate {
            count,
            per_ms: 60_000,
            burst: 3,
        })
    };
    let steering = |mode, limits| Steering { mode, limits };
    let all = QueueLimits {
        concurrency: Some(5),
        rate: rate(10),
        group_concurrency: Some(1),
        group_rate: rate(2),
    };
    let some = QueueLimits {
        group_rate: rate(2),
        ..limits()
    };
    vec![
        ("open", steering(QueueMode::Open, limits())),
        ("paused", steering(QueueMode::Paused, limits())),
        ("draining, limited", steering(QueueMode::Draining, all)),
        ("limited", steering(QueueMode::Open, some)),
    ]
}

/// The samples.
pub(super) fn records() -> Vec<(String, Record)> {
    let (id, at) = (ID, AT);
    let mut records = Vec::new();
    for (name, job) in jobs() {
        let event = Event::Enqueued(Box::new(job));
        records.push(named(&format!("enqueued, {name}"), event));
    }
    let done = Verdict::Completed(Output::default());
    let mut children: Vec<Job> = vec![full(Backoff::Polynomial)];
    children.extend(jobs().into_iter().map(|(_, job)| job));
    let event = settled(bare_attempt(), done, children);
    records.push(named("settled, children that say more", event));
    for (name, job) in jobs() {
        let waiting = Status::Waiting {
            due: AT,
            backoff: true,
        };
        let event = Event::Carried(Box::new(Carried {
            job,
            ..carried(waiting)
        }));
        records.push(named(&format!("carried, {name}"), event));
    }
    let (_, everything) = jobs().pop().expect("there are some");
    let came_to_be = Carried {
        job: everything,
        lifted: true,
        unlocked: true,
        failing_since: Some(later(3)),
        ..carried(Status::Expired(AT))
    };
    records.push(named(
        "carried, expired, and all that came to be",
        Event::Carried(Box::new(came_to_be)),
    ));
    let due = later(1_000);
    records.extend([
        named("postponed", Event::Postponed { id, at, due }),
        named("expired", Event::Expired { id, at }),
        named("unlocked", Event::Unlocked { id, at }),
    ]);
    for (name, to) in steered() {
        let event = Event::Steered {
            queue: "photos".into(),
            at,
            by: "ada".into(),
            to: Box::new(to),
        };
        records.push(named(&format!("steered, {name}"), event));
    }
    records
}
