//! Writing the file anew, killed at every operation, beside a writer and readers.

use std::sync::Arc;

use sandhog_model::{JobId, Letter};

use super::{bury, dir, ids, letter, names, open, shown};
use crate::{
    disk::sim::{Fault, Op, SimDisk, Unsynced},
    store::{LetterName, dead::LETTERS_FILE},
};

/// Kill the program at each of its operations in `act`, and look at what is left.
fn at_each_operation(
    prepare: impl Fn(&super::DeadStore, &[JobId]),
    act: impl Fn(&super::DeadStore, &[JobId]),
    look: impl Fn(&super::DeadStore, &[JobId], bool),
) {
    let mut steps = 0;
    for more in 1.. {
        let disk = SimDisk::default();
        let store = open(&disk);
        let ids = ids(6);
        prepare(&store, &ids);
        disk.kill_at(disk.ops() + more);
        act(&store, &ids);
        let killed = disk.is_killed();
        for unsynced in [Unsynced::Dropped, Unsynced::Kept, Unsynced::BySector(more)] {
            let left = disk.after_crash(unsynced);
            for turn in 0..2 {
                let store = open(&left);
                assert!(
                    store.report().damage.is_empty(),
                    "{more} {unsynced:?} {turn}"
                );
                look(&store, &ids, killed);
            }
        }
        steps = more;
        if !killed {
            break;
        }
    }
    assert!(steps > 2, "killed {steps} times");
}

fn six(store: &super::DeadStore, ids: &[JobId]) {
    let letters: Vec<Letter> = ids
        .iter()
        .zip(1..)
        .map(|(id, at)| letter(*id, at, 300 << 10))
        .collect();
    bury(store, &letters);
}

#[test]
fn a_rewrite_killed_anywhere_leaves_the_letters() {
    at_each_operation(
        |store, ids| {
            six(store, ids);
            store.remove(&ids[..4]).expect("removed");
            store.sync_all().expect("synced");
        },
        |store, _| drop(store.rewrite()),
        |store, ids, _| {
            assert_eq!(shown(store), [ids[5], ids[4]]);
            for (id, at) in [(ids[4], 5), (ids[5], 6)] {
                let kept = store.letter(id).expect("read");
                assert_eq!(kept, Some(letter(id, at, 300 << 10)));
            }
        },
    );
}

#[test]
fn a_burial_a_deletion_and_a_clearing_killed_anywhere_are_done_or_not() {
    at_each_operation(
        six,
        |store, ids| {
            let again = letter(ids[0], 50, 600);
            let _ = store
                .remove(&[ids[0]])
                .and_then(|_| store.stage(&again))
                .and_then(|()| store.sync(true))
                .and_then(|_| store.remove(&[ids[1]]))
                .and_then(|_| store.sync_all());
        },
        |store, ids, killed| {
            let shown = shown(store);
            for id in &ids[2..] {
                assert!(shown.contains(id));
            }
            if !killed {
                assert_eq!((shown[0], shown.len()), (ids[0], 5));
            }
            if let Ok(Some(found)) = store.letter(ids[0]) {
                assert!([1, 50].contains(&found.died_at.0));
            }
        },
    );
}

#[test]
fn what_was_synced_with_sync_all_survives_the_power() {
    let disk = SimDisk::default();
    let store = open(&disk);
    let ids = ids(6);
    six(&store, &ids);
    store.remove(&ids[..2]).expect("removed");
    let before = open(&disk.after_crash(Unsynced::Dropped));
    assert_eq!(before.len(), 6, "a tombstone alone is not synced");
    store.sync_all().expect("synced");
    assert_eq!(open(&disk.after_crash(Unsynced::Dropped)).len(), 4);
    let ops = disk.ops();
    store.sync_all().expect("synced");
    assert_eq!(disk.ops(), ops, "nothing to sync");
}

#[test]
fn a_rewrite_with_the_disk_full_changes_nothing_and_is_put_off() {
    let disk = SimDisk::default();
    let store = open(&disk);
    let ids = ids(6);
    six(&store, &ids);
    store.remove(&ids[..4]).expect("removed");
    let before = disk.bytes(&dir().join(LETTERS_FILE));
    disk.limit(disk.used() + 1000);
    assert!(store.wants_rewrite());
    assert!(store.rewrite().expect_err("no room").is_full());
    assert!(!store.wants_rewrite(), "not at once again");
    disk.heal();
    assert_eq!(disk.bytes(&dir().join(LETTERS_FILE)), before);
    assert_eq!(
        disk.files()
            .iter()
            .filter(|file| file.ends_with("letters.new"))
            .count(),
        0
    );
    bury(&store, &[letter(ids[0], 9, 10)]);
    assert_eq!(shown(&store), [ids[0], ids[5], ids[4]]);
}

#[test]
fn a_rewrite_whose_sync_fails_leaves_the_old_file_in_use() {
    let disk = SimDisk::default();
    let store = open(&disk);
    let ids = ids(6);
    six(&store, &ids);
    store.remove(&ids[..4]).expect("removed");
    disk.fail(Fault {
        op: Op::Sync,
        nth: 1,
        kind: std::io::ErrorKind::Other,
        lasting: false,
    });
    store.rewrite().expect_err("the new file cannot be trusted");
    disk.heal();
    bury(&store, &[letter(ids[0], 9, 10)]);
    drop(store);
    assert_eq!(
        shown(&open(&disk.after_crash(Unsynced::Dropped)))[0],
        ids[0]
    );
}

#[test]
fn what_is_appended_and_read_during_a_rewrite_is_there_after_it() {
    let disk = SimDisk::default();
    let store = Arc::new(open(&disk));
    let ids = ids(600);
    let (old, new) = ids.split_at(300);
    for part in old.chunks(50) {
        let letters: Vec<Letter> = part.iter().map(|id| letter(*id, 1, 20 << 10)).collect();
        bury(&store, &letters);
    }
    store.remove(&old[..200]).expect("removed");
    store.rewrite_behind();
    let mut buried = Vec::new();
    for (id, at) in new.iter().zip(2..) {
        bury(&store, &[letter(*id, at, 100)]);
        buried.push(*id);
        if at % 3 == 0 {
            let gone = buried.remove(0);
            store.remove(&[gone]).expect("removed");
        }
        let page = shown(&store);
        assert_eq!(page.len(), 100 + buried.len());
        assert_eq!(page[0], *id);
        let read = store.letter(old[250]).expect("readable").expect("there");
        assert_eq!(read.job.payload.len(), 20 << 10);
    }
    // One that is written and not shown yet moves with the rest.
    store.stage(&letter(old[0], 9999, 64)).expect("written");
    store.close();
    let left = open(&disk.after_crash(Unsynced::Kept));
    assert_eq!(left.report().damage, []);
    assert_eq!(left.len(), 101 + buried.len());
    for id in buried.iter().chain(&old[200..]) {
        left.letter(*id).expect("readable").expect("there");
    }
}

#[test]
fn a_staged_letter_moves_with_a_rewrite() {
    let disk = SimDisk::default();
    let store = open(&disk);
    let ids = ids(7);
    six(&store, &ids[..6]);
    store.remove(&ids[..4]).expect("removed");
    store.stage(&letter(ids[6], 99, 70)).expect("written");
    assert!(store.rewrite().expect("rewritten"));
    store.remove(&[ids[4]]).expect("removed");
    assert_eq!(shown(&store), [ids[5]]);
    store.sync(true).expect("synced");
    assert_eq!(names(&store), [ids[6], ids[5]].map(LetterName::Job));
    let read = store.letter(ids[6]).expect("readable");
    assert_eq!(read, Some(letter(ids[6], 99, 70)));
    let left = open(&disk.after_crash(Unsynced::Dropped));
    assert_eq!(shown(&left)[..2], [ids[6], ids[5]]);
}
