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
    HandClock, Stage, claim, enqueue, failed, lose, permanent, settle, state, wait,
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
            assert_eq!(disk.syncs_after_failure(), 0, "{told}");
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
