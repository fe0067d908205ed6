//! Leases that are held, and leases that are lost.

use std::time::Duration;

use sandhog_model::State;

use super::stage::{Setup, Stage, done, until_interrupted};

#[tokio::test]
async fn a_long_attempt_keeps_its_lease() {
    // Three leases long, and busy all the time: the heartbeat does not depend on its thread.
    let stage = Stage::start_with(
        &["long"],
        |request, services| {
            Box::pin(async move {
                while services.wall().since(request.started_at) < 900 {
                    std::hint::spin_loop();
                }
                done("kept")
            })
        },
        Setup {
            lease_ms: 300,
            ..Setup::default()
        },
    )
    .await;
    let id = stage.enqueue("long").await;
    let view = stage.until(id, State::Completed).await;
    assert_eq!((view.attempts.len(), view.losses), (1, 0));
}

#[tokio::test]
async fn a_stuck_attempt_loses_its_lease_and_its_late_report_is_refused() {
    let stage = Stage::start_with(
        &["stuck"],
        |request, _| {
            Box::pin(async move {
                match request.token.0 {
                    1 => until_interrupted(request.live).await,
                    _ => done("second"),
                }
            })
        },
        Setup {
            lease_ms: 300,
            ..Setup::default()
        },
    )
    .await;
    let id = stage.enqueue("stuck").await;
    // Its deadline is set when it begins.
    stage.until_begun(id).await;
    // Past its wall time and the time to end: no beat renews it any more.
    stage.clock.leap(60_000);
    let view = stage.until(id, State::Completed).await;
    assert_eq!(view.output.expect("a result").payload, b"second");
    assert_eq!((view.losses, view.attempts.len()), (1, 1));
    // The first attempt ends with the engine, and reports in vain.
    stage.stop(Duration::ZERO).await;
    let view = stage.view(id).await;
    assert_eq!((view.row.state, view.attempts.len()), (State::Completed, 1));
}
