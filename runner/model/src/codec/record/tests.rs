//! Every record reads back, and nothing else is a record.

use super::*;
use crate::{
    attempt::{Attempt, LogLevel, LogLine, LogSource},
    cancel::{Asked, Cancellation},
    carried::Carried,
    event::{Event, RecordAt, Verdict},
    fact::Slim,
    id::{JobId, Token},
    job::{Job, KindDefaults, NewJob, Output},
    ledger::Status,
    outcome::{Failure, FailureKind},
    retry::{Backoff, RetryPolicy},
    time::UnixMs,
};
use alloc::{boxed::Box, vec};

fn job(id: u128) -> Job {
    let new = NewJob {
        kind: "thumbnail".into(),
        payload: vec![0, 255, 7],
        headers: vec![("größe".into(), "\u{0}\u{202e}x".into())],
        retry: RetryPolicy {
            backoff: Some("exponential 1s factor 1.5 max 1h jitter 0".parse().unwrap()),
            ..RetryPolicy::default()
        },
        ..NewJob::default()
    };
    new.accept(JobId(id), UnixMs(5), &KindDefaults::default())
        .unwrap()
}

/// Every event, with every optional part once there and once not.
fn events() -> Vec<Event> {
    let (id, token, at) = (JobId(u128::MAX), Token(u64::MAX), UnixMs(u64::MAX));
    let mut events = vec![
        Event::Enqueued(Box::new(job(1))),
        Event::Leased { id, token, at },
        Event::Checkpointed {
            id,
            token,
            at,
            bytes: vec![0xC1; 300],
        },
        Event::Requeued {
            id,
            at,
            from_dead: true,
        },
        Event::Hastened { id, at },
        Event::Deleted { id, at },
        Event::Lost {
            id,
            token,
            at,
            buried: None,
        },
    ];
    events.extend(kept_events(id, at));
    let due = at;
    let output = Output {
        content_type: "a/b".into(),
        payload: vec![1; 70_000],
    };
    let verdicts = [
        Verdict::Completed(output),
        Verdict::Retry { due },
        Verdict::Snoozed { due },
        Verdict::PutBack {
            why: crate::outcome::Waiting::PoolFull,
            due,
        },
        Verdict::Discarded {
            reason: "why".into(),
        },
        Verdict::Dead,
        Verdict::Cancelled,
    ];
    for (kind, verdict) in FailureKind::ALL
        .into_iter()
        .zip(verdicts.into_iter().cycle())
    {
        let attempt = Box::new(attempt(kind));
        let buried = Some(attempt.clone());
        let children = vec![job(2), job(3)];
        events.push(Event::Lost {
            id,
            token,
            at,
            buried,
        });
        events.push(Event::Settled {
            id,
            attempt,
            verdict,
            children,
        });
    }
    events
}

/// The facts that keep a log short.
fn kept_events(id: JobId, at: UnixMs) -> Vec<Event> {
    let (before, last_token) = (RecordAt(5 << 32), Token(6));
    let mut events = vec![
        Event::CancelAsked {
            id,
            token: last_token,
            cancel: Box::new(cancellation(Asked::Kill)),
        },
        Event::Cancelled {
            id,
            cancel: Box::new(cancellation(Asked::Cancel)),
        },
        Event::Pruned { ids: vec![], at },
        Event::Pruned {
            ids: vec![id, JobId(2)],
            at,
        },
        Event::Merged {
            log: "ab".repeat(16),
            at,
            last_token,
        },
    ];
    for last_id in [None, Some(id)] {
        events.push(Event::Trimmed {
            before,
            at,
            last_id,
            last_token,
        });
    }
    events.extend(carried_events(id, at));
    events
}

fn carried_events(id: JobId, at: UnixMs) -> Vec<Event> {
    let mut events = Vec::new();
    let mut job = job(9);
    (job.priority, job.retry.max_attempts) = (-300, Some(7));
    let carried = Carried {
        job,
        at,
        status: Status::Dead(at),
        attempts: 3,
        losses: 2,
        token: Token(4),
        failure: None,
        history: vec![],
        output: None,
        reason: None,
        children: vec![],
        checkpoint: None,
        cancel: None,
        traps: 0,
        lifted: false,
        unlocked: false,
        failing_since: None,
    };
    let due = at;
    for status in [
        Status::Waiting { due, backoff: true },
        Status::Running { since: UnixMs(3) },
        Status::Completed(at),
        Status::Cancelled(at),
        Status::Discarded(at),
    ] {
        events.push(Event::Carried(Box::new(Carried {
            status,
            failure: Some(FailureKind::Memory),
            history: vec![attempt(FailureKind::Error); 2],
            output: Some(Output::default()),
            reason: Some("why".into()),
            children: vec![id],
            checkpoint: Some(vec![1]),
            cancel: Some(cancellation(Asked::Kill)),
            ..carried.clone()
        })));
    }
    events.push(Event::Carried(Box::new(carried)));
    events
}

fn cancellation(how: Asked) -> Cancellation {
    Cancellation {
        how,
        at: UnixMs(8),
        by: "someone".into(),
        reason: Some("why".into()),
    }
}

fn attempt(kind: FailureKind) -> Attempt {
    let mut failure = Failure::new(kind, "code", "cause").with_hint("hint");
    failure.backtrace = vec!["frame".into()];
    failure.details = vec![("k".into(), "v".into())];
    let line = LogLine {
        at_ms: 1,
        source: LogSource::Stderr,
        level: LogLevel::Warn,
        text: "text".into(),
        fields: vec![("k".into(), "v".into())],
    };
    Attempt {
        number: 1,
        token: Token(3),
        started_at: UnixMs(1),
        ended_at: UnixMs(2),
        duration_us: 9,
        digest: "ab".repeat(32),
        plugin: "p".into(),
        peak_memory: 1 << 40,
        failure: Some(failure),
        logs: vec![line],
        dropped_lines: 2,
        cpu_us: 1 << 40,
    }
}

fn bytes(record: &Record) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_record(record, &mut bytes).unwrap();
    bytes
}

#[test]
fn every_event_reads_back_equal() {
    for event in events() {
        for previous in [None, Some(RecordAt(u64::MAX))] {
            let event = event.clone();
            let record = Record { previous, event };
            let bytes = bytes(&record);
            let slim = Slim::from(&record);
            assert!(slim.fact.ids().eq(record.event.ids()));
            assert_eq!(with_slim(&bytes, |read| *read == slim), Ok(true));
            assert_eq!(decode_record(&bytes), Ok(record));
        }
    }
}

#[test]
fn a_cut_record_is_an_error_at_every_length() {
    let event = Event::Enqueued(Box::new(job(1)));
    let bytes = bytes(&Record {
        previous: None,
        event,
    });
    for cut in 0..bytes.len() {
        assert!(decode_record(&bytes[..cut]).is_err(), "cut at {cut}");
    }
}

/// What was written is read in part as it is read whole, whatever its bytes are changed to; damage
/// is never a panic.
#[test]
fn a_slim_reading_says_what_the_whole_one_does() {
    let mut read = 0;
    for event in events() {
        let record = Record {
            previous: Some(RecordAt(70_000)),
            event,
        };
        let sound = bytes(&record);
        let head = 6 + u32::from_le_bytes(sound[2..6].try_into().unwrap()) as usize;
        for cut in 0..head {
            assert!(with_slim(&sound[..cut], |_| ()).is_err(), "cut at {cut}");
        }
        for place in 0..sound.len().min(700) {
            let mut bytes = sound.clone();
            for with in [
                0x00, 0x01, 0x90, 0x92, 0xC0, 0xC1, 0xC3, 0xCF, 0xD0, 0xDB, 0xFF,
            ] {
                bytes[place] = with;
                let whole = decode_record(&bytes);
                let whole = whole.as_ref().map(Slim::from);
                let is_same = with_slim(&bytes, |slim| whole.as_ref() == Ok(slim));
                if whole.is_ok() {
                    read += 1;
                    assert_eq!(is_same, Ok(true), "{place} {with}");
                }
            }
        }
    }
    assert!(read > 10_000, "{read} changed records were read");
}

/// A record of which the head does not fit what follows is damaged, whatever its checksum says.
#[test]
fn a_head_before_the_rest_of_another_record_is_refused() {
    let settled = |verdict| Record {
        previous: None,
        event: Event::Settled {
            id: JobId(1),
            attempt: Box::new(attempt(FailureKind::Error)),
            verdict,
            children: vec![],
        },
    };
    let [one, other] =
        [Verdict::Dead, Verdict::Retry { due: UnixMs(9) }].map(|verdict| bytes(&settled(verdict)));
    let head = |bytes: &[u8]| 6 + u32::from_le_bytes(bytes[2..6].try_into().unwrap()) as usize;
    let mixed = [&one[..head(&one)], &other[head(&other)..]].concat();
    assert!(with_slim(&mixed, |_| ()).is_ok());
    let refused = decode_record(&mixed).err().map(|bad| bad.to_string());
    let why = "not a record: its head says otherwise than what follows it";
    assert_eq!(refused.as_deref(), Some(why));
}

#[test]
fn nesting_and_announced_lengths_are_errors() {
    let deep = vec![0x91; 200_000];
    let deep_unknown_field = [&[0x81, 0xA1, b'x'], &deep[..]].concat();
    let array = [0xDD, 0xFF, 0xFF, 0xFF, 0xFF];
    let text = [0x92, 0xDB, 0xFF, 0xFF, 0xFF, 0xFF];
    for bytes in [
        &deep[..],
        &deep_unknown_field,
        &array[..],
        &text[..],
        &[0xC1],
        &[],
    ] {
        let unreadable = |bad| matches!(bad, Some(BadRecord::Unreadable { .. }));
        assert!(unreadable(decode_record(bytes).err()));
        assert!(unreadable(with_slim(bytes, |_| ()).err()));
    }
    let long = vec![0; BODY_BYTES + 1];
    let length = long.len();
    assert_eq!(decode_record(&long), Err(BadRecord::TooLong { length }));
    let slim = with_slim(&long, |_| ());
    assert_eq!(slim, Err(BadRecord::TooLong { length }));
}

#[test]
fn a_record_too_long_for_a_frame_is_not_written() {
    let mut job = job(1);
    job.payload = vec![0; BODY_BYTES];
    let event = Event::Enqueued(Box::new(job));
    let mut out = vec![9];
    let refused = encode_record(
        &Record {
            previous: None,
            event,
        },
        &mut out,
    );
    assert!(matches!(refused, Err(BadRecord::TooLong { .. })));
    assert_eq!(out, [9]);
}

/// What a later release may do: add a field at the end of a struct.
#[test]
fn fields_added_later_read_from_older_records() {
    #[derive(Serialize)]
    struct Old(u8, UnixMs);
    #[derive(Debug, PartialEq, Deserialize)]
    struct New {
        first: u8,
        at: UnixMs,
        #[serde(default)]
        added: Option<Backoff>,
        #[serde(default)]
        more: u32,
    }
    let mut old = Vec::new();
    write(&Old(7, UnixMs(8)), &mut old).unwrap();
    let new = New {
        first: 7,
        at: UnixMs(8),
        added: None,
        more: 0,
    };
    assert_eq!(read(&old), Ok(new));
}
