//! Disks that answer with errors: nothing acknowledged is lost, nothing is tried twice, and a full
//! disk refuses new work while outcomes still find room.

use std::{
    io::ErrorKind,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use sandhog_model::{JobId, Rejected, State};

use super::stage::{
    HandClock, Stage, claim, claim_one, completed, enqueue, failed, lose, permanent, settle, state,
    wait,
};
use crate::{
    clock::Clock,
    disk::sim::{Fault, Op, SimDisk, Unsynced},
    store::{Inspect, Store, StoreError},
};

/// A clock that can be broken, to make the writer's thread panic.
struct Brittle {
    clock: Arc<HandClock>,
    broken: AtomicBool,
}

impl Clock for Brittle {
    fn now(&self) -> sandhog_model::Now {
        assert!(!self.broken.load(Ordering::SeqCst), "broken by the test");
        self.clock.now()
    }
}

#[test]
fn a_panic_of_the_writer_is_told_and_answers_everyone() {
    let (mut stage, _) = Stage::sim();
    let clock = Arc::new(Brittle {
        clock: stage.clock.clone(),
        broken: AtomicBool::new(false),
    });
    stage.options.clock = clock.clone();
    let store = stage.open();
    let id = enqueue(&*store, "photo").expect("enqueued");
    clock.broken.store(true, Ordering::SeqCst);
    let refused = wait(store.sweep());
    let cause = wait(store.poisoned());
    assert!(cause.contains("panicked"), "{cause}");
    // The answer may be lost a moment before the cause is known.
    assert!(matches!(
        refused,
        Err(StoreError::Poisoned { .. } | StoreError::Closed)
    ));
    assert!(matches!(
        wait(store.stats()),
        Err(StoreError::Poisoned { .. })
    ));
    clock.broken.store(false, Ordering::SeqCst);
    drop(store);
    assert_eq!(state(&*stage.open(), id), Some(State::Available));
}

fn fault(op: Op, nth: u64) -> Fault {
    Fault {
        op,
        nth,
        lasting: false,
        kind: ErrorKind::Other,
    }
}

/// Work until the store takes nothing more. Gives what was acknowledged.
fn work(store: &dyn Store) -> (Vec<JobId>, Option<StoreError>) {
    let mut acknowledged = Vec::new();
    for round in 0..40 {
        let id = match enqueue(store, "photo") {
            Ok(id) => id,
            Err(error) => return (acknowledged, Some(error)),
        };
        acknowledged.push(id);
        if round % 5 == 0 {
            let settled = claim(store, &["photo"], 1).and_then(|leased| {
                let outcome = if round % 2 == 0 {
                    permanent()
                } else {
                    failed()
                };
                settle(store, &leased[0], outcome)
            });
            if let Err(error) = settled {
                return (acknowledged, Some(error));
            }
        }
    }
    (acknowledged, None)
}

#[test]
fn an_error_of_the_disk_poisons_the_store_and_nothing_is_tried_again() {
    let mut poisoned = 0;
    for op in [Op::Sync, Op::Write, Op::SyncDir, Op::Name] {
        for nth in 1.. {
            let (stage, disk) = Stage::sim();
            let store = stage.open();
            disk.fail(fault(op, nth));
            let (acknowledged, error) = work(&*store);
            let Some(error) = error else {
                assert!(nth > 1, "{op:?} never failed");
                break;
            };
            poisoned += 1;
            let told = format!("{op:?} {nth}: {error}");
            assert!(matches!(error, StoreError::Poisoned { .. }), "{told}");
            assert!(told.contains("/data"), "{told}");
            let cause = wait(store.poisoned());
            assert!(error.to_string().contains(&cause), "{told}");

            let ops = disk.ops();
            for refused in [
                enqueue(&*store, "photo").map(|_| ()),
                claim(&*store, &["photo"], 1).map(|_| ()),
                lose(&*store, &stage).map(|_| ()),
                wait(store.renew(Vec::new())).map(|_| ()),
            ] {
                assert!(
                    matches!(refused, Err(StoreError::Poisoned { .. })),
                    "{told}"
                );
            }
            let stats = wait(store.stats()).expect("told also when poisoned");
            assert_eq!(stats.poisoned, Some(cause));
            assert!(matches!(
                wait(store.close()),
                Err(StoreError::Poisoned { .. })
            ));
            assert_eq!(disk.ops(), ops, "{told}: the disk was asked again");
            drop(store);

            for unsynced in [Unsynced::Dropped, Unsynced::Kept, Unsynced::BySector(nth)] {
                let store = stage.moved_to(&disk.after_crash(unsynced)).open();
                for id in &acknowledged {
                    assert!(state(&*store, *id).is_some(), "{told}: {id} is lost");
                }
            }
        }
    }
    assert!(poisoned > 20, "only {poisoned} faults were met");
}

/// Enqueue until the disk is full.
fn fill(store: &dyn Store) -> (Vec<JobId>, String) {
    let mut acknowledged = Vec::new();
    loop {
        match enqueue(store, "photo") {
            Ok(id) => acknowledged.push(id),
            Err(StoreError::Full { path }) => return (acknowledged, path),
            Err(other) => panic!("{other}"),
        }
        assert!(acknowledged.len() < 1000, "the disk never got full");
    }
}

#[test]
fn a_full_disk_refuses_new_work_and_still_takes_outcomes() {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    enqueue(&*store, "page").expect("enqueued");
    let leased = claim_one(&*store, "page");
    disk.limit(disk.used() + 9000);
    let (acknowledged, path) = fill(&*store);
    assert!(path.contains("spare"), "{path}");
    assert!(!acknowledged.is_empty());
    let many = vec![
        super::stage::job(store.mint(), "photo"),
        super::stage::job(store.mint(), "photo"),
    ];
    assert!(matches!(
        wait(store.enqueue(many)),
        Err(StoreError::Full { .. })
    ));
    let done = settle(&*store, &leased, completed()).expect("outcomes have a reserve");
    assert_eq!(done, State::Completed);
    let mut settled = Vec::new();
    for _ in 0..3 {
        let leased = claim_one(&*store, "photo");
        settle(&*store, &leased, completed()).expect("outcomes have a reserve");
        settled.push(leased.job.id);
    }
    disk.heal();
    stage.clock.pass(600);
    let late = enqueue(&*store, "photo").expect("room again, without a restart");
    drop(store);
    let store = stage.moved_to(&disk.after_crash(Unsynced::Dropped)).open();
    for id in acknowledged.iter().chain([&late]) {
        let expected = if settled.contains(id) {
            State::Completed
        } else {
            State::Available
        };
        assert_eq!(state(&*store, *id), Some(expected));
    }
}

#[test]
fn without_room_for_a_letter_the_job_is_not_buried() {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    let id = enqueue(&*store, "photo").expect("enqueued");
    let leased = claim_one(&*store, "photo");
    disk.limit(disk.used() + 10);
    let refused = settle(&*store, &leased, permanent());
    assert!(
        matches!(&refused, Err(StoreError::Full { path }) if path.contains("letters")),
        "{refused:?}"
    );
    assert_eq!(state(&*store, id), Some(State::Running), "nothing changed");
    disk.heal();
    let dead = settle(&*store, &leased, permanent()).expect("the lease still holds");
    assert_eq!(dead, State::Dead);
    drop(store);
    let store = stage.open();
    assert_eq!(state(&*store, id), Some(State::Dead));
    assert_eq!(wait(store.stats()).expect("stats").dead_letters, 1);
}

#[test]
fn a_record_too_large_for_a_frame_is_refused_alone() {
    let (stage, _) = Stage::sim();
    let store = stage.open();
    let large = sandhog_model::Job {
        payload: vec![1; 17 << 20],
        ..super::stage::job(store.mint(), "photo")
    };
    let small = super::stage::job(store.mint(), "photo");
    let id = small.id;
    let answers = wait(store.enqueue(vec![large, small])).expect("answered");
    assert!(
        matches!(answers[0], Err(Rejected::Invalid(_))),
        "{:?}",
        answers[0]
    );
    assert_eq!(answers[1], Ok(id));
}

#[test]
fn a_failed_sync_on_the_simulated_disk_loses_what_it_should() {
    let disk = SimDisk::default();
    let stage = Stage::on_sim(&disk);
    let store = stage.open();
    let before = enqueue(&*store, "photo").expect("enqueued");
    disk.fail(fault(Op::Sync, 1));
    assert!(enqueue(&*store, "photo").is_err());
    drop(store);
    let store = stage.moved_to(&disk.after_crash(Unsynced::Dropped)).open();
    assert!(state(&*store, before).is_some());
    assert_eq!(
        wait(store.stats()).expect("stats").jobs,
        [(State::Available, 1)]
    );
}
