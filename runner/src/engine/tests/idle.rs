//! Which worker takes what is ready, and how much of it.

use std::time::Duration;

use sandhog_model::State;

use super::{
    gate::Gate,
    stage::{Setup, Stage, done, until},
};
use crate::engine::Running;

/// Ends of each worker, the fewest first.
fn ended(stage: &Stage) -> Vec<u64> {
    let mut ended: Vec<u64> = stage.engine.workers().iter().map(|row| row.ended).collect();
    ended.sort_unstable();
    ended
}

#[tokio::test]
async fn a_worker_that_runs_something_leaves_what_is_ready_to_one_that_does_not() {
    static GATE: Gate = Gate::new();
    let stage = Stage::start(&["hold", "quick"], |request, _| {
        Box::pin(async move {
            match request.job.kind.as_str() {
                "hold" => GATE.pass(request.job).await,
                _ => done("quick"),
            }
        })
    })
    .await;
    let held = stage.enqueue("hold").await;
    until(|| GATE.running() == 1).await;
    for _ in 0..100 {
        let quick = stage.enqueue("quick").await;
        stage.until(quick, State::Completed).await;
    }
    assert_eq!(ended(&stage), [0, 100]);
    GATE.open.add_permits(1);
    stage.until(held, State::Completed).await;
    stage.stop(Duration::from_secs(5)).await;
}

#[tokio::test]
async fn what_an_idle_worker_has_no_slots_for_goes_to_one_that_runs_something() {
    static GATE: Gate = Gate::new();
    let stage = Stage::start(&["hold"], |request, _| Box::pin(GATE.pass(request.job))).await;
    let first = stage.enqueue("hold").await;
    until(|| GATE.running() == 1).await;
    let all = stage.enqueue_many("hold", 4).await;
    until(|| GATE.running() == 4).await;
    GATE.open.add_permits(5);
    for id in all.into_iter().chain([first]) {
        stage.until(id, State::Completed).await;
    }
}

#[tokio::test]
async fn all_slots_are_used_although_a_claim_is_for_half_of_them() {
    static GATE: Gate = Gate::new();
    let stage = Stage::start_with(
        &["hold"],
        |request, _| Box::pin(GATE.pass(request.job)),
        Setup {
            slots: 17,
            ..Setup::default()
        },
    )
    .await;
    let all = stage.enqueue_many("hold", 40).await;
    until(|| GATE.running() == 34).await;
    let claims = stage.engine.waits().claims;
    assert!(claims >= 6, "34 jobs by {claims} claims for 8 at most");
    GATE.open.add_permits(40);
    for id in all {
        stage.until(id, State::Completed).await;
    }
}
