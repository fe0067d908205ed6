//! Batches: what follows them follows once, whatever happens in between.

use sandhog_model::{
    Amend, Asked, BatchChange, BatchWish, Callback, Job, JobId, Link, Rejected, State, Terms,
};
use serde_json::Value;

use super::stage::{
    Stage, all_rows, amend, call_off, child, claim, claim_one, completed, enqueue_job, failed,
    first_page, job, permanent, settle, settle_with, state, wait,
};
use crate::{
    disk::sim::{SimDisk, Unsynced},
    store::{BatchRow, Inspect, JobFilter, Store, StoreError, wal::Wal},
};

fn callback(store: &dyn Store, kind: &str) -> Box<Callback> {
    Box::new(Callback {
        id: store.mint(),
        link: Link {
            kind: kind.to_owned(),
            payload: Some(b"{\"mine\":[1]}".to_vec()),
            ..Link::default()
        },
        fired_at: None,
    })
}

fn change(store: &dyn Store, id: JobId, change: BatchChange) -> Result<BatchRow, StoreError> {
    let done = wait(store.batch(BatchWish { id, change }))?;
    Ok(done.expect("the batch").row)
}

fn open(store: &dyn Store) -> Result<BatchRow, StoreError> {
    let open = BatchChange::Open {
        name: Some("import".to_owned()),
        success: Some(callback(store, "success")),
        complete: Some(callback(store, "complete")),
    };
    change(store, store.mint(), open)
}

fn seal(store: &dyn Store, id: JobId) -> Result<BatchRow, StoreError> {
    change(store, id, BatchChange::Seal)
}

fn cancel(store: &dyn Store, id: JobId) -> BatchRow {
    let off = BatchChange::Cancel {
        by: "ada".to_owned(),
        reason: Some("no use".to_owned()),
    };
    change(store, id, off).expect("called off")
}

fn member(store: &dyn Store, batch: JobId) -> Job {
    Job {
        terms: Terms {
            batch: Some(batch),
            ..Terms::default()
        },
        ..job(store.mint(), "k")
    }
}

fn put(store: &dyn Store, batch: JobId) -> Result<JobId, StoreError> {
    enqueue_job(store, member(store, batch))
}

fn row(store: &dyn Store, id: JobId) -> BatchRow {
    wait(store.batch_row(id)).expect("read").expect("the batch")
}

/// The callbacks that are there, by kind, with what they were told.
fn following(store: &dyn Store) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for kind in ["complete", "success"] {
        let filter = JobFilter {
            kind: Some(kind.to_owned()),
            ..JobFilter::default()
        };
        for row in all_rows(store, &filter, 10) {
            let view = wait(store.job(row.id)).expect("a view").expect("the job");
            let told = serde_json::from_slice(&view.job.payload).expect("JSON");
            all.push((kind.to_owned(), told));
        }
    }
    all
}

fn kinds(store: &dyn Store) -> Vec<String> {
    following(store).into_iter().map(|(kind, _)| kind).collect()
}

#[test]
fn an_empty_batch_is_over_when_it_is_sealed_and_tells_what_it_was() {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    let id = open(&*store).expect("opened").id;
    assert!(kinds(&*store).is_empty());
    let sealed = seal(&*store, id).expect("sealed");
    assert!(sealed.state.ended_at.is_some());
    let store = stage.moved_to(&disk.after_crash(Unsynced::Dropped)).open();
    let told = following(&*store);
    let [(complete, first), (success, second)] = &told[..] else {
        panic!("{told:?}");
    };
    assert_eq!(
        (complete.as_str(), success.as_str()),
        ("complete", "success")
    );
    for (told, event) in [(first, "complete"), (second, "success")] {
        assert_eq!(told["batch"], id.text());
        assert_eq!((&told["event"], &told["total"]), (&event.into(), &0.into()));
        assert_eq!(told["payload"]["mine"][0], 1);
    }
    // It has ended: nothing follows again.
    let over = seal(&*store, id).expect_err("it is over");
    assert!(over.to_string().contains("it has ended"), "{over}");
    assert_eq!(kinds(&*store).len(), 2);
    assert!(matches!(
        put(&*store, id),
        Err(StoreError::Rejected(Rejected::BatchClosed { .. }))
    ));
    let unknown = store.mint();
    assert!(matches!(
        put(&*store, unknown),
        Err(StoreError::Rejected(Rejected::NoSuchBatch(_)))
    ));
}

#[test]
fn all_that_ended_counts_and_success_waits_for_the_dead_that_are_brought_back() {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    let id = open(&*store).expect("opened").id;
    let ids = [0; 3].map(|_| put(&*store, id).expect("taken in"));
    // One joins from within.
    let leased = claim_one(&*store, "k");
    let mut joins = child(&*store, &leased);
    joins.kind = "k".to_owned();
    joins.terms.batch = Some(id);
    let joined = joins.id;
    settle_with(&*store, &leased, completed(), vec![joins]).expect("settled");
    seal(&*store, id).expect("sealed");
    settle(&*store, &claim_one(&*store, "k"), permanent()).expect("settled");
    settle(&*store, &claim_one(&*store, "k"), failed()).expect("settled");
    settle(&*store, &claim_one(&*store, "k"), completed()).expect("settled");
    assert!(kinds(&*store).is_empty(), "one waits out a backoff");
    stage.clock.pass(1_000);
    settle(&*store, &claim_one(&*store, "k"), completed()).expect("settled");
    let told = following(&*store);
    assert_eq!((told.len(), told[0].0.as_str()), (1, "complete"));
    let counts = ["total", "completed", "failed", "dead"].map(|name| told[0].1[name].clone());
    assert_eq!(counts, [4, 3, 1, 1].map(Value::from));
    let batch = JobFilter {
        batch: Some(id),
        ..JobFilter::default()
    };
    let listed: Vec<JobId> = all_rows(&*store, &batch, 2)
        .iter()
        .map(|row| row.id)
        .collect();
    assert_eq!(listed, [joined, ids[2], ids[1], ids[0]]);
    // Brought back, it counts once: success follows now, and complete not again.
    amend(&*store, Amend::Requeue(ids[1])).expect("brought back");
    let store = stage.moved_to(&disk.after_crash(Unsynced::Dropped)).open();
    assert_eq!(row(&*store, id).count.unfinished(), 1);
    settle(&*store, &claim_one(&*store, "k"), completed()).expect("settled");
    let told = following(&*store);
    assert_eq!(kinds(&*store), ["complete", "success"]);
    assert_eq!(
        (&told[1].1["total"], &told[1].1["failed"]),
        (&4.into(), &0.into())
    );
}

#[test]
fn a_dead_job_that_is_deleted_still_counts_and_nothing_succeeds_after_it() {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    let id = open(&*store).expect("opened").id;
    let [dead, waits] = [0; 2].map(|_| put(&*store, id).expect("taken in"));
    settle(&*store, &claim_one(&*store, "k"), permanent()).expect("settled");
    amend(&*store, Amend::Delete(dead)).expect("deleted");
    let gone = Amend::Remove {
        id: waits,
        force: true,
    };
    amend(&*store, gone).expect("deleted");
    seal(&*store, id).expect("sealed");
    let store = stage.moved_to(&disk.after_crash(Unsynced::Dropped)).open();
    let told = following(&*store);
    assert_eq!(told.len(), 1);
    let counts = ["total", "dead", "deleted"].map(|name| told[0].1[name].clone());
    assert_eq!(counts, [2, 1, 1].map(Value::from));
}

#[test]
fn a_batch_that_is_called_off_ends_what_waits_and_what_would_wait_again() {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    let id = open(&*store).expect("opened").id;
    let ids = [0; 3].map(|_| put(&*store, id).expect("taken in"));
    let runs = claim_one(&*store, "k");
    let off = cancel(&*store, id);
    assert_eq!((off.count.waiting, off.count.running), (0, 1));
    assert_eq!(state(&*store, ids[1]), Some(State::Cancelled));
    assert!(put(&*store, id).is_err());
    // Nobody asked the one that runs: what follows its failure is no further attempt.
    let mut joins = child(&*store, &runs);
    joins.terms.batch = Some(id);
    settle(&*store, &runs, failed()).expect("settled");
    assert_eq!(state(&*store, ids[0]), Some(State::Cancelled));
    let store = stage.moved_to(&disk.after_crash(Unsynced::Dropped)).open();
    let told = following(&*store);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(
        (&told[0].1["cancelled"], &told[0].1["total"]),
        (&3.into(), &3.into())
    );
    let cancelled = wait(store.job(ids[2])).expect("a view").expect("the job");
    let cancelled = cancelled.cancel.expect("it says who");
    assert_eq!(cancelled.told(), "cancelled by ada: no use");
    // A job that runs in it can be called off like any other.
    let other = open(&*store).expect("opened").id;
    put(&*store, other).expect("taken in");
    let runs = claim_one(&*store, "k");
    cancel(&*store, other);
    call_off(&*store, runs.job.id, Asked::Cancel).expect("asked");
    settle(&*store, &runs, failed()).expect("settled");
    assert_eq!(row(&*store, other).count.ended.cancelled, 1);
}

/// Jobs that are forgotten while their batch is open count for it, and it goes when it is over.
#[test]
fn a_batch_outlives_its_jobs_and_is_forgotten_like_them() {
    let (mut stage, disk) = Stage::sim();
    stage.options.max_ended = Some(1);
    stage.options.segment_bytes = 2_000;
    let store = stage.open();
    let id = open(&*store).expect("opened").id;
    for round in 0..30 {
        put(&*store, id).expect("taken in");
        let leased = claim_one(&*store, "k");
        let outcome = if round % 10 == 3 {
            permanent()
        } else {
            completed()
        };
        settle(&*store, &leased, outcome).expect("settled");
        if round % 10 == 5 {
            let dead = super::stage::dead_ids(&*store);
            amend(&*store, Amend::Delete(dead[0])).expect("deleted");
        }
        store.compacted();
    }
    let count = row(&*store, id).count;
    assert_eq!((count.total(), count.ended.dead), (30, 3));
    let known = all_rows(&*store, &JobFilter::default(), 100).len();
    assert!(known < 5, "{known} jobs are known");
    drop(store);
    let left = disk.after_crash(Unsynced::Dropped);
    let stage = stage.moved_to(&left);
    let store = stage.open();
    assert_eq!(row(&*store, id).count, count);
    seal(&*store, id).expect("sealed");
    let told = following(&*store);
    assert_eq!((told.len(), &told[0].1["completed"]), (1, &27.into()));
    for _ in 0..3 {
        let id = open(&*store).expect("opened").id;
        seal(&*store, id).expect("sealed");
        for kind in ["complete", "success"] {
            settle(&*store, &claim_one(&*store, kind), completed()).expect("settled");
        }
        stage.clock.pass(1);
        store.compacted();
    }
    let page = wait(store.batches(first_page(10))).expect("a page");
    assert_eq!(page.rows.len(), 1, "{:?}", page.rows);
}

/// What the history's author was told.
#[derive(Debug, Default)]
struct Told {
    batch: Option<JobId>,
    members: usize,
    sealed: bool,
}

/// A batch with jobs that complete, fail, die and come back, and one that joins from within.
fn history(stage: &Stage, told: &mut Told) -> Result<(), StoreError> {
    let Ok(store) = stage.try_open() else {
        return Ok(());
    };
    let id = open(&*store)?.id;
    told.batch = Some(id);
    for _ in 0..4 {
        put(&*store, id)?;
        told.members += 1;
    }
    if let Some(leased) = claim(&*store, &["k"], 1)?.pop() {
        let mut joins = child(&*store, &leased);
        joins.kind = "k".to_owned();
        joins.terms.batch = Some(id);
        settle_with(&*store, &leased, completed(), vec![joins])?;
        told.members += 1;
    }
    if let Some(leased) = claim(&*store, &["k"], 1)?.pop() {
        settle(&*store, &leased, permanent())?;
        amend(&*store, Amend::Requeue(leased.job.id))?;
    }
    seal(&*store, id)?;
    told.sealed = true;
    run(&store)?;
    wait(store.close())
}

fn run(store: &Wal) -> Result<(), StoreError> {
    while let Some(leased) = claim(store, &["k"], 1)?.pop() {
        settle(store, &leased, completed())?;
        store.compacted();
    }
    Ok(())
}

fn crashed(at: u64) -> (Stage, SimDisk, Told) {
    let (mut stage, disk) = Stage::sim();
    stage.options.segment_bytes = 3_000;
    stage.options.max_ended = Some(2);
    disk.kill_at(at);
    let mut told = Told::default();
    let ended = history(&stage, &mut told);
    assert!(disk.is_killed() || ended.is_ok(), "{ended:?}");
    (stage, disk, told)
}

/// Whatever was lost, the batch goes on to its end and what follows it is there once.
fn audit(stage: &Stage, told: &Told, crash: &str) {
    let store = stage.open();
    stage.clock.pass(60_000);
    let rows = wait(store.batches(first_page(10))).expect("a page").rows;
    let Some(batch) = rows.first() else {
        assert_eq!(told.batch, None, "{crash}: an acknowledged batch is lost");
        return;
    };
    let id = batch.id;
    assert!(
        batch.count.total() as usize >= told.members,
        "{crash}: {batch:?}"
    );
    assert!(!told.sealed || !batch.state.is_open(), "{crash}: {batch:?}");
    for dead in super::stage::dead_ids(&*store) {
        amend(&*store, Amend::Requeue(dead)).expect("brought back");
    }
    run(&store).unwrap_or_else(|error| panic!("{crash}: {error}"));
    if row(&*store, id).state.is_open() {
        seal(&*store, id).expect("sealed");
    }
    let row = row(&*store, id);
    let count = row.count;
    assert_eq!(
        (count.unfinished(), count.ended.failed()),
        (0, 0),
        "{crash}"
    );
    let told = following(&*store);
    let kinds: Vec<&str> = told.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds, ["complete", "success"], "{crash}");
    for (kind, told) in &told {
        assert_eq!(told["total"], count.total(), "{crash}: {kind}");
        assert_eq!(told["completed"], count.total(), "{crash}: {kind}");
    }
    drop(store);
    let store = stage.open();
    assert_eq!(super::batches::row(&*store, id), row, "{crash}");
    assert_eq!(following(&*store).len(), 2, "{crash}");
}

#[test]
fn a_crash_at_any_operation_leaves_a_batch_that_is_followed_once() {
    for at in 1.. {
        let (stage, disk, told) = crashed(at);
        for unsynced in [
            Unsynced::Dropped,
            Unsynced::Kept,
            Unsynced::BySector(at * 10),
            Unsynced::BySector(at * 10 + 1),
        ] {
            let crash = format!("operation {at}, unsynced {unsynced:?}");
            audit(&stage.moved_to(&disk.after_crash(unsynced)), &told, &crash);
        }
        if !disk.is_killed() {
            assert!(at > 80, "too short to tell: {at} operations");
            break;
        }
    }
}
