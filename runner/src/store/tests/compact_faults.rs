//! Compaction on disks that fail, and where records have rotted.

use std::io::ErrorKind;

use sandhog_model::{JobId, State};

use super::{
    compact::{churn, forgetful, log_files, stats},
    stage::{Stage, claim, completed, enqueue, job, report, state, wait},
};
use crate::{
    disk::sim::{Fault, Op, SimDisk, Unsynced},
    store::{Store, StoreError},
};

/// A log with cold jobs and much garbage that an earlier run, which kept everything, left.
fn overgrown() -> (Stage, SimDisk, Vec<JobId>) {
    let (mut stage, disk) = Stage::sim();
    let store = stage.open();
    let cold = (0..12)
        .map(|_| enqueue(&*store, "cold").expect("enqueued"))
        .collect();
    churn(&*store, 60);
    wait(store.close()).expect("closed");
    stage.options.max_ended = Some(0);
    (stage, disk, cold)
}

#[test]
fn an_error_at_any_step_of_a_compaction_poisons_and_loses_nothing() {
    let mut poisoned = 0;
    for op in [Op::Sync, Op::Write, Op::SyncDir, Op::Name] {
        for nth in 1.. {
            let (stage, disk, cold) = overgrown();
            disk.fail(Fault {
                op,
                nth,
                lasting: false,
                kind: ErrorKind::Other,
            });
            let failed = match stage.try_open() {
                // An open that fails has changed nothing that counts.
                Err(_) => true,
                Ok(store) => {
                    store.compacted();
                    let cause = stats(&*store).poisoned;
                    if cause.is_some() {
                        poisoned += 1;
                        assert!(enqueue(&*store, "photo").is_err());
                        assert!(matches!(
                            wait(store.close()),
                            Err(StoreError::Poisoned { .. })
                        ));
                    }
                    cause.is_some()
                }
            };
            for unsynced in [Unsynced::Dropped, Unsynced::Kept, Unsynced::BySector(nth)] {
                let store = stage.moved_to(&disk.after_crash(unsynced)).open();
                store.compacted();
                for id in &cold {
                    let told = format!("{op:?} {nth} {unsynced:?}");
                    assert_eq!(state(&*store, *id), Some(State::Available), "{told}");
                }
                assert!(stats(&*store).segments <= 3);
            }
            if !failed {
                assert!(nth > 1, "{op:?} never failed");
                break;
            }
        }
    }
    assert!(poisoned > 8, "only {poisoned} faults were met");
}

#[test]
fn compaction_frees_a_full_disk_and_leaves_outcomes_their_room() {
    let (mut stage, disk) = forgetful();
    stage.options.max_ended = Some(1000);
    let store = stage.open();
    let cold: Vec<JobId> = (0..5)
        .map(|_| enqueue(&*store, "cold").expect("enqueued"))
        .collect();
    churn(&*store, 100);
    let new = (0..40).map(|_| job(store.mint(), "run")).collect();
    wait(store.enqueue(new)).expect("enqueued");
    wait(store.close()).expect("closed");
    // No byte more than is there, but for the spare that the open removes.
    disk.limit(disk.used());
    stage.options.max_ended = Some(0);
    let store = stage.open();
    let mut refused = 0;
    for _ in 0..40 {
        for leased in claim(&*store, &["run"], 1).unwrap_or_default() {
            let settled = wait(store.settle(vec![report(&leased, completed(), Vec::new())]));
            refused += usize::from(settled.is_err());
        }
        stage.clock.pass(600);
        store.compacted();
    }
    assert_eq!(refused, 0, "outcomes found no room");
    let told = stats(&*store);
    assert!(told.freed_segments > 10, "{told:?}");
    assert_eq!(told.poisoned, None);
    enqueue(&*store, "photo").expect("room again, without a restart");
    disk.heal();
    drop(store);
    let store = stage.moved_to(&disk.after_crash(Unsynced::Dropped)).open();
    for id in cold {
        assert_eq!(state(&*store, id), Some(State::Available));
    }
}

#[test]
fn a_record_that_rotted_stops_the_compaction_and_is_not_trimmed_away() {
    let (mut stage, disk, cold) = overgrown();
    stage.options.max_ended = Some(1000);
    let store = stage.open();
    let segment = log_files(&disk).remove(0);
    disk.tamper(&segment, |bytes| bytes[48 + 25] ^= 1);
    let churned = |store: &dyn Store, times: usize| {
        for _ in 0..times {
            churn(store, 100);
        }
    };
    churned(&*store, 30);
    store.compacted();
    let told = stats(&*store);
    assert_eq!((told.freed_segments, told.poisoned), (0, None));
    assert!(disk.bytes(&segment).is_some());
    for id in &cold[1..] {
        assert_eq!(state(&*store, *id), Some(State::Available));
    }
    // Mended while the runner was down, it goes on.
    wait(store.close()).expect("closed");
    disk.tamper(&segment, |bytes| bytes[48 + 25] ^= 1);
    let store = stage.open();
    store.compacted();
    assert!(stats(&*store).freed_segments > 10);
    for id in cold {
        assert_eq!(state(&*store, id), Some(State::Available));
    }
}
