//! Random histories on a disk that loses what was not synced: wishes, crashes and losses by chance
//! from a seed, and after each crash a comparison with what was answered before it.
//!
//! `SANDHOG_SEED=N` replays one seed; `SANDHOG_LONG=1` runs ten thousand.

mod model;

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    thread,
};

use self::model::{Author, Chance};
use super::stage::Stage;
use crate::disk::sim::{SimDisk, Unsynced};

/// Crashes of one history.
const CRASHES: u64 = 3;
/// Wishes between two crashes, when the crash does not come before.
const WISHES: usize = 70;
/// No later than at this operation after a start comes the crash.
const OPERATIONS: u64 = 320;

fn long() -> bool {
    std::env::var_os("SANDHOG_LONG").is_some_and(|value| value == "1")
}

/// A line for the table that `SANDHOG_TABLE=1` asks for.
fn told(what: &str) {
    if std::env::var_os("SANDHOG_TABLE").is_some() {
        println!("T2: {what}, nothing lost");
    }
}

/// How the next start finds the disk.
fn left(disk: &SimDisk, chance: &mut Chance) -> (SimDisk, String) {
    let seed = chance.next();
    let unsynced = match chance.below(8) {
        0 => return (disk.after_kill(), "killed, power kept".to_owned()),
        1 => Unsynced::Dropped,
        2 => Unsynced::Kept,
        3..=5 => Unsynced::BySector(seed),
        _ => Unsynced::Scattered(seed),
    };
    (disk.after_crash(unsynced), format!("{unsynced:?}"))
}

/// One history with its crashes.
fn run(seed: u64) {
    let mut chance = Chance(seed);
    let (mut stage, mut disk) = Stage::sim();
    let mut author = Author::default();
    for crash in 1..=CRASHES {
        let at = 1 + chance.below(OPERATIONS);
        disk.kill_at(at);
        author.live(&stage, &mut chance, WISHES);
        let (next, lost) = left(&disk, &mut chance);
        let told = format!("seed {seed}, crash {crash} at operation {at}, {lost}");
        stage = stage.moved_to(&next);
        disk = next;
        author.audit(&stage, &told);
    }
    author.finish(&stage, &format!("seed {seed}, at the end"));
}

/// Runs seeds on every core; names the seed of the first that fails.
fn run_all(seeds: impl IntoIterator<Item = u64>) {
    let seeds: Vec<u64> = seeds.into_iter().collect();
    let part = seeds.len().div_ceil(2).max(1);
    thread::scope(|scope| {
        let parts: Vec<_> = seeds
            .chunks(part)
            .map(|seeds| {
                scope.spawn(move || {
                    for seed in seeds {
                        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(*seed))) {
                            eprintln!("replay with SANDHOG_SEED={seed}");
                            resume_unwind(panic);
                        }
                    }
                })
            })
            .collect();
        for part in parts {
            part.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
    });
}

#[test]
fn random_histories_with_crashes_lose_nothing_that_was_answered() {
    let given = std::env::var("SANDHOG_SEED").ok();
    match given.and_then(|seed| seed.parse().ok()) {
        Some(seed) => run(seed),
        None => {
            let seeds = if long() { 10_000 } else { 250 };
            run_all(1..=seeds);
            told(&format!("{seeds} seeds of {CRASHES} crashes each"));
        }
    }
}

#[test]
fn a_crash_at_each_of_the_first_operations_of_one_history_loses_nothing() {
    let (operations, ways) = if long() { (300, 12) } else { (120, 3) };
    for at in 1..=operations {
        for way in 0..ways {
            let (stage, disk) = Stage::sim();
            disk.kill_at(at);
            let mut author = Author::default();
            author.live(&stage, &mut Chance(7), usize::MAX);
            assert!(disk.is_killed(), "the history ends before operation {at}");
            let mut chance = Chance(at * 100 + way);
            let unsynced = match way {
                0 => Unsynced::Dropped,
                1 => Unsynced::Kept,
                _ if way % 2 == 0 => Unsynced::Scattered(chance.next()),
                _ => Unsynced::BySector(chance.next()),
            };
            let crash = format!("operation {at}, {unsynced:?}");
            let stage = stage.moved_to(&disk.after_crash(unsynced));
            author.audit(&stage, &crash);
            author.finish(&stage, &crash);
        }
    }
    told(&format!(
        "{ways} ways to lose at each of {operations} operations"
    ));
}
