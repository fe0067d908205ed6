//! Retention: jobs that ended are forgotten by age and number, to the job, and never a dead one.

use sandhog_model::State;

use super::{
    compact::{churn, stats},
    stage::{
        Stage, all_rows, child, claim_one, completed, enqueue, permanent, settle, settle_with,
        state, wait,
    },
};
use crate::store::{Inspect, JobFilter, Store};

#[test]
fn as_many_are_kept_as_was_said() {
    for keep in [0, 1, 2, 100] {
        let (mut stage, _) = Stage::sim();
        stage.options.max_ended = Some(keep);
        let store = stage.open();
        let mut ended = Vec::new();
        for round in 0..105 {
            ended.push(enqueue(&*store, "photo").expect("enqueued"));
            let leased = claim_one(&*store, "photo");
            let done = settle(&*store, &leased, completed());
            assert_eq!(done.ok(), Some(State::Completed), "{keep}: {round}");
            stage.clock.pass(1);
        }
        let dead = enqueue(&*store, "grave").expect("enqueued");
        settle(&*store, &claim_one(&*store, "grave"), permanent()).expect("settled");
        let waits = enqueue(&*store, "photo").expect("enqueued");
        let mut store = Some(store);
        for _ in 0..2 {
            let open = store.take().unwrap_or_else(|| stage.open());
            let rows = all_rows(&*open, &JobFilter::default(), 100);
            let mut expected = vec![waits, dead];
            expected.extend(ended.iter().rev().take(keep));
            let shown: Vec<_> = rows.iter().map(|row| row.id).collect();
            assert_eq!(shown, expected, "{keep}");
        }
    }
}

#[test]
fn what_is_older_than_was_said_goes_with_the_sweep() {
    let (mut stage, _) = Stage::sim();
    stage.options.keep_ended_ms = Some(10_000);
    let store = stage.open();
    churn(&*store, 2500);
    stage.clock.pass(10_000);
    churn(&*store, 3);
    wait(store.sweep()).expect("swept");
    assert_eq!(stats(&*store).jobs, [(State::Completed, 2503)]);
    stage.clock.pass(1);
    wait(store.sweep()).expect("swept");
    store.compacted();
    let told = stats(&*store);
    assert_eq!(told.jobs, [(State::Completed, 3)]);
    assert_eq!(told.pruned_jobs, 2500);
    drop(store);
    stage.clock.pass(10_000);
    let store = stage.open();
    assert_eq!(stats(&*store).jobs, [], "an open looks as well");
}

#[test]
fn a_job_whose_parent_or_child_was_forgotten_is_shown() {
    let (mut stage, _) = Stage::sim();
    stage.options.max_ended = Some(1);
    let store = stage.open();
    let parent = enqueue(&*store, "parent").expect("enqueued");
    let leased = claim_one(&*store, "parent");
    let born = child(&*store, &leased);
    let id = born.id;
    settle_with(&*store, &leased, completed(), vec![born]).expect("settled");
    let view = |id| wait(store.job(id)).expect("a view");
    assert_eq!(view(parent).expect("the parent").children, [id]);
    stage.clock.pass(1);
    settle(&*store, &claim_one(&*store, "child"), completed()).expect("settled");
    assert_eq!(state(&*store, parent), None);
    let child = view(id).expect("the child");
    assert_eq!(child.row.parent, Some(parent));
    let of_parent = JobFilter {
        parent: Some(parent),
        ..JobFilter::default()
    };
    assert_eq!(all_rows(&*store, &of_parent, 10), []);
    churn(&*store, 1);
    assert_eq!(state(&*store, id), None);
}

#[test]
fn what_ended_a_moment_ago_stays_for_those_who_wait_for_it() {
    let (mut stage, _) = Stage::sim();
    stage.options.max_ended = Some(0);
    stage.options.keep_ended_ms = Some(1);
    stage.options.spare_ended_ms = 10_000;
    let store = stage.open();
    let id = enqueue(&*store, "photo").expect("enqueued");
    settle(&*store, &claim_one(&*store, "photo"), completed()).expect("settled");
    stage.clock.pass(10_000);
    churn(&*store, 1);
    wait(store.sweep()).expect("swept");
    assert_eq!(state(&*store, id), Some(State::Completed));
    stage.clock.pass(1);
    wait(store.sweep()).expect("swept");
    assert_eq!(state(&*store, id), None);
}
