//! A full disk: new work is refused, outcomes and letters find room, and nothing has to be restarted.

use sandhog_model::{JobId, State};

use super::stage::{
    Stage, claim, claim_one, completed, enqueue, failed, permanent, settle, state, wait,
};
use crate::{
    disk::sim::Unsynced,
    store::{Inspect, Store, StoreError},
};

/// Enqueue until the disk is full.
fn fill(store: &dyn Store) -> (Vec<JobId>, String) {
    let mut acknowledged = Vec::new();
    loop {
        match enqueue(store, "photo") {
            Ok(id) => acknowledged.push(id),
            Err(error @ StoreError::Full { .. }) => return (acknowledged, error.to_string()),
            Err(other) => panic!("{other}"),
        }
        assert!(acknowledged.len() < 1000, "the disk never got full");
    }
}

#[test]
fn a_full_disk_refuses_new_work_and_still_takes_outcomes() {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    enqueue(&*store, "page").expect("enqueued");
    let leased = claim_one(&*store, "page");
    disk.limit(disk.used() + 9000);
    let (acknowledged, told) = fill(&*store);
    assert!(told.contains("/data/logs/"), "{told}");
    assert!(told.contains("MiB needed (`store.segment_size`)"), "{told}");
    assert!(!acknowledged.is_empty());
    let many = vec![
        super::stage::job(store.mint(), "photo"),
        super::stage::job(store.mint(), "photo"),
    ];
    assert!(matches!(
        wait(store.enqueue(many)),
        Err(StoreError::Full { .. })
    ));
    let done = settle(&*store, &leased, completed()).expect("outcomes have a reserve");
    assert_eq!(done, State::Completed);
    let mut settled = Vec::new();
    for _ in 0..3 {
        let leased = claim_one(&*store, "photo");
        settle(&*store, &leased, completed()).expect("outcomes have a reserve");
        settled.push(leased.job.id);
    }
    disk.heal();
    stage.clock.pass(600);
    let late = enqueue(&*store, "photo").expect("room again, without a restart");
    drop(store);
    let store = stage.moved_to(&disk.after_crash(Unsynced::Dropped)).open();
    for id in acknowledged.iter().chain([&late]) {
        let expected = if settled.contains(id) {
            State::Completed
        } else {
            State::Available
        };
        assert_eq!(state(&*store, *id), Some(expected));
    }
}

#[test]
fn letters_have_room_on_a_full_disk_and_without_any_the_job_is_not_buried() {
    let (mut stage, disk) = Stage::sim();
    stage.options.segment_bytes = 16 << 10;
    let store = stage.open();
    let ids: Vec<JobId> = (0..60)
        .map(|_| enqueue(&*store, "photo").expect("enqueued"))
        .collect();
    let leased = claim(&*store, &["photo"], 60).expect("claimed");
    disk.limit(disk.used());
    let mut buried = 0;
    let refused = loop {
        match settle(&*store, &leased[buried], permanent()) {
            Ok(state) => assert_eq!(state, State::Dead),
            Err(refused) => break refused,
        }
        buried += 1;
    };
    assert!(buried > 0, "no room was kept for letters");
    assert!(
        matches!(&refused, StoreError::Full { path, .. } if path.contains("letters")),
        "{refused:?}"
    );
    assert_eq!(
        state(&*store, ids[buried]),
        Some(State::Running),
        "nothing changed"
    );
    let settled = settle(&*store, &leased[59], completed());
    assert_eq!(settled.expect("no letter is needed"), State::Completed);

    disk.heal();
    stage.clock.pass(600);
    let dead = settle(&*store, &leased[buried], permanent()).expect("the lease still holds");
    assert_eq!(dead, State::Dead);
    drop(store);
    let store = stage.moved_to(&disk.after_crash(Unsynced::Dropped)).open();
    for id in &ids[..=buried] {
        assert_eq!(state(&*store, *id), Some(State::Dead));
    }
    let letters = wait(store.stats()).expect("stats").dead_letters;
    assert_eq!(letters, buried as u64 + 1);
}

/// Whether a wish was refused for want of room.
fn is_full<T>(answer: &Result<T, StoreError>) -> bool {
    matches!(answer, Err(StoreError::Full { .. }))
}

#[test]
fn what_is_left_goes_to_new_work_then_to_leases_and_last_to_outcomes() {
    let (mut stage, disk) = Stage::sim();
    stage.options.segment_bytes = 16 << 10;
    let store = stage.open();
    for _ in 0..10 {
        enqueue(&*store, "page").expect("enqueued");
    }
    let running = claim(&*store, &["page"], 8).expect("claimed");
    disk.limit(disk.used());
    let (acknowledged, _) = fill(&*store);
    assert!(acknowledged.len() > 20, "refused with room left");
    let checkpoint = wait(store.checkpoint(running[0].job.id, running[0].token, vec![1; 100]));
    assert!(is_full(&checkpoint), "{checkpoint:?}");
    // Leases go on until only outcomes have room.
    let mut settled = 0;
    let refused = loop {
        match claim(&*store, &["photo"], 1) {
            Ok(leased) => settle(&*store, &leased[0], failed()).expect("outcomes have room"),
            Err(refused) => break refused,
        };
        settled += 1;
    };
    assert!(settled > 2, "no job could be leased");
    assert!(is_full::<()>(&Err(refused)));
    for leased in &running[1..] {
        settle(&*store, leased, completed()).expect("outcomes have room");
    }
    drop(store);
    let store = stage.moved_to(&disk.after_crash(Unsynced::Dropped)).open();
    for id in acknowledged {
        assert!(state(&*store, id).is_some());
    }
    for leased in &running[1..] {
        assert_eq!(state(&*store, leased.job.id), Some(State::Completed));
    }
}

#[test]
fn a_full_disk_is_asked_for_room_twice_a_second_at_most() {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    disk.limit(disk.used() + 9000);
    fill(&*store);
    let ops = disk.ops();
    for _ in 0..1000 {
        assert!(is_full(&enqueue(&*store, "photo")));
        stage.clock.pass(1);
    }
    let asked = disk.ops() - ops;
    // A try opens the file, writes and removes it.
    assert!((1..=9).contains(&asked), "{asked} operations in a second");
}

#[test]
fn a_report_on_many_is_told_again_whole_when_the_disk_is_full() {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    for _ in 0..8 {
        enqueue(&*store, "photo").expect("enqueued");
    }
    let leased = claim(&*store, &["photo"], 8).expect("claimed");
    disk.limit(disk.used());
    let reports = || {
        let report = |leased| super::stage::report(leased, permanent(), Vec::new());
        leased.iter().map(report).collect()
    };
    let refused = wait(store.settle(reports()));
    assert!(is_full(&refused), "{refused:?}");
    disk.heal();
    stage.clock.pass(600);
    wait(store.settle(reports())).expect("told again");
    for leased in &leased {
        assert_eq!(state(&*store, leased.job.id), Some(State::Dead));
    }
}
