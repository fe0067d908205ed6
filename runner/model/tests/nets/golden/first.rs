//! Samples of the facts that format 1 has, every optional part once there and once not.

use sandhog_model::{
    Attempt, Backoff, Event, Failure, FailureKind, Job, JobId, LogLevel, LogLine, LogSource,
    Output, Record, RecordAt, RetryPolicy, Terms, Token, UnixMs, Verdict, Waiting,
};

/// The job of most samples.
pub(super) const ID: JobId = JobId(0x0193_A5B2_C3D4_0000_1111_2222_3333_4444);
/// Its latest lease.
pub(super) const TOKEN: Token = Token(0x0102_0304_0506_0708);
/// When the facts happened, in milliseconds since 1970.
pub(super) const AT: UnixMs = UnixMs(1_795_980_706_250);

/// A record of a fact, the first of its job.
pub(super) fn named(name: &str, event: Event) -> (String, Record) {
    let previous = None;
    (name.to_owned(), Record { previous, event })
}

/// A job with nothing that can be left out.
pub(super) fn bare() -> Job {
    Job {
        id: ID,
        kind: "echo".into(),
        queue: "default".into(),
        priority: 0,
        payload: Vec::new(),
        content_type: "application/octet-stream".into(),
        headers: Vec::new(),
        enqueued_at: AT,
        due: AT,
        retry: RetryPolicy::default(),
        timeout_ms: None,
        parent: None,
        terms: Terms::default(),
    }
}

/// A job with everything.
pub(super) fn full(backoff: Backoff) -> Job {
    Job {
        id: JobId(ID.0 + 1),
        kind: "größe".into(),
        queue: "photos".into(),
        priority: i16::MIN,
        payload: vec![0x00, 0xFF, 0xC1, b'{'],
        content_type: "image/png".into(),
        headers: vec![
            ("k".into(), "v".into()),
            ("k".into(), "\u{0}\u{202e}".into()),
        ],
        enqueued_at: AT,
        due: UnixMs(AT.0 + 315_576_000_000),
        retry: RetryPolicy {
            max_attempts: Some(1000),
            trap_attempts: Some(2),
            backoff: Some(backoff),
        },
        timeout_ms: Some(86_400_000),
        parent: Some(ID),
        terms: Terms::default(),
    }
}

fn backoffs() -> Vec<(&'static str, Backoff)> {
    let of = |text: &str| text.parse().expect("a backoff");
    vec![
        ("polynomial", of("polynomial")),
        ("fixed", of("fixed 20ms jitter 0")),
        ("linear", of("linear 10s max 1h")),
        ("exponential", of("exponential 1s factor 1.5 max 1h")),
        ("list", of("list 1s 5s 1m jitter 0.5")),
    ]
}

/// An attempt of which nothing is known but its lease.
pub(super) fn bare_attempt() -> Attempt {
    Attempt::without_run(1, TOKEN, AT)
}

/// An attempt with everything, that failed in a way.
pub(super) fn failed(kind: FailureKind) -> Attempt {
    let line = |source, level| LogLine {
        at_ms: 17,
        source,
        level,
        text: "said".into(),
        fields: vec![("k".into(), "v".into())],
    };
    let failure = Failure {
        panic: Some("src/lib.rs:7: no".into()),
        backtrace: vec!["inner".into(), "outer".into()],
        details: vec![("k".into(), "v".into())],
        ..Failure::new(kind, "E7", "it broke").with_hint("mend it")
    };
    Attempt {
        number: 3,
        token: TOKEN,
        started_at: AT,
        ended_at: UnixMs(AT.0 + 90),
        duration_us: 88_123,
        digest: "ab".repeat(32),
        plugin: "thumbnail".into(),
        peak_memory: 1 << 33,
        failure: Some(failure),
        logs: vec![
            line(LogSource::Log, LogLevel::Trace),
            line(LogSource::Stdout, LogLevel::Debug),
            line(LogSource::Stderr, LogLevel::Info),
            line(LogSource::Log, LogLevel::Warn),
            line(LogSource::Log, LogLevel::Error),
        ],
        dropped_lines: 12,
        cpu_us: 0,
    }
}

pub(super) fn settled(attempt: Attempt, verdict: Verdict, children: Vec<Job>) -> Event {
    Event::Settled {
        id: ID,
        attempt: Box::new(attempt),
        verdict,
        children,
    }
}

fn verdicts() -> Vec<(&'static str, Verdict)> {
    let due = UnixMs(AT.0 + 1_000);
    let put_back = |why| Verdict::PutBack { why, due };
    let (content_type, payload) = ("text/plain".into(), b"done".to_vec());
    let output = Output {
        content_type,
        payload,
    };
    vec![
        ("completed", Verdict::Completed(output)),
        (
            "completed, no result",
            Verdict::Completed(Output::default()),
        ),
        ("retry", Verdict::Retry { due }),
        ("snoozed", Verdict::Snoozed { due }),
        ("put back, missing", put_back(Waiting::PluginMissing)),
        ("put back, invalid", put_back(Waiting::PluginInvalid)),
        ("put back, full", put_back(Waiting::PoolFull)),
        ("put back, shutdown", put_back(Waiting::Shutdown)),
        (
            "discarded",
            Verdict::Discarded {
                reason: "no use".into(),
            },
        ),
        ("dead", Verdict::Dead),
    ]
}

/// The samples.
pub(super) fn records() -> Vec<(String, Record)> {
    let (id, token, at) = (ID, TOKEN, AT);
    let checkpointed = |bytes| Event::Checkpointed {
        id,
        token,
        at,
        bytes,
    };
    let lost = |buried| Event::Lost {
        id,
        token,
        at,
        buried,
    };
    let requeued = |from_dead| Event::Requeued { id, at, from_dead };
    let mut records = vec![named("enqueued, bare", Event::Enqueued(Box::new(bare())))];
    for (name, backoff) in backoffs() {
        let event = Event::Enqueued(Box::new(full(backoff)));
        records.push(named(&format!("enqueued, {name}"), event));
    }
    records.extend([
        named("leased", Event::Leased { id, token, at }),
        named("checkpointed", checkpointed(vec![0xC1; 40])),
        named("checkpointed, nothing", checkpointed(Vec::new())),
        named("lost", lost(None)),
        named(
            "lost, buried",
            lost(Some(Box::new(failed(FailureKind::Lost)))),
        ),
        named("requeued", requeued(false)),
        named("requeued from the dead", requeued(true)),
        named("hastened", Event::Hastened { id, at }),
        named("deleted", Event::Deleted { id, at }),
    ]);
    for (name, verdict) in verdicts() {
        let event = settled(bare_attempt(), verdict, Vec::new());
        records.push(named(&format!("settled, {name}"), event));
    }
    // What came later has samples of its own.
    let known = FailureKind::ALL.into_iter();
    for kind in known.filter(|kind| *kind != FailureKind::Cancelled) {
        let event = settled(failed(kind), Verdict::Dead, Vec::new());
        records.push(named(&format!("settled, {kind}"), event));
    }
    let children = vec![bare(), full(Backoff::Polynomial)];
    let event = settled(
        bare_attempt(),
        Verdict::Completed(Output::default()),
        children,
    );
    records.push(named("settled, children", event));
    let later = Record {
        previous: Some(RecordAt((7 << 32) | 4096)),
        event: Event::Hastened { id, at },
    };
    records.push(("hastened, after another record".into(), later));
    records
}
