//! A take-over that is cut short, by a crash or a full disk, and what is kept of a torn log.

use super::{
    merging::{assert_taken_over, copy_log, crashed_log, later_log, log_dir, log_dirs},
    stage::{Stage, all_rows, enqueue, state},
};
use crate::{
    disk::{
        Disk, OpenMode,
        sim::{SimDisk, Unsynced},
    },
    store::{JobFilter, wal::Durability},
};
use sandhog_model::State;

/// Open two logs with a crash at an operation. The disk as the killed process saw it, and whether
/// it got that far.
fn crashed_take_over(both: &SimDisk, stage: &Stage, at: u64) -> (SimDisk, bool) {
    let disk = both.after_crash(Unsynced::Kept);
    disk.kill_at(at);
    let mut stage = stage.moved_to(&disk);
    // Whatever the setting: no record is left where only the system's memory has it.
    if at.is_multiple_of(2) {
        stage.options.durability = Durability::None;
    }
    drop(stage.try_open());
    let reached = disk.is_killed();
    (disk, reached)
}

#[test]
fn a_crash_at_any_operation_of_a_take_over_ends_the_same() {
    let (stage, both) = Stage::sim();
    let others = [crashed_log(&stage), crashed_log(&stage)];
    let ours = later_log(&stage);
    for (other, ..) in &others {
        copy_log(other, &both);
    }
    let known = 1 + others.iter().map(|other| other.2.len()).sum::<usize>();
    let mut at = 1;
    loop {
        let (disk, reached) = crashed_take_over(&both, &stage, at);
        let mut ways = vec![Unsynced::Dropped, Unsynced::Kept];
        ways.extend((0..6).map(|seed| Unsynced::BySector(at * 100 + seed)));
        for unsynced in ways {
            let crash = format!("operation {at}, unsynced {unsynced:?}");
            let left = disk.after_crash(unsynced);
            let again = stage.moved_to(&left);
            let store = match again.try_open() {
                Ok(store) => store,
                Err(error) => panic!("{crash}: {error}"),
            };
            for (_, lives, views) in &others {
                assert_taken_over(&*store, lives, views);
            }
            assert_eq!(state(&*store, ours), Some(State::Available), "{crash}");
            let rows = all_rows(&*store, &JobFilter::default(), 50);
            assert_eq!(rows.len(), known, "{crash}");
            log_dir(&left);
            assert!(left.files().len() < 9, "{crash}: {:?}", left.files());
        }
        // Every other operation is tried with each setting.
        if !reached && at % 2 == 1 {
            break;
        }
        at += 1;
    }
    assert!(at > 30, "too short to tell: {at} operations");
}

#[test]
fn what_was_cut_from_a_log_is_kept_when_it_is_taken_over() {
    let (stage, both) = Stage::sim();
    let (other, lives, views) = crashed_log(&stage);
    later_log(&stage);
    let dir = copy_log(&other, &both);
    let segments: Vec<String> = both.list(&dir).expect("listed");
    let last = segments.iter().rfind(|name| name.ends_with(".seg"));
    let last = dir.join(last.expect("a segment"));
    both.tamper(&last, |bytes| {
        let end = bytes.iter().rposition(|byte| *byte != 0).expect("records");
        bytes[end + 1..end + 4].copy_from_slice(&[9, 9, 9]);
    });
    let before = both.open(&dir.join("torn-0000000001-50.bin"), OpenMode::Create);
    before
        .expect("made")
        .write_at(0, b"earlier")
        .expect("written");
    let store = stage.open();
    assert_taken_over(&*store, &lives, &views);
    let files = both.files();
    let kept: Vec<Vec<u8>> = files
        .iter()
        .filter(|path| path.to_string_lossy().contains("-torn-"))
        .filter_map(|path| both.bytes(path))
        .collect();
    assert_eq!(kept, [&[9, 9, 9][..], b"earlier"], "{files:?}");
}

#[test]
fn a_full_disk_refuses_a_take_over_and_loses_nothing() {
    let (stage, both) = Stage::sim();
    let (other, lives, views) = crashed_log(&stage);
    let third = SimDisk::default();
    let store = stage.moved_to(&third).open();
    for _ in 0..40 {
        enqueue(&*store, "third").expect("enqueued");
    }
    drop(store);
    later_log(&stage);
    copy_log(&other, &both);
    copy_log(&third, &both);
    both.limit(both.used() + 2048);
    let Err(error) = stage.try_open() else {
        panic!("no room, and taken over");
    };
    assert!(error.to_string().contains("no room"), "{error}");
    assert_eq!(log_dirs(&both).len(), 3);
    both.heal();
    let store = stage.open();
    assert_taken_over(&*store, &lives, &views);
}
