//! Unique jobs and idempotency keys through the store.

use sandhog_model::{
    Amend, Digest, Job, JobId, Named, OnConflict, Rejected, Sameness, Scope, State, Terms, Unique,
    UnixMs,
};

use super::{
    compact::{churn, forgetful, stats, view},
    stage::{
        START, Stage, amend, child, claim, claim_one, completed, enqueue, enqueue_job, failed,
        first_page, job, permanent, settle, settle_with, state, wait,
    },
};
use crate::{
    disk::sim::Unsynced,
    store::{Inspect, Store, StoreError, Taken, UniqueRow},
};

fn claims_nothing(store: &dyn Store, kind: &str) -> bool {
    claim(store, &[kind], 9).expect("claimed").is_empty()
}

fn unique(on_conflict: OnConflict, scope: Scope, until: Option<u64>) -> Terms {
    Terms {
        unique: Some(Unique {
            key: Digest(7),
            says: "seven".to_owned(),
            scope,
            until: until.map(|ms| UnixMs(START + ms)),
            on_conflict,
        }),
        ..Terms::default()
    }
}

pub(super) fn with(store: &dyn Store, terms: Terms) -> Result<JobId, Rejected> {
    let new = Job {
        terms,
        ..job(store.mint(), "k")
    };
    match enqueue_job(store, new) {
        Ok(id) => Ok(id),
        Err(StoreError::Rejected(rejected)) => Err(rejected),
        Err(error) => panic!("{error}"),
    }
}

fn duplicate(holder: JobId, is_kept: bool) -> Result<JobId, Rejected> {
    Err(Rejected::Duplicate {
        holder,
        sameness: Sameness::Unique,
        is_kept,
    })
}

fn locks(store: &dyn Store) -> Vec<UniqueRow> {
    let page = wait(store.unique(first_page(10))).expect("a page");
    assert_eq!(page.next, None);
    page.rows
}

/// Each way in which a unique job comes to its end, and the next one is taken in at once.
#[test]
fn a_lock_is_gone_with_the_state_that_it_stands_for() {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    let terms = || unique(OnConflict::Reject, Scope::UNFINISHED, None);
    let ends: [(&str, &dyn Fn(JobId)); 6] = [
        ("completed", &|_| {
            let leased = claim_one(&*store, "k");
            assert_eq!(with(&*store, terms()), duplicate(leased.job.id, false));
            settle(&*store, &leased, completed()).expect("settled");
        }),
        ("cancelled", &|id| {
            let cancelled = super::stage::call_off(&*store, id, sandhog_model::Asked::Cancel);
            cancelled.expect("called off");
        }),
        ("dead", &|_| {
            settle(&*store, &claim_one(&*store, "k"), permanent()).expect("settled");
        }),
        ("deleted", &|id| {
            settle(&*store, &claim_one(&*store, "k"), permanent()).expect("settled");
            amend(&*store, Amend::Delete(id)).expect("deleted");
        }),
        ("tried again, and then completed", &|id| {
            settle(&*store, &claim_one(&*store, "k"), failed()).expect("settled");
            assert_eq!(with(&*store, terms()), duplicate(id, false));
            stage.clock.pass(1_000);
            settle(&*store, &claim_one(&*store, "k"), completed()).expect("settled");
        }),
        ("released", &|id| {
            amend(&*store, Amend::Unlock(id)).expect("released");
        }),
    ];
    for (name, end) in ends {
        let id = with(&*store, terms()).unwrap_or_else(|why| panic!("before {name}: {why}"));
        assert_eq!(with(&*store, terms()), duplicate(id, false), "{name}");
        let rows = locks(&*store);
        assert_eq!((rows.len(), rows[0].id, rows[0].key), (1, id, Digest(7)));
        assert_eq!(rows[0].unique, terms().unique);
        end(id);
        assert_eq!(locks(&*store), [], "{name}");
    }
    // A holder that is killed with its runner stands in the way as long as it waits, and no longer.
    let id = with(&*store, terms()).expect("accepted");
    claims_nothing(&*store, "none");
    claim(&*store, &["k"], 9).expect("claimed");
    let after = stage.moved_to(&disk.after_crash(Unsynced::Dropped)).open();
    assert_eq!(with(&*after, terms()), duplicate(id, false));
    let mut leased = claim(&*after, &["k"], 9).expect("claimed");
    leased.retain(|leased| leased.job.id == id);
    settle(&*after, &leased[0], completed()).expect("settled");
    assert!(with(&*after, terms()).is_ok());
    // One that comes back does not get past another.
    let back = amend(&*after, Amend::Retry(id));
    assert!(matches!(
        back,
        Err(StoreError::Rejected(Rejected::Duplicate { .. }))
    ));
}

#[test]
fn a_conflict_ends_as_the_newer_job_says() {
    let (stage, _) = Stage::sim();
    let store = stage.open();
    let waiting = Scope::WAITING.and(Scope::RETRYABLE);
    let first = with(&*store, unique(OnConflict::Keep, waiting, None)).expect("accepted");
    let kept = with(&*store, unique(OnConflict::Keep, waiting, None));
    assert_eq!(kept, duplicate(first, true));
    let new = Job {
        terms: unique(OnConflict::Replace, waiting, None),
        ..job(store.mint(), "k")
    };
    let (second, id, replaced) = (new.id, new.id, first);
    let taken = wait(store.take_in(vec![new])).expect("answered");
    assert_eq!(taken, [Ok(Taken::InPlaceOf { id, replaced })]);
    let replaced = view(&*store, first);
    assert_eq!(replaced.row.state, State::Cancelled);
    let reason = replaced.cancel.and_then(|cancel| cancel.reason);
    assert!(reason.expect("a reason").contains(&second.text()));
    let put_off = |ms| {
        let new = Job {
            due: UnixMs(START + ms),
            terms: unique(OnConflict::Debounce, waiting, None),
            ..job(store.mint(), "k")
        };
        wait(store.take_in(vec![new])).expect("answered")
    };
    for ms in [500, 900] {
        let (id, due) = (second, UnixMs(START + ms));
        assert_eq!(put_off(ms), [Ok(Taken::PutOff { id, due })]);
        let row = view(&*store, second).row;
        assert_eq!((row.state, row.at), (State::Scheduled, UnixMs(START + ms)));
    }
    stage.clock.pass(899);
    assert!(claims_nothing(&*store, "k"));
    stage.clock.pass(1);
    assert_eq!(claim_one(&*store, "k").job.id, second);
    // It runs, and is in nobody's way by its scope.
    assert!(with(&*store, unique(OnConflict::Debounce, waiting, None)).is_ok());
}

#[test]
fn a_period_ends_by_itself_and_an_idempotency_key_with_its_job() {
    let (mut stage, disk) = forgetful();
    stage.options.max_ended = Some(1);
    let store = stage.open();
    let terms = || unique(OnConflict::Reject, Scope::KNOWN, Some(5_000));
    let first = with(&*store, terms()).expect("accepted");
    settle(&*store, &claim_one(&*store, "k"), completed()).expect("settled");
    assert_eq!(with(&*store, terms()), duplicate(first, false));
    stage.clock.pass(5_000);
    assert_eq!(locks(&*store), []);
    let keyed = || Terms {
        idempotency: Some(Named {
            key: Digest(9),
            says: "order 9".to_owned(),
        }),
        ..Terms::default()
    };
    let id = with(&*store, keyed()).expect("accepted");
    let same = Err(Rejected::Duplicate {
        holder: id,
        sameness: Sameness::Idempotency,
        is_kept: true,
    });
    assert_eq!(with(&*store, keyed()), same);
    assert_eq!(locks(&*store), [], "it is no lock that anybody releases");
    settle(&*store, &claim_one(&*store, "k"), completed()).expect("settled");
    assert_eq!(with(&*store, keyed()), same);
    let after = stage.moved_to(&disk.after_crash(Unsynced::Dropped)).open();
    assert_eq!(with(&*after, keyed()), same);
    // As long as the job is known, and it is only so long.
    stage.clock.pass(1);
    churn(&*store, 5);
    assert_eq!(state(&*store, id), None);
    assert!(with(&*store, keyed()).is_ok_and(|new| new != id));
}

#[test]
fn what_few_jobs_say_is_written_anew_with_them() {
    let (stage, disk) = forgetful();
    let store = stage.open();
    let mut terms = unique(OnConflict::Keep, Scope::UNFINISHED, Some(900_000_000));
    terms.expires = Some(UnixMs(START + 800_000_000));
    terms.retry_for_ms = Some(1_500);
    terms.group = Some("ada".to_owned());
    terms.tags = vec!["t".to_owned()];
    let id = with(&*store, terms.clone()).expect("accepted");
    settle(&*store, &claim_one(&*store, "k"), failed()).expect("settled");
    churn(&*store, 1_000);
    store.compacted();
    assert!(stats(&*store).freed_segments > 3);
    let after = stage.moved_to(&disk.after_crash(Unsynced::Dropped));
    let store = after.open();
    assert_eq!(view(&*store, id).job.terms, terms);
    assert_eq!(with(&*store, terms), duplicate(id, true));
    // It began to fail before, and the next attempt would be too late.
    after.clock.pass(1_000);
    settle(&*store, &claim_one(&*store, "k"), failed()).expect("settled");
    assert_eq!(state(&*store, id), Some(State::Dead));
    amend(&*store, Amend::Requeue(id)).expect("requeued");
    settle(&*store, &claim_one(&*store, "k"), failed()).expect("settled");
    assert_eq!(
        state(&*store, id),
        Some(State::Retryable),
        "it fails for the first time"
    );
}

/// Taking a place is one record: whatever is lost, one of the two waits, and the new one once it was
/// acknowledged.
#[test]
fn a_crash_while_a_place_is_taken_leaves_the_old_job_or_the_new_one() {
    let terms = || unique(OnConflict::Replace, Scope::WAITING, None);
    for at in 1.. {
        let (stage, disk) = Stage::sim();
        disk.kill_at(at);
        let (mut old, mut new) = (None, None);
        let wish = |store: &dyn Store| {
            let job = Job {
                terms: terms(),
                ..job(store.mint(), "k")
            };
            enqueue_job(store, job).ok()
        };
        if let Ok(store) = stage.try_open() {
            old = wish(&*store);
            new = old.and_then(|_| wish(&*store));
        }
        for unsynced in [
            Unsynced::Dropped,
            Unsynced::Kept,
            Unsynced::BySector(at * 10),
        ] {
            let store = stage.moved_to(&disk.after_crash(unsynced)).open();
            let waiting: Vec<JobId> = locks(&*store).iter().map(|row| row.id).collect();
            assert!(waiting.len() <= 1, "operation {at}: {waiting:?} wait");
            assert!(old.is_none() || waiting.len() == 1, "operation {at}");
            if let (Some(old), Some(new)) = (old, new) {
                assert_eq!(waiting, [new], "operation {at}");
                let view = wait(store.job(old)).expect("a view").expect("the job");
                assert_eq!(view.row.state, State::Cancelled);
                let told = view.cancel.expect("it says why").told();
                assert!(told.contains(&new.text()), "{told}");
            }
        }
        if !disk.is_killed() {
            assert!(at > 20, "too short to tell: {at} operations");
            break;
        }
    }
}

/// The jobs of an attempt that another job's key keeps out are left out of its record, and stay out over a
/// start.
#[test]
fn jobs_of_a_handler_are_not_added_twice() {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    let key = || unique(OnConflict::Keep, Scope::UNFINISHED, None);
    let named = || Terms {
        idempotency: Some(Named {
            key: Digest(9),
            says: "n".to_owned(),
        }),
        ..Terms::default()
    };
    let parent = with(&*store, key()).expect("accepted");
    let leased = claim_one(&*store, "k");
    assert_eq!(leased.job.id, parent);
    let born = |terms: Terms| Job {
        terms,
        ..child(&*store, &leased)
    };
    // Its own key is free once it completed; of two with the same key the first is added.
    let children = [key(), key(), named(), named(), Terms::default()].map(born);
    let ids: Vec<JobId> = children.iter().map(|job| job.id).collect();
    settle_with(&*store, &leased, completed(), children.to_vec()).expect("settled");
    let there = [ids[0], ids[2], ids[4]];
    assert_eq!(view(&*store, parent).children, there);
    assert_eq!(state(&*store, ids[1]), None);
    let next = enqueue(&*store, "other").expect("enqueued");
    let leased = claim_one(&*store, "other");
    let born = |terms: Terms| Job {
        terms,
        ..child(&*store, &leased)
    };
    let late = [key(), named()].map(born).to_vec();
    settle_with(&*store, &leased, completed(), late).expect("settled");
    assert_eq!(view(&*store, next).children, []);
    let after = stage.moved_to(&disk.after_crash(Unsynced::Dropped)).open();
    assert_eq!(view(&*after, parent).children, there);
    let holders: Vec<JobId> = locks(&*after).iter().map(|row| row.id).collect();
    assert_eq!(holders, [ids[0]]);
}
