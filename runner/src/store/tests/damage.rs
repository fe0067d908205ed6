//! Cuts, flips and foreign bytes: a damaged log never shows a changed record, and is cut only where
//! nothing acknowledged can be.

use std::path::{Path, PathBuf};

use sandhog_model::{ClaimRequest, JobId, State};

use super::stage::{
    Stage, all_rows, claim_one, completed, enqueue, permanent, settle, state, wait,
};
use crate::{
    disk::{
        Disk, OpenMode,
        sim::{SimDisk, Unsynced},
    },
    store::{
        Inspect, JobFilter, JobView, Store,
        wal::{CheckError, OpenError, Verdict, check_on, dump_of, dump_on},
    },
};

/// A log of one segment: the jobs in it, in the order they were enqueued, and the segment's path.
fn small_log(jobs: usize) -> (Stage, SimDisk, Vec<JobId>, PathBuf) {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    let ids = (0..jobs)
        .map(|_| enqueue(&*store, "photo").expect("enqueued"))
        .collect();
    wait(store.close()).expect("closed");
    let segment = segments(&disk).remove(0);
    (stage, disk, ids, segment)
}

fn segments(disk: &SimDisk) -> Vec<PathBuf> {
    let mut files = disk.files();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "seg"));
    files
}

/// The end of the last frame: everything after it is zeros.
fn used(disk: &SimDisk, segment: &Path) -> usize {
    let bytes = disk.bytes(segment).expect("the segment");
    bytes
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1)
}

fn tampered(disk: &SimDisk, segment: &Path, change: impl FnOnce(&mut Vec<u8>)) -> SimDisk {
    let copy = disk.after_crash(Unsynced::Kept);
    copy.tamper(segment, change);
    copy
}

fn views(store: &dyn Store) -> Vec<JobView> {
    let mut views: Vec<JobView> = all_rows(store, &JobFilter::default(), 50)
        .iter()
        .map(|row| wait(store.job(row.id)).expect("a view").expect("the job"))
        .collect();
    views.reverse();
    views
}

#[test]
fn a_log_cut_at_any_byte_opens_with_the_longest_sound_part() {
    let (stage, disk, ids, segment) = small_log(6);
    let all = views(&*stage.moved_to(&disk.after_crash(Unsynced::Kept)).open());
    let mut seen = 0;
    for cut in 0..used(&disk, &segment) {
        let copy = tampered(&disk, &segment, |bytes| bytes.truncate(cut));
        let stage = stage.moved_to(&copy);
        let store = stage.open();
        let left = views(&*store);
        assert_eq!(left, all[..left.len()], "cut at {cut}");
        assert!(left.len() >= seen && left.len() <= seen + 1, "cut at {cut}");
        seen = left.len();
        let torn = wait(store.stats()).expect("stats").torn_tail_bytes;
        let kept: u64 = copy
            .files()
            .iter()
            .filter(|path| path.to_string_lossy().contains("torn-"))
            .map(|path| copy.bytes(path).map_or(0, |bytes| bytes.len() as u64))
            .sum();
        assert_eq!(kept, torn, "cut at {cut}: what is cut is copied aside");
        // New work goes where the tail was, and the log is whole again.
        let next = enqueue(&*store, "page").expect("enqueued");
        drop(store);
        let store = stage.open();
        assert_eq!(views(&*store).len(), seen + 1);
        assert_eq!(state(&*store, next), Some(State::Available));
    }
    assert_eq!(seen, ids.len() - 1);
}

#[test]
fn a_flipped_bit_never_changes_a_record_and_hides_none_but_the_last() {
    let (stage, disk, ids, segment) = small_log(5);
    let all = views(&*stage.moved_to(&disk.after_crash(Unsynced::Kept)).open());
    let (mut cut, mut refused) = (0, 0);
    // One bit of each byte, or with `SANDHOG_LONG=1` each bit.
    let every = std::env::var_os("SANDHOG_LONG").is_some_and(|value| value == "1");
    let bits = |byte| if every { 0..8 } else { byte % 8..byte % 8 + 1 };
    let all_bits =
        (0..used(&disk, &segment)).flat_map(|byte| bits(byte).map(move |bit| (byte, bit)));
    for (byte, bit) in all_bits {
        let copy = tampered(&disk, &segment, |bytes| bytes[byte] ^= 1 << bit);
        let before = copy.bytes(&segment);
        match stage.moved_to(&copy).try_open() {
            Ok(store) => {
                let left = views(&*store);
                assert_eq!(left, all[..left.len()], "byte {byte} bit {bit}");
                assert!(
                    left.len() + 1 >= ids.len(),
                    "byte {byte} hid an acknowledged job"
                );
                cut += 1;
            }
            Err(OpenError::Damaged { path, offset, .. }) => {
                assert_eq!(path, segment);
                assert!(offset <= byte as u64, "byte {byte}, told {offset}");
                assert_eq!(copy.bytes(&segment), before, "a refused log is left alone");
                refused += 1;
            }
            Err(other) => panic!("byte {byte} bit {bit}: {other}"),
        }
    }
    assert!(cut > 100 && refused > 500, "cut {cut}, refused {refused}");
}

#[test]
fn tails_of_zeros_rubbish_and_old_records_are_told_apart() {
    let (stage, disk, ids, segment) = small_log(4);
    let end = used(&disk, &segment);
    let bytes = disk.bytes(&segment).expect("the segment");
    let old_record = bytes[48..48 + 200].to_vec();
    let tails: [(&str, Vec<u8>, bool); 5] = [
        ("zeros", vec![0; 4096], false),
        ("ones", vec![0xFF; 700], true),
        ("an old record", old_record, true),
        ("half a length", vec![7, 0], true),
        ("a wild length", vec![0xFF, 0xFF, 0xFF, 0x7F, 1, 2, 3], true),
    ];
    for (name, tail, is_torn) in tails {
        let copy = tampered(&disk, &segment, |bytes| {
            bytes.truncate(end);
            bytes.extend_from_slice(&tail);
        });
        let store = stage.moved_to(&copy).open();
        assert_eq!(views(&*store).len(), ids.len(), "{name}");
        let torn = wait(store.stats()).expect("stats").torn_tail_bytes;
        assert_eq!(torn > 0, is_torn, "{name}: {torn} bytes");
    }
}

#[test]
fn a_missing_or_foreign_segment_is_refused() {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    for _ in 0..80 {
        enqueue(&*store, "photo").expect("enqueued");
    }
    wait(store.close()).expect("closed");
    let files = segments(&disk);
    assert!(files.len() > 2, "{files:?}");
    for (named, change) in [
        (
            1,
            Box::new(|bytes: &mut Vec<u8>| bytes.truncate(1000)) as Box<dyn FnOnce(&mut Vec<u8>)>,
        ),
        (1, Box::new(|bytes: &mut Vec<u8>| bytes[20] ^= 1)),
        (0, Box::new(|bytes: &mut Vec<u8>| bytes.clear())),
    ] {
        let copy = tampered(&disk, &files[named], change);
        match stage.moved_to(&copy).try_open() {
            Err(OpenError::Damaged { path, .. }) => {
                assert!(path == files[named] || path == files[named + 1], "{path:?}");
            }
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("opened without {:?}", files[named]),
        }
    }
    // A segment of another log, put in place of a later one.
    let (_, other, _, segment) = small_log(3);
    let foreign = other.bytes(&segment).expect("the segment");
    let copy = tampered(&disk, &files[1], |bytes| *bytes = foreign);
    assert!(matches!(
        stage.moved_to(&copy).try_open(),
        Err(OpenError::Damaged { offset: 0, .. })
    ));
}

#[test]
fn the_check_names_file_offset_and_jobs_and_changes_nothing() {
    let (stage, disk, ids, segment) = small_log(5);
    let data = &stage.options.data;
    let on = |disk: &SimDisk| stage.moved_to(disk).options.disk;
    let report = check_on(&on(&disk), data).expect("checked");
    assert_eq!(report.verdict, Verdict::Sound);
    assert_eq!((report.records, report.jobs), (5, 5));
    assert_eq!(report.holder, None);

    let mut places = Vec::new();
    dump_on(&*on(&disk), data, None, |record| {
        places.push((
            record.id.expect("a job"),
            record.offset as usize,
            record.bytes as usize,
        ));
        std::ops::ControlFlow::Continue(())
    })
    .expect("dumped");
    assert_eq!(places.iter().map(|place| place.0).collect::<Vec<_>>(), ids);

    let (_, offset, length) = places[1];
    let copy = tampered(&disk, &segment, |bytes| bytes[offset + length - 1] ^= 4);
    let before = copy.ops();
    let report = check_on(&on(&copy), data).expect("checked");
    assert_eq!(report.verdict, Verdict::Damaged);
    let last = report.segments.last().expect("a segment");
    assert_eq!((&last.file, last.offset), (&segment, Some(offset as u64)));
    assert_eq!(report.affected.jobs, ids[2..]);
    assert_eq!(copy.ops(), before, "a check writes nothing");

    let torn = tampered(&disk, &segment, |bytes| bytes.truncate(places[4].1 + 30));
    let report = check_on(&on(&torn), data).expect("checked");
    assert_eq!(report.verdict, Verdict::TornTail);
    // While a runner holds the directory the same bytes are a record on its way.
    let _lock = on(&torn).try_lock(&data.join("LOCK")).expect("locked");
    let report = check_on(&on(&torn), data).expect("checked");
    assert_eq!(report.verdict, Verdict::BeingWritten);
}

#[test]
fn a_check_needs_no_right_to_write_and_says_what_a_repair_would_keep() {
    let (stage, disk, ids, segment) = small_log(5);
    let data = &stage.options.data;
    for lock in ["LOCK", "dead/LOCK"] {
        disk.remove(&data.join(lock)).expect("removed");
    }
    disk.tamper(&segment, |bytes| bytes[48 + 30] ^= 4);
    let (files, ops) = (disk.files(), disk.ops());
    let report = check_on(&stage.options.disk, data).expect("checked");
    assert_eq!((disk.files(), disk.ops()), (files, ops), "nothing is made");
    assert_eq!(report.verdict, Verdict::Damaged);
    let [hole] = &report.holes[..] else {
        panic!("{:?}", report.holes);
    };
    assert_eq!(
        (&hole.file, hole.offset, hole.records),
        (&segment, 48, Some(1))
    );
    assert_eq!(report.affected.jobs, ids[1..]);
    assert!(report.fates.is_empty(), "the one it was about is not known");
}

#[test]
fn several_logs_are_checked_together_and_dumped_one_by_one() {
    let (stage, disk, ids, segment) = small_log(3);
    let (other, theirs) = {
        let disk = SimDisk::default();
        let store = stage.moved_to(&disk).open();
        let id = enqueue(&*store, "page").expect("enqueued");
        (disk, id)
    };
    let path = segments(&other).remove(0);
    let dir = path.parent().expect("a directory");
    disk.create_dir(dir).expect("made");
    let file = disk.open(&path, OpenMode::Create).expect("made");
    file.write_at(0, &other.bytes(&path).expect("a segment"))
        .expect("written");
    let data = &stage.options.data;
    let report = check_on(&stage.options.disk, data).expect("checked");
    assert_eq!((report.verdict, report.logs.len()), (Verdict::Sound, 2));
    assert_eq!(
        (report.records, report.jobs, report.segments.len()),
        (4, 4, 2)
    );

    let dump = |log: Option<&str>| {
        let mut dumped = Vec::new();
        dump_of(&disk, data, log, None, |record| {
            dumped.extend(record.ids);
            std::ops::ControlFlow::Continue(())
        })
        .map(|()| dumped)
    };
    let name = |path: &Path| {
        let dir = path.parent().and_then(Path::file_name);
        dir.expect("a name").to_string_lossy().into_owned()
    };
    let Err(error @ CheckError::SeveralLogs { .. }) = dump(None) else {
        panic!("dumped one of two logs");
    };
    assert!(error.to_string().contains(&name(&path)), "{error}");
    assert_eq!(dump(Some(&name(&path))).expect("dumped"), [theirs]);
    assert_eq!(dump(Some(&name(&segment))).expect("dumped"), ids);
    assert!(matches!(
        dump(Some("none")),
        Err(CheckError::NoSuchLog { .. })
    ));
    // Damage in one of them is found beside the other.
    disk.tamper(&path, |bytes| bytes[20] ^= 1);
    let report = check_on(&stage.options.disk, data).expect("checked");
    assert_eq!((report.verdict, report.jobs), (Verdict::Damaged, 3));
    assert_eq!(report.holes[0].file, path);
}

#[test]
fn a_check_names_the_jobs_whose_letters_are_damaged() {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    for _ in 0..2 {
        enqueue(&*store, "photo").expect("enqueued");
        let leased = claim_one(&*store, "photo");
        settle(&*store, &leased, permanent()).expect("settled");
    }
    let dead = super::stage::dead_ids(&*store);
    wait(store.close()).expect("closed");
    let data = &stage.options.data;
    disk.tamper(&data.join("dead/letters"), |bytes| bytes[48 + 30] ^= 1);
    let report = check_on(&stage.options.disk, data).expect("checked");
    assert_eq!(report.verdict, Verdict::LettersDamaged);
    assert_eq!(report.missing_letters, [dead[1].min(dead[0])]);
}

#[test]
fn a_claim_of_which_a_job_cannot_be_read_is_as_full_as_it_was() {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    for _ in 0..3 {
        enqueue(&*store, "photo").expect("enqueued");
    }
    let segment = segments(&disk).remove(0);
    disk.tamper(&segment, |bytes| bytes[48 + 25] ^= 1);
    let claimed = [2, 2].map(|max| {
        let kinds = vec!["photo".to_owned()];
        let claimed = wait(store.claim(ClaimRequest { kinds, max })).expect("claimed");
        (claimed.jobs.len(), claimed.is_full)
    });
    assert_eq!(claimed, [(1, true), (1, false)]);
}

#[test]
fn a_record_that_rots_while_running_spoils_one_row_only() {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    let ids: Vec<JobId> = (0..3)
        .map(|_| enqueue(&*store, "photo").expect("enqueued"))
        .collect();
    let leased = claim_one(&*store, "photo");
    settle(&*store, &leased, completed()).expect("settled");
    let leased = claim_one(&*store, "photo");
    settle(&*store, &leased, permanent()).expect("settled");
    let segment = segments(&disk).remove(0);
    disk.tamper(&segment, |bytes| bytes[48 + 25] ^= 1);
    let rows = all_rows(&*store, &JobFilter::default(), 10);
    assert_eq!(rows.len(), 3);
    let spoilt: Vec<JobId> = rows
        .iter()
        .filter(|row| {
            let failure = row.failure.as_ref();
            failure.is_some_and(|failure| failure.cause.contains("damaged at byte 48"))
        })
        .map(|row| row.id)
        .collect();
    assert_eq!(spoilt, [ids[0]]);
    assert!(wait(store.job(ids[0])).is_err());
    assert!(wait(store.job(ids[1])).is_ok());
}
