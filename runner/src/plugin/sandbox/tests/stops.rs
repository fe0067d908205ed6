//! Stopping a guest from outside, and what its neighbours notice.

use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

use sandhog_model::{Outcome, Waiting};

use super::kit::{Rig, failure, live, within};

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
