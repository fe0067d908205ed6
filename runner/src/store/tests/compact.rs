//! Compaction: the log stays small, every job stays as it was, and nobody who reads meanwhile sees
//! anything of it.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use sandhog_model::{Amend, Job, JobId, State, UnixMs};

use super::stage::{
    START, Stage, all_rows, amend, claim, claim_one, completed, enqueue, enqueue_job, failed, job,
    permanent, report, settle, state, wait,
};
use crate::{
    disk::{
        OpenMode,
        sim::{SimDisk, Unsynced},
    },
    store::{
        Inspect, JobFilter, JobView, Store, StoreStats,
        wal::{OpenError, Verdict, Wal, check_on},
    },
};

const TEN_YEARS_MS: u64 = 315_576_000_000;

/// A stage that forgets what ended, so that its records become garbage.
pub(super) fn forgetful() -> (Stage, SimDisk) {
    let (mut stage, disk) = Stage::sim();
    stage.options.max_ended = Some(2);
    (stage, disk)
}

/// So many jobs from their beginning to their end, in batches.
pub(super) fn churn(store: &dyn Store, jobs: usize) {
    let mut left = jobs;
    while left > 0 {
        let batch = left.min(100);
        left -= batch;
        let new = (0..batch).map(|_| job(store.mint(), "short")).collect();
        for answer in wait(store.enqueue(new)).expect("enqueued") {
            answer.expect("accepted");
        }
        let leased = claim(store, &["short"], batch).expect("claimed");
        assert_eq!(leased.len(), batch);
        let reports = leased
            .iter()
            .map(|job| report(job, completed(), Vec::new()));
        for answer in wait(store.settle(reports.collect())).expect("settled") {
            assert_eq!(answer, Ok(State::Completed));
        }
    }
}

pub(super) fn stats(store: &dyn Store) -> StoreStats {
    wait(store.stats()).expect("stats")
}

pub(super) fn view(store: &dyn Store, id: JobId) -> JobView {
    wait(store.job(id)).expect("a view").expect("the job")
}

pub(super) fn log_files(disk: &SimDisk) -> Vec<PathBuf> {
    let mut files = disk.files();
    files.retain(|path| path.to_string_lossy().contains("/logs/"));
    files
}

fn segments(disk: &SimDisk) -> Vec<PathBuf> {
    let mut files = log_files(disk);
    files.retain(|path| path.extension().is_some_and(|ending| ending == "seg"));
    files
}

fn log_bytes(disk: &SimDisk) -> u64 {
    let len = |path: &PathBuf| disk.bytes(path).map_or(0, |bytes| bytes.len() as u64);
    log_files(disk).iter().map(len).sum()
}

/// Jobs with a past: one that waits ten years, one tried before with a checkpoint, one dead, one
/// that was dead and waits again.
fn settle_down(store: &dyn Store) -> Vec<JobId> {
    let delayed = Job {
        due: UnixMs(START + TEN_YEARS_MS),
        payload: vec![7; 900],
        ..job(store.mint(), "slow")
    };
    let delayed = enqueue_job(store, delayed).expect("enqueued");
    let tried = enqueue(store, "tried").expect("enqueued");
    let leased = claim_one(store, "tried");
    let kept = wait(store.checkpoint(tried, leased.token, b"half-way".to_vec()));
    kept.expect("kept");
    settle(store, &leased, failed()).expect("settled");
    let dead = enqueue(store, "grave").expect("enqueued");
    settle(store, &claim_one(store, "grave"), permanent()).expect("settled");
    let back = enqueue(store, "grave").expect("enqueued");
    settle(store, &claim_one(store, "grave"), permanent()).expect("settled");
    amend(store, Amend::Requeue(back)).expect("requeued");
    vec![delayed, tried, dead, back]
}

fn views(store: &dyn Store, ids: &[JobId]) -> Vec<JobView> {
    ids.iter().map(|id| view(store, *id)).collect()
}

#[test]
fn one_job_delayed_ten_years_keeps_no_garbage_of_twenty_thousand_short_ones() {
    let (mut stage, disk) = forgetful();
    stage.options.segment_bytes = 64 << 10;
    let store = stage.open();
    let ids = settle_down(&*store);
    let before = views(&*store, &ids);
    churn(&*store, 20_000);
    store.compacted();
    let told = stats(&*store);
    let live = told.live_bytes;
    assert!(live > 1000, "{told:?}");
    assert!(told.freed_segments > 100, "{told:?}");
    assert!(told.pruned_jobs == 19_998, "{told:?}");
    let bytes = log_bytes(&disk);
    assert!(
        bytes <= 10 * live + 2 * stage.options.segment_bytes,
        "{bytes} bytes on disk, {live} needed"
    );
    assert_eq!(views(&*store, &ids), before);
    // What an attempt gets, and a letter, are whole as well.
    stage.clock.pass(1000);
    let leased = claim_one(&*store, "tried");
    assert_eq!(leased.checkpoint.as_deref(), Some(&b"half-way"[..]));
    assert_eq!(leased.attempt, 2);
    drop(store);
    let letters = PathBuf::from("/data/dead/letters");
    let letter = |store: &Wal| wait(store.letter(ids[2])).expect("read").expect("a letter");
    let store = stage.open();
    let written = letter(&store);
    assert_eq!(views(&*store, &ids)[2..], before[2..]);
    drop(store);
    stage.options.disk.remove(&letters).expect("removed");
    assert_eq!(letter(&stage.open()), written, "rebuilt from the log");
}

#[test]
fn jobs_that_all_wait_are_not_written_again_and_again() {
    let (stage, _) = forgetful();
    let store = stage.open();
    for _ in 0..300 {
        enqueue(&*store, "photo").expect("enqueued");
    }
    store.compacted();
    let told = stats(&*store);
    assert_eq!((told.appended, told.freed_segments), (300, 0), "{told:?}");
    assert!(told.segments > 10, "{told:?}");
}

#[test]
fn what_is_written_anew_is_less_than_what_is_written_once() {
    let (stage, _) = forgetful();
    let store = stage.open();
    let cold: Vec<JobId> = (0..100)
        .map(|_| enqueue(&*store, "cold").expect("enqueued"))
        .collect();
    churn(&*store, 3000);
    store.compacted();
    let told = stats(&*store);
    assert!(told.freed_segments > 200, "{told:?}");
    assert!(told.log_bytes <= 4 * told.live_bytes + 8192, "{told:?}");
    // Each short job is accepted, leased and settled; a hundred at once are forgotten.
    let wished = 100 + 3 * 3000 + 30;
    assert!(told.appended > wished, "{told:?}");
    assert!(told.appended < wished * 2, "{told:?}");
    drop(store);
    let store = stage.open();
    for id in cold {
        assert_eq!(state(&*store, id), Some(State::Available));
    }
}

#[test]
fn a_lease_keeps_its_age_and_its_right_when_its_job_is_written_anew() {
    let (stage, _) = forgetful();
    let store = stage.open();
    let (kept, lost) = ("kept", "lost");
    enqueue(&*store, kept).expect("enqueued");
    enqueue(&*store, lost).expect("enqueued");
    let kept = claim_one(&*store, kept);
    let lost = claim_one(&*store, lost);
    stage.clock.pass(600);
    churn(&*store, 200);
    store.compacted();
    assert!(stats(&*store).freed_segments > 5);
    stage.clock.pass(300);
    assert_eq!(
        settle(&*store, &kept, completed()).ok(),
        Some(State::Completed)
    );
    stage.clock.pass(200);
    assert_eq!(wait(store.sweep()).expect("swept"), 1, "1100 ms is too old");
    assert!(settle(&*store, &lost, completed()).is_err());
}

#[test]
fn a_record_larger_than_a_segment_goes_as_well() {
    let (stage, disk) = forgetful();
    let store = stage.open();
    for round in 0..4 {
        let large = Job {
            payload: vec![1; 30_000],
            ..job(store.mint(), "large")
        };
        let id = enqueue_job(&*store, large).expect("enqueued");
        churn(&*store, 30 * round);
        store.compacted();
        assert_eq!(view(&*store, id).job.payload.len(), 30_000);
        settle(&*store, &claim_one(&*store, "large"), completed()).expect("settled");
        churn(&*store, 2);
        store.compacted();
        let (bytes, live) = (log_bytes(&disk), stats(&*store).live_bytes);
        assert!(
            bytes <= 10 * live + 2 * 4096,
            "{bytes} bytes, {live} needed"
        );
    }
}

#[test]
fn readers_see_nothing_of_a_compaction() {
    let (stage, _) = forgetful();
    let store = stage.open();
    let parent = enqueue(&*store, "parent").expect("enqueued");
    let ids = settle_down(&*store);
    let done = AtomicBool::new(false);
    let rounds = thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut rounds = 0;
                    while !done.load(Ordering::SeqCst) {
                        rounds += 1;
                        for id in ids.iter().chain([&parent]) {
                            view(&*store, *id);
                        }
                        for row in all_rows(&*store, &JobFilter::default(), 50) {
                            let cause = row
                                .failure
                                .map_or_else(String::new, |failure| failure.cause);
                            assert!(!cause.contains("segment"), "{cause}");
                        }
                        let back = claim(&*store, &["grave"], 1).expect("claimed");
                        for leased in back {
                            settle(&*store, &leased, permanent()).expect("settled");
                            amend(&*store, Amend::Requeue(leased.job.id)).expect("requeued");
                        }
                    }
                    rounds
                })
            })
            .collect();
        churn(&*store, 4000);
        done.store(true, Ordering::SeqCst);
        readers
            .into_iter()
            .map(|reader| reader.join().expect("no reader failed"))
            .sum::<usize>()
    });
    assert!(rounds > 1);
    assert!(stats(&*store).freed_segments > 50);
    assert_eq!(
        state(&*store, ids[3]),
        Some(State::Available),
        "no claim was lost"
    );
}

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
        for path in &gone {
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
        assert_eq!(
            copy.files().len(),
            files + 1,
            "a lock file, and nothing else"
        );
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
