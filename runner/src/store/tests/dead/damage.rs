//! Letters that are torn or cannot be read.

use std::sync::Arc;

use sandhog_model::{Attempt, JobId};

use super::super::stage::first_page;
use super::{bury, dir, ids, letter, names, open, shown};
use crate::{
    disk::sim::{SimDisk, Unsynced},
    store::{
        DeadFilter, LetterName, PageRequest,
        dead::{DeadStore, LETTERS_FILE},
    },
};

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
fn a_letter_too_large_for_a_frame_keeps_its_latest_attempts() {
    let disk = SimDisk::default();
    let store = open(&disk);
    let id = ids(1)[0];
    let mut large = letter(id, 1, 10);
    let mut attempt = large.attempts[0].clone();
    let failure = attempt.failure.as_mut().expect("it failed");
    failure.backtrace = vec!["f".repeat(1000); 100];
    large.attempts = (1..=200)
        .map(|number| Attempt {
            number,
            ..attempt.clone()
        })
        .collect();
    bury(&store, &[large]);
    let kept = open(&disk.after_crash(Unsynced::Kept)).letter(id);
    let kept = kept.expect("read").expect("a letter");
    assert_eq!(kept.attempts.len(), 25);
    assert_eq!(kept.attempts[24].number, 200);
    assert_eq!(kept.job, letter(id, 1, 10).job);
}

/// Break the body of the n-th frame of so many equal letters.
fn break_frame(disk: &SimDisk, number: usize, of: usize, at: usize) -> usize {
    let path = dir().join(LETTERS_FILE);
    let len = disk.bytes(&path).expect("the file").len();
    let frame = (len - 48) / of;
    let offset = 48 + number * frame;
    disk.tamper(&path, |bytes| bytes[offset + at] ^= 0x41);
    offset
}

#[test]
fn a_broken_letter_is_listed_shown_raw_and_kept_through_rewrites_until_it_is_deleted() {
    // In the checksum, in the id, in the payload: where the id can be read it names the row.
    for (at, named) in [(17, true), (34, false), (600 << 10, true)] {
        let disk = SimDisk::default();
        let store = open(&disk);
        let ids = ids(5);
        for (id, at) in ids.iter().zip(1..) {
            bury(&store, &[letter(*id, at, 800 << 10)]);
        }
        drop(store);
        let whole = disk
            .bytes(&dir().join(LETTERS_FILE))
            .expect("the file")
            .len();
        let offset = break_frame(&disk, 1, 5, at);
        let frame = (whole - 48) / 5;
        let raw = disk.bytes(&dir().join(LETTERS_FILE)).expect("the file")[offset..offset + frame]
            .to_vec();
        let store = open(&disk);
        let place = LetterName::Place(offset as u64);
        let name = if named {
            LetterName::Job(ids[1])
        } else {
            place
        };
        let bad = names(&store)[4];
        if named {
            assert_eq!(bad, name, "at {at}");
        } else {
            assert_ne!(bad, LetterName::Job(ids[1]));
        }
        assert_eq!(shown(&store)[..4], [ids[4], ids[3], ids[2], ids[0]]);
        let filter = DeadFilter {
            unreadable: true,
            ..DeadFilter::default()
        };
        let page = store.list(&filter, &first_page(9)).expect("a page");
        let why = page.rows[0].unreadable.clone().expect("said");
        assert!(why.contains("checksum"), "{why}");
        assert_eq!(store.count(&filter, None).expect("a count").count, 1);
        for name in [bad, place] {
            let found = store.raw(name).expect("read").expect("there");
            assert_eq!((found.bytes.len(), found.bytes == raw), (raw.len(), true));
            assert!(found.unreadable.is_some());
        }

        kept_through_rewrites(&disk, store, &ids, bad, (place, &raw));
    }
}

/// What was found broken stays through rewrites, until it is deleted.
fn kept_through_rewrites(
    disk: &SimDisk,
    store: DeadStore,
    ids: &[JobId],
    bad: LetterName,
    found: (LetterName, &[u8]),
) {
    let (place, raw) = found;
    let whole = disk
        .bytes(&dir().join(LETTERS_FILE))
        .expect("the file")
        .len();
    store.remove(&ids[2..]).expect("removed");
    assert!(store.rewrite().expect("rewritten"), "most of it is garbage");
    let left = disk
        .bytes(&dir().join(LETTERS_FILE))
        .expect("the file")
        .len();
    assert!(left < whole / 2, "{left} of {whole}");
    drop(store);
    // And once more, over a file that was written anew.
    for turn in 0..2 {
        let store = open(disk);
        assert_eq!(names(&store), [LetterName::Job(ids[0]), bad], "{turn}");
        assert_eq!(store.report().damage.len(), 1, "{turn}");
        let found = store.raw(place).expect("read").expect("there");
        assert!(found.bytes == raw, "{turn}");
        bury(&store, &[letter(ids[2], 9, 4 << 20)]);
        store.remove(&[ids[2]]).expect("removed");
        assert!(store.rewrite().expect("rewritten"));
        drop(store);
    }
    let store = open(disk);
    assert_eq!(
        store.clear(&[bad, LetterName::Place(5)]).expect("cleared"),
        [true, false]
    );
    assert_eq!(names(&store), [LetterName::Job(ids[0])]);
    for unsynced in [Unsynced::Dropped, Unsynced::Kept] {
        let store = open(&disk.after_crash(unsynced));
        assert_eq!(names(&store), [LetterName::Job(ids[0])]);
        assert!(store.report().damage.is_empty());
    }
}

#[test]
fn rot_in_a_file_that_was_written_anew_takes_no_other_letter_along() {
    let disk = SimDisk::default();
    let store = open(&disk);
    let ids = ids(8);
    for (id, at) in ids.iter().zip(1..) {
        bury(&store, &[letter(*id, at, 300 << 10)]);
    }
    store.remove(&ids[3..]).expect("removed");
    assert!(store.rewrite().expect("rewritten"));
    drop(store);
    break_frame(&disk, 0, 3, 5000);
    let store = open(&disk);
    assert_eq!(
        names(&store),
        [ids[2], ids[1], ids[0]].map(LetterName::Job),
        "the broken one by its id, and those behind it"
    );
    assert_eq!(store.report().torn_tail_bytes, 0);
}

#[test]
fn a_letter_that_rots_while_the_store_is_open_stays_listed_by_its_id() {
    let disk = SimDisk::default();
    let store = open(&disk);
    let ids = ids(4);
    for (id, at) in ids.iter().zip(1..) {
        bury(&store, &[letter(*id, at, 40 << 10)]);
    }
    break_frame(&disk, 1, 4, 2000);
    let page = store
        .list(&DeadFilter::default(), &first_page(9))
        .expect("a page");
    let broken: Vec<bool> = page
        .rows
        .iter()
        .map(|row| row.unreadable.is_some())
        .collect();
    assert_eq!(broken, [false, false, true, false]);
    assert_eq!(page.rows[2].name, LetterName::Job(ids[1]));
    assert_eq!(page.rows[2].kind, "photo", "what the index knows is shown");
    let error = store.letter(ids[1]).expect_err("it is broken").to_string();
    assert!(error.contains("is damaged at byte"), "{error}");
    let raw = store
        .raw(LetterName::Job(ids[1]))
        .expect("read")
        .expect("there");
    assert!(raw.unreadable.is_some() && raw.bytes.len() > 40 << 10);
    // A rewrite that comes upon it keeps it.
    bury(&store, &[letter(ids[3], 9, 6 << 20)]);
    store.remove(&[ids[3]]).expect("removed");
    assert!(store.rewrite().expect("rewritten"));
    let expected = [ids[2], ids[0], ids[1]].map(LetterName::Job);
    assert_eq!(names(&store), expected);
    drop(store);
    let store = open(&disk);
    assert_eq!(names(&store), expected);
    store.remove(&[ids[1]]).expect("removed by its id");
    assert_eq!(names(&store), [ids[2], ids[0]].map(LetterName::Job));
}

#[test]
fn a_sound_frame_that_says_nothing_known_is_a_row_too() {
    let disk = SimDisk::default();
    let store = open(&disk);
    let ids = ids(3);
    for (id, at) in ids.iter().zip(1..) {
        bury(&store, &[letter(*id, at, 100)]);
    }
    drop(store);
    let path = dir().join(LETTERS_FILE);
    // Another version's entry: the same frame with another body and its own checksum.
    let bytes = disk.bytes(&path).expect("the file");
    let frame = (bytes.len() - 48) / 3;
    let seed = super::super::super::dead::tests_seed();
    let mut other = Vec::new();
    let body = vec![0xC1; frame - 20];
    super::super::super::frames::put(&mut other, seed, 2, 2, &body);
    disk.tamper(&path, |bytes| {
        bytes[48 + frame..48 + 2 * frame].copy_from_slice(&other)
    });
    let store = open(&disk);
    let place = LetterName::Place((48 + frame) as u64);
    assert_eq!(
        names(&store),
        [LetterName::Job(ids[2]), LetterName::Job(ids[0]), place]
    );
    let page = store
        .list(&DeadFilter::default(), &first_page(9))
        .expect("a page");
    let why = page.rows[2].unreadable.clone().expect("said");
    assert!(why.contains("says nothing known"), "{why}");
}

#[test]
fn a_hole_of_many_megabytes_of_noise_is_passed_in_little_time() {
    let disk = SimDisk::default();
    let store = open(&disk);
    let ids = ids(3);
    let mut noisy = letter(ids[1], 2, 0);
    let mut state = 1_u64;
    noisy.job.payload = std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as u8
    })
    .take(6 << 20)
    .collect();
    bury(&store, &[letter(ids[0], 1, 10)]);
    let start = store.bytes() as usize;
    bury(&store, &[noisy]);
    bury(&store, &[letter(ids[2], 3, 10)]);
    drop(store);
    // Its length too, so that where the next one begins has to be searched for.
    disk.tamper(&dir().join(LETTERS_FILE), |bytes| bytes[start + 1] ^= 0x10);
    let before = std::time::Instant::now();
    let store = open(&disk);
    let took = before.elapsed();
    assert_eq!(shown(&store), [ids[2], ids[0], ids[1]]);
    assert!(took.as_secs() < 20, "{took:?}");
}

#[test]
fn cursors_go_on_among_the_unreadable() {
    let disk = SimDisk::default();
    let store = open(&disk);
    let ids = ids(9);
    for (id, at) in ids.iter().zip(1..) {
        bury(&store, &[letter(*id, at, 100)]);
    }
    drop(store);
    for number in [1, 3, 5, 7] {
        break_frame(&disk, number, 9, 17);
    }
    let store = DeadStore::open_to_read(Arc::new(disk.clone()), &dir()).expect("readable");
    let all = names(&store);
    assert_eq!(all.len(), 9);
    for limit in 1..9 {
        let (mut walked, mut page) = (
            Vec::new(),
            PageRequest {
                limit,
                cursor: None,
            },
        );
        loop {
            let part = store.list(&DeadFilter::default(), &page).expect("a page");
            assert!(part.rows.len() == limit || part.next.is_none());
            walked.extend(part.rows.iter().map(|row| row.name));
            match part.next {
                Some(next) => page.cursor = Some(next),
                None => break,
            }
        }
        assert_eq!(walked, all, "{limit}");
    }
}
