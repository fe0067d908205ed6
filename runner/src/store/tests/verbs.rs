//! What people do to jobs that no attempt holds, and lists that look for little among much.

use sandhog_model::{Amend, Job, JobId, Rejected, State, Terms, UnixMs};

use super::stage::{
    START, Stage, all_rows, amend, claim, claim_one, completed, enqueue, enqueue_job, failed,
    first_page, job, permanent, settle, state, wait,
};
use crate::{
    disk::sim::Unsynced,
    store::{Inspect, JobFilter, Store, StoreError},
};

fn is_refused(answer: Result<Option<State>, StoreError>, wish: &str) -> bool {
    matches!(answer, Err(StoreError::Rejected(Rejected::WrongState { wish: of, .. })) if of == wish)
}

fn snooze(id: JobId, ms: u64) -> Amend {
    let due = UnixMs(START + ms);
    Amend::Snooze { id, due }
}

fn discard(id: JobId, reason: Option<&str>) -> Amend {
    Amend::Discard {
        id,
        by: "ada".to_owned(),
        reason: reason.map(str::to_owned),
    }
}

fn remove(id: JobId) -> Amend {
    Amend::Remove { id, force: false }
}

#[test]
fn a_snoozed_job_waits_for_its_instant_and_has_used_no_attempt() {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    let [fresh, tried] = ["a", "b"].map(|kind| enqueue(&*store, kind).expect("enqueued"));
    settle(&*store, &claim_one(&*store, "b"), failed()).expect("settled");
    for id in [fresh, tried] {
        assert_ne!(
            amend(&*store, snooze(id, 5_000)).expect("snoozed"),
            Some(State::Available)
        );
    }
    stage.clock.pass(4_999);
    let store = stage.moved_to(&disk.after_crash(Unsynced::Dropped)).open();
    assert!(claim(&*store, &["a", "b"], 9).expect("claimed").is_empty());
    stage.clock.pass(1);
    assert_eq!(claim_one(&*store, "a").attempt, 1);
    let runs = claim_one(&*store, "b");
    assert_eq!(runs.attempt, 2);
    assert!(is_refused(amend(&*store, snooze(tried, 9_000)), "snooze"));
    settle(&*store, &runs, completed()).expect("settled");
    assert!(is_refused(amend(&*store, snooze(tried, 9_000)), "snooze"));
    // Sooner is as good as later; what would expire before is refused.
    let terms = Terms {
        expires: Some(UnixMs(START + 20_000)),
        ..Terms::default()
    };
    let short = Job {
        terms,
        due: UnixMs(START + 9_000),
        ..job(store.mint(), "c")
    };
    let short = enqueue_job(&*store, short).expect("enqueued");
    let late = amend(&*store, snooze(short, 20_000));
    assert!(
        matches!(late, Err(StoreError::Rejected(Rejected::Invalid(_)))),
        "{late:?}"
    );
    assert_eq!(
        amend(&*store, snooze(short, 0)).expect("snoozed"),
        Some(State::Available)
    );
    claim_one(&*store, "c");
}

#[test]
fn a_discarded_job_ends_with_who_and_why_and_may_be_tried_again() {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    let [fresh, tried, runs] =
        ["a", "b", "c"].map(|kind| enqueue(&*store, kind).expect("enqueued"));
    settle(&*store, &claim_one(&*store, "b"), failed()).expect("settled");
    claim_one(&*store, "c");
    for (id, reason) in [(fresh, Some("no use")), (tried, None)] {
        let discarded = amend(&*store, discard(id, reason)).expect("discarded");
        assert_eq!(discarded, Some(State::Discarded));
    }
    assert!(is_refused(amend(&*store, discard(runs, None)), "discard"));
    assert!(is_refused(amend(&*store, discard(fresh, None)), "discard"));
    let store = stage.moved_to(&disk.after_crash(Unsynced::Dropped)).open();
    let reason = |id| {
        wait(store.job(id))
            .expect("a view")
            .expect("the job")
            .reason
    };
    assert_eq!(reason(fresh).as_deref(), Some("discarded by ada: no use"));
    assert_eq!(reason(tried).as_deref(), Some("discarded by ada"));
    amend(&*store, Amend::Retry(tried)).expect("retried");
    assert_eq!(claim_one(&*store, "b").attempt, 1, "fresh attempts");
}

#[test]
fn a_removed_job_is_gone_with_its_letter_for_good() {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    let [done, dead, waits, runs] =
        ["a", "b", "c", "d"].map(|kind| enqueue(&*store, kind).expect("enqueued"));
    settle(&*store, &claim_one(&*store, "a"), completed()).expect("settled");
    settle(&*store, &claim_one(&*store, "b"), permanent()).expect("settled");
    claim_one(&*store, "d");
    assert!(is_refused(amend(&*store, remove(waits)), "delete"));
    let forced = |id| Amend::Remove { id, force: true };
    assert!(is_refused(amend(&*store, forced(runs)), "delete"));
    for wish in [remove(done), remove(dead), forced(waits)] {
        assert_eq!(amend(&*store, wish).expect("removed"), None);
    }
    let again = amend(&*store, remove(done));
    assert!(matches!(
        again,
        Err(StoreError::Rejected(Rejected::NoSuchJob(_)))
    ));
    let store = stage.moved_to(&disk.after_crash(Unsynced::Dropped)).open();
    for id in [done, dead, waits] {
        assert_eq!(state(&*store, id), None);
    }
    assert_eq!(wait(store.letter(dead)).expect("read"), None);
    assert_eq!(state(&*store, runs), Some(State::Available));
}

fn tagged(store: &dyn Store, tag: &str) -> Job {
    Job {
        terms: Terms {
            tags: vec!["all".to_owned(), tag.to_owned()],
            ..Terms::default()
        },
        headers: vec![("tag".to_owned(), tag.to_owned())],
        ..job(store.mint(), "k")
    }
}

#[test]
fn filters_for_tags_and_times_show_what_they_name() {
    let (stage, _) = Stage::sim();
    let store = stage.open();
    let ids: Vec<JobId> = (0..12)
        .map(|n| {
            stage.clock.pass(10);
            let tag = ["odd", "even"][usize::from(n % 2 == 0)];
            enqueue_job(&*store, tagged(&*store, tag)).expect("enqueued")
        })
        .collect();
    enqueue(&*store, "k").expect("enqueued");
    let shown = |filter: &JobFilter, limit| -> Vec<JobId> {
        let rows = all_rows(&*store, filter, limit);
        rows.iter().rev().map(|row| row.id).collect()
    };
    let tag = |tag: &str| JobFilter {
        tag: Some(tag.to_owned()),
        ..JobFilter::default()
    };
    for limit in [1, 5, 100] {
        assert_eq!(shown(&tag("all"), limit), ids);
        let even: Vec<JobId> = ids.iter().copied().step_by(2).collect();
        let header = JobFilter {
            header: Some(("tag".to_owned(), "even".to_owned())),
            ..JobFilter::default()
        };
        assert_eq!(shown(&header, limit), even);
        let neither = JobFilter {
            header: Some(("tag".to_owned(), "even".to_owned())),
            ..tag("odd")
        };
        assert_eq!(shown(&neither, limit), []);
        assert_eq!(shown(&tag("even"), limit), even);
        assert_eq!(shown(&tag("eve"), limit), []);
        // From the fourth to before the ninth.
        let between = JobFilter {
            since: Some(UnixMs(START + 40)),
            until: Some(UnixMs(START + 90)),
            ..tag("all")
        };
        assert_eq!(shown(&between, limit), ids[3..8]);
        let both = JobFilter {
            states: vec![State::Available],
            ..JobFilter {
                tag: Some("odd".to_owned()),
                ..between
            }
        };
        assert_eq!(shown(&both, limit), [ids[3], ids[5], ids[7]]);
    }
}

/// A page that finds little says where to go on instead of looking at everything.
#[test]
fn a_search_for_little_among_much_ends_its_page_early_and_misses_nothing() {
    let (mut stage, _) = Stage::sim();
    stage.options.segment_bytes = 1 << 20;
    let store = stage.open();
    let rare = enqueue_job(&*store, tagged(&*store, "rare")).expect("enqueued");
    for _ in 0..6 {
        let many = (0..1_000).map(|_| tagged(&*store, "common")).collect();
        let answers = wait(store.enqueue(many)).expect("enqueued");
        assert!(answers.iter().all(Result::is_ok));
    }
    let filter = JobFilter {
        tag: Some("rare".to_owned()),
        ..JobFilter::default()
    };
    let first = wait(store.jobs(filter.clone(), first_page(10))).expect("a page");
    assert!(first.rows.is_empty() && first.next.is_some(), "{first:?}");
    // What comes meanwhile is on no later page.
    enqueue_job(&*store, tagged(&*store, "rare")).expect("enqueued");
    let page = crate::store::PageRequest {
        cursor: first.next,
        ..first_page(10)
    };
    let second = wait(store.jobs(filter, page)).expect("a page");
    let ids: Vec<JobId> = second.rows.iter().map(|row| row.id).collect();
    assert_eq!((ids, second.next), (vec![rare], None));
}
