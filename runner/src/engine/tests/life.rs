//! What becomes of jobs.

use std::time::Duration;

use sandhog_model::{FailureKind, State};

use super::stage::{Stage, done, failed, until_interrupted};
use crate::engine::Running;

#[tokio::test]
async fn a_job_runs_to_its_result() {
    let stage = Stage::start(&["greet"], |_, _| Box::pin(async { done("hello") })).await;
    let id = stage.enqueue("greet").await;
    let view = stage.until(id, State::Completed).await;
    assert_eq!(view.output.expect("a result").payload, b"hello");
    assert_eq!(view.attempts.len(), 1);
    assert_eq!(view.row.digest.as_deref(), Some("d1"));
    stage.stop(Duration::from_secs(5)).await;
    let ended: u64 = stage.engine.workers().iter().map(|row| row.ended).sum();
    assert_eq!(ended, 1);
    let waits = stage.engine.waits();
    assert!(waits.claims > 0 && !waits.claiming.is_zero(), "{waits:?}");
    assert!(
        waits.reports == 1 && !waits.reporting.is_zero(),
        "{waits:?}"
    );
}

#[tokio::test]
async fn a_failing_job_is_retried_and_then_dead() {
    let stage = Stage::start(&["fail"], |request, _| {
        Box::pin(async move { failed(&format!("no {}", request.number)) })
    })
    .await;
    let id = stage.enqueue("fail").await;
    let view = stage.until(id, State::Dead).await;
    assert_eq!(view.attempts.len(), 3);
    let letter = stage.letter(id).await;
    assert_eq!(letter.attempts.len(), 3);
    let last = letter.attempts[2].failure.as_ref().expect("it failed");
    assert_eq!(
        (last.kind, last.cause.as_str()),
        (FailureKind::Error, "no 3")
    );
}

#[tokio::test]
async fn a_host_that_panics_costs_one_attempt_and_no_neighbour() {
    let stage = Stage::start(&["panic", "greet"], |request, _| {
        Box::pin(async move {
            assert_ne!(request.job.kind, "panic", "scripted");
            done("hello")
        })
    })
    .await;
    let broken = stage.enqueue("panic").await;
    let well = stage.enqueue("greet").await;
    stage.until(well, State::Completed).await;
    let view = stage.until(broken, State::Dead).await;
    let failure = view.failure.expect("it failed");
    assert_eq!(failure.kind, FailureKind::HostError);
    assert!(failure.cause.contains("scripted"), "{}", failure.cause);
}

#[tokio::test]
async fn every_end_is_told_to_those_who_watch_the_plugins() {
    let stage = Stage::start(&["fail", "greet"], |request, _| {
        Box::pin(async move {
            match request.job.kind.as_str() {
                "fail" => failed("no"),
                _ => done("hello"),
            }
        })
    })
    .await;
    let dead = stage.enqueue("fail").await;
    stage.until(dead, State::Dead).await;
    let well = stage.enqueue("greet").await;
    stage.until(well, State::Completed).await;
    let ended = stage.folder.ended.lock().expect("no test panics here");
    let told: Vec<_> = ended.iter().map(|(job, _)| *job).collect();
    assert_eq!(told, [dead, dead, dead, well]);
    assert_eq!(ended[3].1, done("hello"));
    assert_eq!(ended[0].1, failed("no"));
}

#[tokio::test]
async fn a_job_waits_for_its_plugin() {
    let stage = Stage::start(&["other"], |_, _| Box::pin(async { done("late") })).await;
    let waiting = stage.enqueue("greet").await;
    let served = stage.enqueue("other").await;
    stage.until(served, State::Completed).await;
    let view = stage.view(waiting).await;
    assert_eq!(view.row.state, State::Available);
    stage.folder.serve(&["other", "greet"]);
    let view = stage.until(waiting, State::Completed).await;
    assert_eq!(view.attempts.len(), 1);
}

#[tokio::test]
async fn a_stop_puts_running_jobs_back_without_using_an_attempt() {
    let stage = Stage::start(&["loop"], |request, _| {
        Box::pin(until_interrupted(request.live))
    })
    .await;
    let id = stage.enqueue("loop").await;
    stage.until_begun(id).await;
    stage.stop(Duration::ZERO).await;
    let view = stage.view(id).await;
    assert_eq!(view.row.state, State::Available);
    assert_eq!(view.row.attempt, 0);
    assert!(stage.engine.live(id).is_none());
    stage.stop(Duration::ZERO).await;
}

#[tokio::test]
async fn a_worker_thread_that_breaks_is_noticed() {
    let stage = Stage::start(&["greet"], |_, _| Box::pin(async { done("hello") })).await;
    let id = stage.enqueue("greet").await;
    stage.until(id, State::Completed).await;
    // A worker looks at the folder before each claim, outside of any run. The other one goes on.
    stage.folder.break_it();
    stage.enqueue("greet").await;
    let noticed = tokio::time::timeout(Duration::from_secs(20), stage.engine.worker_lost());
    noticed.await.expect("the end of its thread is noticed");
}
