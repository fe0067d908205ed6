//! Burials, requeues and deletions that a crash cut in half, in both orders.

use std::ops::ControlFlow;

use sandhog_model::{Amend, Event, JobId, State};

use super::stage::{
    Stage, amend, claim, claim_one, dead_ids, enqueue, permanent, settle, state, wait,
};
use crate::{
    disk::sim::{SimDisk, Unsynced},
    store::{
        Inspect, Store,
        dead::DeadStore,
        wal::{Wal, dump_on},
    },
};

/// What lies on the disk before anyone opens it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Lying {
    letter: bool,
    /// The log's last word: whether it says dead; `None` when the job is deleted there.
    log_says_dead: Option<bool>,
}

fn lying(stage: &Stage, id: JobId) -> Lying {
    let data = &stage.options.data;
    let disk = stage.options.disk.clone();
    let letters = DeadStore::open_to_read(disk.clone(), &data.join("dead")).expect("readable");
    let mut log_says_dead = Some(false);
    dump_on(&*disk, data, None, |record| {
        if record.id == Some(id) {
            log_says_dead = match record.record.event {
                Event::Settled { .. } => Some(true),
                Event::Deleted { .. } => None,
                _ => Some(false),
            };
        }
        ControlFlow::Continue(())
    })
    .expect("a sound log");
    Lying {
        letter: letters.token(id).is_some(),
        log_says_dead,
    }
}

/// Do a step with a crash at each of its operations; show each crash's disk before and after the
/// next open.
fn at_each_operation(
    prepare: impl Fn(&Wal) -> JobId,
    step: impl Fn(&Wal, JobId),
    mut show: impl FnMut(Lying, JobId, &Wal),
) {
    for more in 1.. {
        let (stage, disk) = Stage::sim();
        let store = stage.open();
        let id = prepare(&store);
        disk.kill_at(disk.ops() + more);
        step(&store, id);
        let reached = disk.is_killed();
        drop(store);
        for unsynced in [
            Unsynced::Dropped,
            Unsynced::Kept,
            Unsynced::BySector(more),
            Unsynced::BySector(more + 100),
        ] {
            let left = stage.moved_to(&disk.after_crash(unsynced));
            let before = lying(&left, id);
            let store = left.open();
            show(before, id, &store);
            drop(store);
            let after = lying(&left, id);
            assert_eq!(after.letter, after.log_says_dead == Some(true), "{after:?}");
        }
        if !reached {
            break;
        }
    }
}

fn dead_job(store: &Wal) -> JobId {
    let id = enqueue(store, "photo").expect("enqueued");
    let leased = claim_one(store, "photo");
    settle(store, &leased, permanent()).expect("settled");
    id
}

#[test]
fn a_letter_without_its_record_is_a_burial_to_finish() {
    let mut finished = 0;
    let mut undone = 0;
    at_each_operation(
        |store| enqueue(store, "photo").expect("enqueued"),
        |store, _| {
            if let Ok(leased) = claim(store, &["photo"], 1) {
                let _ = settle(store, &leased[0], permanent());
            }
        },
        |before, id, store| {
            let now = state(store, id).expect("never lost");
            let letters = dead_ids(store);
            match now {
                State::Dead => assert_eq!(letters, [id]),
                State::Available => assert!(letters.is_empty()),
                other => panic!("{before:?}: {other}"),
            }
            if before.letter && before.log_says_dead == Some(false) {
                match now {
                    State::Dead => {
                        finished += 1;
                        let view = wait(store.job(id)).expect("a view").expect("the job");
                        let letter = wait(store.letter(id)).expect("read").expect("a letter");
                        assert_eq!(view.attempts, letter.attempts);
                    }
                    _ => undone += 1,
                }
            }
            if before.log_says_dead == Some(true) {
                assert!(before.letter, "the log spoke before the letter was safe");
            }
        },
    );
    assert!(finished > 0, "no crash came between letter and record");
    // Where power took the lease's record too, the job runs again and the letter goes.
    assert!(undone > 0, "no crash took the lease with it");
}

#[test]
fn a_requeue_cut_in_half_is_finished() {
    let mut cut = 0;
    at_each_operation(
        dead_job,
        |store, id| {
            let _ = amend(store, Amend::Requeue(id));
        },
        |before, id, store| {
            let letters = dead_ids(store);
            match state(store, id).expect("never lost") {
                State::Dead => assert_eq!(letters, [id], "{before:?}"),
                State::Available => assert!(letters.is_empty(), "{before:?}"),
                other => panic!("{before:?}: {other}"),
            }
            assert!(before.letter || before.log_says_dead == Some(false));
            cut += u32::from(before.letter && before.log_says_dead == Some(false));
        },
    );
    assert!(cut > 0, "no crash came between record and letter");
}

#[test]
fn a_deletion_cut_in_half_is_finished() {
    let mut cut = 0;
    at_each_operation(
        dead_job,
        |store, id| {
            let _ = amend(store, Amend::Delete(id));
        },
        |before, id, store| {
            let letters = dead_ids(store);
            match state(store, id) {
                Some(State::Dead) => assert_eq!(letters, [id], "{before:?}"),
                None => assert!(letters.is_empty(), "{before:?}"),
                other => panic!("{before:?}: {other:?}"),
            }
            cut += u32::from(before.letter && before.log_says_dead.is_none());
        },
    );
    assert!(cut > 0, "no crash came between record and letter");
}

#[test]
fn a_lost_letters_file_is_written_again_from_the_log() {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    let ids = [dead_job(&store), dead_job(&store)];
    let letters = ids.map(|id| wait(store.letter(id)).expect("read"));
    wait(store.close()).expect("closed");
    let left: SimDisk = disk.after_crash(Unsynced::Kept);
    crate::disk::Disk::remove(&left, &stage.options.data.join("dead/letters")).expect("removed");
    let store = stage.moved_to(&left).open();
    assert_eq!(ids.map(|id| wait(store.letter(id)).expect("read")), letters);
}

#[test]
fn a_letter_of_another_log_is_kept() {
    let (stage, disk) = Stage::sim();
    let id = dead_job(&stage.open());
    let left = disk.after_crash(Unsynced::Kept);
    for file in left.files() {
        if file.starts_with("/data/logs") {
            crate::disk::Disk::remove(&left, &file).expect("removed");
        }
    }
    let store = stage.moved_to(&left).open();
    assert_eq!(dead_ids(&*store), [id]);
    assert!(store.mint() > id);
}
