//! The dead letters on their own: order, pages, bounds, damage, rewriting.

use std::{path::PathBuf, sync::Arc};

use sandhog_model::{Failure, FailureKind, IdMint, JobId, Letter, Token, UnixMs};

use super::stage::{
    START, Stage, claim_one, dead_ids, enqueue, first_page, job, permanent, report, settle, state,
    wait,
};
use crate::{
    disk::sim::{SimDisk, Unsynced},
    store::{
        Inspect, JobFilter, LeasedJob, PageRequest,
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
    (0..count).map(|_| mint.next(UnixMs(START), 1)).collect()
}

fn bury(store: &DeadStore, letters: &[Letter]) {
    for letter in letters {
        store.stage(letter).expect("written");
    }
    store.sync(true).expect("synced");
}

fn shown(store: &DeadStore) -> Vec<JobId> {
    let page = store.list(&JobFilter::default(), &first_page(1000));
    page.expect("a page")
        .rows
        .iter()
        .map(|row| row.id)
        .collect()
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
fn pages_neither_skip_nor_repeat_while_letters_come_and_go() {
    let store = open(&SimDisk::default());
    let ids = ids(30);
    let letters: Vec<Letter> = ids[..20]
        .iter()
        .zip(0..)
        .map(|(id, at)| letter(*id, 100 + at / 3, 10))
        .collect();
    bury(&store, &letters);
    let expected = shown(&store);
    let mut walked = Vec::new();
    let mut page = first_page(3);
    let mut came = ids[20..].iter().zip(1000..);
    loop {
        let part = store.list(&JobFilter::default(), &page).expect("a page");
        walked.extend(part.rows.iter().map(|row| row.id));
        // Every other time the row the cursor names goes; and a newer one comes.
        let last = part.rows.last().expect("no page is empty").id;
        if walked.len() % 2 == 0 {
            store.remove(&[last]).expect("removed");
        }
        if let Some((id, at)) = came.next() {
            bury(&store, &[letter(*id, at, 10)]);
        }
        match part.next {
            Some(next) => page.cursor = Some(next),
            None => break,
        }
    }
    assert_eq!(walked, expected);
}

#[test]
fn a_filter_of_another_kind_or_state_shows_nothing() {
    let store = open(&SimDisk::default());
    bury(&store, &[letter(ids(1)[0], 1, 10)]);
    let count = |filter: JobFilter| {
        let page = PageRequest {
            limit: 5,
            cursor: None,
        };
        store.list(&filter, &page).expect("a page").rows.len()
    };
    let kind = |kind: &str| JobFilter {
        kind: Some(kind.to_owned()),
        ..JobFilter::default()
    };
    assert_eq!(count(kind("photo")), 1);
    assert_eq!(count(kind("page")), 0);
    assert_eq!(
        count(JobFilter {
            state: Some(sandhog_model::State::Running),
            ..JobFilter::default()
        }),
        0
    );
}

#[test]
fn the_bound_keeps_exactly_the_newest_and_counts_what_goes() {
    for keep in [1, 2, 5] {
        let (mut stage, _) = Stage::sim();
        stage.options.max_letters = Some(keep);
        let store = stage.open();
        let mut buried = Vec::new();
        for _ in 0..7 {
            stage.clock.pass(10);
            let id = enqueue(&*store, "photo").expect("enqueued");
            settle(&*store, &claim_one(&*store, "photo"), permanent()).expect("settled");
            buried.insert(0, id);
        }
        assert_eq!(dead_ids(&*store), buried[..keep]);
        assert_eq!(state(&*store, buried[keep]), None);
        let stats = wait(store.stats()).expect("stats");
        assert_eq!(stats.purged_letters, (7 - keep) as u64);
        drop(store);
        assert_eq!(dead_ids(&*stage.open()), buried[..keep]);
    }
}

#[test]
fn a_corrupt_letter_is_skipped_told_and_never_dropped_by_a_rewrite() {
    let disk = SimDisk::default();
    let store = open(&disk);
    let ids = ids(5);
    for (id, at) in ids.iter().zip(1..) {
        bury(&store, &[letter(*id, at, 400 << 10)]);
    }
    drop(store);
    let path = dir().join("letters");
    // In the second letter's payload.
    disk.tamper(&path, |bytes| bytes[(600 << 10) + 48] ^= 1);
    let store = open(&disk);
    assert_eq!(shown(&store), [ids[4], ids[3], ids[2], ids[0]]);
    let damage = store.report().damage.clone();
    assert_eq!(damage.len(), 1);
    let from = damage[0].offset as usize;
    let to = from + damage[0].bytes as usize;
    let bad = disk.bytes(&path).expect("the file")[from..to].to_vec();
    assert!(bad.len() > 400 << 10);

    store.remove(&ids[2..]).expect("removed");
    let aside = disk.bytes(&dir().join(format!("unreadable-{from}.bin")));
    assert_eq!(shown(&store), [ids[0]]);
    assert!(
        disk.bytes(&path).expect("the file").len() < 500 << 10,
        "more garbage than letters is rewritten"
    );
    assert_eq!(aside, Some(bad));
    let kept = letter(ids[0], 1, 400 << 10);
    assert_eq!(store.letter(ids[0]).expect("read"), Some(kept.clone()));
    bury(&store, &[letter(ids[3], 9, 10)]);
    for unsynced in [Unsynced::Dropped, Unsynced::Kept] {
        let store = open(&disk.after_crash(unsynced));
        assert_eq!(shown(&store), [ids[3], ids[0]]);
        assert_eq!(store.letter(ids[0]).expect("read"), Some(kept.clone()));
        assert!(store.report().damage.is_empty());
    }
}

#[test]
fn a_rewrite_killed_anywhere_leaves_the_letters() {
    for more in 1.. {
        let disk = SimDisk::default();
        let store = open(&disk);
        let ids = ids(3);
        let letters: Vec<Letter> = ids.iter().map(|id| letter(*id, 1, 600 << 10)).collect();
        bury(&store, &letters);
        disk.kill_at(disk.ops() + more);
        let _ = store.remove(&ids[..2]);
        for unsynced in [Unsynced::Dropped, Unsynced::Kept, Unsynced::BySector(more)] {
            let store = open(&disk.after_crash(unsynced));
            assert!(shown(&store).contains(&ids[2]), "{more} {unsynced:?}");
            assert_eq!(store.letter(ids[2]).expect("read").as_ref(), letters.last());
        }
        if !disk.is_killed() {
            break;
        }
    }
}

#[test]
fn a_torn_letter_is_cut_by_a_writer_and_left_alone_by_a_reader() {
    let disk = SimDisk::default();
    let store = open(&disk);
    let ids = ids(2);
    bury(&store, &[letter(ids[0], 1, 100)]);
    let sound = disk.bytes(&dir().join("letters")).expect("the file").len();
    bury(&store, &[letter(ids[1], 2, 100)]);
    drop(store);
    let whole = disk.bytes(&dir().join("letters")).expect("the file").len();
    for cut in sound..whole {
        let copy = disk.after_crash(Unsynced::Kept);
        copy.tamper(&dir().join("letters"), |bytes| bytes.truncate(cut));
        let ops = copy.ops();
        let reader = DeadStore::open_to_read(Arc::new(copy.clone()), &dir()).expect("readable");
        assert_eq!(shown(&reader), [ids[0]]);
        assert_eq!(copy.ops(), ops, "a reader changes nothing");
        let store = open(&copy);
        assert_eq!(shown(&store), [ids[0]], "cut at {cut}");
        assert!(store.report().damage.is_empty());
        let torn = store.report().torn_tail_bytes;
        let aside = copy.bytes(&dir().join(format!("torn-{sound}.bin")));
        assert_eq!(aside.map_or(0, |bytes| bytes.len() as u64), torn);
        bury(&store, &[letter(ids[1], 3, 10)]);
        drop(store);
        assert_eq!(shown(&open(&copy)), [ids[1], ids[0]]);
    }
}

#[test]
fn letters_written_together_and_torn_by_sectors_are_no_damage() {
    for seed in 0..60 {
        let disk = SimDisk::default();
        let store = open(&disk);
        let ids = ids(6);
        bury(&store, &[letter(ids[0], 1, 700)]);
        for (id, at) in ids[1..].iter().zip(2..) {
            store.stage(&letter(*id, at, 700)).expect("written");
        }
        let left = disk.after_crash(Unsynced::BySector(seed));
        let store = open(&left);
        assert!(shown(&store).contains(&ids[0]), "seed {seed}");
        assert!(store.report().damage.is_empty(), "seed {seed}");
        bury(&store, &[letter(ids[1], 50, 10)]);
        drop(store);
        let store = open(&left);
        assert!(store.report().damage.is_empty(), "seed {seed}, second open");
        assert_eq!(shown(&store)[0], ids[1]);
    }
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

#[test]
fn a_letter_too_large_for_a_frame_keeps_its_latest_attempts() {
    let disk = SimDisk::default();
    let store = open(&disk);
    let id = ids(1)[0];
    let mut large = letter(id, 1, 10);
    let mut attempt = large.attempts[0].clone();
    let failure = attempt.failure.as_mut().expect("it failed");
    failure.backtrace = vec!["f".repeat(1000); 100];
    large.attempts = (1..=200)
        .map(|number| sandhog_model::Attempt {
            number,
            ..attempt.clone()
        })
        .collect();
    bury(&store, &[large]);
    let kept = open(&disk.after_crash(Unsynced::Kept)).letter(id);
    let kept = kept.expect("read").expect("a letter");
    assert_eq!(kept.attempts.len(), 25);
    assert_eq!(kept.attempts[24].number, 200);
    assert_eq!(kept.job, job_of(id));
}

fn job_of(id: JobId) -> sandhog_model::Job {
    letter(id, 1, 10).job
}
