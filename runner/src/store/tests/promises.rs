//! What an answer means in each durability setting, also while many wait for one sync.

use std::{sync::Arc, time::Duration};

use sandhog_model::{JobId, State};
use tokio::task::JoinSet;

use super::{
    gate::{Gate, GatedDisk},
    stage::{Stage, claim_one, completed, enqueue, enqueue_job, job, settle, state, wait},
};
use crate::{
    disk::sim::{SimDisk, Unsynced},
    store::{
        Inspect, JobFilter, PageRequest, Store, StoreError,
        wal::{Durability, Wal},
    },
};

/// More than a batch needs to be synced beside the writer.
const MANY: usize = 400;

type Enqueued = Result<JobId, StoreError>;

/// A store with both of its helper threads, on a disk whose syncs wait at a gate.
pub(super) fn gated() -> (Stage, SimDisk, Arc<Gate>) {
    let (mut stage, disk) = Stage::sim();
    let gate = Arc::new(Gate::default());
    stage.options.disk = Arc::new(GatedDisk {
        disk: disk.clone(),
        gate: gate.clone(),
    });
    stage.options.background = true;
    stage.options.segment_bytes = 1 << 20;
    (stage, disk, gate)
}

/// Callers that ask at once; each is in the mailbox when this returns.
pub(super) fn ask(
    asking: &mut JoinSet<Enqueued>,
    runtime: &tokio::runtime::Runtime,
    store: &Arc<Wal>,
    count: usize,
) {
    let _inside = runtime.enter();
    for _ in 0..count {
        let store = store.clone();
        asking.spawn(async move {
            let id = job(store.mint(), "photo");
            let answers = store.enqueue(vec![id]).await?;
            Ok(answers.into_iter().next().expect("one answer")?)
        });
    }
    runtime.block_on(async {
        for _ in 0..count {
            tokio::task::yield_now().await;
        }
    });
}

fn answered(asking: &mut JoinSet<Enqueued>, runtime: &tokio::runtime::Runtime) -> Vec<Enqueued> {
    runtime.block_on(async {
        let mut answers = Vec::new();
        while let Some(answer) = asking.try_join_next() {
            answers.push(answer.expect("a caller ends"));
        }
        answers
    })
}

pub(super) fn all(
    asking: &mut JoinSet<Enqueued>,
    runtime: &tokio::runtime::Runtime,
) -> Vec<Enqueued> {
    runtime.block_on(async {
        let mut answers = Vec::new();
        while let Some(answer) = asking.join_next().await {
            answers.push(answer.expect("a caller ends"));
        }
        answers
    })
}

pub(super) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime")
}

/// One sync goes on beside the writer and covers many jobs, and as many wait that came meanwhile.
fn in_the_middle(
    store: &Arc<Wal>,
    gate: &Gate,
    runtime: &tokio::runtime::Runtime,
) -> JoinSet<Enqueued> {
    let mut asking = JoinSet::new();
    gate.close();
    ask(&mut asking, runtime, store, 1);
    gate.wait_for_one();
    ask(&mut asking, runtime, store, MANY);
    gate.pass_one();
    gate.wait_for_one();
    ask(&mut asking, runtime, store, MANY);
    asking
}

/// Whoever is answered first of a batch wakes the others on its thread. Here it does not look, and they are woken all
/// the same.
#[test]
fn a_caller_that_does_not_look_holds_up_nobody() {
    let (stage, _, gate) = gated();
    let store = stage.open();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    gate.close();
    let mut asking = JoinSet::new();
    ask(&mut asking, &runtime, &store, 1);
    gate.wait_for_one();
    let mut absent = store.enqueue(vec![job(store.mint(), "photo")]);
    runtime.block_on(async {
        tokio::select! {
            biased;
            _ = &mut absent => panic!("answered before the sync"),
            () = async {} => {}
        }
    });
    ask(&mut asking, &runtime, &store, 3);
    gate.open();
    let others = runtime.block_on(async {
        let all = asking.join_all();
        tokio::time::timeout(Duration::from_secs(20), all).await
    });
    let others = others.expect("woken although nobody looks at the first answer");
    assert!(others.iter().all(Result::is_ok), "{others:?}");
    let first = runtime.block_on(absent).expect("answered");
    assert!(first[0].is_ok());
}

#[test]
fn an_answer_waits_for_the_sync_that_covers_it() {
    let (stage, disk, gate) = gated();
    let store = stage.open();
    let runtime = runtime();
    let mut asking = in_the_middle(&store, &gate, &runtime);
    let first = answered(&mut asking, &runtime);
    assert_eq!(first.len(), 1, "answered before the sync: {first:?}");
    let left = stage.moved_to(&disk.after_crash(Unsynced::Dropped)).open();
    assert!(state(&*left, *first[0].as_ref().expect("enqueued")).is_some());
    assert_eq!(
        wait(left.stats()).expect("stats").jobs,
        [(State::Available, 1)],
        "more was durable than was answered"
    );
    gate.open();
    let rest = all(&mut asking, &runtime);
    assert_eq!(rest.len(), 2 * MANY);
    let left = stage.moved_to(&disk.after_crash(Unsynced::Dropped)).open();
    for id in first.into_iter().chain(rest) {
        assert!(state(&*left, id.expect("enqueued")).is_some());
    }
    let syncs = wait(store.stats()).expect("stats").syncs;
    assert!(syncs <= 6, "{syncs} syncs for three batches");
}

#[test]
fn whoever_only_looks_waits_for_no_sync_unless_it_would_see_what_is_not_safe() {
    let (stage, _, gate) = gated();
    let store = stage.open();
    let safe = enqueue(&*store, "photo").expect("enqueued");
    let runtime = runtime();
    let mut asking = in_the_middle(&store, &gate, &runtime);
    let new = store.mint();
    let mut looking = JoinSet::new();
    runtime.block_on(async {
        let (enqueuing, asked) = (store.clone(), store.clone());
        asking.spawn(async move {
            let answers = enqueuing.enqueue(vec![job(new, "photo")]).await?;
            Ok(answers.into_iter().next().expect("one answer")?)
        });
        tokio::task::yield_now().await;
        looking.spawn(async move { asked.job(new).await });
        tokio::task::yield_now().await;
    });
    // All of these are answered behind that look, while a sync stands before the gate.
    assert_eq!(state(&*store, safe), Some(State::Available));
    let page = PageRequest {
        limit: 1000,
        cursor: None,
    };
    let listed = wait(store.jobs(JobFilter::default(), page)).expect("listed");
    assert_eq!(
        listed.rows.len(),
        2,
        "one was answered, one was there before"
    );
    assert_eq!(wait(store.queues()).expect("queues").len(), 1);
    wait(store.stats()).expect("stats");
    assert_eq!(wait(store.renew(Vec::new())).expect("renewed"), []);
    assert!(
        looking.try_join_next().is_none(),
        "it shows what may be gone"
    );
    gate.open();
    let view = runtime.block_on(looking.join_next()).expect("it looked");
    let view = view.expect("it ends").expect("answered");
    assert_eq!(view.map(|view| view.row.id), Some(new));
    assert!(all(&mut asking, &runtime).iter().all(Result::is_ok));
}

/// What waits in the mailbox while the writer syncs is taken as one batch, in which a sign of life counts
/// although it came behind a look through the leases.
#[test]
fn signs_of_life_count_before_leases_are_looked_through() {
    let (stage, _, gate) = gated();
    let store = stage.open();
    enqueue(&*store, "photo").expect("enqueued");
    let leased = claim_one(&*store, "photo");
    let runtime = runtime();
    let mut asking = JoinSet::new();
    gate.close();
    ask(&mut asking, &runtime, &store, 1);
    gate.wait_for_one();
    stage.clock.pass(stage.options.lease_ms + 1);
    let (mut sweeping, mut renewing) = (JoinSet::new(), JoinSet::new());
    runtime.block_on(async {
        let (sweeper, holder) = (store.clone(), store.clone());
        sweeping.spawn(async move { sweeper.sweep().await });
        tokio::task::yield_now().await;
        let lease = (leased.job.id, leased.token);
        renewing.spawn(async move { holder.renew(vec![lease]).await });
        tokio::task::yield_now().await;
    });
    gate.open();
    let lost = runtime.block_on(sweeping.join_next()).expect("swept");
    assert_eq!(lost.expect("it ends").expect("answered"), 0);
    let gone = runtime.block_on(renewing.join_next()).expect("renewed");
    assert_eq!(gone.expect("it ends").expect("answered"), []);
    assert!(all(&mut asking, &runtime).iter().all(Result::is_ok));
}

#[test]
fn a_sync_that_fails_beside_the_writer_poisons_and_nobody_behind_it_is_answered() {
    let (stage, _, gate) = gated();
    let store = stage.open();
    let runtime = runtime();
    let mut asking = in_the_middle(&store, &gate, &runtime);
    assert_eq!(answered(&mut asking, &runtime).len(), 1);
    gate.fail_next();
    gate.open();
    let rest = all(&mut asking, &runtime);
    assert_eq!(rest.len(), 2 * MANY);
    for answer in rest {
        assert!(
            matches!(&answer, Err(StoreError::Poisoned { cause }) if cause.contains(".seg")),
            "{answer:?}"
        );
    }
    let told = wait(store.stats())
        .expect("told also when poisoned")
        .poisoned;
    assert!(told.is_some_and(|cause| cause.contains("cannot sync")));
    assert!(matches!(
        wait(store.close()),
        Err(StoreError::Poisoned { .. })
    ));
    let again = gate.syncs_after_failure();
    assert_eq!(again, Some(0), "a failed sync was tried again");
}

#[test]
fn a_full_mailbox_answers_busy_and_nothing_is_half_done() {
    let (mut stage, _, gate) = gated();
    stage.options.mailbox = 4;
    let store = stage.open();
    let runtime = runtime();
    let mut asking = JoinSet::new();
    gate.close();
    ask(&mut asking, &runtime, &store, 1);
    gate.wait_for_one();
    ask(&mut asking, &runtime, &store, 7);
    let refused = answered(&mut asking, &runtime);
    assert_eq!(refused.len(), 3);
    for refused in refused {
        assert!(
            matches!(refused, Err(StoreError::Busy { waiting: 4 })),
            "{refused:?}"
        );
    }
    gate.open();
    let taken = all(&mut asking, &runtime);
    assert!(taken.iter().all(Result::is_ok), "{taken:?}");
    enqueue(&*store, "photo").expect("there is room again");
    assert_eq!(
        wait(store.stats()).expect("stats").jobs,
        [(State::Available, 6)]
    );
}

#[test]
fn interval_keeps_what_was_answered_before_its_last_sync() {
    let (mut stage, disk) = Stage::sim();
    stage.options.durability = Durability::Interval(1);
    let store = stage.open();
    let syncs = || wait(store.stats()).expect("stats").syncs;
    let mut answered = Vec::new();
    for _ in 0..20 {
        let before = syncs();
        answered.push(enqueue(&*store, "photo").expect("enqueued"));
        while syncs() == before {
            std::thread::yield_now();
        }
        let left = stage.moved_to(&disk.after_crash(Unsynced::Dropped)).open();
        for id in &answered {
            assert!(state(&*left, *id).is_some(), "{id} is lost");
        }
    }
}

#[test]
fn interval_and_none_lose_nothing_with_the_process_alone() {
    for durability in [Durability::Interval(60_000), Durability::None] {
        let (mut stage, disk) = Stage::sim();
        stage.options.durability = durability;
        let store = stage.open();
        let done = enqueue(&*store, "photo").expect("enqueued");
        let leased = claim_one(&*store, "photo");
        settle(&*store, &leased, completed()).expect("settled");
        let waiting = enqueue(&*store, "photo").expect("enqueued");
        let left = stage.moved_to(&disk.after_crash(Unsynced::Dropped)).open();
        assert_eq!(
            state(&*left, waiting),
            None,
            "{durability} synced by itself"
        );
        drop(left);
        let left = stage.moved_to(&disk.after_kill()).open();
        assert_eq!(state(&*left, done), Some(State::Completed), "{durability}");
        assert_eq!(
            state(&*left, waiting),
            Some(State::Available),
            "{durability}"
        );
    }
}

#[test]
fn segments_made_ready_beside_the_writer_lose_nothing() {
    let (mut stage, disk) = Stage::sim();
    stage.options.background = true;
    let store = stage.open();
    let mut answered = Vec::new();
    while wait(store.stats()).expect("stats").segments < 6 {
        let large = sandhog_model::Job {
            payload: vec![3; 700],
            ..job(store.mint(), "photo")
        };
        answered.push(enqueue_job(&*store, large).expect("enqueued"));
        let left = stage.moved_to(&disk.after_crash(Unsynced::BySector(answered.len() as u64)));
        let left = left.open();
        for id in &answered {
            assert!(state(&*left, *id).is_some(), "{id} is lost");
        }
    }
}
