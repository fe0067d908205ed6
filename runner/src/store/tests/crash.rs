//! A crash at every operation of a history, on a disk that loses what was not synced.

use std::collections::{BTreeMap, BTreeSet};

use sandhog_model::{Amend, Job, JobId, Outcome, State};

use super::stage::{
    Stage, all_rows, amend, child, claim, completed, dead_ids, enqueue, enqueue_job, failed, job,
    permanent, settle, settle_with, wait,
};
use crate::{
    disk::sim::{SimDisk, Unsynced},
    store::{Inspect, JobFilter, Store, StoreError},
};

/// What the history's author was told, and what it may have done besides.
#[derive(Debug, Default)]
struct Ledger {
    enqueued: BTreeSet<JobId>,
    /// The last state that was acknowledged and that only the author can change.
    known: BTreeMap<JobId, State>,
    /// Jobs with a wish whose answer never came.
    unsure: BTreeSet<JobId>,
    /// Children of attempts that failed: they must never be seen.
    never: BTreeSet<JobId>,
    /// Children by parent, of reports of success.
    children: BTreeMap<JobId, Vec<JobId>>,
    deleted: BTreeSet<JobId>,
    /// Jobs that retention may have forgotten.
    forgettable: BTreeSet<JobId>,
}

impl Ledger {
    fn enqueue(&mut self, store: &dyn Store, kind: &str) -> Result<(), StoreError> {
        let id = enqueue(store, kind)?;
        self.enqueued.insert(id);
        Ok(())
    }

    /// Claim one job and report on it.
    fn run(&mut self, store: &dyn Store, kind: &str, outcome: Outcome) -> Result<(), StoreError> {
        let Some(leased) = claim(store, &[kind], 1)?.pop() else {
            return Ok(());
        };
        let id = leased.job.id;
        self.known.remove(&id);
        self.unsure.insert(id);
        wait(store.checkpoint(id, leased.token, vec![9; 100]))?;
        let children = vec![child(store, &leased), child(store, &leased)];
        let ids: Vec<JobId> = children.iter().map(|job| job.id).collect();
        if matches!(outcome, Outcome::Completed(_)) {
            self.children.insert(id, ids.clone());
        } else {
            self.never.extend(&ids);
        }
        let state = settle_with(store, &leased, outcome, children)?;
        self.unsure.remove(&id);
        if state == State::Completed {
            self.enqueued.extend(ids);
        }
        if state.is_final() {
            self.known.insert(id, state);
        }
        Ok(())
    }

    /// Claim one job and complete it, without children.
    fn finish(&mut self, store: &dyn Store, kind: &str) -> Result<(), StoreError> {
        let Some(leased) = claim(store, &[kind], 1)?.pop() else {
            return Ok(());
        };
        self.known.remove(&leased.job.id);
        self.forgettable.insert(leased.job.id);
        settle(store, &leased, completed()).map(|_| ())
    }

    fn amend_first_dead(
        &mut self,
        store: &dyn Store,
        wish: fn(JobId) -> Amend,
    ) -> Result<(), StoreError> {
        let dead = self.known.iter().find(|(_, state)| **state == State::Dead);
        let Some((&id, _)) = dead else {
            return Ok(());
        };
        self.known.remove(&id);
        self.unsure.insert(id);
        if matches!(wish(id), Amend::Delete(_)) {
            self.enqueued.remove(&id);
        }
        if amend(store, wish(id))?.is_none() {
            self.deleted.insert(id);
        }
        self.unsure.remove(&id);
        Ok(())
    }
}

/// A history with every kind of record and several segments.
fn history(stage: &Stage, ledger: &mut Ledger) -> Result<(), StoreError> {
    let Ok(store) = stage.try_open() else {
        return Ok(());
    };
    for kind in ["photo", "page", "photo", "page", "photo", "table"] {
        ledger.enqueue(&*store, kind)?;
    }
    ledger.run(&*store, "page", completed())?;
    ledger.run(&*store, "photo", permanent())?;
    ledger.run(&*store, "photo", failed())?;
    ledger.run(&*store, "table", permanent())?;
    ledger.amend_first_dead(&*store, Amend::Requeue)?;
    stage.clock.pass(1500);
    ledger.run(&*store, "photo", failed())?;
    ledger.enqueue(&*store, "photo")?;
    claim(&*store, &["photo", "page"], 2)?;
    stage.clock.pass(2000);
    wait(store.sweep())?;
    ledger.amend_first_dead(&*store, Amend::Delete)?;
    ledger.run(&*store, "page", completed())?;
    ledger.run(&*store, "photo", permanent())?;
    claim(&*store, &["child"], 2)?;
    wait(store.close())
}

/// A history that rolls, forgets, writes anew, trims, buries, requeues and deletes.
fn shrinking_history(stage: &Stage, ledger: &mut Ledger) -> Result<(), StoreError> {
    let Ok(store) = stage.try_open() else {
        return Ok(());
    };
    ledger.enqueue(&*store, "table")?;
    ledger.enqueue(&*store, "page")?;
    ledger.run(&*store, "page", permanent())?;
    ledger.enqueue(&*store, "lamp")?;
    ledger.run(&*store, "lamp", failed())?;
    for round in 0..16 {
        ledger.enqueue(&*store, "photo")?;
        ledger.finish(&*store, "photo")?;
        match round {
            2 => ledger.amend_first_dead(&*store, Amend::Requeue)?,
            3 => ledger.finish(&*store, "page")?,
            4 => {
                ledger.enqueue(&*store, "page")?;
                ledger.run(&*store, "page", permanent())?;
            }
            5 => drop(claim(&*store, &["table"], 1)?),
            6 => ledger.amend_first_dead(&*store, Amend::Delete)?,
            _ => {}
        }
        stage.clock.pass(1);
        store.compacted();
    }
    ledger.enqueue(&*store, "photo")?;
    wait(store.close())
}

/// A stage on which that history is more than one segment, and forgets.
fn shrinking_stage() -> (Stage, SimDisk) {
    let (mut stage, disk) = Stage::sim();
    stage.options.segment_bytes = 1500;
    stage.options.max_ended = Some(1);
    (stage, disk)
}

/// Open what the crash left, and compare it with what was acknowledged.
fn audit(stage: &Stage, ledger: &Ledger, crash: &str) {
    let store = match stage.try_open() {
        Ok(store) => store,
        Err(error) => panic!("{crash}: cannot open: {error}"),
    };
    let rows = all_rows(&*store, &JobFilter::default(), 100);
    let states: BTreeMap<JobId, State> = rows.iter().map(|row| (row.id, row.state)).collect();
    assert_eq!(rows.len(), states.len(), "{crash}: a job is listed twice");
    for id in &ledger.enqueued {
        assert!(
            states.contains_key(id) || ledger.forgettable.contains(id),
            "{crash}: acknowledged {id} is lost"
        );
    }
    for (id, state) in &ledger.known {
        let is_forgotten = !states.contains_key(id) && ledger.forgettable.contains(id);
        assert!(
            is_forgotten || states.get(id) == Some(state),
            "{crash}: {id} is {:?}, not {state}",
            states.get(id)
        );
    }
    for id in &ledger.deleted {
        assert!(!states.contains_key(id), "{crash}: deleted {id} is back");
    }
    for id in &ledger.never {
        assert!(
            !states.contains_key(id),
            "{crash}: a failed attempt left {id}"
        );
    }
    for (parent, children) in &ledger.children {
        let there = children.iter().filter(|id| states.contains_key(id)).count();
        let expected = match states.get(parent) {
            Some(State::Completed) => children.len(),
            _ => 0,
        };
        assert_eq!(there, expected, "{crash}: the children of {parent}");
    }
    let dead: BTreeSet<JobId> = states
        .iter()
        .filter(|(_, state)| **state == State::Dead)
        .map(|(id, _)| *id)
        .collect();
    let letters: BTreeSet<JobId> = dead_ids(&*store).into_iter().collect();
    assert_eq!(letters, dead, "{crash}: dead jobs and letters");
    for row in &rows {
        assert_ne!(
            row.state,
            State::Running,
            "{crash}: {} has no holder",
            row.id
        );
        let view = wait(store.job(row.id));
        assert!(view.is_ok(), "{crash}: {view:?}");
    }
    // It goes on: everything left runs to its end, and stays ended.
    stage.clock.pass(60_000);
    let left = claim(&*store, &["photo", "page", "table", "child", "lamp"], 100);
    for leased in left.unwrap_or_else(|error| panic!("{crash}: {error}")) {
        let done = settle(&*store, &leased, completed());
        assert!(matches!(done, Ok(State::Completed)), "{crash}: {done:?}");
    }
    drop(store);
    let store = stage.open();
    for row in all_rows(&*store, &JobFilter::default(), 100) {
        assert!(row.state.is_final(), "{crash}: {} is {}", row.id, row.state);
    }
}

/// The history with a crash at an operation. Whether it got that far.
fn crashed(at: u64) -> (Stage, SimDisk, Ledger, bool) {
    crashed_in(Stage::sim(), at, history)
}

fn crashed_in(
    (stage, disk): (Stage, SimDisk),
    at: u64,
    history: fn(&Stage, &mut Ledger) -> Result<(), StoreError>,
) -> (Stage, SimDisk, Ledger, bool) {
    disk.kill_at(at);
    let mut ledger = Ledger::default();
    let ended = history(&stage, &mut ledger);
    let reached = disk.is_killed();
    assert!(reached || ended.is_ok(), "{ended:?}");
    (stage, disk, ledger, reached)
}

#[test]
fn a_crash_at_any_operation_loses_nothing_acknowledged() {
    let mut at = 0;
    loop {
        at += 1;
        let (stage, disk, ledger, reached) = crashed(at);
        let mut ways = vec![Unsynced::Dropped, Unsynced::Kept];
        ways.extend((0..3).map(|seed| Unsynced::BySector(at * 1000 + seed)));
        for unsynced in ways {
            let left = disk.after_crash(unsynced);
            let crash = format!("operation {at}, unsynced {unsynced:?}");
            audit(&stage.moved_to(&left), &ledger, &crash);
        }
        if !reached {
            break;
        }
    }
    assert!(
        at > 100,
        "the history is too short to tell: {at} operations"
    );
}

#[test]
fn a_second_crash_while_recovering_loses_nothing_either() {
    for at in (20..140).step_by(7) {
        let (stage, disk, ledger, _) = crashed(at);
        for second in 1..30 {
            let left = disk.after_crash(Unsynced::BySector(at));
            left.kill_at(second);
            drop(stage.moved_to(&left).try_open());
            if !left.is_killed() {
                break;
            }
            let left = left.after_crash(Unsynced::BySector(second));
            let crash = format!("operation {at}, then {second} while recovering");
            audit(&stage.moved_to(&left), &ledger, &crash);
        }
    }
}

#[test]
fn a_crash_at_any_operation_of_a_log_that_shrinks_loses_nothing_needed() {
    for at in 1.. {
        let (stage, disk, ledger, reached) = crashed_in(shrinking_stage(), at, shrinking_history);
        let ways = [
            Unsynced::Dropped,
            Unsynced::Kept,
            Unsynced::BySector(at * 1000),
            Unsynced::BySector(at * 1000 + 1),
        ];
        for unsynced in ways {
            let left = disk.after_crash(unsynced);
            let crash = format!("operation {at}, unsynced {unsynced:?}");
            audit(&stage.moved_to(&left), &ledger, &crash);
        }
        if !reached {
            assert!(
                disk.ops() > 150,
                "too short to tell: {} operations",
                disk.ops()
            );
            assert!(
                !disk
                    .files()
                    .iter()
                    .any(|path| path.ends_with("0000000003.seg"))
            );
            break;
        }
    }
}

#[test]
fn a_second_crash_while_a_log_that_shrank_is_opened_loses_nothing_needed() {
    for at in (60..240).step_by(13) {
        let (stage, disk, ledger, _) = crashed_in(shrinking_stage(), at, shrinking_history);
        for second in 1..40 {
            let left = disk.after_crash(Unsynced::BySector(at));
            left.kill_at(second);
            drop(stage.moved_to(&left).try_open());
            if !left.is_killed() {
                break;
            }
            let left = left.after_crash(Unsynced::BySector(second));
            let crash = format!("operation {at}, then {second} while opening");
            audit(&stage.moved_to(&left), &ledger, &crash);
        }
    }
}

#[test]
fn power_that_goes_after_a_restart_takes_nothing_the_restart_built_on() {
    for at in 1..200 {
        let (stage, disk, ledger, _) = crashed(at);
        let left = disk.after_kill();
        let restarted = stage.moved_to(&left);
        let store = restarted.open();
        // Written, and not synced by itself.
        claim(&*store, &["photo", "page", "table"], 1).expect("claimed");
        for seed in 0..4 {
            let left = left.after_crash(Unsynced::BySector(at * 10 + seed));
            let crash = format!("operation {at}, a restart, then power lost, seed {seed}");
            audit(&stage.moved_to(&left), &ledger, &crash);
        }
    }
}

/// Enqueue records of several sectors each, until an error. Gives what was acknowledged.
fn enqueue_large(store: &dyn Store, count: usize) -> BTreeSet<JobId> {
    (0..count)
        .map_while(|_| {
            let large = Job {
                payload: vec![3; 1500],
                ..job(store.mint(), "photo")
            };
            enqueue_job(store, large).ok()
        })
        .collect()
}

#[test]
fn records_of_several_sectors_are_whole_or_not_there() {
    for at in 1.. {
        let (stage, disk) = Stage::sim();
        disk.kill_at(at);
        let mut ledger = Ledger::default();
        if let Ok(store) = stage.try_open() {
            ledger.enqueued = enqueue_large(&*store, 7);
        }
        for seed in 0..8 {
            let left = disk.after_crash(Unsynced::BySector(at * 10 + seed));
            let crash = format!("operation {at}, seed {seed}");
            audit(&stage.moved_to(&left), &ledger, &crash);
        }
        // The names a killed run did not sync are synced before anything is built on them.
        let left = disk.after_kill();
        let store = stage.moved_to(&left).open();
        ledger.enqueued.extend(enqueue_large(&*store, 1));
        let left = left.after_crash(Unsynced::Dropped);
        let crash = format!("operation {at}, a restart, then power lost");
        audit(&stage.moved_to(&left), &ledger, &crash);
        if !disk.is_killed() {
            break;
        }
    }
}
