//! Opening a log whose first segments are gone: as they may be, or as they may not.

use std::path::{Path, PathBuf};

use sandhog_model::{JobId, State};

use super::{
    compact::{churn, segments, settle_down, views},
    stage::{Stage, enqueue, state, wait},
};
use crate::{
    disk::{
        OpenMode,
        sim::{SimDisk, Unsynced},
    },
    store::{
        Store,
        wal::{OpenError, Verdict, check_on},
    },
};

/// A log of which the first segments were removed, and the disk as it was before that.
fn trimmed() -> (Stage, SimDisk, SimDisk, Vec<JobId>) {
    let (mut stage, disk) = Stage::sim();
    let store = stage.open();
    let ids = settle_down(&*store);
    churn(&*store, 60);
    wait(store.close()).expect("closed");
    let before = disk.after_crash(Unsynced::Dropped);
    stage.options.max_ended = Some(2);
    let store = stage.open();
    store.compacted();
    wait(store.close()).expect("closed");
    (stage, disk, before, ids)
}

/// Put a file of another disk back.
fn put_back(disk: &SimDisk, from: &SimDisk, path: &Path) {
    use crate::disk::Disk;
    let file = disk.open(path, OpenMode::Replace).expect("made");
    file.write_at(0, &from.bytes(path).expect("the file"))
        .expect("written");
    file.sync().expect("synced");
    disk.sync_dir(path.parent().expect("a directory"))
        .expect("synced");
}

#[test]
fn removals_of_which_a_crash_kept_any_part_are_finished() {
    let (stage, disk, before, ids) = trimmed();
    let left = segments(&disk);
    let gone: Vec<PathBuf> = segments(&before)
        .into_iter()
        .filter(|path| !left.contains(path))
        .collect();
    // The last one was written to after the copy was made.
    let gone = &gone[..gone.len().min(segments(&before).len() - 1)];
    assert!(gone.len() >= 4, "{gone:?}");
    let expected = views(&*stage.open(), &ids);
    for kept in 0..1 << gone.len().min(8) {
        let copy = disk.after_crash(Unsynced::Kept);
        for (at, path) in gone.iter().enumerate() {
            if kept >> at & 1 == 1 {
                put_back(&copy, &before, path);
            }
        }
        let here = stage.moved_to(&copy);
        let report = check_on(&here.options.disk, &here.options.data).expect("a check");
        assert_eq!(report.verdict, Verdict::Sound, "{kept:b}: {report:?}");
        let store = here.open();
        assert_eq!(views(&*store, &ids), expected, "{kept:b}");
        store.compacted();
        for path in gone {
            assert!(
                copy.bytes(path).is_none(),
                "{kept:b}: {path:?} is still there"
            );
        }
    }
}

#[test]
fn a_missing_segment_is_named_and_nothing_changes() {
    let (stage, disk, before, _) = trimmed();
    let left = segments(&disk);
    // The whole log without its first segments, and nothing that says it may be.
    let numbers: Vec<usize> = (0..segments(&before).len() - 1).collect();
    for lost in numbers {
        let copy = before.after_crash(Unsynced::Kept);
        let path = &segments(&before)[lost];
        stage
            .moved_to(&copy)
            .options
            .disk
            .remove(path)
            .expect("removed");
        let files = copy.files().len();
        let here = stage.moved_to(&copy);
        let number = lost as u32 + 1;
        match here.try_open() {
            Err(OpenError::Missing(missing)) => {
                assert_eq!((missing.first, missing.last), (number, number));
                assert!(
                    missing.to_string().contains(&format!("segment {number},")),
                    "{missing}"
                );
            }
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("opened without {path:?}"),
        }
        assert_eq!(copy.files().len(), files, "nothing was changed");
        let report = check_on(&here.options.disk, &here.options.data).expect("a check");
        assert_eq!(report.verdict, Verdict::Damaged);
        let why = report.segments[0].why.as_deref().unwrap_or_default();
        assert!(why.contains(&format!("segment {number},")), "{why}");
    }
    // The first that a trimmed log needs.
    if left.len() > 1 {
        let copy = disk.after_crash(Unsynced::Kept);
        stage
            .moved_to(&copy)
            .options
            .disk
            .remove(&left[0])
            .expect("removed");
        assert!(matches!(
            stage.moved_to(&copy).try_open(),
            Err(OpenError::Missing(_))
        ));
    }
}

#[test]
fn a_segment_of_an_older_format_is_read_and_not_appended_to() {
    use sandhog_model::codec::{HeaderVerdict, SegmentHeader};
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    // So many that nothing is to be compacted.
    let ids: Vec<JobId> = (0..15)
        .map(|_| enqueue(&*store, "photo").expect("enqueued"))
        .collect();
    wait(store.close()).expect("closed");
    let first = segments(&disk).remove(0);
    disk.tamper(&first, |bytes| {
        let HeaderVerdict::Good(header) = SegmentHeader::decode(bytes) else {
            panic!("no header");
        };
        let older = SegmentHeader {
            format: 1,
            ..header
        };
        bytes[..48].copy_from_slice(&older.encode());
    });
    let before = disk.bytes(&first);
    let store = stage.open();
    assert_eq!(segments(&disk).len(), 1, "nothing to write yet");
    let later = enqueue(&*store, "photo").expect("enqueued");
    assert!(disk.bytes(&first) == before, "nothing was appended");
    assert_eq!(segments(&disk).len(), 2);
    drop(store);
    let store = stage.open();
    for id in ids.into_iter().chain([later]) {
        assert_eq!(state(&*store, id), Some(State::Available));
    }
}
