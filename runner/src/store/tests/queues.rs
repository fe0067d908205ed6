//! Queues, limits and unique jobs through the store: what was said is durable, and nobody waits for a place
//! that is free.

use std::{future::Future, pin::pin, sync::Arc, task::Context, task::Poll, task::Waker};

use sandhog_model::{
    Amend, Digest, Job, JobId, Named, OnConflict, QueueLimits, QueueMode, QueueRule, QueueRules,
    Rejected, Sameness, Scope, State, Terms, Unique, UnixMs,
};

use super::{
    compact::{churn, forgetful, stats, view},
    merging::{copy_log, log_dirs},
    stage::{
        START, Stage, amend, claim, claim_one, completed, enqueue, enqueue_job, failed, first_page,
        job, lose, permanent, settle, state, wait,
    },
};
use crate::{
    clock::SystemClock,
    disk::{Disk, OpenMode, sim::Unsynced},
    store::{Inspect, QueueRow, Steer, Store, StoreError, UniqueRow, wal::repair},
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

/// Whether whoever waits for work was told.
fn is_told(notified: std::pin::Pin<&mut impl Future<Output = ()>>) -> bool {
    notified.poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(())
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

fn unique(on_conflict: OnConflict, scope: Scope, until: Option<u64>) -> Terms {
    Terms {
        unique: Some(Unique {
            key: Digest(7),
            says: "seven".to_owned(),
            scope,
            until: until.map(|ms| UnixMs(START + ms)),
            on_conflict,
        }),
        ..Terms::default()
    }
}

fn with(store: &dyn Store, terms: Terms) -> Result<JobId, Rejected> {
    let new = Job {
        terms,
        ..job(store.mint(), "k")
    };
    match enqueue_job(store, new) {
        Ok(id) => Ok(id),
        Err(StoreError::Rejected(rejected)) => Err(rejected),
        Err(error) => panic!("{error}"),
    }
}

fn duplicate(holder: JobId, is_kept: bool) -> Result<JobId, Rejected> {
    Err(Rejected::Duplicate {
        holder,
        sameness: Sameness::Unique,
        is_kept,
    })
}

fn locks(store: &dyn Store) -> Vec<UniqueRow> {
    let page = wait(store.unique(first_page(10))).expect("a page");
    assert_eq!(page.next, None);
    page.rows
}

/// Each way in which a unique job comes to its end, and the next one is taken in at once.
#[test]
fn a_lock_is_gone_with_the_state_that_it_stands_for() {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    let terms = || unique(OnConflict::Reject, Scope::UNFINISHED, None);
    let ends: [(&str, &dyn Fn(JobId)); 6] = [
        ("completed", &|_| {
            let leased = claim_one(&*store, "k");
            assert_eq!(with(&*store, terms()), duplicate(leased.job.id, false));
            settle(&*store, &leased, completed()).expect("settled");
        }),
        ("cancelled", &|id| {
            let cancelled = super::stage::call_off(&*store, id, sandhog_model::Asked::Cancel);
            cancelled.expect("called off");
        }),
        ("dead", &|_| {
            settle(&*store, &claim_one(&*store, "k"), permanent()).expect("settled");
        }),
        ("deleted", &|id| {
            settle(&*store, &claim_one(&*store, "k"), permanent()).expect("settled");
            amend(&*store, Amend::Delete(id)).expect("deleted");
        }),
        ("tried again, and then completed", &|id| {
            settle(&*store, &claim_one(&*store, "k"), failed()).expect("settled");
            assert_eq!(with(&*store, terms()), duplicate(id, false));
            stage.clock.pass(1_000);
            settle(&*store, &claim_one(&*store, "k"), completed()).expect("settled");
        }),
        ("released", &|id| {
            amend(&*store, Amend::Unlock(id)).expect("released");
        }),
    ];
    for (name, end) in ends {
        let id = with(&*store, terms()).unwrap_or_else(|why| panic!("before {name}: {why}"));
        assert_eq!(with(&*store, terms()), duplicate(id, false), "{name}");
        let rows = locks(&*store);
        assert_eq!((rows.len(), rows[0].id, rows[0].key), (1, id, Digest(7)));
        assert_eq!(rows[0].unique, terms().unique);
        end(id);
        assert_eq!(locks(&*store), [], "{name}");
    }
    // A holder that is killed with its runner stands in the way as long as it waits, and no longer.
    let id = with(&*store, terms()).expect("accepted");
    claims_nothing(&*store, "none");
    claim(&*store, &["k"], 9).expect("claimed");
    let after = stage.moved_to(&disk.after_crash(Unsynced::Dropped)).open();
    assert_eq!(with(&*after, terms()), duplicate(id, false));
    let mut leased = claim(&*after, &["k"], 9).expect("claimed");
    leased.retain(|leased| leased.job.id == id);
    settle(&*after, &leased[0], completed()).expect("settled");
    assert!(with(&*after, terms()).is_ok());
    // One that comes back does not get past another.
    let back = amend(&*after, Amend::Retry(id));
    assert!(matches!(
        back,
        Err(StoreError::Rejected(Rejected::Duplicate { .. }))
    ));
}

#[test]
fn a_conflict_ends_as_the_newer_job_says() {
    let (stage, _) = Stage::sim();
    let store = stage.open();
    let waiting = Scope::WAITING.and(Scope::RETRYABLE);
    let first = with(&*store, unique(OnConflict::Keep, waiting, None)).expect("accepted");
    let kept = with(&*store, unique(OnConflict::Keep, waiting, None));
    assert_eq!(kept, duplicate(first, true));
    let second = with(&*store, unique(OnConflict::Replace, waiting, None)).expect("accepted");
    let replaced = view(&*store, first);
    assert_eq!(replaced.row.state, State::Cancelled);
    let reason = replaced.cancel.and_then(|cancel| cancel.reason);
    assert!(reason.expect("a reason").contains(&second.text()));
    let put_off = |ms| {
        let new = Job {
            due: UnixMs(START + ms),
            terms: unique(OnConflict::Debounce, waiting, None),
            ..job(store.mint(), "k")
        };
        enqueue_job(&*store, new)
    };
    for ms in [500, 900] {
        let answer = put_off(ms).map_err(|error| error.to_string());
        assert!(answer.is_err_and(|text| text.contains(&second.text())));
        let row = view(&*store, second).row;
        assert_eq!((row.state, row.at), (State::Scheduled, UnixMs(START + ms)));
    }
    stage.clock.pass(899);
    assert!(claims_nothing(&*store, "k"));
    stage.clock.pass(1);
    assert_eq!(claim_one(&*store, "k").job.id, second);
    // It runs, and is in nobody's way by its scope.
    assert!(with(&*store, unique(OnConflict::Debounce, waiting, None)).is_ok());
}

#[test]
fn a_period_ends_by_itself_and_an_idempotency_key_with_its_job() {
    let (mut stage, disk) = forgetful();
    stage.options.max_ended = Some(1);
    let store = stage.open();
    let terms = || unique(OnConflict::Reject, Scope::KNOWN, Some(5_000));
    let first = with(&*store, terms()).expect("accepted");
    settle(&*store, &claim_one(&*store, "k"), completed()).expect("settled");
    assert_eq!(with(&*store, terms()), duplicate(first, false));
    stage.clock.pass(5_000);
    assert_eq!(locks(&*store), []);
    let keyed = || Terms {
        idempotency: Some(Named {
            key: Digest(9),
            says: "order 9".to_owned(),
        }),
        ..Terms::default()
    };
    let id = with(&*store, keyed()).expect("accepted");
    let same = Err(Rejected::Duplicate {
        holder: id,
        sameness: Sameness::Idempotency,
        is_kept: true,
    });
    assert_eq!(with(&*store, keyed()), same);
    assert_eq!(locks(&*store), [], "it is no lock that anybody releases");
    settle(&*store, &claim_one(&*store, "k"), completed()).expect("settled");
    assert_eq!(with(&*store, keyed()), same);
    let after = stage.moved_to(&disk.after_crash(Unsynced::Dropped)).open();
    assert_eq!(with(&*after, keyed()), same);
    // As long as the job is known, and it is only so long.
    stage.clock.pass(1);
    churn(&*store, 5);
    assert_eq!(state(&*store, id), None);
    assert!(with(&*store, keyed()).is_ok_and(|new| new != id));
}

#[test]
fn what_few_jobs_say_is_written_anew_with_them() {
    let (stage, disk) = forgetful();
    let store = stage.open();
    let mut terms = unique(OnConflict::Keep, Scope::UNFINISHED, Some(900_000_000));
    terms.expires = Some(UnixMs(START + 800_000_000));
    terms.retry_for_ms = Some(1_500);
    terms.group = Some("ada".to_owned());
    terms.tags = vec!["t".to_owned()];
    let id = with(&*store, terms.clone()).expect("accepted");
    settle(&*store, &claim_one(&*store, "k"), failed()).expect("settled");
    churn(&*store, 1_000);
    store.compacted();
    assert!(stats(&*store).freed_segments > 3);
    let after = stage.moved_to(&disk.after_crash(Unsynced::Dropped));
    let store = after.open();
    assert_eq!(view(&*store, id).job.terms, terms);
    assert_eq!(with(&*store, terms), duplicate(id, true));
    // It began to fail before, and the next attempt would be too late.
    after.clock.pass(1_000);
    settle(&*store, &claim_one(&*store, "k"), failed()).expect("settled");
    assert_eq!(state(&*store, id), Some(State::Dead));
    amend(&*store, Amend::Requeue(id)).expect("requeued");
    settle(&*store, &claim_one(&*store, "k"), failed()).expect("settled");
    assert_eq!(
        state(&*store, id),
        Some(State::Retryable),
        "it fails for the first time"
    );
}

#[test]
fn a_job_that_waits_too_long_is_never_begun_and_comes_back_without_an_end() {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    let terms = || Terms {
        expires: Some(UnixMs(START + 2_000)),
        ..Terms::default()
    };
    let [tried, waits, runs] = [0; 3].map(|_| with(&*store, terms()).expect("accepted"));
    settle(&*store, &claim_one(&*store, "k"), failed()).expect("settled");
    let leased = claim(&*store, &["k"], 2).expect("claimed");
    // Put back: it waits again.
    let back = sandhog_model::Outcome::NotRun(sandhog_model::Waiting::Shutdown);
    settle(&*store, &leased[0], back).expect("put back");
    stage.clock.pass(2_000);
    assert!(claims_nothing(&*store, "k"));
    assert_eq!(leased[1].job.id, runs);
    for id in [tried, waits] {
        assert_eq!(state(&*store, id), Some(State::Expired));
    }
    settle(&*store, &leased[1], completed()).expect("it had begun");
    assert_eq!(
        amend(&*store, Amend::Retry(waits)).expect("retried"),
        Some(State::Available)
    );
    let after = stage.moved_to(&disk.after_crash(Unsynced::Dropped)).open();
    assert_eq!(claim_one(&*after, "k").job.id, waits);
    assert_eq!(state(&*after, tried), Some(State::Expired));
}

/// Nobody claims, nobody sweeps: a timer does it.
#[test]
fn a_timer_ends_what_waited_too_long() {
    let (mut stage, _) = Stage::sim();
    let clock = Arc::new(SystemClock::default());
    stage.options.clock = clock.clone();
    let store = stage.open();
    let mut changes = store.changes();
    let now = crate::clock::Clock::now(&*clock).wall;
    let new = Job {
        enqueued_at: now,
        due: now,
        terms: Terms {
            expires: Some(now.plus(40)),
            ..Terms::default()
        },
        ..job(store.mint(), "k")
    };
    let id = enqueue_job(&*store, new).expect("accepted");
    wait(async { while changes.recv().await.expect("the store lives").state != State::Expired {} });
    let late = crate::clock::Clock::now(&*clock).wall.since(now);
    assert!(late >= 40, "{late} ms");
    assert_eq!(state(&*store, id), Some(State::Expired));
}
