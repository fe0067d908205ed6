//! What a new job may say, and what is filled in.

use sandhog_model::{
    Backoff, Bounds, Job, JobId, KindDefaults, Link, NewJob, Output, Rejected, RetryPolicy, Terms,
    UnixMs,
    limits::{
        BACKOFF_MS, CHAIN_BYTES, CHAIN_LINKS, DUE_AHEAD_MS, HEADER_BYTES, HEADERS, NAME_BYTES,
        PAYLOAD_BYTES, TAG_BYTES, TAGS, TIMEOUT_MS,
    },
};

const NOW: UnixMs = UnixMs(50);

fn new() -> NewJob {
    NewJob {
        kind: "k".into(),
        ..NewJob::default()
    }
}

fn link() -> Link {
    Link {
        kind: "l".into(),
        ..Link::default()
    }
}

fn accept(new: NewJob) -> Result<Job, String> {
    let accepted = new.accept(JobId(1), NOW, &KindDefaults::default());
    accepted.map_err(|rejected| match rejected {
        Rejected::Invalid(why) => why,
        other => panic!("{other:?}"),
    })
}

#[test]
fn what_is_left_open_comes_from_the_kind_and_then_from_the_house() {
    let job = accept(new()).expect("within bounds");
    assert_eq!((job.queue.as_str(), job.priority), ("default", 0));
    assert_eq!(job.content_type, "application/octet-stream");
    assert_eq!((job.due, job.enqueued_at, job.timeout_ms), (NOW, NOW, None));
    let defaults = KindDefaults {
        queue: Some("images".into()),
        retry: RetryPolicy {
            max_attempts: Some(4),
            ..RetryPolicy::default()
        },
        timeout_ms: Some(9),
        content_type: Some("image/png".into()),
        ..KindDefaults::default()
    };
    let job = new()
        .accept(JobId(1), NOW, &defaults)
        .expect("within bounds");
    assert_eq!(
        (job.queue.as_str(), job.content_type.as_str()),
        ("images", "image/png")
    );
    assert_eq!((job.retry.max_attempts, job.timeout_ms), (Some(4), Some(9)));
    let own = NewJob {
        queue: Some("own".into()),
        timeout_ms: Some(8),
        ..new()
    };
    let job = own.accept(JobId(1), NOW, &defaults).expect("within bounds");
    assert_eq!((job.queue.as_str(), job.timeout_ms), ("own", Some(8)));
}

/// What a wish and a link say of a job alike, each field of it something.
fn said() -> Job {
    Job {
        id: JobId(1),
        kind: "k".into(),
        queue: "q".into(),
        priority: 3,
        payload: b"p".to_vec(),
        content_type: "text/plain".into(),
        headers: vec![("h".into(), "v".into())],
        enqueued_at: NOW,
        due: NOW.plus(7),
        retry: RetryPolicy {
            max_attempts: Some(4),
            trap_attempts: Some(2),
            backoff: Some("fixed 1s jitter 0".parse().expect("a backoff")),
        },
        timeout_ms: Some(8),
        parent: None,
        terms: Terms {
            expires: Some(NOW.plus(7 + 9)),
            retry_for_ms: Some(10),
            group: Some("g".into()),
            tags: vec!["t".into()],
            ..Terms::default()
        },
    }
}

#[test]
fn a_job_says_all_that_the_wish_for_it_said() {
    let said = said();
    let then = vec![link()];
    let new = NewJob {
        kind: said.kind.clone(),
        queue: Some(said.queue.clone()),
        priority: Some(said.priority),
        payload: said.payload.clone(),
        content_type: Some(said.content_type.clone()),
        headers: said.headers.clone(),
        due: Some(said.due),
        retry: said.retry.clone(),
        timeout_ms: said.timeout_ms,
        parent: Some(JobId(9)),
        expires: said.terms.expires,
        retry_for_ms: said.terms.retry_for_ms,
        group: said.terms.group.clone(),
        tags: said.terms.tags.clone(),
        then: then.clone(),
        batch: Some(JobId(8)),
        ..NewJob::default()
    };
    let terms = Terms {
        then,
        batch: Some(JobId(8)),
        ..said.terms.clone()
    };
    let expected = Job {
        parent: Some(JobId(9)),
        terms,
        ..said
    };
    assert_eq!(accept(new), Ok(expected));
}

#[test]
fn a_job_that_follows_says_all_that_its_link_said() {
    let said = said();
    let link = Link {
        kind: said.kind.clone(),
        queue: Some(said.queue.clone()),
        priority: Some(said.priority),
        payload: Some(said.payload.clone()),
        content_type: Some(said.content_type.clone()),
        headers: said.headers.clone(),
        delay_ms: 7,
        retry: said.retry.clone(),
        timeout_ms: said.timeout_ms,
        retry_for_ms: said.terms.retry_for_ms,
        expires_in_ms: Some(9),
        group: said.terms.group.clone(),
        tags: said.terms.tags.clone(),
    };
    let before = Output {
        content_type: "image/png".into(),
        payload: b"of the job before".to_vec(),
    };
    let follow = |link: Link| link.accept(JobId(1), NOW, &before, &KindDefaults::default());
    assert_eq!(follow(link.clone()).expect("within bounds"), said);
    // Without a payload of its own it gets the result, with the media type of whoever says one first.
    let passed_on = |content_type: Option<&str>| {
        let job = follow(Link {
            payload: None,
            content_type: content_type.map(str::to_string),
            ..link.clone()
        });
        let job = job.expect("within bounds");
        assert_eq!(job.payload, before.payload);
        job.content_type
    };
    assert_eq!(passed_on(Some("text/html")), "text/html");
    assert_eq!(passed_on(None), "image/png");
}

#[test]
fn names_have_a_length_and_an_alphabet() {
    for name in ["a", "Az09._:-", "0", &"x".repeat(128)] {
        assert!(
            accept(NewJob {
                kind: name.into(),
                ..new()
            })
            .is_ok(),
            "{name}"
        );
    }
    for name in [
        "",
        "-a",
        ".a",
        "a b",
        "a/b",
        "ä",
        "a\0",
        "a\n",
        &"x".repeat(129),
    ] {
        for field in ["kind", "queue"] {
            let mut new = new();
            match field {
                "kind" => new.kind = name.into(),
                _ => new.queue = Some(name.into()),
            }
            let why = accept(new).expect_err(name);
            assert!(
                why.contains(field) && why.contains("128"),
                "{name:?}: {why}"
            );
        }
    }
}

/// A new job with the named field as long, large, many or far as `n`.
fn with(field: &str, n: u64) -> NewJob {
    let (mut new, length) = (new(), n as usize);
    match field {
        "payload" => new.payload = vec![0; length],
        "content type" => new.content_type = Some("x".repeat(length)),
        "headers" => new.headers = vec![("k".into(), String::new()); length],
        "header keys and values" => new.headers = vec![("k".into(), "v".repeat(length - 1))],
        "timeout" => new.timeout_ms = Some(n),
        "due" => new.due = Some(NOW.plus(n)),
        "max attempts" => new.retry.max_attempts = Some(n as u32),
        "trap attempts" => new.retry.trap_attempts = Some(n as u32),
        "group" => new.group = Some("x".repeat(length)),
        "tags" => new.tags = vec!["t".into(); length],
        "tag" => new.tags = vec!["x".repeat(length)],
        "retry_for" => new.retry_for_ms = Some(n),
        "expires" => new.expires = Some(NOW.plus(n)),
        "jobs are to follow" => new.then = vec![link(); length],
        "delay" => {
            new.then = vec![Link {
                delay_ms: n,
                ..link()
            }];
        }
        // One link's own weight is 129 bytes.
        "bytes together" => {
            new.then = vec![Link {
                payload: Some(vec![0; length - 129]),
                ..link()
            }];
        }
        other => panic!("no field {other}"),
    }
    new
}

/// The largest that is taken, one more that is not, and what the refusal names.
#[test]
fn every_field_has_its_bound() {
    for (field, most) in [
        ("payload", PAYLOAD_BYTES as u64),
        ("content type", 256),
        ("headers", HEADERS as u64),
        ("header keys and values", HEADER_BYTES as u64),
        ("timeout", TIMEOUT_MS),
        ("due", DUE_AHEAD_MS),
        ("max attempts", 1_000),
        ("trap attempts", 1_000),
        ("group", NAME_BYTES as u64),
        ("tags", TAGS as u64),
        ("tag", TAG_BYTES as u64),
        ("retry_for", BACKOFF_MS),
        ("expires", DUE_AHEAD_MS),
        ("jobs are to follow", CHAIN_LINKS as u64),
        ("delay", DUE_AHEAD_MS),
        ("bytes together", CHAIN_BYTES as u64),
    ] {
        assert!(accept(with(field, most)).is_ok(), "{field} at {most}");
        let why = accept(with(field, most + 1)).expect_err(field);
        assert!(why.contains(field), "{field}: {why}");
    }
    for field in ["timeout", "max attempts", "trap attempts"] {
        let why = accept(with(field, 0)).expect_err(field);
        assert!(why.contains(field) && why.contains("1 to"), "{why}");
    }
    assert!(accept(with("due", u64::MAX)).is_err());
    let past = NewJob {
        due: Some(UnixMs(0)),
        ..new()
    };
    assert!(accept(past).is_ok(), "the past is due");
}

#[test]
fn a_job_expires_after_it_is_due_and_after_now() {
    for (due, expires, is_taken) in [
        (50, 51, true),
        (50, 50, false),
        (70, 71, true),
        (70, 70, false),
        (20, 51, true),
        (20, 50, false),
    ] {
        let (due, expires) = (Some(UnixMs(due)), Some(UnixMs(expires)));
        let accepted = accept(NewJob {
            due,
            expires,
            ..new()
        });
        assert_eq!(
            accepted.is_ok(),
            is_taken,
            "due {due:?}, expires {expires:?}"
        );
    }
}

#[test]
fn an_operator_may_move_the_payload_bound() {
    let bounds = Bounds { payload_bytes: 2 };
    let with = |bytes| {
        let new = NewJob {
            payload: vec![0; bytes],
            ..new()
        };
        new.accept_within(JobId(1), NOW, &KindDefaults::default(), bounds)
    };
    assert!(with(2).is_ok());
    let followed = |bytes| {
        let payload = Some(vec![0; bytes]);
        let then = vec![Link { payload, ..link() }];
        let new = NewJob { then, ..new() };
        new.accept_within(JobId(1), NOW, &KindDefaults::default(), bounds)
    };
    assert!(followed(2).is_ok() && followed(3).is_err());
    let Err(Rejected::Invalid(why)) = with(3) else {
        panic!("three bytes are over two");
    };
    assert!(
        why.contains("3 bytes") && why.contains("at most 2"),
        "{why}"
    );
}

#[test]
fn header_keys_and_backoffs_are_clean() {
    for key in ["", "a\nb", "\u{7f}", "\0"] {
        let headers = vec![(key.to_string(), "v".to_string())];
        let why = accept(NewJob { headers, ..new() }).expect_err("a bad key");
        assert!(why.contains("header"), "{why}");
    }
    for tag in ["", "a,b", "a\n"] {
        let tags = vec![tag.to_string()];
        let why = accept(NewJob { tags, ..new() }).expect_err("a bad tag");
        assert!(why.contains("tag"), "{why}");
    }
    for group in ["", "a\n"] {
        let group = Some(group.to_string());
        let why = accept(NewJob { group, ..new() }).expect_err("a bad group");
        assert!(why.contains("group"), "{why}");
    }
    for jitter in [f64::NAN, 1.5, -0.1] {
        let backoff = Some(Backoff::Fixed {
            delay_ms: 1,
            jitter,
        });
        let retry = RetryPolicy {
            backoff,
            ..RetryPolicy::default()
        };
        let why = accept(NewJob { retry, ..new() }).expect_err("no fraction");
        assert!(why.contains("backoff"), "{why}");
    }
}
