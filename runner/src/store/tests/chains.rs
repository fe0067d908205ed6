//! Chains on a disk that loses what was not synced.

use std::collections::BTreeMap;

use sandhog_model::{Job, JobId, KindDefaults, Link, State, Terms};

use super::stage::{
    Stage, all_rows, amend, claim, completed, enqueue_job, failed, job, output, permanent, settle,
    settle_with, wait,
};
use crate::{
    disk::sim::{SimDisk, Unsynced},
    store::{Inspect, JobFilter, LeasedJob, Store, StoreError},
};

const KINDS: [&str; 4] = ["first", "second", "third", "fourth"];

/// What a worker makes of a job that completed: the next one, with those that follow it.
fn next(store: &dyn Store, leased: &LeasedJob) -> Vec<Job> {
    let Some((link, rest)) = leased.job.terms.then.split_first() else {
        return Vec::new();
    };
    let now = leased.job.enqueued_at;
    let next = link
        .clone()
        .accept(store.mint(), now, &output(), &KindDefaults::default());
    let mut next = next.expect("within bounds");
    next.terms.then = rest.to_vec();
    vec![next]
}

fn begin(store: &dyn Store) -> Result<JobId, StoreError> {
    let then = KINDS[1..].iter().map(|kind| Link {
        kind: (*kind).to_owned(),
        ..Link::default()
    });
    let terms = Terms {
        then: then.collect(),
        ..Terms::default()
    };
    enqueue_job(
        store,
        Job {
            terms,
            ..job(store.mint(), KINDS[0])
        },
    )
}

/// Run whatever is due to a success, until nothing is.
fn run(store: &dyn Store) -> Result<(), StoreError> {
    while let Some(leased) = claim(store, &KINDS, 1)?.pop() {
        let children = next(store, &leased);
        settle_with(store, &leased, completed(), children)?;
    }
    Ok(())
}

/// A chain of which a link fails, dies, is brought back and goes on.
fn history(stage: &Stage) -> Result<bool, StoreError> {
    let Ok(store) = stage.try_open() else {
        return Ok(false);
    };
    begin(&*store)?;
    if let Some(leased) = claim(&*store, &KINDS, 1)?.pop() {
        settle(&*store, &leased, failed())?;
    }
    stage.clock.pass(1_000);
    if let Some(leased) = claim(&*store, &KINDS, 1)?.pop() {
        let children = next(&*store, &leased);
        settle_with(&*store, &leased, completed(), children)?;
    }
    if let Some(leased) = claim(&*store, &KINDS, 1)?.pop() {
        settle(&*store, &leased, permanent())?;
        amend(&*store, sandhog_model::Amend::Requeue(leased.job.id))?;
    }
    run(&*store)?;
    wait(store.close())?;
    Ok(true)
}

/// Whatever was lost, the chain goes on to its end, and no link is there twice or without the one before.
fn audit(stage: &Stage, began: bool, crash: &str) {
    let store = stage.open();
    stage.clock.pass(60_000);
    for row in all_rows(&*store, &JobFilter::default(), 100) {
        if row.state == State::Dead {
            amend(&*store, sandhog_model::Amend::Requeue(row.id)).expect("brought back");
        }
    }
    run(&*store).unwrap_or_else(|error| panic!("{crash}: {error}"));
    let rows = all_rows(&*store, &JobFilter::default(), 100);
    let by_kind: BTreeMap<&str, JobId> =
        rows.iter().map(|row| (row.kind.as_str(), row.id)).collect();
    assert_eq!(rows.len(), by_kind.len(), "{crash}: a link is there twice");
    if rows.is_empty() {
        assert!(!began, "{crash}: an acknowledged chain is lost");
        return;
    }
    for (place, kind) in KINDS.into_iter().enumerate() {
        let row = rows.iter().find(|row| row.kind == kind);
        let row = row.unwrap_or_else(|| panic!("{crash}: {kind} is missing"));
        assert_eq!(row.state, State::Completed, "{crash}: {kind}");
        let before = place.checked_sub(1).map(|place| by_kind[KINDS[place]]);
        assert_eq!(row.parent, before, "{crash}: {kind}");
        let view = wait(store.job(row.id)).expect("a view").expect("the job");
        let then = &view.job.terms.then;
        assert_eq!(then.len(), KINDS.len() - 1 - place, "{crash}: {kind}");
        assert!(place == 0 || view.job.payload == output().payload);
    }
}

fn crashed(at: u64) -> (Stage, SimDisk, bool) {
    let (mut stage, disk) = Stage::sim();
    stage.options.segment_bytes = 2_000;
    disk.kill_at(at);
    let ended = history(&stage);
    assert!(disk.is_killed() || ended.is_ok(), "{ended:?}");
    (stage, disk, matches!(ended, Ok(true)))
}

#[test]
fn a_crash_at_any_operation_leaves_a_chain_that_goes_on_to_its_end() {
    for at in 1.. {
        let (stage, disk, began) = crashed(at);
        for unsynced in [
            Unsynced::Dropped,
            Unsynced::Kept,
            Unsynced::BySector(at * 10),
        ] {
            let crash = format!("operation {at}, unsynced {unsynced:?}");
            let left = stage.moved_to(&disk.after_crash(unsynced));
            audit(&left, began, &crash);
        }
        if !disk.is_killed() {
            assert!(at > 60, "too short to tell: {at} operations");
            break;
        }
    }
}
