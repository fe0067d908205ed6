//! Several logs in one directory: what each of them said is true afterwards, in one log.

use std::path::{Path, PathBuf};

use sandhog_model::{Amend, Job, JobId, State, UnixMs};

use super::stage::{
    START, Stage, all_rows, amend, claim, claim_one, completed, dead_ids, enqueue, enqueue_job,
    failed, job, permanent, settle, settle_with, state, wait,
};
use crate::{
    disk::{
        Disk, OpenMode, create_dir_durably,
        sim::{SimDisk, Unsynced},
    },
    store::{
        JobFilter, JobView, Store,
        wal::{OpenError, Wal},
    },
};

const YEAR: u64 = 365 * 24 * 3600 * 1000;

/// The only log on a disk.
fn log_dir(disk: &SimDisk) -> PathBuf {
    let mut dirs = log_dirs(disk);
    assert_eq!(dirs.len(), 1, "{dirs:?}");
    dirs.remove(0)
}

fn log_dirs(disk: &SimDisk) -> Vec<PathBuf> {
    let logs = Path::new("/data/logs");
    let names = disk.list(logs).expect("listed");
    names.iter().map(|name| logs.join(name)).collect()
}

/// Put a copy of a log beside those of another disk.
fn copy_log(from: &SimDisk, to: &SimDisk) -> PathBuf {
    let dir = log_dir(from);
    copy_dir(from, &dir, to, &dir);
    dir
}

fn copy_dir(from: &SimDisk, dir: &Path, to: &SimDisk, named: &Path) {
    create_dir_durably(to, named).expect("made");
    for name in from.list(dir).expect("listed") {
        let bytes = from.bytes(&dir.join(&name)).expect("a file");
        let file = to.open(&named.join(&name), OpenMode::Replace);
        let file = file.expect("opened");
        file.write_at(0, &bytes).expect("written");
        file.sync().expect("synced");
    }
    to.sync_dir(named).expect("synced");
}

fn view(store: &dyn Store, id: JobId) -> JobView {
    wait(store.job(id)).expect("a view").expect("the job")
}

fn taken(store: &dyn Store) -> (u64, u64) {
    let stats = wait(store.stats()).expect("stats");
    (stats.merged_logs, stats.merged_jobs)
}

/// Jobs of a log in every state.
struct Lives {
    waiting: JobId,
    later: JobId,
    retrying: JobId,
    running: sandhog_model::Token,
    running_id: JobId,
    completed: JobId,
    child: JobId,
    dead: JobId,
}

/// Enqueue and run jobs until each state has one; the last is left running.
fn live(store: &dyn Store, kind: &str) -> Lives {
    let [completed_id, dead, retrying, running_id] =
        [0; 4].map(|_| enqueue(store, kind).expect("enqueued"));
    let leased = claim_one(store, kind);
    assert_eq!(leased.job.id, completed_id);
    let child = Job {
        parent: Some(completed_id),
        ..job(store.mint(), "child")
    };
    let child_id = child.id;
    settle_with(store, &leased, completed(), vec![child]).expect("settled");
    let leased = claim_one(store, kind);
    settle(store, &leased, permanent()).expect("settled");
    let leased = claim_one(store, kind);
    wait(store.checkpoint(leased.job.id, leased.token, vec![7; 40])).expect("kept");
    settle(store, &leased, failed()).expect("settled");
    let leased = claim_one(store, kind);
    assert_eq!(leased.job.id, running_id);
    let later = Job {
        due: UnixMs(START + 10 * YEAR),
        ..job(store.mint(), kind)
    };
    Lives {
        waiting: enqueue(store, "other").expect("enqueued"),
        later: enqueue_job(store, later).expect("enqueued"),
        retrying,
        running: leased.token,
        running_id,
        completed: completed_id,
        child: child_id,
        dead,
    }
}

/// A disk whose process was killed in the middle of everything, and what it knew.
fn crashed_log(stage: &Stage) -> (SimDisk, Lives, Vec<JobView>) {
    let disk = SimDisk::default();
    let there = stage.moved_to(&disk);
    let store = there.open();
    let lives = live(&*store, "photo");
    let views = all_rows(&*store, &JobFilter::default(), 50)
        .iter()
        .map(|row| view(&*store, row.id))
        .collect();
    let left = disk.after_crash(Unsynced::Kept);
    drop(store);
    (left, lives, views)
}

/// A log of a job that was enqueued later than all others.
fn later_log(stage: &Stage) -> JobId {
    stage.clock.pass(5);
    let store = stage.open();
    let id = enqueue(&*store, "page").expect("enqueued");
    wait(store.close()).expect("closed");
    id
}

/// Every job of `views` is as it was; the one that ran waits again, once lost.
fn assert_taken_over(store: &dyn Store, lives: &Lives, views: &[JobView]) {
    for was in views {
        let is = view(store, was.job.id);
        assert_eq!(
            (&is.job, &is.attempts, &is.output, &is.children, &is.failure),
            (
                &was.job,
                &was.attempts,
                &was.output,
                &was.children,
                &was.failure
            )
        );
        if was.job.id == lives.running_id {
            assert_eq!((is.row.state, is.losses), (State::Available, 1));
        } else {
            assert_eq!((is.row, is.losses), (was.row.clone(), was.losses));
        }
    }
    assert!(dead_ids(store).contains(&lives.dead));
    let letter = wait(store.letter(lives.dead)).expect("read");
    assert_eq!(letter.expect("a letter").attempts.len(), 1);
}

#[test]
fn a_log_of_a_dead_machine_is_taken_over_with_all_it_knew() {
    let (stage, disk) = Stage::sim();
    let (dead_machine, lives, views) = crashed_log(&stage);
    let ours = later_log(&stage);
    let theirs = copy_log(&dead_machine, &disk);

    let store = stage.open();
    assert_eq!(taken(&*store), (1, views.len() as u64));
    assert_taken_over(&*store, &lives, &views);
    assert_eq!(state(&*store, ours), Some(State::Available));
    assert!(!log_dirs(&disk).contains(&theirs), "the other is gone");
    // The dead machine comes back and reports: its lease is of the past.
    let leased = claim(&*store, &["photo"], 1).expect("claimed").remove(0);
    assert_eq!(leased.job.id, lives.running_id);
    assert!(leased.token > lives.running);
    let late = sandhog_model::Token(lives.running.0);
    let mut report = super::stage::report(&leased, completed(), Vec::new());
    (report.token, report.attempt.token) = (late, late);
    let answers = wait(store.settle(vec![report])).expect("answered");
    assert!(matches!(
        answers[..],
        [Err(sandhog_model::Rejected::Fenced { .. })]
    ));
    settle(&*store, &leased, completed()).expect("settled");
    // The checkpoint came along.
    stage.clock.pass(60_000);
    let leased = claim_one(&*store, "photo");
    assert_eq!(leased.job.id, lives.retrying);
    assert_eq!(leased.checkpoint, Some(vec![7; 40]));
    assert_eq!(leased.attempt, 2);
    drop(store);

    let store = stage.open();
    assert_eq!(taken(&*store), (0, 0), "once");
    assert_eq!(state(&*store, lives.completed), Some(State::Completed));
    assert_eq!(state(&*store, lives.child), Some(State::Available));
    assert_eq!(state(&*store, lives.waiting), Some(State::Available));
    assert_eq!(state(&*store, lives.later), Some(State::Scheduled));
}

#[test]
fn a_restored_backup_runs_nothing_again_that_ended_since() {
    let (stage, disk) = Stage::sim();
    let (backup, lives, _) = crashed_log(&stage);
    later_log(&stage);
    copy_log(&backup, &disk);
    let store = stage.open();
    stage.clock.pass(60_000);
    for leased in claim(&*store, &["photo", "other"], 10).expect("claimed") {
        settle(&*store, &leased, completed()).expect("settled");
    }
    amend(&*store, Amend::Delete(lives.dead)).expect("deleted");
    let before = all_rows(&*store, &JobFilter::default(), 50);
    drop(store);

    copy_log(&backup, &disk);
    let store = stage.open();
    assert_eq!(taken(&*store), (1, 0));
    assert_eq!(all_rows(&*store, &JobFilter::default(), 50), before);
    assert_eq!(state(&*store, lives.dead), None);
    assert!(dead_ids(&*store).is_empty());
    assert!(
        claim(&*store, &["photo", "other"], 10)
            .expect("claimed")
            .is_empty()
    );
    log_dir(&disk);
}

#[test]
fn the_later_lease_counts_for_a_job_that_both_know() {
    let (stage, disk) = Stage::sim();
    let (backup, lives, _) = crashed_log(&stage);
    // The same jobs went on in two places.
    let apart = SimDisk::default();
    for disk in [&disk, &apart] {
        later_log(&stage.moved_to(disk));
        copy_log(&backup, disk);
        drop(stage.moved_to(disk).open());
    }
    let store = stage.moved_to(&apart).open();
    let leased = claim_one(&*store, "photo");
    assert_eq!(leased.job.id, lives.running_id);
    settle(&*store, &leased, completed()).expect("settled");
    drop(store);
    later_log(&stage);

    copy_log(&apart, &disk);
    let store = stage.open();
    // The one that ran there, and the one that was only known there.
    assert_eq!(taken(&*store), (1, 2));
    assert_eq!(state(&*store, lives.running_id), Some(State::Completed));
    assert_eq!(view(&*store, lives.running_id).attempts.len(), 1);
    assert_eq!(state(&*store, lives.waiting), Some(State::Available));
}

#[test]
fn three_logs_at_once_and_a_clock_set_back_a_year() {
    let (stage, disk) = Stage::sim();
    let mut others = Vec::new();
    for ahead in [YEAR, 0, YEAR / 2] {
        stage.clock.pass(ahead);
        others.push(crashed_log(&stage));
        stage.clock.set_back(ahead);
    }
    let mut largest = (JobId(0), sandhog_model::Token(0));
    for (other, lives, views) in &others {
        copy_log(other, &disk);
        let id = views.iter().map(|view| view.job.id).max().expect("jobs");
        largest = (largest.0.max(id), largest.1.max(lives.running));
    }
    let dirs = log_dirs(&disk);
    assert_eq!(dirs.len(), 3);
    let store = stage.open();
    assert_eq!(taken(&*store).0, 2);
    let rows = all_rows(&*store, &JobFilter::default(), 5);
    assert_eq!(
        rows.len(),
        others.iter().map(|other| other.2.len()).sum::<usize>()
    );
    assert_eq!(dead_ids(&*store).len(), 3);
    // The one with the largest id, of a clock that was ahead, went on.
    let (future, ..) = &others[0];
    assert_eq!(log_dir(&disk), log_dir(future));
    for _ in 0..3 {
        let id = enqueue(&*store, "page").expect("enqueued");
        assert!(id > largest.0, "{id} goes back");
        let leased = claim_one(&*store, "page");
        assert!(leased.token > largest.1);
        largest = (id, leased.token);
    }
    drop(store);
    let store = stage.open();
    assert!(enqueue(&*store, "page").expect("enqueued") > largest.0);
}

#[test]
fn a_damaged_log_beside_a_sound_one_refuses_the_start() {
    let (stage, disk) = Stage::sim();
    drop(live_and_close(&stage));
    for ours_is_older in [true, false] {
        let other = SimDisk::default();
        if ours_is_older {
            stage.clock.pass(5);
        }
        drop(live_and_close(&stage.moved_to(&other)));
        let both = disk.after_crash(Unsynced::Kept);
        let damaged = copy_log(&other, &both).join("0000000001.seg");
        both.tamper(&damaged, |bytes| bytes[100] ^= 1);
        let before = all_bytes(&both);
        match stage.moved_to(&both).try_open() {
            Err(OpenError::Damaged { path, offset, .. }) => {
                assert_eq!((path, offset), (damaged, 48));
            }
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("opened"),
        }
        assert_eq!(all_bytes(&both), before, "nothing was changed");
    }
}

fn live_and_close(stage: &Stage) -> std::sync::Arc<Wal> {
    let store = stage.open();
    live(&*store, "photo");
    wait(store.close()).expect("closed");
    store
}

/// Every file but those that name a holder.
fn all_bytes(disk: &SimDisk) -> Vec<(PathBuf, Vec<u8>)> {
    let files = disk.files();
    files
        .into_iter()
        .filter(|path| !path.ends_with("LOCK"))
        .map(|path| (path.clone(), disk.bytes(&path).expect("a file")))
        .collect()
}

#[test]
fn a_log_under_another_name_is_refused_and_told() {
    let (stage, disk) = Stage::sim();
    drop(live_and_close(&stage));
    let dir = log_dir(&disk);
    let name = dir
        .file_name()
        .expect("named")
        .to_string_lossy()
        .into_owned();
    for other in ["backup", "00000000000000000000000000000001"] {
        let copy = disk.after_crash(Unsynced::Kept);
        let path = dir.with_file_name(other);
        copy_dir(&disk, &dir, &copy, &path);
        let before = all_bytes(&copy);
        let Err(OpenError::Misplaced(told)) = stage.moved_to(&copy).try_open() else {
            panic!("opened beside {other}");
        };
        assert_eq!((&told.path, &told.log), (&path, &name));
        assert!(told.is_copy);
        assert!(told.to_string().contains("move this copy out"), "{told}");
        assert_eq!(all_bytes(&copy), before);

        let renamed = disk.after_crash(Unsynced::Kept);
        renamed.rename(&dir, &path).expect("renamed");
        let Err(OpenError::Misplaced(told)) = stage.moved_to(&renamed).try_open() else {
            panic!("opened {other} as an empty directory");
        };
        assert!(!told.is_copy);
        assert!(told.to_string().contains("give it that name"), "{told}");
    }
}

#[test]
fn what_is_no_log_is_left_alone_and_empty_ones_are_removed() {
    let (stage, disk) = Stage::sim();
    drop(live_and_close(&stage));
    let dir = log_dir(&disk);
    let note = dir.with_file_name("README");
    let empty = dir.with_file_name("00000000000000000000000000000001");
    let full = dir.with_file_name("00000000000000000000000000000002");
    for path in [&note, &full.join("torn-0000000001-48.bin")] {
        create_dir_durably(&disk, path.parent().expect("a directory")).expect("made");
        let file = disk.open(path, OpenMode::Create).expect("made");
        file.write_at(0, b"kept").expect("written");
    }
    create_dir_durably(&disk, &empty).expect("made");
    let store = stage.open();
    assert_eq!(taken(&*store), (0, 0));
    assert_eq!(all_rows(&*store, &JobFilter::default(), 50).len(), 7);
    let mut left = vec![dir, note, full.clone()];
    left.sort();
    assert_eq!(log_dirs(&disk), left);
    assert_eq!(disk.list(&full).expect("listed").len(), 1);
}

/// Open two logs with a crash at an operation. The disk as the killed process saw it, and whether
/// it got that far.
fn crashed_take_over(both: &SimDisk, stage: &Stage, at: u64) -> (SimDisk, bool) {
    let disk = both.after_crash(Unsynced::Kept);
    disk.kill_at(at);
    drop(stage.moved_to(&disk).try_open());
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
        if !reached {
            break;
        }
        at += 1;
    }
    assert!(at > 30, "too short to tell: {at} operations");
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
