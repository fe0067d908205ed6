//! Queues, limits and unique jobs through the store: what was said is durable, and nobody waits for a place
//! that is free.

use std::{pin::pin, sync::Arc};

use sandhog_model::{JobId, QueueLimits, QueueMode, QueueRule, QueueRules, State, UnixMs};

use super::{
    compact::{churn, forgetful, stats},
    merging::{copy_log, log_dirs},
    stage::{
        START, Stage, claim, claim_one, completed, enqueue, enqueue_job, failed, is_told, job,
        lose, permanent, settle, state, wait,
    },
};
use crate::{
    disk::{Disk, OpenMode, sim::Unsynced},
    store::{QueueRow, Steer, Store, wal::repair},
};

fn steer(store: &dyn Store, queue: &str, mode: QueueMode) {
    let steer = Steer {
        queue: queue.to_owned(),
        mode: Some(mode),
        limits: None,
        by: "ada".to_owned(),
    };
    wait(store.steer(steer)).expect("steered");
}

fn queue(store: &dyn Store, name: &str) -> QueueRow {
    let rows = wait(store.queues()).expect("rows");
    let row = rows.into_iter().find(|row| row.queue == name);
    row.expect("the queue is shown")
}

fn in_queue(store: &dyn Store, queue: &str, group: Option<&str>) -> JobId {
    let mut new = job(store.mint(), "k");
    new.queue = queue.to_owned();
    new.terms.group = group.map(str::to_owned);
    enqueue_job(store, new).expect("enqueued")
}

fn claims_nothing(store: &dyn Store, kind: &str) -> bool {
    claim(store, &[kind], 9).expect("claimed").is_empty()
}

#[test]
fn a_pause_holds_over_a_loss_of_power_trims_and_a_new_log() {
    let (stage, disk) = forgetful();
    let store = stage.open();
    steer(&*store, "held", QueueMode::Paused);
    steer(&*store, "full", QueueMode::Draining);
    let waits = in_queue(&*store, "held", None);
    churn(&*store, 1_000);
    store.compacted();
    assert!(stats(&*store).freed_segments > 3);
    let holds = |store: &dyn Store| {
        assert_eq!(queue(store, "held").mode, QueueMode::Paused);
        assert_eq!(queue(store, "full").mode, QueueMode::Draining);
        assert!(claims_nothing(store, "k"));
        assert_eq!(state(store, waits), Some(State::Available));
        let mut new = job(store.mint(), "k");
        new.queue = "full".to_owned();
        let refused = enqueue_job(store, new).expect_err("it takes nothing in");
        assert!(refused.to_string().contains("queue full"), "{refused}");
    };
    holds(&*store);
    // What was answered is there after a loss of power, whatever was written since.
    let crashed = stage.moved_to(&disk.after_crash(Unsynced::Dropped));
    holds(&*crashed.open());
    steer(&*store, "held", QueueMode::Open);
    churn(&*store, 500);
    store.compacted();
    drop(store);
    let store = stage.open();
    assert_eq!(queue(&*store, "held").mode, QueueMode::Open);
    assert_eq!(claim_one(&*store, "k").job.id, waits);
}

#[test]
fn what_was_said_of_queues_comes_over_with_another_log_and_through_a_repair() {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    enqueue(&*store, "k").expect("enqueued");
    steer(&*store, "opened", QueueMode::Open);
    steer(&*store, "mine", QueueMode::Draining);
    wait(store.close()).expect("closed");
    let (mut other, other_disk) = Stage::sim();
    // Its log has an id of its own.
    other.options.entropy = stage.options.entropy.clone();
    let store = other.open();
    for queue in ["theirs", "mine"] {
        steer(&*store, queue, QueueMode::Paused);
    }
    wait(store.close()).expect("closed");
    copy_log(&other_disk, &disk);
    let store = stage.open();
    assert_eq!(stats(&*store).merged_logs, 1);
    let modes = |store: &dyn Store| ["theirs", "mine"].map(|name| queue(store, name).mode);
    let both = [QueueMode::Paused, QueueMode::Draining];
    assert_eq!(modes(&*store), both);
    for _ in 0..30 {
        enqueue(&*store, "k").expect("enqueued");
    }
    wait(store.close()).expect("closed");
    // A byte in the middle of a closed segment.
    let dir = log_dirs(&disk).remove(0);
    let path = dir.join("0000000002.seg");
    let file = disk.open(&path, OpenMode::Write).expect("opened");
    file.write_at(300, &[0xFF; 4]).expect("written");
    assert!(stage.try_open().is_err());
    repair(&stage.options, false).expect("repaired");
    assert_eq!(modes(&*stage.open()), both);
}

#[test]
fn whoever_waits_hears_of_a_place_that_is_free_however_it_came() {
    let (mut stage, _) = Stage::sim();
    let rule = |concurrency, group_concurrency| QueueRule {
        limits: QueueLimits {
            concurrency,
            group_concurrency,
            ..QueueLimits::default()
        },
        ..QueueRule::default()
    };
    let queues = [
        ("one".to_owned(), rule(Some(1), None)),
        ("each".to_owned(), rule(None, Some(1))),
    ];
    stage.options.queues = Arc::new(QueueRules {
        queues: queues.into(),
        first: Vec::new(),
    });
    let store = stage.open();
    for queue in ["one", "each"] {
        let ends: [&dyn Fn(&crate::store::LeasedJob); 4] = [
            &|leased| {
                settle(&*store, leased, completed()).expect("settled");
            },
            &|leased| {
                settle(&*store, leased, permanent()).expect("settled");
            },
            &|_| {
                lose(&*store, &stage).expect("lost");
            },
            &|leased| {
                let cancel =
                    super::stage::call_off(&*store, leased.job.id, sandhog_model::Asked::Kill);
                cancel.expect("called off");
                settle(&*store, leased, failed()).expect("settled");
            },
        ];
        for _ in 0..=ends.len() {
            in_queue(&*store, queue, Some("ada"));
        }
        for end in ends {
            let leased = claim_one(&*store, "k");
            assert!(claims_nothing(&*store, "k"), "one runs at a time");
            let ready = store.ready();
            // What came before is told at once.
            is_told(pin!(ready.notified()));
            let mut notified = pin!(ready.notified());
            notified.as_mut().enable();
            assert!(!is_told(notified.as_mut()));
            end(&leased);
            assert!(is_told(notified.as_mut()), "a place is free in {queue}");
        }
        // One that was lost waits again.
        while let Some(leased) = claim(&*store, &["k"], 1).expect("claimed").pop() {
            settle(&*store, &leased, completed()).expect("settled");
        }
    }
    // A crash leaves no place taken.
    in_queue(&*store, "one", None);
    claim_one(&*store, "k");
    drop(store);
    let store = stage.open();
    claim_one(&*store, "k");
    assert!(claims_nothing(&*store, "k"));
}

#[test]
fn a_rate_tells_when_the_next_may_begin_and_rules_may_change_meanwhile() {
    let (mut stage, _) = Stage::sim();
    let limits = QueueLimits {
        rate: Some("1/10s".parse().expect("a rate")),
        ..QueueLimits::default()
    };
    let rule = QueueRule {
        limits,
        ..QueueRule::default()
    };
    let rules = Arc::new(QueueRules {
        queues: [("default".to_owned(), rule)].into(),
        first: Vec::new(),
    });
    stage.options.queues = rules;
    let store = stage.open();
    for _ in 0..4 {
        enqueue(&*store, "k").expect("enqueued");
    }
    let request = || sandhog_model::ClaimRequest {
        kinds: vec!["k".to_owned()],
        max: 5,
    };
    let claimed = wait(store.claim(request())).expect("claimed");
    assert_eq!(claimed.jobs.len(), 1);
    assert_eq!(claimed.next_due, Some(UnixMs(START + 10_000)));
    // Over a restart as well.
    drop(store);
    stage.clock.pass(4_000);
    let store = stage.open();
    let claimed = wait(store.claim(request())).expect("claimed");
    assert!(claimed.jobs.is_empty());
    assert_eq!(claimed.next_due, Some(UnixMs(START + 10_000)));
    let set = Steer {
        queue: "default".to_owned(),
        mode: None,
        limits: Some(QueueLimits {
            rate: Some("1000/1s".parse().expect("a rate")),
            ..QueueLimits::default()
        }),
        by: "ada".to_owned(),
    };
    wait(store.steer(set)).expect("set");
    assert_eq!(claim(&*store, &["k"], 5).expect("claimed").len(), 4);
    wait(store.govern(Arc::default())).expect("governed");
    let row = queue(&*store, "default");
    assert!(row.limits == row.set && row.set.rate.is_some());
}

#[test]
fn the_job_that_waits_longest_is_known_whatever_its_group_and_priority() {
    let (stage, _) = Stage::sim();
    let store = stage.open();
    let put = |group: Option<&str>, priority: i16, due: u64| {
        let mut new = job(store.mint(), "k");
        new.queue = "q".to_owned();
        new.terms.group = group.map(str::to_owned);
        (new.priority, new.due) = (priority, UnixMs(due));
        enqueue_job(&*store, new).expect("enqueued")
    };
    let _ = put(None, 0, START + 5_000);
    assert_eq!(queue(&*store, "q").oldest_due, None, "none is due");
    let _ = put(Some("a"), 9, START - 100);
    let _ = put(None, 0, START - 200);
    let oldest = put(Some("b"), -5, START - 900);
    assert_eq!(
        queue(&*store, "q").oldest_due,
        Some(UnixMs(START - 900)),
        "of the lowest priority, and in another group"
    );
    wait(store.amend(vec![sandhog_model::Amend::Remove {
        id: oldest,
        force: true,
    }]))
    .expect("removed")
    .pop()
    .expect("an answer")
    .expect("done");
    assert_eq!(queue(&*store, "q").oldest_due, Some(UnixMs(START - 200)));
}
