//! When a claim is answered.

use std::{
    pin::pin,
    task::{Context, Waker},
};

use sandhog_model::ClaimRequest;
use tokio::task::JoinSet;

use super::{
    promises::{all, ask, gated, runtime},
    stage::{claim_one, completed, enqueue, is_told, report},
};
use crate::store::Store;

/// A claim and the report on an earlier job, with `more` new jobs, in one batch whose sync stands before the gate:
/// how many jobs the claim was told of, if it was answered by then, and in the end.
fn claimed_before_the_sync_of(more: usize) -> (Option<usize>, usize) {
    let (stage, _, gate) = gated();
    let store = stage.open();
    let runtime = runtime();
    enqueue(&*store, "photo").expect("enqueued");
    let first = claim_one(&*store, "photo");
    enqueue(&*store, "photo").expect("enqueued");
    let (mut asking, mut settling) = (JoinSet::new(), JoinSet::new());
    gate.close();
    ask(&mut asking, &runtime, &store, 1);
    gate.wait_for_one();
    ask(&mut asking, &runtime, &store, more);
    let claim = store.claim(ClaimRequest {
        kinds: vec!["photo".to_owned()],
        max: 9,
    });
    tokio::pin!(claim);
    let mut looked = || {
        runtime.block_on(async {
            tokio::select! {
                biased;
                claimed = &mut claim => Some(claimed.expect("claimed").jobs.len()),
                () = async {} => None,
            }
        })
    };
    assert_eq!(looked(), None);
    runtime.block_on(async {
        let reporter = store.clone();
        let done = report(&first, completed(), Vec::new());
        settling.spawn(async move { reporter.settle(vec![done]).await });
        tokio::task::yield_now().await;
    });
    gate.pass_one();
    gate.wait_for_one();
    let before = looked();
    runtime.block_on(tokio::task::yield_now());
    assert!(
        settling.try_join_next().is_none(),
        "reported before the sync"
    );
    gate.open();
    let settled = runtime.block_on(settling.join_next()).expect("reported");
    settled.expect("it ends").expect("answered");
    let after = match before {
        Some(told) => told,
        None => runtime.block_on(claim).expect("claimed").jobs.len(),
    };
    assert!(all(&mut asking, &runtime).iter().all(Result::is_ok));
    (before, after)
}

#[test]
fn a_claim_waits_for_no_sync_unless_its_jobs_may_not_be_there_without() {
    // The job that was there, and the one whose sync stood before that.
    assert_eq!(claimed_before_the_sync_of(0), (Some(2), 2));
    assert_eq!(claimed_before_the_sync_of(1), (None, 3));
}

#[test]
fn whoever_claims_is_called_while_the_sync_goes_on_and_answered_after_it() {
    let (stage, _, gate) = gated();
    let store = stage.open();
    let runtime = runtime();
    let ready = store.ready();
    // What came before is told at once.
    is_told(pin!(ready.notified()));
    let mut called = pin!(ready.notified());
    called.as_mut().enable();
    let mut asking = JoinSet::new();
    gate.close();
    ask(&mut asking, &runtime, &store, 1);
    gate.wait_for_one();
    let was_called = is_told(called);
    let mut claim = store.claim(ClaimRequest {
        kinds: vec!["photo".to_owned()],
        max: 9,
    });
    let mut context = Context::from_waker(Waker::noop());
    let was_answered = claim.as_mut().poll(&mut context).is_ready();
    let was_acknowledged = asking.try_join_next().is_some();
    gate.open();
    let before = (was_called, was_answered, was_acknowledged);
    assert_eq!(before, (true, false, false), "before the sync");
    assert_eq!(runtime.block_on(claim).expect("claimed").jobs.len(), 1);
    assert!(all(&mut asking, &runtime).iter().all(Result::is_ok));
}
