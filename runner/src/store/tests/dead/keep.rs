//! Which letters are kept: by age, number and bytes.

use std::sync::Arc;

use sandhog_model::{JobId, Letter};

use super::{
    super::stage::{START, Stage, claim_one, dead_ids, enqueue, permanent, settle, state, wait},
    bury, ids, letter, open,
};
use crate::{
    disk::sim::SimDisk,
    store::{Inspect, LetterBounds, PurgeCounts, PurgeReason, Store, dead::DeadStore, wal::Wal},
};

fn kill_one(stage: &Stage, store: &Wal) -> JobId {
    stage.clock.pass(10);
    let id = enqueue(store, "photo").expect("enqueued");
    settle(store, &claim_one(store, "photo"), permanent()).expect("settled");
    id
}

#[test]
fn the_number_keeps_exactly_the_newest_and_counts_what_goes() {
    for keep in [1, 2, 5, 100] {
        let (mut stage, _) = Stage::sim();
        stage.options.letters.max_letters = Some(keep as u64);
        let store = stage.open();
        let mut buried: Vec<JobId> = Vec::new();
        for _ in 0..keep + 4 {
            buried.insert(0, kill_one(&stage, &store));
            let expected = &buried[..buried.len().min(keep)];
            assert_eq!(dead_ids(&*store), expected);
        }
        assert_eq!(state(&*store, buried[keep]), None);
        let stats = wait(store.stats()).expect("stats");
        assert_eq!(stats.purged_letters, 4);
        let expected = PurgeCounts {
            number: 4,
            ..PurgeCounts::default()
        };
        assert_eq!(stats.purged, expected);
        drop(store);
        assert_eq!(dead_ids(&*stage.open()), buried[..keep]);
    }
}

#[test]
fn many_that_die_in_one_batch_are_within_the_number_at_once() {
    for keep in [1, 2] {
        let (mut stage, _) = Stage::sim();
        stage.options.letters.max_letters = Some(keep);
        let store = stage.open();
        for _ in 0..5 {
            enqueue(&*store, "photo").expect("enqueued");
        }
        let leased = super::super::stage::claim(&*store, &["photo"], 5).expect("claimed");
        let reports = leased.iter();
        let reports = reports
            .map(|leased| super::super::stage::report(leased, permanent(), Vec::new()))
            .collect();
        wait(store.settle(reports)).expect("settled");
        assert_eq!(dead_ids(&*store).len() as u64, keep);
    }
}

#[test]
fn the_bytes_keep_as_many_of_the_newest_as_fit() {
    let letters = |count: usize| -> Vec<Letter> {
        let ids = ids(count).into_iter().zip(1..);
        ids.map(|(id, at)| letter(id, at, 100)).collect()
    };
    let store = open(&SimDisk::default());
    bury(&store, &letters(110));
    let one = (store.bytes() - 48) / 110;
    let now = sandhog_model::UnixMs(START);
    for keep in [1, 2, 100] {
        for (more, kept) in [(0, keep), (one - 1, keep), (one, keep + 1)] {
            let bounds = LetterBounds {
                max_bytes: Some(keep * one + more),
                ..LetterBounds::default()
            };
            let against = store.against(&bounds, now, 1000);
            assert_eq!(against.letters.len() as u64, 110 - kept, "{keep} {more}");
            assert!(
                against
                    .letters
                    .iter()
                    .all(|(_, why)| *why == PurgeReason::Bytes)
            );
        }
    }
    let nothing = LetterBounds {
        max_bytes: Some(1),
        ..LetterBounds::default()
    };
    let against = store.against(&nothing, now, 50);
    assert_eq!(
        (against.letters.len(), against.left),
        (50, 59),
        "the newest stays"
    );
}

#[test]
fn the_bytes_are_minded_as_letters_come() {
    let (mut stage, _) = Stage::sim();
    let store = stage.open();
    let first = kill_one(&stage, &store);
    let one = wait(store.stats()).expect("stats").dead_bytes - 48;
    drop(store);
    stage.options.letters.max_bytes = Some(2 * one + one / 2);
    let store = stage.open();
    let (second, third) = (kill_one(&stage, &store), kill_one(&stage, &store));
    assert_eq!(dead_ids(&*store), [third, second]);
    assert_eq!(state(&*store, first), None);
    assert_eq!(wait(store.stats()).expect("stats").purged.bytes, 1);
}

#[test]
fn the_age_is_minded_at_the_start_and_by_the_sweep() {
    let (mut stage, _) = Stage::sim();
    let store = stage.open();
    let mut buried = Vec::new();
    for _ in 0..100 {
        buried.insert(0, kill_one(&stage, &store));
    }
    // The last died 0 ms ago, the one before it 10 ms, and so on.
    drop(store);
    stage.options.letters.keep_ms = Some(500);
    let store = stage.open();
    assert_eq!(dead_ids(&*store), buried[..51]);
    for kept in [2_usize, 1, 0] {
        stage.clock.pass(match kept {
            2 => 490,
            _ => 10,
        });
        assert!(dead_ids(&*store).len() > kept, "nothing goes by itself");
        wait(store.sweep()).expect("swept");
        assert_eq!(dead_ids(&*store), buried[..kept]);
    }
    let stats = wait(store.stats()).expect("stats");
    assert_eq!((stats.purged.age, stats.purged_letters), (100, 100));
}

#[test]
fn everything_is_kept_unless_someone_says_otherwise() {
    let (stage, _) = Stage::sim();
    let store = stage.open();
    let id = kill_one(&stage, &store);
    stage.clock.pass(100 * 365 * 24 * 3_600_000);
    wait(store.sweep()).expect("swept");
    assert_eq!(dead_ids(&*store), [id]);
}

#[test]
fn a_purge_by_hand_names_what_goes_and_a_dry_run_changes_nothing() {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    let buried: Vec<JobId> = (0..5).map(|_| kill_one(&stage, &store)).collect();
    let bounds = LetterBounds {
        max_letters: Some(2),
        ..LetterBounds::default()
    };
    let expected: Vec<_> = buried[..3]
        .iter()
        .map(|id| (*id, PurgeReason::Number))
        .collect();
    let ops = disk.ops();
    let dry = wait(store.purge_dead(bounds, true)).expect("looked");
    assert_eq!((&dry.letters, dry.left), (&expected, 0));
    assert_eq!((disk.ops(), dead_ids(&*store).len()), (ops, 5));
    let done = wait(store.purge_dead(bounds, false)).expect("purged");
    assert_eq!(done, dry);
    assert_eq!(dead_ids(&*store), [buried[4], buried[3]]);
    let again = wait(store.purge_dead(bounds, false)).expect("purged");
    assert!(again.letters.is_empty());
    drop(store);
    assert_eq!(dead_ids(&*stage.open()), [buried[4], buried[3]]);
}

#[test]
fn a_purge_killed_anywhere_is_finished_by_the_next_start() {
    for more in 1.. {
        let (mut stage, disk) = Stage::sim();
        let store = stage.open();
        let buried: Vec<JobId> = (0..4).map(|_| kill_one(&stage, &store)).collect();
        drop(store);
        stage.options.letters.max_letters = Some(1);
        disk.kill_at(disk.ops() + more);
        let opened = stage.try_open().map(|store| wait(store.stats()).is_ok());
        let killed = disk.is_killed();
        assert!(killed || opened.is_ok());
        for unsynced in [
            crate::disk::sim::Unsynced::Dropped,
            crate::disk::sim::Unsynced::Kept,
            crate::disk::sim::Unsynced::BySector(more),
        ] {
            let left = disk.after_crash(unsynced);
            let store = stage.moved_to(&left).open();
            assert_eq!(dead_ids(&*store), [buried[3]], "{more} {unsynced:?}");
            for id in &buried[..3] {
                assert_eq!(state(&*store, *id), None, "{more} {unsynced:?}");
            }
            drop(store);
            let letters = DeadStore::open_to_read(Arc::new(left), &stage.options.data.join("dead"));
            assert_eq!(letters.expect("readable").len(), 1, "{more} {unsynced:?}");
        }
        if !killed {
            assert!(more > 5, "killed only {more} times");
            break;
        }
    }
}
