//! Schedules: a slot gets one job, whatever happens to the runner or to the log.

use sandhog_model::{
    JobId, Rejected, State, Status, UnixMs,
    cron::{CronChange, CronState, CronWish, DueSlot, Overlap, Span},
};

use super::{
    compact::{churn, forgetful, stats, view},
    merging::copy_log,
    stage::{START, Stage, claim_one, completed, job, settle, state, wait},
};
use crate::{
    disk::sim::{SimDisk, Unsynced},
    store::{CronDone, Inspect, Store, StoreError},
};

const MINUTE: u64 = 60_000;

fn change(store: &dyn Store, name: &str, change: CronChange) -> Result<CronDone, StoreError> {
    let name = name.to_owned();
    wait(store.cron(CronWish { name, change }))
}

/// The slot of a minute after the start, with the minute before it.
fn slot(
    store: &dyn Store,
    name: &str,
    minute: u64,
    overlap: Overlap,
) -> Result<CronDone, Rejected> {
    let at = UnixMs(START + minute * MINUTE);
    let due = DueSlot {
        at,
        done: Span {
            after: UnixMs(at.0 - MINUTE),
            upto: at,
        },
        job: job(store.mint(), name),
        overlap,
    };
    match change(store, name, CronChange::Slot(Box::new(due))) {
        Err(StoreError::Rejected(rejected)) => Err(rejected),
        answer => Ok(answer.expect("taken in")),
    }
}

fn latest(done: Result<CronDone, Rejected>) -> JobId {
    let state = done.expect("its turn").state.expect("it is there");
    state.latest.expect("it got a job")
}

fn known(store: &dyn Store) -> Vec<(String, CronState)> {
    let rows = wait(store.crons()).expect("shown");
    rows.into_iter().map(|row| (row.name, row.state)).collect()
}

fn done_twice(minute: u64) -> Result<CronDone, Rejected> {
    Err(Rejected::SlotDone {
        name: "nightly".to_owned(),
        slot: UnixMs(START + minute * MINUTE),
    })
}

#[test]
fn a_slot_gets_its_job_once_before_and_after_a_crash() {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    assert_eq!(
        slot(&*store, "nightly", 1, Overlap::Skip),
        Err(Rejected::NoSuchCron("nightly".to_owned()))
    );
    change(&*store, "nightly", CronChange::Begin).expect("begun");
    let first = latest(slot(&*store, "nightly", 1, Overlap::Skip));
    assert_eq!(slot(&*store, "nightly", 1, Overlap::Skip), done_twice(1));
    let before = known(&*store);
    let store = stage.moved_to(&disk.after_crash(Unsynced::Dropped)).open();
    assert_eq!(known(&*store), before);
    assert_eq!(slot(&*store, "nightly", 1, Overlap::Skip), done_twice(1));
    assert_eq!(state(&*store, first), Some(State::Available));
    assert_eq!(view(&*store, first).job.kind, "nightly");
    let row = wait(store.crons()).expect("shown").remove(0);
    assert_eq!(
        row.latest,
        Some(Status::Waiting {
            due: UnixMs(START),
            backoff: false
        })
    );
    let done = change(&*store, "nightly", CronChange::Forget).expect("forgotten");
    assert_eq!((done.state, known(&*store)), (None, Vec::new()));
}

#[test]
fn what_a_slot_does_beside_a_job_that_goes_on_is_as_it_says() {
    let (stage, _) = Stage::sim();
    let store = stage.open();
    change(&*store, "nightly", CronChange::Begin).expect("begun");
    let first = latest(slot(&*store, "nightly", 1, Overlap::Skip));
    let leased = claim_one(&*store, "nightly");
    assert_eq!(latest(slot(&*store, "nightly", 2, Overlap::Skip)), first);
    assert_eq!(slot(&*store, "nightly", 2, Overlap::Allow), done_twice(2));
    let waits = slot(&*store, "nightly", 3, Overlap::BufferOne).expect("taken in");
    let waiting = waits.state.expect("it is there").waiting;
    assert_eq!(waiting, Some(UnixMs(START + 3 * MINUTE)));
    // One waits already.
    slot(&*store, "nightly", 4, Overlap::BufferOne).expect("taken in");
    let release = |store: &dyn Store| {
        let (slot, job) = (
            UnixMs(START + 3 * MINUTE),
            Box::new(job(store.mint(), "nightly")),
        );
        change(store, "nightly", CronChange::Release { slot, job })
    };
    assert!(release(&*store).is_err(), "the one before goes on");
    settle(&*store, &leased, completed()).expect("settled");
    let released = release(&*store)
        .expect("its turn")
        .state
        .expect("it is there");
    assert_eq!(
        (released.waiting, released.latest == Some(first)),
        (None, false)
    );
    assert!(release(&*store).is_err(), "it has its job");

    let leased = claim_one(&*store, "nightly");
    let beside = latest(slot(&*store, "nightly", 5, Overlap::Allow));
    assert_ne!(beside, leased.job.id);
    let other = Overlap::CancelOther {
        by: "schedule nightly".to_owned(),
        reason: None,
    };
    // One that waits ends at once.
    let done = slot(&*store, "nightly", 6, other.clone()).expect("taken in");
    assert_eq!(
        (done.called_off, state(&*store, beside)),
        (None, Some(State::Cancelled))
    );
    // Which of the two runs is no matter: the latest one does now.
    settle(&*store, &leased, completed()).expect("settled");
    let runs = claim_one(&*store, "nightly");
    let done = slot(&*store, "nightly", 7, other).expect("taken in");
    assert_eq!(done.called_off, Some((runs.job.id, runs.token)));
}

#[test]
fn a_pause_lasts_over_a_restart_and_what_came_meanwhile_is_left_out() {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    change(&*store, "nightly", CronChange::Begin).expect("begun");
    let pause = CronChange::Pause {
        by: "ada".to_owned(),
        reason: Some("holiday".to_owned()),
    };
    change(&*store, "nightly", pause).expect("paused");
    let stage = stage.moved_to(&disk.after_crash(Unsynced::Dropped));
    let store = stage.open();
    stage.clock.pass(10 * MINUTE);
    assert_eq!(slot(&*store, "nightly", 5, Overlap::Allow), done_twice(5));
    let resumed = change(&*store, "nightly", CronChange::Resume).expect("resumed");
    assert_eq!(resumed.state.and_then(|state| state.paused), None);
    assert_eq!(slot(&*store, "nightly", 5, Overlap::Allow), done_twice(5));
    assert!(slot(&*store, "nightly", 11, Overlap::Allow).is_ok());
}

#[test]
fn schedules_stay_when_the_log_is_shortened() {
    let (mut stage, _) = forgetful();
    stage.options.max_ended = Some(10);
    let store = stage.open();
    for name in ["nightly", "yearly"] {
        change(&*store, name, CronChange::Begin).expect("begun");
    }
    let waits = latest(slot(&*store, "nightly", 1, Overlap::Skip));
    let (before, job) = (known(&*store), view(&*store, waits));
    churn(&*store, 500);
    store.compacted();
    assert!(stats(&*store).freed_segments > 3);
    assert_eq!(
        (known(&*store), view(&*store, waits)),
        (before.clone(), job)
    );
    drop(store);
    let store = stage.open();
    assert_eq!(known(&*store), before);
    assert_eq!(slot(&*store, "nightly", 1, Overlap::Skip), done_twice(1));
}

#[test]
fn two_logs_that_know_a_schedule_are_one_that_did_what_both_did() {
    let (stage, disk) = Stage::sim();
    let others = SimDisk::default();
    let other = stage.moved_to(&others);
    for (stage, minute) in [(&other, 1), (&stage, 3)] {
        stage.clock.pass(minute);
        let store = stage.open();
        change(&*store, "nightly", CronChange::Begin).expect("begun");
        slot(&*store, "nightly", minute, Overlap::Allow).expect("its turn");
    }
    let store = other.open();
    change(&*store, "theirs", CronChange::Begin).expect("begun");
    drop(store);
    copy_log(&others, &disk);
    let store = stage.open();
    let names: Vec<String> = known(&*store).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["nightly", "theirs"]);
    for minute in [1, 3] {
        assert_eq!(
            slot(&*store, "nightly", minute, Overlap::Allow),
            done_twice(minute)
        );
    }
    assert!(slot(&*store, "nightly", 2, Overlap::Allow).is_ok());
    assert_eq!(stats(&*store).merged_logs, 1);
}
