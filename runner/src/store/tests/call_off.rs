//! Jobs called off: durable when answered, told to whoever runs them, kept with who and why.

use sandhog_model::{Amend, Asked, JobId, Rejected, State};

use super::{
    compact::{churn, forgetful, stats, view, views},
    stage::{
        Stage, amend, call_off, claim, claim_one, completed, enqueue, failed, permanent, settle,
        state,
    },
};
use crate::{
    disk::sim::Unsynced,
    store::{CalledOff, Store},
};

fn off(state: State) -> Result<CalledOff, Rejected> {
    Ok(CalledOff { state, lease: None })
}

/// Who called it off.
fn by(store: &dyn Store, id: JobId) -> Option<Asked> {
    view(store, id).cancel.map(|cancel| {
        assert_eq!(
            (cancel.by.as_str(), cancel.reason.as_deref()),
            ("ada", Some("no use"))
        );
        cancel.how
    })
}

#[test]
fn what_waits_ends_and_what_runs_is_asked_to() {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    let waits = enqueue(&*store, "k").expect("enqueued");
    assert_eq!(
        call_off(&*store, waits, Asked::Cancel),
        off(State::Cancelled)
    );
    assert_eq!(call_off(&*store, waits, Asked::Kill), off(State::Cancelled));
    assert_eq!(by(&*store, waits), Some(Asked::Cancel));
    assert!(claim(&*store, &["k"], 9).expect("claimed").is_empty());

    let runs = enqueue(&*store, "k").expect("enqueued");
    let leased = claim_one(&*store, "k");
    for how in [Asked::Cancel, Asked::Cancel, Asked::Kill, Asked::Cancel] {
        let asked = call_off(&*store, runs, how).expect("asked");
        assert_eq!(
            (asked.state, asked.lease),
            (State::Running, Some(leased.token))
        );
    }
    assert_eq!(by(&*store, runs), Some(Asked::Kill));
    // What was answered is there after a loss of power.
    let after = stage.moved_to(&disk.after_crash(Unsynced::Dropped)).open();
    assert_eq!(state(&*after, waits), Some(State::Cancelled));
    assert_eq!(state(&*after, runs), Some(State::Cancelled));
    assert_eq!(
        (by(&*after, runs), view(&*after, runs).losses),
        (Some(Asked::Kill), 1)
    );
    assert!(claim(&*after, &["k"], 9).expect("claimed").is_empty());

    // An end for good makes no dead letter.
    let ended = settle(&*store, &leased, permanent()).expect("settled");
    assert_eq!(ended, State::Cancelled);
    assert_eq!(stats(&*store).dead_letters, 0);
    assert_eq!(view(&*store, runs).attempts.len(), 1);
    amend(&*store, Amend::Retry(runs)).expect("retried");
    assert_eq!(by(&*store, runs), None);
    settle(&*store, &claim_one(&*store, "k"), completed()).expect("settled");
    let refused = call_off(&*store, runs, Asked::Kill);
    let (id, state, wish) = (runs, State::Completed, "kill");
    assert_eq!(refused, Err(Rejected::WrongState { id, state, wish }));
    let unknown = JobId(7);
    assert_eq!(
        call_off(&*store, unknown, Asked::Kill),
        Err(Rejected::NoSuchJob(unknown))
    );
}

#[test]
fn who_and_why_stay_when_a_job_is_written_anew() {
    let (mut stage, _) = forgetful();
    stage.options.max_ended = Some(10);
    let store = stage.open();
    let waits = enqueue(&*store, "k").expect("enqueued");
    call_off(&*store, waits, Asked::Cancel).expect("called off");
    let runs = enqueue(&*store, "k").expect("enqueued");
    claim_one(&*store, "k");
    call_off(&*store, runs, Asked::Kill).expect("asked");
    let back = enqueue(&*store, "k").expect("enqueued");
    let leased = claim_one(&*store, "k");
    call_off(&*store, back, Asked::Cancel).expect("asked");
    settle(&*store, &leased, failed()).expect("settled");
    amend(&*store, Amend::Retry(back)).expect("retried");
    let ids = [runs, back];
    let before = views(&*store, &ids);
    churn(&*store, 500);
    store.compacted();
    assert!(stats(&*store).freed_segments > 3);
    assert_eq!(views(&*store, &ids), before);
    drop(store);
    // The last of all to end, so that it is kept.
    stage.clock.pass(10);
    let store = stage.open();
    assert_eq!(state(&*store, runs), Some(State::Cancelled));
    assert_eq!(
        (by(&*store, runs), by(&*store, back)),
        (Some(Asked::Kill), None)
    );
}
