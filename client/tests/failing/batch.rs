//! Batches before a server that loses answers: what is told again, and what is not.

use std::time::Duration;

use sandhog_client::{BatchStatus, BatchWaited, Code, Error, NewBatch, NewJob};

use crate::{
    ID, client,
    server::{Server, Step, answer, json, problem},
};

fn batch(status: &str, waiting: u64) -> String {
    let at = |is: bool| if is { "\"a\"" } else { "null" };
    let (is_open, is_off) = (status == "open", status == "cancelled");
    let cancel = match is_off {
        true => r#"{"at":"a","by":"b","reason":"r"}"#,
        false => "null",
    };
    format!(
        r#"{{"id":"{ID}","name":"n","status":"{status}","opened_at":"a","sealed_at":{},"ended_at":{},"cancel":{cancel},
        "jobs":{{"total":2,"waiting":{waiting},"running":0,"completed":0,"failed":0,"dead":0,"cancelled":0,
        "discarded":0,"expired":0,"deleted":0}},"on_success":null,"on_complete":null}}"#,
        at(!is_open),
        at(!is_open && waiting == 0),
    )
}

fn told(status: &str, waiting: u64) -> Step {
    json(200, &batch(status, waiting))
}

fn lines(server: &Server) -> Vec<String> {
    let line = |line: &str| line.strip_suffix(" HTTP/1.1").unwrap().to_owned();
    server.seen().iter().map(|seen| line(&seen.line)).collect()
}

#[tokio::test]
async fn a_batch_is_opened_once() {
    let opened = || json(201, &batch("open", 0));
    let server = Server::start(&[
        problem(503, "stopping", ""),
        problem(503, "busy", ""),
        opened(),
    ]);
    let new = NewBatch::new().name("n").on_complete(NewJob::after("k"));
    let batch = client(&server).open_batch(&new).await.unwrap();
    assert_eq!((batch.id.as_str(), batch.status), (ID, BatchStatus::Open));
    assert_eq!(lines(&server), ["POST /api/v1/batches"; 3]);
    let body = r#"{"name":"n","on_complete":{"kind":"k"}}"#;
    assert!(server.seen().iter().all(|seen| seen.body == body));

    for unknown in [
        Step::Close,
        Step::BreakOff,
        problem(503, "poisoned", ""),
        Step::Answer(answer(504, "text/html", "", "")),
    ] {
        let server = Server::start(&[unknown, opened()]);
        client(&server).open_batch(&new).await.unwrap_err();
        assert_eq!(server.seen().len(), 1);
    }
    let server = Server::start(&[Step::Close]);
    let gone = client(&server).open_batch(&new).await.unwrap_err();
    assert!(matches!(gone, Error::Gone { tries: 1, .. }), "{gone}");
}

#[tokio::test]
async fn a_seal_is_told_again_and_one_that_ended_since_is_sealed() {
    let steps = [Step::Close, problem(503, "poisoned", ""), told("sealed", 2)];
    let server = Server::start(&steps);
    let sealed = client(&server).seal_batch(ID).await.unwrap();
    assert_eq!(sealed.status, BatchStatus::Sealed);
    let (seal, get) = (
        format!("POST /api/v1/batches/{ID}/seal"),
        format!("GET /api/v1/batches/{ID}"),
    );
    assert_eq!(lines(&server), [&*seal, &*seal, &*seal]);
    assert!(server.seen().iter().all(|seen| seen.body == "{}"));

    let wrong = || problem(409, "wrong-state", "");
    let server = Server::start(&[Step::BreakOff, wrong(), Step::Close, told("ended", 0)]);
    let ended = client(&server).seal_batch(ID).await.unwrap();
    assert_eq!(ended.status, BatchStatus::Ended);
    assert_eq!(lines(&server), [&*seal, &*seal, &*get, &*get]);

    let server = Server::start(&[wrong(), told("cancelled", 1)]);
    let refused = client(&server).seal_batch(ID).await.unwrap_err();
    assert_eq!(refused.code(), Some(&Code::WrongState));
    assert_eq!(lines(&server), [&*seal, &*get]);
    let server = Server::start(&[problem(404, "not-found", "")]);
    let missing = client(&server).seal_batch(ID).await.unwrap_err();
    assert_eq!(missing.code(), Some(&Code::NotFound));
}

#[tokio::test]
async fn a_batch_is_called_off_however_often_it_is_told() {
    let server = Server::start(&[Step::BreakOff, told("cancelled", 1)]);
    let off = client(&server).cancel_batch(ID, Some("r")).await.unwrap();
    assert_eq!(off.cancel.unwrap().reason.as_deref(), Some("r"));
    let line = format!("POST /api/v1/batches/{ID}/cancel");
    assert_eq!(lines(&server), [&*line, &*line]);
    assert!(
        server
            .seen()
            .iter()
            .all(|seen| seen.body == r#"{"reason":"r"}"#)
    );
    let server = Server::start(&[problem(409, "wrong-state", "")]);
    let refused = client(&server).cancel_batch(ID, None).await.unwrap_err();
    assert_eq!(refused.code(), Some(&Code::WrongState));
}

#[tokio::test]
async fn jobs_go_into_a_batch_under_one_key_each() {
    let one = format!(r#"{{"id":"{ID}","existing":true,"batch":"{ID}"}}"#);
    let closed = r#"{"error":{"code":"batch-closed","detail":"d"}}"#;
    let taken = format!(r#"{{"jobs":[{one},{closed}]}}"#);
    let server = Server::start(&[Step::Close, json(200, &taken)]);
    let jobs = [NewJob::new("a", 1), NewJob::new("b", 2)];
    let answers = client(&server).enqueue_into(ID, &jobs).await;
    let enqueued = answers[0].as_ref().unwrap();
    assert_eq!(
        (enqueued.existing, enqueued.batch.as_deref()),
        (true, Some(ID))
    );
    let refused = answers[1].as_ref().unwrap_err();
    assert_eq!(refused.code(), Some(&Code::BatchClosed));
    let line = format!("POST /api/v1/batches/{ID}/jobs");
    assert_eq!(lines(&server), [&*line, &*line]);
    let seen = server.seen();
    assert_eq!(seen[0].keys(), seen[1].keys());

    let server = Server::start(&[problem(404, "not-found", "")]);
    for answer in client(&server).enqueue_into(ID, &jobs).await {
        assert_eq!(answer.unwrap_err().code(), Some(&Code::NotFound));
    }
    assert_eq!(server.seen().len(), 1);
    for answer in client(&server).enqueue_into("../x", &jobs).await {
        assert!(matches!(answer, Err(Error::Unusable(_))));
    }
}

#[tokio::test]
async fn a_batch_is_looked_at_until_it_is_over_or_the_time_is() {
    let server = Server::start(&[
        told("sealed", 2),
        Step::Close,
        // Nothing waits any more, and what follows is not there yet.
        json(200, &batch("open", 0)),
        told("ended", 0),
    ]);
    let wait = |limit| {
        let client = client(&server);
        async move { client.wait_for_batch(ID, limit).await.unwrap() }
    };
    let waited = wait(Duration::from_secs(10)).await;
    let BatchWaited::Ended(batch) = waited else {
        panic!("{waited:?}");
    };
    assert_eq!(batch.status, BatchStatus::Ended);
    assert_eq!(lines(&server), vec![format!("GET /api/v1/batches/{ID}"); 4]);

    let server = Server::start(&vec![told("sealed", 1); 200]);
    let limit = Duration::from_millis(30);
    let start = std::time::Instant::now();
    let waited = client(&server).wait_for_batch(ID, limit).await.unwrap();
    assert!(matches!(waited, BatchWaited::NotYet(batch) if batch.jobs.waiting == 1));
    assert!(start.elapsed() >= limit);
    assert!(server.seen().len() > 1);
    let server = Server::start(&[told("sealed", 1)]);
    let waited = client(&server).wait_for_batch(ID, Duration::ZERO).await;
    assert!(matches!(waited, Ok(BatchWaited::NotYet(_))));
    let server = Server::start(&[told("sealed", 1), told("ended", 0)]);
    let waited = client(&server).wait_for_batch(ID, Duration::MAX).await;
    assert!(matches!(waited, Ok(BatchWaited::Ended(_))));
}

#[tokio::test]
async fn batches_are_listed_page_by_page() {
    let page = |next: &str| format!(r#"{{"batches":[{}],"next":{next}}}"#, batch("open", 0));
    let server = Server::start(&[json(200, &page("\"c\"")), json(200, &page("null"))]);
    let mut pages = client(&server).batches(1);
    let mut found = 0;
    while let Some(batches) = pages.next().await.unwrap() {
        assert_eq!(batches[0].name.as_deref(), Some("n"));
        found += batches.len();
    }
    assert_eq!(found, 2);
    let (first, second) = (
        "GET /api/v1/batches?limit=1",
        "GET /api/v1/batches?limit=1&cursor=c",
    );
    assert_eq!(lines(&server), [first, second]);
}
