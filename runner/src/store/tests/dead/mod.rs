//! The dead letters on their own: order, durability, the lock, the file's version.

mod damage;
mod import;
mod keep;
mod many;
mod pages;
mod rewrite;

use std::{path::PathBuf, sync::Arc};

use sandhog_model::{Failure, FailureKind, IdMint, JobId, Letter, Token, UnixMs};

use super::stage::{START, first_page, job, job_of, permanent, report};
use crate::{
    disk::sim::{SimDisk, Unsynced},
    store::{
        DeadFilter, LeasedJob, LetterName,
        dead::{DeadOpenError, DeadStore},
        lock::{Holder, LockError},
    },
};

fn dir() -> PathBuf {
    PathBuf::from("/dead")
}

fn open(disk: &SimDisk) -> DeadStore {
    try_open(disk).unwrap_or_else(|error| panic!("cannot open: {error}"))
}

fn try_open(disk: &SimDisk) -> Result<DeadStore, DeadOpenError> {
    let holder = Holder::this_process(UnixMs(START), "a test");
    DeadStore::open(Arc::new(disk.clone()), &dir(), &holder)
}

fn letter(id: JobId, died_at: u64, payload: usize) -> Letter {
    let mut job = job(id, "photo");
    job.payload = vec![5; payload];
    let leased = LeasedJob {
        job: job.clone(),
        token: Token(1),
        attempt: 1,
        due: job.due,
        checkpoint: None,
    };
    let mut attempt = report(&leased, permanent(), Vec::new()).attempt;
    attempt.failure = Some(Failure::new(FailureKind::Error, "E", "no photo"));
    Letter {
        job,
        attempts: vec![attempt],
        died_at: UnixMs(died_at),
        token: Token(1),
        losses: 0,
    }
}

fn ids(count: usize) -> Vec<JobId> {
    let mut mint = IdMint::default();
    (0..count).map(|_| mint.next(UnixMs(START), || 1)).collect()
}

fn bury(store: &DeadStore, letters: &[Letter]) {
    for letter in letters {
        store.stage(letter).expect("written");
    }
    store.sync(true).expect("synced");
}

fn shown(store: &DeadStore) -> Vec<JobId> {
    let page = store.list(&DeadFilter::default(), &first_page(1000));
    let rows = page.expect("a page").rows;
    rows.iter().filter_map(|row| job_of(row.name)).collect()
}

#[test]
fn letters_come_newest_first_and_the_latest_of_an_id_wins() {
    let disk = SimDisk::default();
    let store = open(&disk);
    let ids = ids(4);
    bury(
        &store,
        &[
            letter(ids[0], 30, 10),
            letter(ids[1], 10, 10),
            letter(ids[2], 20, 10),
            letter(ids[3], 20, 10),
        ],
    );
    let expected = [ids[0], ids[3], ids[2], ids[1]];
    assert_eq!(shown(&store), expected);
    let again = letter(ids[1], 40, 99);
    bury(&store, std::slice::from_ref(&again));
    store.remove(&[ids[3], JobId(5)]).expect("removed");
    for store in [store, open(&disk.after_crash(Unsynced::Kept))] {
        assert_eq!(shown(&store), [ids[1], ids[0], ids[2]]);
        assert_eq!(store.letter(ids[1]).expect("read"), Some(again.clone()));
        assert_eq!(store.letter(ids[3]).expect("read"), None);
    }
}

#[test]
fn a_staged_letter_is_shown_once_synced() {
    let disk = SimDisk::default();
    let store = open(&disk);
    let ids = ids(1);
    store.stage(&letter(ids[0], 1, 10)).expect("written");
    assert!(shown(&store).is_empty());
    assert!(open(&disk.after_crash(Unsynced::Dropped)).is_empty());
    store.sync(true).expect("synced");
    assert_eq!(shown(&store), ids);
    assert_eq!(shown(&open(&disk.after_crash(Unsynced::Dropped))), ids);
}

#[test]
fn the_letters_have_one_writer_and_any_number_of_readers() {
    let disk = SimDisk::default();
    let store = open(&disk);
    bury(&store, &[letter(ids(1)[0], 1, 10)]);
    let Err(DeadOpenError::Locked(LockError::Held { holder, .. })) = try_open(&disk) else {
        panic!("two writers");
    };
    assert_eq!(
        holder.map(|holder| holder.command).as_deref(),
        Some("a test")
    );
    let reader = DeadStore::open_to_read(Arc::new(disk.clone()), &dir()).expect("readable");
    assert_eq!(reader.len(), 1);
    store.close();
    assert!(store.stage(&letter(ids(2)[1], 2, 10)).is_err());
    assert_eq!(open(&disk).len(), 1);
}

#[test]
fn a_foreign_or_newer_file_is_left_as_it_is() {
    let disk = SimDisk::default();
    drop(open(&disk));
    for (change, says) in [(9, "newer"), (0, "does not begin"), (30, "checksum")] {
        let copy = disk.after_crash(Unsynced::Kept);
        copy.tamper(&dir().join("letters"), |bytes| bytes[change] ^= 0x70);
        let before = copy.bytes(&dir().join("letters"));
        match try_open(&copy) {
            Err(DeadOpenError::Foreign { why, .. }) => assert!(why.contains(says), "{why}"),
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("opened a file with byte {change} changed"),
        }
        assert_eq!(copy.bytes(&dir().join("letters")), before);
    }
}

/// Names of all rows, unreadable ones too.
fn names(store: &DeadStore) -> Vec<LetterName> {
    let page = store.list(&DeadFilter::default(), &first_page(1000));
    page.expect("a page")
        .rows
        .iter()
        .map(|row| row.name)
        .collect()
}
