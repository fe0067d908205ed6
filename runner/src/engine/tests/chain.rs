//! Jobs that follow one another.

use sandhog_model::{Amend, JobId, Link, State};

use super::stage::{Stage, done, failed};
use crate::store::{Inspect, JobView, Store};

fn link(kind: &str, payload: Option<&str>) -> Link {
    Link {
        kind: kind.into(),
        payload: payload.map(|text| text.as_bytes().to_vec()),
        ..Link::default()
    }
}

/// The only child of a job that completed.
async fn next(stage: &Stage, view: &JobView) -> JobId {
    assert_eq!(view.children.len(), 1, "{:?}", view.children);
    let next = stage.view(view.children[0]).await;
    assert_eq!(next.row.parent, Some(view.row.id));
    next.row.id
}

#[tokio::test]
async fn each_job_gets_the_result_of_the_one_before_unless_it_has_a_payload() {
    let stage = Stage::start(&["step"], |request, _| {
        Box::pin(async move {
            let got = String::from_utf8(request.job.payload).expect("text");
            done(&format!("{got}+"))
        })
    })
    .await;
    let then = vec![
        link("step", None),
        Link {
            delay_ms: 1,
            headers: vec![("k".into(), "v".into())],
            queue: Some("side".into()),
            group: Some("g".into()),
            tags: vec!["last".into()],
            ..link("step", Some("own"))
        },
        link("step", None),
    ];
    let id = stage.enqueue_chain("step", then.clone()).await;
    let first = stage.until(id, State::Completed).await;
    assert_eq!(first.job.terms.then, then, "it stays as it was accepted");
    let second = stage
        .until(next(&stage, &first).await, State::Completed)
        .await;
    assert_eq!(second.job.payload, b"+");
    assert_eq!(
        second.job.content_type, "text/plain",
        "as the result had it"
    );
    assert_eq!(
        (&*second.job.queue, &second.job.terms.then[..]),
        ("default", &then[1..])
    );
    let third = stage
        .until(next(&stage, &second).await, State::Completed)
        .await;
    assert_eq!(third.job.payload, b"own");
    assert_eq!(third.job.due, third.job.enqueued_at.plus(1));
    assert_eq!((&*third.job.queue, third.job.headers.len()), ("side", 1));
    assert_eq!(third.job.terms.tags, ["last"]);
    assert_eq!(third.job.terms.group.as_deref(), Some("g"));
    let last = stage
        .until(next(&stage, &third).await, State::Completed)
        .await;
    assert_eq!(last.output.expect("a result").payload, b"own++");
    assert!(last.job.terms.then.is_empty() && last.children.is_empty());
}

#[tokio::test]
async fn a_chain_ends_with_a_dead_job_and_goes_on_when_that_is_brought_back() {
    let stage = Stage::start(&["step", "fail"], |request, _| {
        Box::pin(async move {
            // Fresh attempts begin with another lease than the first three.
            match request.token.0 {
                1..=3 => failed("no"),
                _ => done("yes"),
            }
        })
    })
    .await;
    let id = stage.enqueue_chain("fail", vec![link("step", None)]).await;
    let dead = stage.until(id, State::Dead).await;
    assert_eq!((dead.children.len(), dead.attempts.len()), (0, 3));
    assert_eq!(stage.letter(id).await.job.terms.then.len(), 1);
    let stats = stage.store.stats().await.expect("the store works");
    assert_eq!(stats.jobs, [(State::Dead, 1)], "nothing follows a failure");
    let back = stage.store.amend(vec![Amend::Retry(id)]).await;
    assert!(back.expect("the store works")[0].is_ok());
    let done = stage.until(id, State::Completed).await;
    stage
        .until(next(&stage, &done).await, State::Completed)
        .await;
}
