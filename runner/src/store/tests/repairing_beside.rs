//! A repair of dead letters, of a log beside another, and on a real disk.

use std::path::PathBuf;

use sandhog_model::Rejected;

use super::{
    merging::{all_bytes, log_dir},
    repairing::{damaged_log, long_log, views},
    stage::{Stage, dead_ids, enqueue, wait},
};
use crate::{
    disk::{
        Disk, OpenMode,
        sim::{SimDisk, Unsynced},
    },
    store::{
        Store,
        wal::{OpenError, RepairError, RepairReport, WalOptions, open, repair},
    },
};

#[test]
fn damaged_letters_are_kept_aside_and_written_again_from_the_log() {
    let (stage, disk) = long_log();
    let before = dead_ids(&*stage.moved_to(&disk.after_crash(Unsynced::Kept)).open());
    assert!(!before.is_empty());
    let letters = PathBuf::from("/data/dead/letters");
    for at in [48 + 30, 20, 0] {
        let copy = disk.after_crash(Unsynced::Kept);
        copy.tamper(&letters, |bytes| bytes[at] ^= 1);
        let damaged = copy.bytes(&letters).expect("letters");
        let on = stage.moved_to(&copy);
        let was = all_bytes(&copy);
        let dry = repair(&on.options, true).expect("looked").letters;
        assert!(dry.is_some(), "{at}");
        assert_eq!(all_bytes(&copy), was, "{at}");
        let mended = repair(&on.options, false).expect("repaired").letters;
        let mended = mended.expect("letters were damaged");
        assert_eq!(copy.bytes(&mended.kept), Some(damaged), "{at}");
        assert_eq!(
            repair(&on.options, false).expect("looked"),
            RepairReport::default()
        );
        assert_eq!(dead_ids(&*on.open()), before, "{at}");
    }
    disk.tamper(&letters, |bytes| bytes[8] = 99);
    assert!(matches!(
        repair(&stage.options, false),
        Err(RepairError::Dead(_))
    ));
}

#[test]
fn a_damaged_log_is_repaired_beside_a_sound_one() {
    let (stage, disk, before) = damaged_log();
    let other = SimDisk::default();
    let store = stage.moved_to(&other).open();
    let theirs = enqueue(&*store, "photo").expect("enqueued");
    drop(store);
    let dir = log_dir(&other);
    disk.create_dir(&dir).expect("made");
    for name in other.list(&dir).expect("listed") {
        let bytes = other.bytes(&dir.join(&name)).expect("a file");
        let file = disk.open(&dir.join(&name), OpenMode::Create).expect("made");
        file.write_at(0, &bytes).expect("written");
    }
    assert!(matches!(stage.try_open(), Err(OpenError::Damaged { .. })));
    let report = repair(&stage.options, false).expect("repaired");
    assert_eq!(report.logs.len(), 1);
    let store = stage.open();
    let after = views(&*store);
    assert!(after.contains_key(&theirs));
    assert!(
        after.len() + 1 >= before.len(),
        "{} of {}",
        after.len(),
        before.len()
    );
    let nobody = sandhog_model::Token(1);
    let late = wait(store.checkpoint(theirs, nobody, Vec::new()));
    assert!(matches!(
        late,
        Err(crate::store::StoreError::Rejected(Rejected::Fenced { .. }))
    ));
}

#[test]
fn a_repair_and_a_take_over_do_the_same_on_a_real_disk() {
    let stage = Stage::real();
    let store = stage.open();
    let ours = enqueue(&*store, "photo").expect("enqueued");
    drop(store);
    let other = Stage::real();
    let there = WalOptions {
        data: other.options.data.clone(),
        ..stage.options.clone()
    };
    let store = open(there.clone()).expect("opened");
    let theirs = [0; 3].map(|_| enqueue(&*store, "page").expect("enqueued"));
    drop(store);
    let logs = there.data.join("logs");
    let name = there.disk.list(&logs).expect("listed").remove(0);
    let moved = stage.options.data.join("logs").join(&name);
    std::fs::rename(logs.join(&name), &moved).expect("moved");
    let segment = moved.join("0000000001.seg");
    let mut bytes = std::fs::read(&segment).expect("read");
    bytes[48 + 40] ^= 1;
    std::fs::write(&segment, bytes).expect("written");
    let Err(error) = stage.try_open() else {
        panic!("opened a damaged log");
    };
    assert!(error.to_string().contains("sandhog log check"), "{error}");
    let report = repair(&stage.options, false).expect("repaired");
    assert_eq!((report.logs.len(), report.logs[0].jobs), (1, 2));
    let store = stage.open();
    let after = views(&*store);
    assert_eq!(after.len(), 3);
    assert!(after.contains_key(&ours) && after.contains_key(&theirs[2]));
    let logs = stage.options.data.join("logs");
    assert_eq!(std::fs::read_dir(logs).expect("listed").count(), 1);
}
