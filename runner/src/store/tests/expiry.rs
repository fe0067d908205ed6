//! Jobs that wait too long.

use std::sync::Arc;

use sandhog_model::{Amend, Job, State, Terms, UnixMs};

use super::{
    stage::{
        START, Stage, amend, claim, claim_one, completed, enqueue_job, failed, job, settle, state,
        wait,
    },
    unique::with,
};
use crate::{
    clock::SystemClock,
    disk::sim::Unsynced,
    store::{Inspect, Store},
};

fn claims_nothing(store: &dyn Store, kind: &str) -> bool {
    claim(store, &[kind], 9).expect("claimed").is_empty()
}

#[test]
fn a_job_that_waits_too_long_is_never_begun_and_comes_back_without_an_end() {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    let terms = || Terms {
        expires: Some(UnixMs(START + 2_000)),
        ..Terms::default()
    };
    let [tried, waits, runs] = [0; 3].map(|_| with(&*store, terms()).expect("accepted"));
    settle(&*store, &claim_one(&*store, "k"), failed()).expect("settled");
    let leased = claim(&*store, &["k"], 2).expect("claimed");
    // Put back: it waits again.
    let back = sandhog_model::Outcome::NotRun(sandhog_model::Waiting::Shutdown);
    settle(&*store, &leased[0], back).expect("put back");
    stage.clock.pass(2_000);
    assert!(claims_nothing(&*store, "k"));
    assert_eq!(leased[1].job.id, runs);
    for id in [tried, waits] {
        assert_eq!(state(&*store, id), Some(State::Expired));
    }
    settle(&*store, &leased[1], completed()).expect("it had begun");
    assert_eq!(
        amend(&*store, Amend::Retry(waits)).expect("retried"),
        Some(State::Available)
    );
    let after = stage.moved_to(&disk.after_crash(Unsynced::Dropped)).open();
    assert_eq!(claim_one(&*after, "k").job.id, waits);
    assert_eq!(state(&*after, tried), Some(State::Expired));
}

/// Nobody claims, nobody sweeps: a timer does it.
#[test]
fn a_timer_ends_what_waited_too_long() {
    let (mut stage, _) = Stage::sim();
    let clock = Arc::new(SystemClock::default());
    stage.options.clock = clock.clone();
    let store = stage.open();
    let mut changes = store.changes();
    let now = crate::clock::Clock::now(&*clock).wall;
    let new = Job {
        enqueued_at: now,
        due: now,
        terms: Terms {
            expires: Some(now.plus(40)),
            ..Terms::default()
        },
        ..job(store.mint(), "k")
    };
    let id = enqueue_job(&*store, new).expect("accepted");
    wait(async { while changes.recv().await.expect("the store lives").state != State::Expired {} });
    let late = crate::clock::Clock::now(&*clock).wall.since(now);
    assert!(late >= 40, "{late} ms");
    assert_eq!(state(&*store, id), Some(State::Expired));
}
