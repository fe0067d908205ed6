//! Who may open a directory, and what an open makes.

use std::{os::unix::fs::PermissionsExt, time::Instant};

use super::stage::{Stage, claim_one, enqueue, job, state, wait};
use crate::{
    disk::{OpenMode, sim::SimDisk},
    store::{
        Inspect, Store, StoreError,
        lock::LockError,
        wal::{CheckError, Durability, OpenError, check},
    },
};
use sandhog_model::State;

#[test]
fn a_second_owner_is_refused_within_a_second_and_told_the_holder() {
    for stage in [Stage::real(), Stage::sim().0] {
        let store = stage.open();
        let before = Instant::now();
        let Err(OpenError::Locked(LockError::Held { holder, path })) = stage.try_open() else {
            panic!("two owners of one directory");
        };
        assert!(
            before.elapsed().as_millis() < 1000,
            "{:?}",
            before.elapsed()
        );
        let holder = holder.expect("the lock file names its holder");
        assert_eq!(holder.pid, std::process::id());
        assert_eq!(holder.command, "a test");
        assert_eq!(path, stage.options.data.join("LOCK"));
        drop(store);
        stage.open();
    }
}

#[test]
fn the_data_directory_is_the_owners_alone() {
    let stage = Stage::real();
    let store = stage.open();
    let data = &stage.options.data;
    assert_eq!(check(data).expect("a log without a record").records, 0);
    let mode = |path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(data.clone()), 0o700);
    assert_eq!(mode(data.join("LOCK")), 0o600);
    enqueue(&*store, "photo").expect("enqueued");
    let report = check(data).expect("a check beside a runner");
    assert_eq!(report.records, 1);
    let holder = report.holder.expect("the runner is named");
    assert_eq!(holder.pid, std::process::id());
}

#[test]
fn a_directory_without_a_log_is_told_so() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    assert!(matches!(
        check(dir.path()),
        Err(CheckError::NoLog { data }) if data == dir.path()
    ));
}

#[test]
fn an_empty_log_opens_again() {
    let (stage, _) = Stage::sim();
    drop(stage.open());
    let store = stage.open();
    let id = enqueue(&*store, "photo").expect("enqueued");
    drop(store);
    assert_eq!(state(&*stage.open(), id), Some(State::Available));
}

#[test]
fn options_out_of_range_are_refused() {
    let (mut stage, _) = Stage::sim();
    stage.options.segment_bytes = 100;
    assert!(matches!(stage.try_open(), Err(OpenError::Options(why)) if why.contains("1024")));
}

#[test]
fn durabilities_read_back_and_bad_ones_are_refused() {
    for text in ["commit", "none", "interval:100ms", "interval:1ms"] {
        assert_eq!(
            text.parse::<Durability>().expect("parsed").to_string(),
            text
        );
    }
    for text in [
        "",
        "Commit",
        "interval:",
        "interval:0ms",
        "interval:70000ms",
        "interval:5",
    ] {
        assert!(text.parse::<Durability>().is_err(), "{text:?}");
    }
}

#[test]
fn a_setting_without_syncs_still_survives_a_killed_process() {
    let disk = SimDisk::default();
    let mut stage = Stage::on_sim(&disk);
    for durability in [Durability::None, Durability::Interval(60_000)] {
        stage.options.durability = durability;
        let store = stage.open();
        let syncs = wait(store.stats()).expect("stats").syncs;
        let id = enqueue(&*store, "photo").expect("enqueued");
        claim_one(&*store, "photo");
        let stats = wait(store.stats()).expect("stats");
        assert_eq!(stats.syncs, syncs, "{durability}: answered without a sync");
        let left = disk.after_crash(crate::disk::sim::Unsynced::Kept);
        assert_eq!(
            state(&*stage.moved_to(&left).open(), id),
            Some(State::Available)
        );
    }
}

#[test]
fn an_interval_syncs_by_itself() {
    let (mut stage, disk) = Stage::sim();
    stage.options.durability = Durability::Interval(1);
    let store = stage.open();
    let id = enqueue(&*store, "photo").expect("enqueued");
    let patience = Instant::now();
    loop {
        let left = disk.after_crash(crate::disk::sim::Unsynced::Dropped);
        if state(&*stage.moved_to(&left).open(), id).is_some() {
            break;
        }
        assert!(patience.elapsed().as_secs() < 10, "never synced");
    }
}

#[test]
fn a_full_mailbox_is_told_as_busy() {
    // Wishes are handed over without waiting for an answer, faster than one thread drains them.
    let (mut stage, _) = Stage::sim();
    stage.options.mailbox = 1;
    let store = stage.open();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        for _ in 0..2000 {
            let mut enqueued = store.enqueue(vec![job(store.mint(), "photo")]);
            let polled = std::future::poll_fn(|context| {
                std::task::Poll::Ready(enqueued.as_mut().poll(context))
            })
            .await;
            if let std::task::Poll::Ready(Err(StoreError::Busy { waiting })) = polled {
                assert_eq!(waiting, 1);
                return;
            }
        }
        panic!("two thousand wishes at once, and none was too many");
    });
}

#[test]
fn a_directory_in_place_of_a_file_is_named() {
    let stage = Stage::real();
    drop(stage.open());
    let letters = stage.options.data.join("dead").join("letters");
    std::fs::remove_file(&letters).expect("removed");
    std::fs::create_dir(&letters).expect("made");
    let Err(error) = stage.try_open() else {
        panic!("opened a directory as a file");
    };
    assert!(error.to_string().contains("letters"), "{error}");
    assert!(stage.options.disk.open(&letters, OpenMode::Read).is_err());
}
