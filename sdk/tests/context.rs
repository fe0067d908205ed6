//! What a handler may ask and do, against the fake.

use std::time::{Duration, UNIX_EPOCH};

use sandhog_sdk::http::{Request, Response};
use sandhog_sdk::testing::{EnqueuedJob, FakeContext, ProgressReport};
use sandhog_sdk::{Bytes, EnqueueError, Error, Level, NewJob};

#[test]
fn facts_are_as_the_test_chose_them() {
    let ctx = FakeContext::new()
        .with_kind("k")
        .with_queue("q")
        .with_attempt(3)
        .with_max_attempts(3)
        .with_header("a", "1")
        .with_header("a", "2")
        .with_checkpoint("half")
        .with_config("url", "u")
        .with_remaining(Duration::from_secs(5));
    assert_eq!(
        (ctx.kind(), ctx.queue(), ctx.attempt(), ctx.max_attempts()),
        ("k", "q", 3, 3)
    );
    assert!(ctx.is_last_attempt() && !ctx.cancelled());
    assert_eq!((ctx.header("a"), ctx.header("b")), (Some("1"), None));
    assert_eq!(ctx.headers().len(), 2);
    assert_eq!(ctx.last_checkpoint(), Some(&b"half"[..]));
    assert_eq!(
        (ctx.config("url").as_deref(), ctx.config("x")),
        (Some("u"), None)
    );
    assert_eq!(ctx.remaining(), Duration::from_secs(5));
    assert_eq!(
        ctx.deadline().duration_since(ctx.enqueued_at()).unwrap(),
        ctx.remaining()
    );
    assert!(FakeContext::new().cancelled_already().cancelled());
    assert!(!FakeContext::new().is_last_attempt());
    let ctx = FakeContext::new().with_log_level(Level::Warn);
    assert!(ctx.log_enabled(Level::Warn) && !ctx.log_enabled(Level::Info));
}

#[test]
fn calls_are_kept_in_order() {
    let ctx = FakeContext::new();
    ctx.warn("careful");
    ctx.log(Level::Debug, "seen", &[("n", "1")]);
    ctx.progress(1, None, None);
    ctx.progress(2, 3, "two");
    ctx.checkpoint(b"x").unwrap();
    let logs = ctx.logs();
    assert_eq!(
        (logs[0].level, logs[0].line.as_str()),
        (Level::Warn, "careful")
    );
    assert_eq!(logs[1].fields, [("n".to_owned(), "1".to_owned())]);
    let second = ProgressReport {
        done: 2,
        total: Some(3),
        note: Some("two".into()),
    };
    assert_eq!(ctx.progress_reports()[1], second);
    assert_eq!(ctx.checkpoints(), [b"x"]);
}

#[test]
fn a_new_job_carries_what_it_was_given() {
    let ctx = FakeContext::new();
    let job = NewJob::new("page", [1, 2])
        .queue("first")
        .queue("slow")
        .delay(Duration::from_millis(1500))
        .priority(-3)
        .max_attempts(4)
        .header("h", "v");
    let id = ctx.enqueue(job).unwrap();
    let own = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!(
        ctx.enqueued(),
        [EnqueuedJob {
            id: id.clone(),
            kind: "page".into(),
            payload: Bytes::new("application/json", "[1,2]"),
            headers: vec![own("h", "v")],
            options: vec![
                own("queue", "slow"),
                own("delay-ms", "1500"),
                own("priority", "-3"),
                own("max-attempts", "4"),
            ],
        }]
    );
    let other = ctx
        .enqueue(NewJob::new("page", Bytes::new("a/b", "raw")))
        .unwrap();
    assert_ne!(id, other);
    assert_eq!(ctx.enqueued()[1].payload, Bytes::new("a/b", "raw"));
}

#[test]
fn refusals_come_back_as_errors() {
    let ctx = FakeContext::new()
        .refusing_jobs(EnqueueError::Denied("queue `x`".into()))
        .refusing_checkpoints("over 256 KiB");
    let error: Error = ctx.enqueue(NewJob::new("k", ())).unwrap_err().into();
    assert_eq!(error.message(), "the new job is not allowed: queue `x`");
    let error: Error = ctx.checkpoint(b"x").unwrap_err().into();
    assert_eq!(error.message(), "the checkpoint was not kept: over 256 KiB");
    assert!(ctx.enqueued().is_empty() && ctx.checkpoints().is_empty());
    let unwritable = std::collections::BTreeMap::from([((1, 2), 3)]);
    let error = FakeContext::new()
        .enqueue(NewJob::new("k", unwritable))
        .unwrap_err();
    assert!(matches!(error, EnqueueError::Invalid(_)), "{error}");
}

#[test]
fn time_stands_still_until_it_is_let_pass() {
    let start = UNIX_EPOCH + Duration::from_secs(1_767_225_600);
    let ctx = FakeContext::new();
    assert_eq!((ctx.now(), ctx.enqueued_at()), (start, start));
    assert_eq!(
        (ctx.now(), ctx.remaining()),
        (start, Duration::from_secs(30))
    );
    ctx.pass(Duration::from_secs(10));
    assert_eq!(ctx.now(), start + Duration::from_secs(10));
    assert_eq!(ctx.remaining(), Duration::from_secs(20));
    assert_eq!(ctx.deadline(), start + Duration::from_secs(30));
    ctx.pass(Duration::from_secs(60));
    assert_eq!(ctx.remaining(), Duration::ZERO);
    let later = start + Duration::from_secs(3_600);
    let ctx = FakeContext::new()
        .with_remaining(Duration::from_secs(5))
        .with_now(later)
        .with_enqueued_at(start);
    assert_eq!((ctx.now(), ctx.enqueued_at()), (later, start));
    assert_eq!(ctx.deadline(), later + Duration::from_secs(5));
    let ticking = FakeContext::new().with_tick(Duration::from_secs(1));
    assert_eq!(ticking.now(), start);
    assert_eq!(ticking.remaining(), Duration::from_secs(29));
    assert_eq!(ticking.now(), start + Duration::from_secs(2));
}

#[test]
fn an_attempt_ends_soon_when_it_is_called_off_or_its_deadline_is_near() {
    let ctx = FakeContext::new().cancelled_after(2);
    assert_eq!(
        [ctx.cancelled(), ctx.cancelled(), ctx.cancelled()],
        [false, false, true]
    );
    assert!(ctx.cancelled());
    let ctx = FakeContext::new();
    assert!(!ctx.cancelled());
    ctx.cancel();
    assert!(ctx.cancelled());
    // The last two seconds of thirty, the last fifth of five.
    for (length, well, near) in [(30_000, 27_999, 28_000), (5_000, 3_999, 4_000)] {
        let ctx = FakeContext::new().with_remaining(Duration::from_millis(length));
        ctx.pass(Duration::from_millis(well));
        assert!(!ctx.cancelled());
        ctx.pass(Duration::from_millis(near - well));
        assert!(ctx.cancelled());
    }
}

#[test]
fn a_sleep_lets_time_pass_and_ends_with_the_attempt() {
    let ctx = FakeContext::new();
    let start = ctx.now();
    ctx.sleep(Duration::from_secs(20)).unwrap();
    assert_eq!(ctx.remaining(), Duration::from_secs(10));
    // Two seconds before the deadline it is time to end.
    let cut: Error = ctx.sleep(Duration::from_secs(20)).unwrap_err().into();
    assert_eq!(
        ctx.now().duration_since(start).unwrap(),
        Duration::from_secs(28)
    );
    assert!(!cut.is_permanent());
    let ctx = FakeContext::new().cancelled_already();
    ctx.sleep(Duration::from_secs(1)).unwrap_err();
    assert_eq!(ctx.now(), start);
}

#[test]
fn the_next_attempt_knows_the_checkpoint_and_nothing_else() {
    let first = FakeContext::new()
        .with_config("a", "b")
        .with_checkpoint("early")
        .with_answer(Response::new(200, "1"))
        .with_answer(Response::new(200, "2"))
        .cancelled_already();
    first.checkpoint(b"half").unwrap();
    first.checkpoint(b"most").unwrap();
    first.info("seen");
    let _ = first.enqueue(NewJob::new("k", ())).unwrap();
    let _ = Request::get("https://a.b").send(&first).unwrap();
    first.pass(Duration::from_secs(30));
    let second = first.next_attempt();
    assert_eq!(
        (second.attempt(), second.last_checkpoint()),
        (2, Some(&b"most"[..]))
    );
    assert_eq!(
        (second.remaining(), second.cancelled()),
        (Duration::from_secs(30), false)
    );
    assert_eq!(
        second.deadline().duration_since(second.now()).unwrap(),
        second.remaining()
    );
    assert_eq!(second.config("a").as_deref(), Some("b"));
    assert!(second.logs().is_empty() && second.enqueued().is_empty());
    assert!(second.requests().is_empty() && second.checkpoints().is_empty());
    assert_eq!(second.answers_left(), 1);
    // Without a new one the earlier checkpoint stays.
    assert_eq!(second.next_attempt().last_checkpoint(), Some(&b"most"[..]));
}

#[test]
fn a_new_jobs_payload_is_read_as_its_handler_would() {
    let ctx = FakeContext::new();
    let job = NewJob::new("page", ("a", 1)).queue("slow");
    let _ = ctx.enqueue(job).unwrap();
    let job = &ctx.enqueued()[0];
    assert_eq!(job.json::<(String, u32)>(), ("a".to_owned(), 1));
    assert_eq!(
        (job.option("queue"), job.option("delay-ms")),
        (Some("slow"), None)
    );
    let other = std::panic::catch_unwind(|| job.json::<u32>());
    assert!(other.is_err());
}

#[test]
fn a_new_job_says_what_it_must_not_be_twice() {
    let ctx = FakeContext::new();
    let job = NewJob::new("page", ())
        .unique_key("u")
        .unique_for(Duration::from_secs(3))
        .unique_while("waiting,retryable")
        .idempotency_key("i");
    ctx.enqueue(job).unwrap();
    let said = ctx.enqueued()[0].options.clone();
    let said: Vec<(&str, &str)> = said.iter().map(|(key, value)| (&**key, &**value)).collect();
    assert_eq!(
        said,
        [
            ("unique-key", "u"),
            ("unique-for-ms", "3000"),
            ("unique-while", "waiting,retryable"),
            ("idempotency-key", "i"),
        ]
    );
}
