//! Stopping a guest from outside, and what its neighbours notice.

use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

use sandhog_kit::long;
use sandhog_model::{Asked, Cancellation, Outcome, UnixMs, Waiting};

use super::kit::{Rig, failure, json, live, within};
use crate::plugin::Live;

/// Far more than a stop takes, far less than the guest would.
const SOON: Duration = Duration::from_secs(5);

fn interrupted(kind: &str, headers: &[(&str, &str)]) {
    let rig = Rig::misbehaving();
    let request = rig.request(kind, headers);
    let live = live(&request);
    let (report, asked) = rig.block_on(async {
        tokio::join!(rig.start(request), async {
            // It says so when it is about to begin.
            while live.with(|view| view.logs.is_empty()) {
                tokio::task::yield_now().await;
            }
            live.interrupt();
            Instant::now()
        })
    });
    let took = asked.elapsed();
    println!("{kind}: stopped {} ms after it was asked", took.as_millis());
    assert_eq!(report.outcome, Outcome::NotRun(Waiting::Shutdown));
    assert_eq!(report.attempt.failure, None);
    assert_eq!(report.attempt.digest, rig.plugin.digest);
    assert!(took < SOON, "stopped after {took:?}");
}

#[test]
fn a_tight_loop_is_interrupted() {
    interrupted("loop", &[]);
}

#[test]
fn a_wait_in_the_host_is_interrupted() {
    interrupted("sleep", &[("ms", "60000")]);
}

#[test]
fn an_interrupt_before_the_start_is_seen() {
    let rig = Rig::misbehaving();
    let request = rig.request("loop", &[]);
    live(&request).interrupt();
    assert_eq!(
        rig.attempt(request).outcome,
        Outcome::NotRun(Waiting::Shutdown)
    );
}

#[test]
fn neighbours_of_a_loop_go_on() {
    let rig = Rig::misbehaving();
    let order = RefCell::new(Vec::new());
    let mut request = rig.request("loop", &[]);
    request.limits = within(Duration::from_millis(1_500));
    rig.block_on(async {
        tokio::join!(
            async {
                let report = rig.start(request).await;
                assert_eq!(failure(&report).code, "timeout");
                order.borrow_mut().push("loop");
            },
            async {
                for _ in 0..20 {
                    let report = rig.start(rig.request("echo", &[])).await;
                    assert!(matches!(report.outcome, Outcome::Completed(_)));
                    order.borrow_mut().push("echo");
                }
            }
        )
    });
    let order = order.into_inner();
    assert_eq!(order.iter().position(|who| *who == "loop"), Some(20));
}

#[test]
fn a_timer_of_the_same_thread_still_fires_beside_loops() {
    let rig = Rig::misbehaving();
    let request = || {
        let mut request = rig.request("loop", &[]);
        request.limits = within(Duration::from_secs(1));
        request
    };
    rig.block_on(async {
        let timer = async {
            let mut ticks = tokio::time::interval(Duration::from_millis(20));
            for _ in 0..6 {
                ticks.tick().await;
            }
            Instant::now()
        };
        let loops = async {
            tokio::join!(rig.start(request()), rig.start(request()));
            Instant::now()
        };
        let (fired, ended) = tokio::join!(timer, loops);
        assert!(fired < ended, "the timer waited for the loops");
    });
}

#[test]
fn a_full_pool_is_no_attempt() {
    let rig = Rig::with_slots((*Rig::misbehaving().plugin).clone(), 1);
    // One slot means two stores: one more for a store that is being dropped.
    let sleeper = || rig.start(rig.request("sleep", &[("ms", "300")]));
    let (first, second, third) =
        rig.block_on(async { tokio::join!(sleeper(), sleeper(), sleeper()) });
    assert!(matches!(first.outcome, Outcome::Completed(_)));
    assert!(matches!(second.outcome, Outcome::Completed(_)));
    assert_eq!(third.outcome, Outcome::NotRun(Waiting::PoolFull));
    assert_eq!(third.attempt.digest, "");
}

#[test]
fn code_that_is_gone_is_no_attempt() {
    let mut rig = Rig::misbehaving();
    let mut plugin = (*rig.plugin).clone();
    plugin.code = "/nowhere/gone.cwasm".into();
    rig.plugin = plugin.into();
    let report = rig.run("echo", &[]);
    assert_eq!(report.outcome, Outcome::NotRun(Waiting::PluginInvalid));
}

#[test]
fn stopped_and_trapped_guests_leave_nothing_in_the_pool() {
    let rig = Rig::misbehaving();
    for _ in 0..10 {
        let mut request = rig.request("loop", &[]);
        request.limits = within(Duration::from_millis(30));
        rig.attempt(request);
        let mut request = rig.request("sleep", &[]);
        request.limits = within(Duration::from_millis(1));
        rig.attempt(request);
        rig.run("divide", &[]);
    }
    let metrics = rig.host.engine().pooling_allocator_metrics().unwrap();
    assert_eq!(
        (
            metrics.core_instances(),
            metrics.component_instances(),
            metrics.memories(),
            metrics.tables(),
            metrics.stacks(),
        ),
        (0, 0, 0, 0, 0)
    );
}

fn called_off(how: Asked) -> Cancellation {
    Cancellation {
        how,
        at: UnixMs(0),
        by: "ada".into(),
        reason: None,
    }
}

/// Let others of the thread go on until something is so.
async fn until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        tokio::task::yield_now().await;
    }
}

/// Calls the job of an attempt off as soon as it has said that it waits; how the attempt ended, and
/// how long after that.
fn called_off_while_it_waits(
    rig: &Rig,
    kind: &str,
    headers: &[(&str, &str)],
) -> (Outcome, Duration) {
    let request = rig.request(kind, headers);
    let live = live(&request);
    let (report, asked) = rig.block_on(async {
        tokio::join!(rig.start(request), async {
            until(|| live.with(|view| !view.logs.is_empty())).await;
            // So that it is in its wait, and no longer on the way to it.
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            live.call_off(called_off(Asked::Cancel));
            Instant::now()
        })
    });
    (report.outcome, asked.elapsed())
}

#[test]
fn the_contracts_own_wait_ends_when_the_job_is_called_off() {
    let rig = Rig::misbehaving();
    let (outcome, took) = called_off_while_it_waits(&rig, "rest", &[("ms", "25000")]);
    let Outcome::Failed { failure, .. } = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(failure.code, "told");
    assert!(took < SOON, "ended after {took:?}");
}

#[test]
fn the_contracts_own_wait_is_as_long_as_asked_or_ends_before_the_deadline() {
    let rig = Rig::misbehaving();
    let waited = json(&rig.run("rest", &[("ms", "60")]));
    assert!(waited.as_u64().unwrap() >= 60, "{waited}");
    let mut request = rig.request("rest", &[("ms", "600000")]);
    request.limits = within(Duration::from_secs(2));
    let report = rig.attempt(request);
    assert_eq!(failure(&report).code, "told", "{report:?}");
    assert!(report.attempt.duration_us >= 1_500_000, "{report:?}");
    // Who is told already does not wait at all.
    let request = rig.request("rest", &[("ms", "25000")]);
    live(&request).call_off(called_off(Asked::Cancel));
    let begun = Instant::now();
    assert_eq!(failure(&rig.attempt(request)).code, "told");
    assert!(begun.elapsed() < SOON);
}

/// How an attempt is ended from outside.
fn end(live: &Live, number: usize) {
    match number % 3 {
        // A shutdown, or a lease that is gone.
        0 => live.interrupt(),
        1 => live.call_off(called_off(Asked::Kill)),
        _ => {
            live.call_off(called_off(Asked::Cancel));
            // The grace is over.
            live.interrupt();
        }
    }
}

#[test]
fn t33_ended_in_mid_call_again_and_again() {
    const AT_A_TIME: usize = 4;
    let rounds = if long() { 10_000 } else { 400 } / AT_A_TIME;
    let rig = Rig::misbehaving();
    let kinds = [
        "sleep", "rest", "loop", "heed", "echo", "spawn", "recurse", "panic",
    ];
    let mut ended = 0;
    for round in 0..rounds {
        rig.block_on(async {
            let one = async |number: usize| {
                let kind = kinds[(number / 3) % kinds.len()];
                let request = rig.request(kind, &[("ms", "60000")]);
                let live = live(&request);
                // Some in their first steps, some well inside.
                let steps = number.wrapping_mul(0x9E37_79B9) % 40;
                let (report, ()) = tokio::join!(rig.start(request), async {
                    for _ in 0..steps {
                        tokio::task::yield_now().await;
                    }
                    end(&live, number);
                });
                usize::from(report.outcome == Outcome::NotRun(Waiting::Shutdown))
            };
            let first = round * AT_A_TIME;
            let (a, b, c, d) =
                tokio::join!(one(first), one(first + 1), one(first + 2), one(first + 3));
            ended += a + b + c + d;
        });
    }
    // Those that never end by themselves were ended, and none is left in a slot.
    assert!(ended >= rounds * AT_A_TIME / 3, "{ended} were ended");
    println!(
        "T33: {} attempts, {ended} ended in mid-call",
        rounds * AT_A_TIME
    );
    let metrics = rig.host.engine().pooling_allocator_metrics().unwrap();
    let left = (
        metrics.component_instances(),
        metrics.memories(),
        metrics.stacks(),
    );
    assert_eq!(left, (0, 0, 0));
    let after = rig.run("echo", &[]);
    assert!(matches!(after.outcome, Outcome::Completed(_)), "{after:?}");
}
