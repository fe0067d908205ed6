//! What a new job may say, and what is filled in.

use sandhog_model::{
    Backoff, Bounds, Job, JobId, KindDefaults, NewJob, Rejected, RetryPolicy, UnixMs,
    limits::{DUE_AHEAD_MS, HEADER_BYTES, HEADERS, PAYLOAD_BYTES, TIMEOUT_MS},
};

const NOW: UnixMs = UnixMs(50);

fn new() -> NewJob {
    NewJob {
        kind: "k".into(),
        ..NewJob::default()
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
