//! Compaction on disks that fail, and where records have rotted.

use std::{
    future::poll_fn,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex},
    task::Poll,
};

use sandhog_model::{JobId, State};

use super::{
    compact::{churn, forgetful, log_files, stats},
    stage::{Stage, claim, completed, enqueue, job, report, state, wait},
};
use crate::{
    disk::{
        Disk, DiskError, DiskFile, DiskLock, OpenMode,
        sim::{Fault, Op, SimDisk, Unsynced},
    },
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
                    let segments = log_files(&disk).len();
                    assert!(cause.is_some() || segments <= 4, "{op:?} {nth}: {segments}");
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

/// A log of a few segments on a disk without room for another, `cold` jobs in its first ones and
/// `late` in its last, opened. How many segments went before there was room again.
fn freed_on_a_full_disk(cold: usize, late: usize) -> u64 {
    let (mut stage, disk) = Stage::sim();
    let store = stage.open();
    let many = |kind, count| -> Vec<JobId> {
        (0..count)
            .map(|_| enqueue(&*store, kind).expect("enqueued"))
            .collect()
    };
    let mut kept = many("cold", cold);
    churn(&*store, 30);
    kept.extend(many("late", late));
    wait(store.close()).expect("closed");
    for path in log_files(&disk) {
        if path.ends_with("spare.tmp") {
            stage.options.disk.remove(&path).expect("removed");
        }
    }
    // Room for the lock file's text, and for no spare.
    disk.limit(disk.used() + 500);
    stage.options.max_ended = Some(0);
    let store = stage.open();
    for _ in 0..3 {
        stage.clock.pass(600);
        store.compacted();
    }
    let told = stats(&*store);
    assert_eq!(told.poisoned, None);
    assert!(
        told.freed_segments > 0 || told.appended <= 1,
        "room was used up for nothing: {told:?}"
    );
    disk.heal();
    stage.clock.pass(600);
    store.compacted();
    assert!(
        stats(&*store).freed_segments > 2,
        "room again, and no restart"
    );
    enqueue(&*store, "photo").expect("enqueued");
    drop(store);
    let store = stage.moved_to(&disk.after_crash(Unsynced::Dropped)).open();
    for id in kept {
        assert_eq!(state(&*store, id), Some(State::Available));
    }
    told.freed_segments
}

#[test]
fn compaction_uses_the_last_room_only_when_that_gives_more_back() {
    let few: Vec<u64> = (0..8).map(|late| freed_on_a_full_disk(2, late)).collect();
    assert!(few.iter().any(|freed| *freed > 0), "{few:?}");
    // More than fits beside what outcomes may need.
    let many: Vec<u64> = (0..8).map(|late| freed_on_a_full_disk(20, late)).collect();
    assert!(many.contains(&0), "{many:?}");
}

#[test]
fn outcomes_find_room_while_a_full_disk_is_compacted() {
    let (mut stage, disk) = Stage::sim();
    let store = stage.open();
    for _ in 0..5 {
        enqueue(&*store, "cold").expect("enqueued");
    }
    churn(&*store, 100);
    let new = (0..40).map(|_| job(store.mint(), "run")).collect();
    wait(store.enqueue(new)).expect("enqueued");
    wait(store.close()).expect("closed");
    disk.limit(disk.used());
    stage.options.max_ended = Some(0);
    let store = stage.open();
    for _ in 0..40 {
        let leased = claim(&*store, &["run"], 1).expect("claimed").remove(0);
        let done = wait(store.settle(vec![report(&leased, completed(), Vec::new())]));
        assert_eq!(done.expect("outcomes find room"), [Ok(State::Completed)]);
        stage.clock.pass(600);
        store.compacted();
    }
    let told = stats(&*store);
    assert!(told.freed_segments > 10, "{told:?}");
    enqueue(&*store, "photo").expect("room again, without a restart");
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
    assert_eq!(told.stuck_segment, Some(1), "it is told, not only logged");
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

/// A disk that removes no segment until it may.
struct Slow {
    disk: SimDisk,
    may_remove: Mutex<bool>,
    changed: Condvar,
}

impl Slow {
    fn may_remove(&self, may: bool) {
        *self.may_remove.lock().expect("no panic") = may;
        self.changed.notify_all();
    }
}

impl Disk for Slow {
    fn create_dir(&self, path: &Path) -> Result<Vec<PathBuf>, DiskError> {
        self.disk.create_dir(path)
    }

    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn DiskFile>, DiskError> {
        self.disk.open(path, mode)
    }

    fn list(&self, dir: &Path) -> Result<Vec<String>, DiskError> {
        self.disk.list(dir)
    }

    fn exists(&self, path: &Path) -> Result<bool, DiskError> {
        self.disk.exists(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        if path.extension().is_some_and(|ending| ending == "seg") {
            let may = self.may_remove.lock().expect("no panic");
            drop(self.changed.wait_while(may, |may| !*may).expect("no panic"));
        }
        self.disk.remove(path)
    }

    fn sync_dir(&self, dir: &Path) -> Result<(), DiskError> {
        self.disk.sync_dir(dir)
    }

    fn try_lock(&self, path: &Path) -> Result<Option<Box<dyn DiskLock>>, DiskError> {
        self.disk.try_lock(path)
    }

    fn remove_dir(&self, path: &Path) -> Result<(), DiskError> {
        self.disk.remove_dir(path)
    }

    fn is_locked(&self, path: &Path) -> Result<bool, DiskError> {
        self.disk.is_locked(path)
    }
}

async fn wait_for_stats(store: &dyn Store) {
    store.stats().await.expect("stats");
}

#[test]
fn enqueues_wait_for_a_compaction_that_is_behind_and_outcomes_do_not() {
    let (mut stage, sim) = forgetful();
    let disk = Arc::new(Slow {
        disk: sim,
        may_remove: Mutex::new(false),
        changed: Condvar::new(),
    });
    stage.options.disk = disk.clone();
    let store = stage.open();
    let new = (0..400).map(|_| job(store.mint(), "run")).collect();
    wait(store.enqueue(new)).expect("enqueued");
    let mut leased = claim(&*store, &["run"], 400).expect("claimed");
    let last = leased.pop().expect("the last");
    for leased in &leased {
        let done = wait(store.settle(vec![report(leased, completed(), Vec::new())]));
        assert_eq!(done.expect("settled"), [Ok(State::Completed)]);
    }
    let bytes = stats(&*store).log_bytes;
    let (is_pending, waiting) = wait(async {
        let mut late = store.enqueue(vec![job(store.mint(), "late")]);
        // Without a turn of the writer in between it would be pending as well.
        for _ in 0..2 {
            wait_for_stats(&*store).await;
            let polled = poll_fn(|context| Poll::Ready(late.as_mut().poll(context))).await;
            if polled.is_ready() {
                return (false, late);
            }
        }
        (true, late)
    });
    let done = wait(store.settle(vec![report(&last, completed(), Vec::new())]));
    disk.may_remove(true);
    assert_eq!(done.expect("settled"), [Ok(State::Completed)]);
    assert!(is_pending, "{bytes} bytes, and nobody waits");
    let late = wait(waiting).expect("enqueued");
    assert!(matches!(late[..], [Ok(_)]), "{late:?}");
    store.compacted();
    assert!(stats(&*store).log_bytes < bytes / 4);
}
