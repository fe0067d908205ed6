//! The list of jobs that wait for an instant.

use sandhog_model::{Amend, Job, JobId, Rejected, State, UnixMs};

use super::stage::{
    START, Stage, all_rows, amend, claim_one, completed, enqueue, enqueue_job, failed, first_page,
    job, settle, wait,
};
use crate::store::{Inspect, JobFilter, PageRequest, Store, StoreError};

fn by_due(kind: Option<&str>) -> JobFilter {
    JobFilter {
        kind: kind.map(str::to_owned),
        by_due: true,
        ..JobFilter::default()
    }
}

/// A job of a kind that is due so many seconds after the start.
fn due_in(store: &dyn Store, kind: &str, seconds: u64) -> JobId {
    let job = Job {
        due: UnixMs(START + seconds * 1_000),
        ..job(store.mint(), kind)
    };
    enqueue_job(store, job).expect("enqueued")
}

#[test]
fn a_lease_says_since_when_its_job_could_have_begun() {
    let (stage, _) = Stage::sim();
    let store = stage.open();
    let due = |kind: &str| {
        let leased = claim_one(&*store, kind);
        (leased.due.0.wrapping_sub(START), leased)
    };
    let past = Job {
        due: UnixMs(START - 60_000),
        ..job(store.mint(), "past")
    };
    let id = enqueue_job(&*store, past).expect("enqueued");
    due_in(&*store, "later", 10);
    stage.clock.pass(15_000);
    assert_eq!(due("later").0, 10_000);
    let (since, leased) = due("past");
    assert_eq!(since, 0, "it was not there before");
    settle(&*store, &leased, completed()).expect("settled");
    stage.clock.pass(5_000);
    amend(&*store, Amend::Retry(id)).expect("brought back");
    stage.clock.pass(1_000);
    assert_eq!(due("past").0, 20_000);
}

#[test]
fn jobs_come_by_when_they_are_due_whenever_they_were_enqueued() {
    let (stage, _) = Stage::sim();
    let store = stage.open();
    let _ = enqueue(&*store, "available").expect("enqueued");
    let again = enqueue(&*store, "failing").expect("enqueued");
    let leased = claim_one(&*store, "failing");
    assert_eq!(
        settle(&*store, &leased, failed()).expect("settled"),
        State::Retryable
    );
    let mut due: Vec<(u64, JobId)> = (0..300)
        .map(|number| {
            let seconds = 10 + number * 7_919 % 150;
            (
                seconds,
                due_in(&*store, ["photo", "page"][number as usize % 2], seconds),
            )
        })
        .collect();
    due.sort_unstable();
    let ids = |filter: &JobFilter| -> Vec<JobId> {
        let rows = all_rows(&*store, filter, 7);
        rows.into_iter().map(|row| row.id).collect()
    };
    let expected: Vec<JobId> = [again]
        .into_iter()
        .chain(due.iter().map(|(_, id)| *id))
        .collect();
    assert_eq!(ids(&by_due(None)), expected);
    let retries = JobFilter {
        states: vec![State::Retryable],
        ..by_due(None)
    };
    assert_eq!(ids(&retries), [again]);
    assert_eq!(ids(&by_due(Some("page"))).len(), 150);
    assert_eq!(ids(&by_due(Some("nobody"))), []);
    let exact = wait(store.jobs(by_due(None), first_page(301))).expect("a page");
    assert_eq!((exact.rows.len(), exact.next), (301, None), "no empty page");
}

#[test]
fn a_cursor_stays_where_it_is_whatever_comes_and_goes() {
    let (stage, _) = Stage::sim();
    let store = stage.open();
    let ids: Vec<JobId> = (0..30)
        .map(|number| due_in(&*store, "photo", 10 + number))
        .collect();
    let first = wait(store.jobs(by_due(None), first_page(10))).expect("a page");
    assert_eq!(
        first.rows.iter().map(|row| row.id).collect::<Vec<_>>(),
        ids[..10]
    );
    // The one that it names runs now, others come before and behind it, and some are due meanwhile.
    assert_eq!(
        amend(&*store, Amend::Retry(ids[9])).expect("done"),
        Some(State::Available)
    );
    let _ = due_in(&*store, "photo", 12);
    let behind = due_in(&*store, "photo", 22);
    stage.clock.pass(15_000);
    let second = PageRequest {
        limit: 4,
        cursor: first.next,
    };
    let second = wait(store.jobs(by_due(None), second)).expect("a page");
    let shown: Vec<JobId> = second.rows.iter().map(|row| row.id).collect();
    assert_eq!(shown, [ids[10], ids[11], ids[12], behind]);
    stage.clock.pass(60_000);
    let rest = PageRequest {
        limit: 4,
        cursor: second.next,
    };
    let rest = wait(store.jobs(by_due(None), rest)).expect("a page");
    assert_eq!((rest.rows, rest.next), (Vec::new(), None), "all are due");
}

#[test]
fn what_it_cannot_do_is_refused() {
    let (stage, _) = Stage::sim();
    let store = stage.open();
    let cursor = |text: &str| PageRequest {
        limit: 5,
        cursor: Some(text.to_owned()),
    };
    let tagged = JobFilter {
        tag: Some("t".to_owned()),
        ..by_due(None)
    };
    for (filter, page) in [
        (by_due(None), cursor("")),
        (by_due(None), cursor("01JDVYT8G0QYV5XMP1Z3M4N5P6")),
        (by_due(None), cursor("-01JDVYT8G0QYV5XMP1Z3M4N5P6")),
        (by_due(None), cursor("+5-01JDVYT8G0QYV5XMP1Z3M4N5P6")),
        (by_due(None), cursor("5-x")),
        (tagged, first_page(5)),
    ] {
        let refused = wait(store.jobs(filter, page.clone()));
        let is_invalid = matches!(refused, Err(StoreError::Rejected(Rejected::Invalid(_))));
        assert!(is_invalid, "{page:?}");
    }
}
