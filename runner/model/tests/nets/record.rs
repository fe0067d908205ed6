//! What shares one record fits in it, or the attempt failed.

use sandhog_model::{
    Command, Digest, Event, FailureKind, Job, JobId, Ledger, Link, Named, OnConflict, Outcome,
    Output, Record, RecordAt, Rejected, Scope, Token, Unique, UnixMs, Verdict,
    codec::{FrameHead, Seal, encode_job, encode_record, slim_part, with_slim},
    limits::{HEADERS, RESULT_AND_JOBS_BYTES},
};

use crate::sample::{job, now, report};

fn running() -> Ledger {
    let mut ledger = Ledger::default();
    let leased = Event::Leased {
        id: JobId(1),
        token: Token(1),
        at: UnixMs(0),
    };
    for event in [Event::Enqueued(Box::new(job(1, "k", 0))), leased] {
        ledger.evolve(&event, RecordAt(0), 0).expect("sound");
    }
    ledger
}

/// The end of an attempt with these jobs and a result that fills the rest up to `total` bytes.
fn settled(children: Vec<Job>, total: usize) -> Event {
    let jobs: usize = children.iter().map(Job::weight).sum();
    let output = Output {
        content_type: "a/b".into(),
        payload: vec![0; total - jobs],
    };
    let mut report = report(1, 1, Outcome::Completed(output));
    report.children = children;
    let wish = Command::Settle(Box::new(report));
    let decided = running().decide(wish, now(10), 0);
    decided.expect("the holder is heard").remove(0)
}

/// Many jobs whose names and headers weigh more than their payloads.
fn children() -> Vec<Job> {
    let child = |id| Job {
        headers: vec![("k".into(), "v".into()); HEADERS],
        queue: "q".repeat(128),
        payload: vec![1; 300],
        ..job(id, &"k".repeat(128), 0)
    };
    (10..5_000).map(child).collect()
}

#[test]
fn the_largest_result_with_its_jobs_fits_in_a_frame() {
    let event = settled(children(), RESULT_AND_JOBS_BYTES);
    assert!(matches!(
        &event,
        Event::Settled { verdict: Verdict::Completed(_), children, .. } if children.len() == 4_990
    ));
    let (mut body, mut frame) = (Vec::new(), Vec::new());
    let previous = Some(RecordAt(u64::MAX));
    encode_record(&Record { previous, event }, &mut body).expect("it fits in a record");
    assert!(
        body.len() <= RESULT_AND_JOBS_BYTES + 1_000,
        "{}",
        body.len()
    );
    let head = FrameHead {
        sequence: 1,
        unsynced: 0,
    };
    Seal::new(1, 1)
        .encode(head, &body, &mut frame)
        .expect("it fits in a frame");
}

#[test]
fn one_byte_more_fails_the_attempt_and_says_why() {
    let event = settled(children(), RESULT_AND_JOBS_BYTES + 1);
    let Event::Settled {
        attempt,
        verdict,
        children,
        ..
    } = event
    else {
        panic!("{event:?}");
    };
    assert!(matches!(verdict, Verdict::Retry { .. }), "{verdict:?}");
    assert!(children.is_empty());
    let failure = attempt.failure.expect("it failed");
    assert_eq!(failure.kind, FailureKind::Limit);
    let total = (RESULT_AND_JOBS_BYTES + 1).to_string();
    assert!(failure.cause.contains(&total), "{}", failure.cause);
}

/// Who starts reads the beginning of a record, and what comes behind it only when someone asks.
#[test]
fn a_job_is_written_as_the_record_that_accepts_it_and_begins_with_what_the_ledger_needs() {
    let mut job = job(1, "k", 0);
    job.payload = vec![7; 10_000];
    let (mut bytes, mut of_job) = (Vec::new(), Vec::new());
    let event = Event::Enqueued(Box::new(job.clone()));
    let previous = None;
    encode_record(&Record { previous, event }, &mut bytes).expect("it fits");
    encode_job(&job, &mut of_job).expect("it fits");
    assert_eq!(bytes, of_job);
    let part = slim_part(&bytes);
    assert!(part.len() < 200, "{} bytes", part.len());
    let is_same = with_slim(&bytes, |whole| with_slim(part, |begun| whole == begun));
    assert_eq!(is_same, Ok(Ok(true)));
    for cut in 1..=part.len() {
        assert!(
            with_slim(&part[..part.len() - cut], |_| ()).is_err(),
            "{cut} bytes less"
        );
    }
}

fn text(length: usize) -> String {
    "x".repeat(length)
}

/// Whether an attempt's jobs fit in its record is decided by their weights.
#[test]
fn a_job_weighs_what_it_takes_in_a_record_or_little_more() {
    let link = || Link {
        kind: text(100),
        queue: Some(text(100)),
        payload: Some(vec![7; 500]),
        content_type: Some(text(200)),
        headers: vec![(text(300), text(400)); 3],
        group: Some(text(100)),
        tags: vec![text(60); 10],
        ..Link::default()
    };
    let parts: [fn(&mut Job, Link); 9] = [
        |job, _| job.payload = vec![7; 3_000],
        |job, _| job.headers = vec![(text(300), text(400)); 5],
        |job, _| (job.kind, job.queue) = (text(128), text(128)),
        |job, _| job.content_type = text(250),
        |job, _| job.terms.tags = vec![text(64); 16],
        |job, _| job.terms.group = Some(text(128)),
        |job, _| {
            job.terms.idempotency = Some(Named {
                key: Digest(1),
                says: text(200),
            });
        },
        |job, _| {
            job.terms.unique = Some(Unique {
                key: Digest(2),
                says: text(200),
                scope: Scope::KNOWN,
                until: None,
                on_conflict: OnConflict::Reject,
            });
        },
        |job, link| job.terms.then = vec![link; 4],
    ];
    let mut all = job(1, "k", 0);
    for change in parts {
        let mut one = job(1, "k", 0);
        change(&mut one, link());
        change(&mut all, link());
        for job in [&one, &all] {
            let mut bytes = Vec::new();
            encode_job(job, &mut bytes).expect("it fits");
            let (weight, length) = (job.weight(), bytes.len());
            assert!(length <= weight + 50, "{weight} for {length}: {job:?}");
            let most = length + 400 + 130 * job.terms.then.len();
            assert!(weight <= most, "{weight} for {length}: {job:?}");
        }
    }
}

#[test]
fn a_child_whose_id_is_taken_or_repeated_is_refused() {
    for (ids, taken) in [([1, 2], 1), ([3, 3], 3)] {
        let mut report = report(1, 1, Outcome::Completed(Output::default()));
        report.children = ids.map(|id| job(id, "k", 0)).to_vec();
        let decided = running().decide(Command::Settle(Box::new(report)), now(10), 0);
        assert_eq!(decided, Err(Rejected::IdTaken(JobId(taken))));
    }
}
