//! Compaction: the log stays small, every job stays as it was, and nobody who reads meanwhile sees
//! anything of it.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use sandhog_model::{Amend, Job, JobId, State, UnixMs};

use super::stage::{
    START, Stage, all_rows, amend, child, claim, claim_one, completed, enqueue, enqueue_job,
    failed, job, permanent, report, settle, settle_with, state, wait,
};
use crate::{
    disk::sim::SimDisk,
    store::{Inspect, JobFilter, JobView, Store, StoreStats, wal::Wal},
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

pub(super) fn segments(disk: &SimDisk) -> Vec<PathBuf> {
    let mut files = log_files(disk);
    files.retain(|path| path.extension().is_some_and(|ending| ending == "seg"));
    files
}

fn log_bytes(disk: &SimDisk) -> u64 {
    let len = |path: &PathBuf| disk.bytes(path).map_or(0, |bytes| bytes.len() as u64);
    log_files(disk).iter().map(len).sum()
}

/// Jobs with a past: one that waits ten years, one tried before with a checkpoint, one dead, one
/// that was dead and waits again, one that an attempt enqueued.
pub(super) fn settle_down(store: &dyn Store) -> Vec<JobId> {
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
    enqueue(store, "parent").expect("enqueued");
    let leased = claim_one(store, "parent");
    let born = Job {
        kind: "born".to_owned(),
        ..child(store, &leased)
    };
    let id = born.id;
    settle_with(store, &leased, completed(), vec![born]).expect("settled");
    vec![delayed, tried, dead, back, id]
}

pub(super) fn views(store: &dyn Store, ids: &[JobId]) -> Vec<JobView> {
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
    assert!(told.pruned_jobs == 19_999, "{told:?}");
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
    let ids = settle_down(&*store);
    let done = AtomicBool::new(false);
    let rounds = thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut rounds = 0;
                    while !done.load(Ordering::SeqCst) {
                        rounds += 1;
                        for id in &ids {
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
