//! A repair keeps every job that the damage is not about, names those it is about, and throws
//! nothing away.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use sandhog_model::{Amend, Asked, JobId, State};

use super::{
    merging::{all_bytes, live, log_dir, log_dirs},
    stage::{
        Stage, all_rows, amend, call_off, claim, claim_one, completed, dead_ids, enqueue, failed,
        settle, wait,
    },
};
use crate::{
    disk::{
        Disk,
        sim::{SimDisk, Unsynced},
    },
    store::{
        JobFilter, JobView, Store,
        lock::LockError,
        wal::{Fate, OpenError, RepairError, RepairReport, repair},
    },
};

/// A log of several segments with jobs in every state.
pub(super) fn long_log() -> (Stage, SimDisk) {
    let (mut stage, disk) = Stage::sim();
    stage.options.segment_bytes = 2048;
    let store = stage.open();
    for kind in ["photo", "page", "table"] {
        let lives = live(&*store, kind);
        stage.clock.pass(2000);
        wait(store.sweep()).expect("swept");
        let leased = claim(&*store, &[kind], 1).expect("claimed");
        settle(&*store, &leased[0], completed()).expect("settled");
        amend(&*store, Amend::Retry(lives.later)).expect("hastened");
        let waits = enqueue(&*store, "off").expect("enqueued");
        call_off(&*store, waits, Asked::Cancel).expect("called off");
        let runs = enqueue(&*store, "off").expect("enqueued");
        let leased = claim_one(&*store, "off");
        call_off(&*store, runs, Asked::Cancel).expect("called off");
        settle(&*store, &leased, failed()).expect("settled");
        if kind == "page" {
            amend(&*store, Amend::Requeue(lives.dead)).expect("requeued");
        }
        if kind == "table" {
            amend(&*store, Amend::Delete(lives.dead)).expect("deleted");
        }
    }
    let runs = enqueue(&*store, "off").expect("enqueued");
    claim_one(&*store, "off");
    call_off(&*store, runs, Asked::Kill).expect("called off");
    wait(store.close()).expect("closed");
    assert!(segments(&disk).len() > 2);
    (stage, disk)
}

fn segments(disk: &SimDisk) -> Vec<PathBuf> {
    let mut files = disk.files();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "seg"));
    files
}

fn used(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1)
}

pub(super) fn views(store: &dyn Store) -> BTreeMap<JobId, JobView> {
    all_rows(store, &JobFilter::default(), 100)
        .iter()
        .map(|row| {
            (
                row.id,
                wait(store.job(row.id)).expect("a view").expect("the job"),
            )
        })
        .collect()
}

fn sound_views(stage: &Stage, disk: &SimDisk) -> BTreeMap<JobId, JobView> {
    views(&*stage.moved_to(&disk.after_crash(Unsynced::Kept)).open())
}

/// Repair the only log of a disk, open it and compare it with what it was before the damage.
fn assert_repaired(
    stage: &Stage,
    disk: &SimDisk,
    before: &BTreeMap<JobId, JobView>,
    damage: &str,
) -> RepairReport {
    let stage = stage.moved_to(disk);
    let damaged = log_dir(disk);
    let report = repair(&stage.options, false);
    let report = report.unwrap_or_else(|error| panic!("{damage}: {error}"));
    let [log] = &report.logs[..] else {
        panic!("{damage}: {report:?}");
    };
    assert_eq!(log.log, damaged, "{damage}");
    assert_ne!(log_dir(disk), damaged, "{damage}");
    assert!(
        !disk.list(&log.kept).expect("listed").is_empty(),
        "{damage}"
    );
    let affected: BTreeMap<JobId, Fate> = log.affected.iter().copied().collect();
    let lost_records: Option<u64> = log.holes.iter().map(|hole| hole.records).sum();
    let store = match stage.try_open() {
        Ok(store) => store,
        Err(error) => panic!("{damage}: {error}"),
    };
    let after = views(&*store);
    let mut unnamed = 0;
    for (id, was) in before {
        let Some(is) = after.get(id) else {
            if affected.get(id) != Some(&Fate::Lost) {
                // Nothing that is left knows its id.
                unnamed += 1;
            }
            continue;
        };
        if !affected.contains_key(id) {
            assert_eq!(is, was, "{damage}: {id} is not among {affected:?}");
        }
        assert_eq!(is.job, was.job, "{damage}");
        if was.row.state == State::Completed && is.row.state != State::Completed {
            assert_eq!(affected.get(id), Some(&Fate::Uncertain), "{damage}: {id}");
        }
    }
    assert!(
        lost_records.is_none_or(|lost| unnamed <= lost),
        "{damage}: {unnamed} lost unnamed"
    );
    for id in after.keys() {
        assert!(
            before.contains_key(id) || affected.contains_key(id),
            "{damage}: {id} is back"
        );
    }
    let dead: BTreeSet<JobId> = after
        .iter()
        .filter(|(_, view)| view.row.state == State::Dead)
        .map(|(id, _)| *id)
        .collect();
    let letters: BTreeSet<JobId> = dead_ids(&*store).into_iter().collect();
    assert!(letters.is_superset(&dead), "{damage}");
    assert_goes_on(&*store, before, damage);
    drop(store);
    let again = repair(&stage.options, false).expect("looked");
    assert_eq!(
        again,
        RepairReport::default(),
        "{damage}: nothing is left to repair"
    );
    report
}

/// New ids are larger than all before.
fn assert_goes_on(store: &dyn Store, before: &BTreeMap<JobId, JobView>, damage: &str) {
    let next = enqueue(store, "next").expect("enqueued");
    assert!(before.keys().all(|id| *id < next), "{damage}");
}

#[test]
fn a_flip_anywhere_costs_no_job_but_those_it_names() {
    let (stage, disk) = long_log();
    let before = sound_views(&stage, &disk);
    let (mut repaired, mut fates) = (0, BTreeSet::new());
    for segment in segments(&disk) {
        let bytes = disk.bytes(&segment).expect("a segment");
        for at in (0..used(&bytes)).step_by(53) {
            let copy = disk.after_crash(Unsynced::Kept);
            copy.tamper(&segment, |bytes| bytes[at] ^= 0x10);
            let damage = format!("{} at {at}", segment.display());
            match stage.moved_to(&copy.after_crash(Unsynced::Kept)).try_open() {
                // The last record of all, which nothing behind it vouches for.
                Ok(_) => continue,
                Err(OpenError::Damaged { .. }) => {}
                Err(error) => panic!("{damage}: {error}"),
            }
            let report = assert_repaired(&stage, &copy, &before, &damage);
            fates.extend(report.logs[0].affected.iter().map(|(_, fate)| *fate));
            repaired += 1;
        }
    }
    assert!(repaired > 80, "{repaired} places");
    assert_eq!(fates.len(), 3, "{fates:?}");
}

#[test]
fn lost_zeroed_and_headless_segments_are_repaired() {
    let (stage, disk) = long_log();
    let before = sound_views(&stage, &disk);
    let files = segments(&disk);
    for (name, change) in [
        ("a header", (|bytes| bytes[20] ^= 1) as fn(&mut Vec<u8>)),
        ("zeros", |bytes| bytes.fill(0)),
        ("cut", |bytes| bytes.truncate(700)),
        ("emptied", Vec::clear),
        ("rubbish", |bytes| bytes.fill(0x41)),
    ] {
        for file in &files[..files.len() - 1] {
            let copy = disk.after_crash(Unsynced::Kept);
            copy.tamper(file, change);
            let damage = format!("{name} in {}", file.display());
            let report = assert_repaired(&stage, &copy, &before, &damage);
            if name == "a header" {
                assert_eq!(report.logs[0].holes[0].records, Some(0), "{damage}");
                assert!(report.logs[0].affected.is_empty(), "{damage}");
            }
        }
    }
    for file in &files[..files.len() - 1] {
        let copy = disk.after_crash(Unsynced::Kept);
        copy.remove(file).expect("removed");
        let report = assert_repaired(&stage, &copy, &before, "a segment is missing");
        let hole = &report.logs[0].holes[0];
        assert_eq!((&hole.file, hole.bytes), (file, 0));
        assert!(hole.records.is_some_and(|lost| lost > 3));
    }
}

/// The log with a flip in the middle of its second segment.
pub(super) fn damaged_log() -> (Stage, SimDisk, BTreeMap<JobId, JobView>) {
    let (stage, disk) = long_log();
    let before = sound_views(&stage, &disk);
    disk.tamper(&segments(&disk)[1], |bytes| bytes[600] ^= 1);
    (stage, disk, before)
}

#[test]
fn nothing_is_thrown_away_and_the_list_names_it() {
    let (stage, disk, before) = damaged_log();
    let was = all_bytes(&disk);
    let dry = repair(&stage.options, true).expect("looked");
    assert_eq!(all_bytes(&disk), was, "a dry run changes nothing");
    let report = assert_repaired(&stage, &disk, &before, "one flip");
    assert_eq!(dry, report);
    let log = &report.logs[0];
    for (path, bytes) in was {
        if let Ok(name) = path.strip_prefix(&log.log) {
            assert_eq!(disk.bytes(&log.kept.join(name)), Some(bytes), "{name:?}");
        }
    }
    let list = disk.bytes(&log.list).expect("the list");
    let list = String::from_utf8(list).expect("text");
    let lines: Vec<serde_json::Value> = list
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let of = |key: &str| lines.iter().filter(|line| !line[key].is_null()).count();
    assert_eq!(of("removed"), log.holes.len());
    assert_eq!(of("job"), log.affected.len());
    assert_eq!(of("unused") as u64, log.unused);
    assert_eq!(lines[0]["removed"]["records"], 1);
    assert!(log.kept.starts_with("/data") && log.list.starts_with("/data"));
}

#[test]
fn a_sound_log_a_torn_one_and_none_at_all_need_no_repair() {
    let (stage, disk) = long_log();
    let was = all_bytes(&disk);
    let nothing = RepairReport::default();
    assert_eq!(repair(&stage.options, false).expect("looked"), nothing);
    let last = segments(&disk).pop().expect("a segment");
    disk.tamper(&last, |bytes| {
        let end = used(bytes);
        bytes[end - 1] ^= 1;
    });
    assert_eq!(repair(&stage.options, false).expect("looked"), nothing);
    assert_eq!(all_bytes(&disk).len(), was.len());
    let (empty, _) = Stage::sim();
    assert!(matches!(
        repair(&empty.options, false),
        Err(RepairError::NoLog(_))
    ));
}

#[test]
fn a_living_runner_and_a_newer_format_refuse_a_repair() {
    let (stage, disk, _) = damaged_log();
    let _lock = disk.try_lock(Path::new("/data/LOCK")).expect("locked");
    for dry_run in [true, false] {
        let refused = repair(&stage.options, dry_run);
        assert!(matches!(
            refused,
            Err(RepairError::Locked(LockError::Held { .. }))
        ));
    }
    drop(_lock);
    let newer = segments(&disk).pop().expect("a segment");
    disk.tamper(&newer, |bytes| bytes[8] = 99);
    let was = all_bytes(&disk);
    let refused = repair(&stage.options, false);
    let Err(RepairError::Newer { path, found: 99 }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(path, newer);
    assert_eq!(all_bytes(&disk), was);
}

#[test]
fn a_full_disk_refuses_a_repair_and_changes_nothing() {
    let (stage, disk, before) = damaged_log();
    for room in [0, 100, 2500, 5000] {
        let was = all_bytes(&disk);
        disk.limit(disk.used() + room);
        let refused = repair(&stage.options, false);
        disk.heal();
        match refused {
            Err(RepairError::Disk(error)) if error.is_full() => {}
            other => panic!("{room}: {other:?}"),
        }
        assert_eq!(all_bytes(&disk), was, "{room}");
    }
    assert_repaired(&stage, &disk, &before, "with room again");
}

#[test]
fn a_crash_at_any_operation_of_a_repair_is_put_right_by_the_next() {
    let (stage, disk, _) = damaged_log();
    let whole = disk.after_crash(Unsynced::Kept);
    repair(&stage.moved_to(&whole).options, false).expect("repaired");
    let expected = views(&*stage.moved_to(&whole).open());
    let mut at = 1;
    loop {
        let copy = disk.after_crash(Unsynced::Kept);
        copy.kill_at(at);
        let _ = repair(&stage.moved_to(&copy).options, false);
        let ways = [Unsynced::Dropped, Unsynced::Kept, Unsynced::BySector(at)];
        for unsynced in ways {
            let crash = format!("operation {at}, unsynced {unsynced:?}");
            let left = copy.after_crash(unsynced);
            let again = stage.moved_to(&left);
            // Until it is repaired a runner refuses it, or finds it done.
            if let Ok(store) = stage.moved_to(&left.after_crash(Unsynced::Kept)).try_open() {
                assert_eq!(views(&*store), expected, "{crash}");
            }
            if let Err(error) = repair(&again.options, false) {
                panic!("{crash}: {error}");
            }
            assert_eq!(views(&*again.open()), expected, "{crash}");
            assert_eq!(log_dirs(&left).len(), 1, "{crash}");
            let kept = left.list(Path::new("/data")).expect("listed");
            let kept = kept
                .iter()
                .filter(|name| name.starts_with("damaged-"))
                .count();
            assert_eq!(kept, 2, "{crash}");
        }
        if !copy.is_killed() {
            break;
        }
        at += 1;
    }
    assert!(at > 15, "too short to tell: {at} operations");
}
