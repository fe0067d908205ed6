//! What every store does, whatever it is built on. Each function is a test of its own per disk.

use sandhog_model::{Amend, ClaimRequest, Job, Outcome, Rejected, State, UnixMs, Waiting};

use super::stage::{
    NO_TOKEN, START, Stage, all_rows, amend, child, claim, claim_one, completed, dead_ids, enqueue,
    enqueue_job, failed, first_page, job, lose, output, permanent, report, settle, settle_with,
    state, wait,
};
use crate::store::{Inspect, JobFilter, PageRequest, Store, StoreError};

macro_rules! on_every_disk {
    ($($promise:ident),* $(,)?) => {
        mod on_a_real_disk {
            $(#[test] fn $promise() { super::$promise(&super::Stage::real()); })*
        }
        mod on_a_simulated_disk {
            $(#[test] fn $promise() { super::$promise(&super::Stage::sim().0); })*
        }
    };
}

on_every_disk!(
    a_job_runs_from_enqueue_to_result,
    a_report_of_a_superseded_lease_is_refused,
    a_failed_job_is_due_again_after_its_wait,
    a_job_out_of_attempts_is_dead_until_requeued_or_deleted,
    children_come_with_success_and_only_then,
    pages_show_every_job_once_while_others_come,
    bad_cursors_are_refused,
    filters_show_what_they_name,
    higher_priority_goes_first,
    only_served_kinds_are_claimed,
    a_checkpoint_reaches_the_next_attempt,
    losing_the_holder_spends_no_attempt_until_it_is_poison,
    a_restart_shows_the_same,
    a_record_larger_than_a_segment_has_its_own,
    an_id_is_taken_once,
    an_attempt_that_never_ran_is_no_history,
);

fn a_job_runs_from_enqueue_to_result(stage: &Stage) {
    let store = stage.open();
    let mut changes = store.changes();
    let id = enqueue(&*store, "photo").expect("enqueued");
    assert_eq!(state(&*store, id), Some(State::Available));
    let leased = claim_one(&*store, "photo");
    assert_eq!((leased.job.id, leased.attempt), (id, 1));
    assert_eq!(leased.job.payload, job(id, "photo").payload);
    assert_eq!(state(&*store, id), Some(State::Running));
    let done = settle(&*store, &leased, completed()).expect("settled");
    assert_eq!(done, State::Completed);
    let view = wait(store.job(id)).expect("a view").expect("the job");
    assert_eq!(view.output, Some(output()));
    assert_eq!(view.attempts.len(), 1);
    assert_eq!(view.attempts[0].duration_us, 77);
    assert_eq!(view.row.digest.as_deref(), Some("ab".repeat(32).as_str()));
    assert_eq!(view.row.attempt, 1);
    let told: Vec<State> = std::iter::from_fn(|| changes.try_recv().ok())
        .map(|change| change.state)
        .collect();
    assert_eq!(told, [State::Available, State::Running, State::Completed]);
}

fn a_report_of_a_superseded_lease_is_refused(stage: &Stage) {
    let store = stage.open();
    let id = enqueue(&*store, "photo").expect("enqueued");
    let late = claim_one(&*store, "photo");
    assert_eq!(lose(&*store, stage).expect("swept"), 1);
    let holder = claim_one(&*store, "photo");
    assert!(holder.token > late.token);
    let gone = wait(store.renew(vec![(id, late.token), (id, holder.token)])).expect("renewed");
    assert_eq!(gone, [(id, late.token)]);
    for outcome in [completed(), permanent()] {
        let refused = settle(&*store, &late, outcome);
        assert!(
            matches!(
                refused,
                Err(StoreError::Rejected(Rejected::Fenced { token, .. })) if token == late.token
            ),
            "{refused:?}"
        );
    }
    let refused = wait(store.checkpoint(id, late.token, vec![1]));
    assert!(
        matches!(refused, Err(StoreError::Rejected(_))),
        "{refused:?}"
    );
    assert_eq!(state(&*store, id), Some(State::Running));
    settle(&*store, &holder, completed()).expect("the holder settles");
    assert!(dead_ids(&*store).is_empty());
}

fn a_failed_job_is_due_again_after_its_wait(stage: &Stage) {
    let store = stage.open();
    let id = enqueue(&*store, "photo").expect("enqueued");
    let leased = claim_one(&*store, "photo");
    let after = settle(&*store, &leased, failed()).expect("settled");
    assert_eq!(after, State::Retryable);
    let row = all_rows(&*store, &JobFilter::default(), 10).remove(0);
    let failure = row.failure.expect("a retryable job shows why");
    assert_eq!(failure.cause, "the photo is upside down");
    assert_eq!(failure.hint.as_deref(), Some("turn it"));
    let none = wait(store.claim(ClaimRequest {
        kinds: vec!["photo".to_owned()],
        max: 1,
    }))
    .expect("a claim");
    assert!(none.jobs.is_empty());
    assert_eq!(none.next_due, Some(row.at));
    stage.clock.pass(row.at.since(UnixMs(START)));
    let again = claim_one(&*store, "photo");
    assert_eq!((again.job.id, again.attempt), (id, 2));
}

fn a_job_out_of_attempts_is_dead_until_requeued_or_deleted(stage: &Stage) {
    let store = stage.open();
    let id = enqueue(&*store, "photo").expect("enqueued");
    for expected in [State::Retryable, State::Dead] {
        let leased = claim_one(&*store, "photo");
        assert_eq!(settle(&*store, &leased, failed()).ok(), Some(expected));
        stage.clock.pass(5000);
    }
    let letter = wait(store.letter(id)).expect("read").expect("a letter");
    assert_eq!(letter.attempts.len(), 2);
    assert_eq!(letter.job, job(id, "photo"));
    let page = wait(store.dead(Default::default(), first_page(10))).expect("a page");
    let row = &page.rows[0];
    assert_eq!(row.name.to_string(), id.text());
    assert_eq!(row.failure.cause, "the photo is upside down");

    let after = amend(&*store, Amend::Requeue(id)).expect("requeued");
    assert_eq!(after, Some(State::Available));
    assert!(dead_ids(&*store).is_empty());
    let leased = claim_one(&*store, "photo");
    assert_eq!(leased.attempt, 1, "attempts are fresh");
    let after = settle(&*store, &leased, permanent()).expect("settled");
    assert_eq!(after, State::Dead);
    let letter = wait(store.letter(id)).expect("read").expect("a letter");
    assert_eq!(letter.attempts.len(), 3, "the history is kept");

    let after = amend(&*store, Amend::Delete(id)).expect("deleted");
    assert_eq!(after, None);
    assert_eq!(state(&*store, id), None);
    assert!(dead_ids(&*store).is_empty());
    assert_eq!(wait(store.letter(id)).expect("read"), None);
}

fn children_come_with_success_and_only_then(stage: &Stage) {
    let store = stage.open();
    let id = enqueue(&*store, "page").expect("enqueued");
    let leased = claim_one(&*store, "page");
    let lost = child(&*store, &leased);
    settle_with(&*store, &leased, failed(), vec![lost.clone()]).expect("settled");
    assert_eq!(state(&*store, lost.id), None);
    stage.clock.pass(5000);
    let leased = claim_one(&*store, "page");
    let children = vec![child(&*store, &leased), child(&*store, &leased)];
    let ids: Vec<_> = children.iter().map(|job| job.id).collect();
    settle_with(&*store, &leased, completed(), children).expect("settled");
    let view = wait(store.job(id)).expect("a view").expect("the job");
    assert_eq!(view.children, ids);
    let of_parent = JobFilter {
        parent: Some(id),
        ..JobFilter::default()
    };
    let rows = all_rows(&*store, &of_parent, 1);
    let shown: Vec<_> = rows.iter().map(|row| (row.id, row.parent)).collect();
    assert_eq!(shown, [(ids[1], Some(id)), (ids[0], Some(id))]);
    // A child has a life of its own, with records that lead back into its parent's.
    let leased = claim_one(&*store, "child");
    assert_eq!(leased.job.id, ids[0]);
    settle(&*store, &leased, permanent()).expect("settled");
    let letter = wait(store.letter(ids[0])).expect("read").expect("a letter");
    assert_eq!(letter.attempts.len(), 1);
    assert_eq!(letter.job.parent, Some(id));
}

fn pages_show_every_job_once_while_others_come(stage: &Stage) {
    let store = stage.open();
    let ids: Vec<_> = (0..25)
        .map(|_| enqueue(&*store, "photo").expect("enqueued"))
        .collect();
    let mut shown = Vec::new();
    let mut page = first_page(7);
    loop {
        let rows = wait(store.jobs(JobFilter::default(), page.clone())).expect("a page");
        shown.extend(rows.rows.iter().map(|row| row.id));
        enqueue(&*store, "photo").expect("enqueued");
        match rows.next {
            Some(next) => page.cursor = Some(next),
            None => break,
        }
    }
    shown.reverse();
    assert_eq!(shown, ids);
    let exact = wait(store.jobs(JobFilter::default(), first_page(29))).expect("a page");
    assert_eq!((exact.rows.len(), exact.next), (29, None), "no empty page");
}

fn bad_cursors_are_refused(stage: &Stage) {
    let store = stage.open();
    for cursor in ["", "a", "-1", "01JDVYT8G0QYV5XMP1Z3M4N5P6x"] {
        let page = PageRequest {
            limit: 5,
            cursor: Some(cursor.to_owned()),
        };
        for refused in [
            wait(store.jobs(JobFilter::default(), page.clone())).map(|_| ()),
            wait(store.dead(Default::default(), page)).map(|_| ()),
        ] {
            assert!(
                matches!(refused, Err(StoreError::Rejected(Rejected::Invalid(_)))),
                "{cursor:?}"
            );
        }
    }
}

fn filters_show_what_they_name(stage: &Stage) {
    let store = stage.open();
    for number in 0..12 {
        let kind = ["photo", "page", "table"][number % 3];
        let job = Job {
            queue: ["fast", "slow"][number % 2].to_owned(),
            ..job(store.mint(), kind)
        };
        enqueue_job(&*store, job).expect("enqueued");
    }
    claim(&*store, &["page"], 2).expect("claimed");
    let filter = |kind: Option<&str>, queue: Option<&str>, state: Option<State>| JobFilter {
        kind: kind.map(str::to_owned),
        queue: queue.map(str::to_owned),
        states: Vec::from_iter(state),
        ..JobFilter::default()
    };
    let count = |filter| all_rows(&*store, &filter, 1).len();
    assert_eq!(count(filter(Some("photo"), None, None)), 4);
    assert_eq!(count(filter(Some("photo"), Some("fast"), None)), 2);
    assert_eq!(count(filter(None, None, Some(State::Running))), 2);
    assert_eq!(count(filter(Some("page"), None, Some(State::Available))), 2);
    assert_eq!(count(filter(Some("none"), None, None)), 0);
    let queues = wait(store.queues()).expect("queues");
    let names: Vec<_> = queues.iter().map(|row| row.queue.as_str()).collect();
    assert_eq!(names, ["fast", "slow"]);
}

fn higher_priority_goes_first(stage: &Stage) {
    let store = stage.open();
    for priority in [0, 5, -3, 5] {
        let job = Job {
            priority,
            ..job(store.mint(), "photo")
        };
        enqueue_job(&*store, job).expect("enqueued");
    }
    let order: Vec<i16> = (0..4)
        .map(|_| claim_one(&*store, "photo").job.priority)
        .collect();
    assert_eq!(order, [5, 5, 0, -3]);
}

fn only_served_kinds_are_claimed(stage: &Stage) {
    let store = stage.open();
    enqueue(&*store, "photo").expect("enqueued");
    let page = enqueue(&*store, "page").expect("enqueued");
    assert!(claim(&*store, &[], 5).expect("claimed").is_empty());
    let leased = claim(&*store, &["page", "table"], 5).expect("claimed");
    let ids: Vec<_> = leased.iter().map(|leased| leased.job.id).collect();
    assert_eq!(ids, [page]);
}

fn a_checkpoint_reaches_the_next_attempt(stage: &Stage) {
    let store = stage.open();
    let id = enqueue(&*store, "photo").expect("enqueued");
    let leased = claim_one(&*store, "photo");
    assert_eq!(leased.checkpoint, None);
    for bytes in [b"half".to_vec(), b"most".to_vec()] {
        wait(store.checkpoint(id, leased.token, bytes)).expect("kept");
    }
    drop(store);
    let store = stage.open();
    let leased = claim_one(&*store, "photo");
    assert_eq!(leased.checkpoint.as_deref(), Some(&b"most"[..]));
}

fn losing_the_holder_spends_no_attempt_until_it_is_poison(stage: &Stage) {
    let store = stage.open();
    let id = enqueue(&*store, "photo").expect("enqueued");
    for losses in 1..=3 {
        let leased = claim_one(&*store, "photo");
        assert_eq!(leased.attempt, 1);
        assert_eq!(lose(&*store, stage).expect("swept"), 1);
        let view = wait(store.job(id)).expect("a view").expect("the job");
        assert_eq!((view.losses, view.row.state), (losses, State::Available));
    }
    claim_one(&*store, "photo");
    assert_eq!(lose(&*store, stage).expect("swept"), 1);
    assert_eq!(state(&*store, id), Some(State::Dead));
    let letter = wait(store.letter(id)).expect("read").expect("a letter");
    assert_eq!(letter.losses, 4);
    assert_eq!(letter.attempts.len(), 1, "the loss that buried it");
    drop(store);
    let store = stage.open();
    assert_eq!(wait(store.letter(id)).expect("read"), Some(letter));
}

fn a_restart_shows_the_same(stage: &Stage) {
    let store = stage.open();
    for outcome in [
        completed(),
        failed(),
        permanent(),
        Outcome::Snoozed { delay_ms: 9000 },
        Outcome::Discarded {
            reason: "a copy".to_owned(),
        },
    ] {
        enqueue(&*store, "photo").expect("enqueued");
        let leased = claim_one(&*store, "photo");
        let children = match outcome {
            Outcome::Completed(_) => vec![child(&*store, &leased)],
            _ => Vec::new(),
        };
        settle_with(&*store, &leased, outcome, children).expect("settled");
    }
    let later = Job {
        due: UnixMs(START + 60_000),
        ..job(store.mint(), "photo")
    };
    enqueue_job(&*store, later).expect("enqueued");
    let running = enqueue(&*store, "page").expect("enqueued");
    claim_one(&*store, "page");
    let views = |store: &dyn Store| {
        all_rows(store, &JobFilter::default(), 3)
            .into_iter()
            .map(|row| wait(store.job(row.id)).expect("a view").expect("the job"))
            .collect::<Vec<_>>()
    };
    let before = views(&*store);
    let letters = wait(store.dead(Default::default(), first_page(9))).expect("a page");
    wait(store.close()).expect("closed");
    wait(store.close()).expect("closing twice is harmless");
    assert!(matches!(enqueue(&*store, "photo"), Err(StoreError::Closed)));
    let store = stage.open();
    let after = views(&*store);
    assert_eq!(before.len(), 8);
    for (before, after) in before.iter().zip(&after) {
        if before.job.id == running {
            assert_eq!(after.row.state, State::Available, "its holder is gone");
            assert_eq!((after.losses, after.row.attempt), (1, 0));
        } else {
            assert_eq!(before, after);
        }
    }
    let letters_after = wait(store.dead(Default::default(), first_page(9))).expect("a page");
    assert_eq!(letters_after, letters);
    let minted = store.mint();
    assert!(after.iter().all(|view| view.job.id < minted));
}

fn a_record_larger_than_a_segment_has_its_own(stage: &Stage) {
    let store = stage.open();
    let large = Job {
        payload: vec![7; 50_000],
        ..job(store.mint(), "photo")
    };
    enqueue(&*store, "page").expect("enqueued");
    enqueue_job(&*store, large.clone()).expect("enqueued");
    enqueue(&*store, "page").expect("enqueued");
    drop(store);
    let store = stage.open();
    assert_eq!(claim_one(&*store, "photo").job, large);
    assert_eq!(all_rows(&*store, &JobFilter::default(), 10).len(), 3);
}

fn an_id_is_taken_once(stage: &Stage) {
    let store = stage.open();
    let first = job(store.mint(), "photo");
    let answers = wait(store.enqueue(vec![first.clone(), first.clone()])).expect("answered");
    assert_eq!(answers, [Ok(first.id), Err(Rejected::IdTaken(first.id))]);
    let absent = store.mint();
    assert_eq!(state(&*store, absent), None);
    let refused = wait(store.checkpoint(absent, NO_TOKEN, vec![1]));
    assert!(
        matches!(refused, Err(StoreError::Rejected(_))),
        "{refused:?}"
    );
}

fn an_attempt_that_never_ran_is_no_history(stage: &Stage) {
    let store = stage.open();
    let id = enqueue(&*store, "photo").expect("enqueued");
    let leased = claim_one(&*store, "photo");
    let put_back = report(&leased, Outcome::NotRun(Waiting::Shutdown), Vec::new());
    let answers = wait(store.settle(vec![put_back])).expect("answered");
    assert_eq!(answers, [Ok(State::Available)]);
    let view = wait(store.job(id)).expect("a view").expect("the job");
    assert_eq!((view.row.attempt, view.attempts.len()), (0, 0));
}
