//! Jobs that wait for memory which others hold.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use sandhog_model::{JobId, State};

use super::{
    gate::Gate,
    stage::{Setup, Stage, until},
};
use crate::engine::Running;

/// Twice the memory limit of a plain kind, and once that of kind `large`.
const BUDGET: u64 = 256 << 20;

async fn states(stage: &Stage, jobs: &[JobId]) -> Vec<State> {
    let mut states = Vec::new();
    for id in jobs {
        states.push(stage.view(*id).await.row.state);
    }
    states
}

#[tokio::test]
async fn no_more_run_than_their_limits_allow_and_the_rest_stay_available() {
    static GATE: Gate = Gate::new();
    let stage = Stage::start_with(
        &["plain"],
        |request, _| Box::pin(GATE.pass(request.job)),
        Setup {
            budget: BUDGET,
            ..Setup::default()
        },
    )
    .await;
    let mut jobs = Vec::new();
    for _ in 0..8 {
        jobs.push(stage.enqueue("plain").await);
    }
    until(|| GATE.running() == 2 && stage.engine.memory().short).await;
    let states = states(&stage, &jobs).await;
    let waiting = states.iter().filter(|state| **state == State::Available);
    assert_eq!(waiting.count(), 6, "{states:?}");
    assert_eq!(stage.engine.memory().held, BUDGET);
    GATE.open.add_permits(8);
    for id in jobs {
        let view = stage.until(id, State::Completed).await;
        assert_eq!((view.row.attempt, view.attempts.len()), (1, 1));
    }
    assert_eq!(GATE.most.load(Ordering::SeqCst), 2);
    stage.stop(Duration::from_secs(5)).await;
    assert_eq!(stage.engine.memory().held, 0);
}

#[tokio::test]
async fn a_large_job_is_not_overtaken_and_uses_no_attempt_by_waiting() {
    static GATE: Gate = Gate::new();
    let stage = Stage::start_with(
        &["plain", "large"],
        |request, _| Box::pin(GATE.pass(request.job)),
        Setup {
            budget: BUDGET,
            ..Setup::default()
        },
    )
    .await;
    let first = stage.enqueue("plain").await;
    until(|| GATE.running() == 1).await;
    let large = stage.enqueue("large").await;
    until(|| stage.engine.memory().waiting == 1).await;
    let later = stage.enqueue("plain").await;
    assert_eq!(stage.view(later).await.row.state, State::Available);
    GATE.open.add_permits(1);
    stage.until(first, State::Completed).await;
    until(|| GATE.running() == 1).await;
    assert_eq!(stage.view(later).await.row.state, State::Available);
    GATE.open.add_permits(2);
    let view = stage.until(large, State::Completed).await;
    assert_eq!((view.row.attempt, view.attempts.len()), (1, 1));
    stage.until(later, State::Completed).await;
    assert_eq!(GATE.most.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_stop_takes_a_job_out_of_the_line() {
    static GATE: Gate = Gate::new();
    let stage = Stage::start_with(
        &["plain", "large"],
        |request, _| {
            let live = Arc::clone(&request.live);
            Box::pin(async move {
                tokio::select! {
                    outcome = GATE.pass(request.job) => outcome,
                    outcome = super::stage::until_interrupted(live) => outcome,
                }
            })
        },
        Setup {
            budget: BUDGET,
            ..Setup::default()
        },
    )
    .await;
    let plain = stage.enqueue("plain").await;
    until(|| GATE.running() == 1).await;
    let large = stage.enqueue("large").await;
    until(|| stage.engine.memory().waiting == 1).await;
    stage.stop(Duration::ZERO).await;
    assert_eq!(stage.engine.memory().waiting, 0);
    for id in [plain, large] {
        let row = stage.view(id).await.row;
        assert_eq!((row.state, row.attempt), (State::Available, 0));
    }
}
