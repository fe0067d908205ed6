//! The client before servers that fail in the usual ways.

mod batch;
mod list;
mod server;
mod tls;

use std::{
    net::TcpListener,
    time::{Duration, Instant},
};

use sandhog_client::{Client, Code, Error, NewJob, Options, State, Token, Waited};
use server::{Server, Step, answer, json, problem};

const ID: &str = "01KBA0000000000000000000AA";
const SECRET: &str = "s3cr3t-s3cr3t-s3cr3t";

fn taken() -> Step {
    json(201, &format!(r#"{{"id":"{ID}","existing":false}}"#))
}

/// A client that does not wait long between its tries.
fn client(server: &Server) -> Client {
    Client::with(quick(server.url())).unwrap()
}

fn quick(address: String) -> Options {
    Options {
        first_wait: Duration::from_millis(1),
        answer_within: Duration::from_secs(10),
        retry_for: Duration::from_secs(10),
        ..Options::new(address)
    }
}

/// The keys of all requests are one and the same.
fn one_key(server: &Server, tries: usize) {
    let seen = server.seen();
    assert_eq!(seen.len(), tries, "{seen:#?}");
    let first = seen[0].keys();
    assert_eq!(first.len(), 1);
    assert!(seen.iter().all(|one| one.keys() == first), "{seen:#?}");
}

#[tokio::test]
async fn an_enqueue_is_told_again_with_its_key_until_it_is_answered() {
    let steps = [
        Step::Close,
        Step::BreakOff,
        problem(503, "stopping", ""),
        problem(429, "queue-full", ""),
        Step::Answer(answer(502, "text/html", "", "<h1>Bad Gateway</h1>")),
        Step::Answer(answer(503, "text/html", "", "")),
        Step::Answer(answer(504, "text/html", "", "")),
        taken(),
    ];
    let server = Server::start(&steps);
    let enqueued = client(&server).enqueue(&NewJob::new("k", 1)).await.unwrap();
    assert_eq!((enqueued.id.as_str(), enqueued.existing), (ID, false));
    one_key(&server, steps.len());
}

#[tokio::test]
async fn a_slow_server_is_given_up_and_asked_again() {
    let server = Server::start(&[Step::Silence, taken()]);
    let client = Client::with(Options {
        answer_within: Duration::from_millis(200),
        ..quick(server.url())
    });
    client.unwrap().enqueue(&NewJob::new("k", 1)).await.unwrap();
    one_key(&server, 2);
}

#[tokio::test]
async fn what_the_server_asks_to_be_waited_for_is_waited_for() {
    let server = Server::start(&[problem(503, "busy", "retry-after: 1\r\n"), taken()]);
    let start = Instant::now();
    client(&server).enqueue(&NewJob::new("k", 1)).await.unwrap();
    assert!(start.elapsed() >= Duration::from_secs(1));
    // One that is longer than the call may take ends it, and is told.
    let server = Server::start(&[problem(503, "busy", "retry-after: 86400\r\n")]);
    let error = client(&server)
        .enqueue(&NewJob::new("k", 1))
        .await
        .unwrap_err();
    let Error::Refused(problem) = error else {
        panic!("{error}");
    };
    assert_eq!((problem.code, problem.status), (Code::Busy, 503));
    assert_eq!(problem.retry_after, Some(Duration::from_secs(3600)));
}

#[tokio::test]
async fn what_will_not_pass_is_told_at_once() {
    for (step, code) in [
        (problem(400, "bad-request", ""), Code::BadRequest),
        (problem(401, "unauthorized", ""), Code::Unauthorized),
        (problem(409, "duplicate", ""), Code::Duplicate),
        (problem(422, "invalid", ""), Code::Invalid),
        (problem(507, "full", ""), Code::Full),
        (problem(418, "teapot", ""), Code::Unknown("teapot".into())),
    ] {
        let server = Server::start(&[step, taken()]);
        let error = client(&server)
            .enqueue(&NewJob::new("k", 1))
            .await
            .unwrap_err();
        assert_eq!(error.code(), Some(&code), "{error}");
        assert!(error.to_string().contains(code.name()), "{error}");
        one_key(&server, 1);
    }
}

#[tokio::test]
async fn who_is_no_runner_is_told_and_not_followed() {
    let elsewhere = Server::start(&[taken()]);
    let location = format!("location: {}/\r\n", elsewhere.url());
    for (step, said) in [
        (
            Step::Answer(answer(307, "text/html", &location, "")),
            "redirect",
        ),
        (
            Step::Answer(answer(200, "text/html", "", "<h1>Hello</h1>")),
            "text/html",
        ),
        (json(200, "{\"id\":"), "EOF"),
        (json(200, "{\"jobs\":[]}"), "missing field"),
        (
            Step::Answer(answer(400, "application/problem+json", "", "no")),
            "expected",
        ),
    ] {
        let server = Server::start(&[step]);
        let mut options = quick(server.url());
        options.token = Some(Token::new(SECRET).unwrap());
        let client = Client::with(options).unwrap();
        let error = client.enqueue(&NewJob::new("k", 1)).await.unwrap_err();
        assert!(matches!(error, Error::NotARunner { .. }), "{error:?}");
        assert!(error.to_string().contains(said), "{error}");
        assert!(!format!("{error} {error:?} {client:?}").contains(SECRET));
        let shown = server.seen()[0].header("authorization").map(str::to_owned);
        assert_eq!(shown, Some(format!("Bearer {SECRET}")));
    }
    assert!(elsewhere.seen().is_empty());
}

#[tokio::test]
async fn nobody_at_the_address_is_told_after_a_while() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let client = Client::with(Options {
        retry_for: Duration::from_millis(100),
        ..quick(format!("http://{address}"))
    });
    let error = client
        .unwrap()
        .enqueue(&NewJob::new("k", 1))
        .await
        .unwrap_err();
    let Error::Unreachable { tries, .. } = error else {
        panic!("{error}");
    };
    assert!(tries > 1);
    assert!(error.to_string().contains(&address.to_string()), "{error}");
}

#[tokio::test]
async fn what_may_not_be_done_twice_is_told_again_only_when_it_was_not_done() {
    let state = json(200, &format!(r#"{{"id":"{ID}","state":"available"}}"#));
    let undone = [
        problem(503, "stopping", ""),
        problem(503, "busy", ""),
        state.clone(),
    ];
    let server = Server::start(&undone);
    assert_eq!(client(&server).retry(ID).await.unwrap(), State::Available);
    assert_eq!(server.seen().len(), 3);
    assert_eq!(
        server.seen()[0].line,
        format!("POST /api/v1/jobs/{ID}/retry HTTP/1.1")
    );

    for unknown in [
        Step::Close,
        Step::BreakOff,
        problem(503, "poisoned", ""),
        Step::Answer(answer(502, "text/html", "", "")),
    ] {
        let server = Server::start(&[unknown, state.clone()]);
        client(&server).retry(ID).await.unwrap_err();
        assert_eq!(server.seen().len(), 1);
    }
    let server = Server::start(&[Step::Close]);
    let error = client(&server).cancel(ID, Some("why")).await.unwrap_err();
    assert!(matches!(error, Error::Gone { tries: 1, .. }), "{error}");
    assert_eq!(server.seen()[0].body, r#"{"reason":"why"}"#);
}

#[tokio::test]
async fn of_many_jobs_those_that_pass_are_told_again() {
    let other = ID.replace("AA", "BB");
    let first = format!(
        r#"{{"jobs":[{{"id":"{ID}","existing":false}},{{"error":{{"code":"queue-full","detail":"d"}}}},
        {{"error":{{"code":"invalid","detail":"no"}}}}]}}"#
    );
    let second = format!(r#"{{"jobs":[{{"id":"{other}","existing":false}}]}}"#);
    let server = Server::start(&[Step::Close, json(200, &first), json(200, &second)]);
    let odd = std::collections::HashMap::from([((1, 2), 3)]);
    let jobs = [
        NewJob::new("a", 1),
        NewJob::new("odd", odd),
        NewJob::new("b", 2),
        NewJob::new("c", 3),
    ];
    let answers = client(&server).enqueue_many(&jobs).await;
    assert_eq!(answers[0].as_ref().unwrap().id, ID);
    assert!(matches!(answers[1], Err(Error::Unusable(_))));
    assert_eq!(answers[2].as_ref().unwrap().id, other);
    assert_eq!(
        answers[3].as_ref().unwrap_err().code(),
        Some(&Code::Invalid)
    );
    let seen = server.seen();
    assert_eq!(seen[0].keys(), seen[1].keys());
    assert_eq!(seen[2].keys(), seen[0].keys()[1..2]);
    assert!(client(&server).enqueue_many(&[]).await.is_empty());
}

#[tokio::test]
async fn many_jobs_go_in_as_they_stand() {
    let taken = |count: usize| {
        let one = format!(r#"{{"id":"{ID}","existing":false}}"#);
        json(
            200,
            &format!(r#"{{"jobs":[{}]}}"#, vec![one; count].join(",")),
        )
    };
    let wrong = || problem(422, "invalid", "");
    let server = Server::start(&[wrong(), taken(250), taken(250), taken(2)]);
    let jobs: Vec<NewJob> = (0..502)
        .map(|number| NewJob::new("k", number).idempotency_key(number.to_string()))
        .collect();
    let answers = client(&server).enqueue_many(&jobs).await;
    assert!(answers.iter().all(Result::is_ok));
    let sent: Vec<String> = server.seen()[1..]
        .iter()
        .flat_map(|seen| seen.keys())
        .collect();
    let stood: Vec<String> = (0..502).map(|number| number.to_string()).collect();
    assert_eq!(sent, stood);
}

#[tokio::test]
async fn what_is_wrong_with_one_of_many_jobs_keeps_no_other_out() {
    let one = format!(r#"{{"jobs":[{{"id":"{ID}","existing":false}}]}}"#);
    let two =
        format!(r#"{{"jobs":[{{"id":"{ID}","existing":false}},{{"id":"{ID}","existing":true}}]}}"#);
    let wrong = || problem(422, "invalid", "");
    let server = Server::start(&[wrong(), wrong(), json(200, &one), wrong(), json(200, &two)]);
    let jobs = [1, 2, 3, 4].map(|number| NewJob::new("k", number));
    let answers = client(&server).enqueue_many(&jobs).await;
    let wrong = answers.iter().position(Result::is_err).unwrap();
    assert_eq!(answers.iter().filter(|answer| answer.is_err()).count(), 1);
    assert_eq!(
        answers[wrong].as_ref().unwrap_err().code(),
        Some(&Code::Invalid)
    );
    let seen = server.seen();
    assert_eq!(
        seen.iter()
            .map(|seen| seen.keys().len())
            .collect::<Vec<_>>(),
        [4, 2, 1, 1, 2]
    );
    // Each under its own key all the time, and the one that is wrong is the one that was refused alone.
    let keys = seen[0].keys();
    assert!(
        seen.iter()
            .all(|seen| seen.keys().iter().all(|key| keys.contains(key)))
    );
    assert_eq!(seen[3].keys(), keys[wrong..=wrong]);
}

#[tokio::test]
async fn connections_are_kept_and_a_closed_one_costs_nothing() {
    let close = |step: Step| match step {
        Step::Answer(bytes) => Step::AnswerAndClose(bytes),
        step => step,
    };
    let server = Server::start(&[taken(), close(taken()), taken()]);
    let client = Client::with(Options {
        retry_for: Duration::ZERO,
        ..quick(server.url())
    });
    let client = client.unwrap();
    for _ in 0..2 {
        client.enqueue(&NewJob::new("k", 1)).await.unwrap();
    }
    // The close may be noticed before the next request or by it; a second try is for the latter.
    while let Err(error) = client.enqueue(&NewJob::new("k", 1)).await {
        assert!(matches!(error, Error::Gone { .. }), "{error}");
    }
    let on: Vec<usize> = server.seen().iter().map(|seen| seen.connection).collect();
    assert_eq!(on, [1, 1, 2]);
}

#[tokio::test]
async fn waiting_goes_on_until_the_end_or_the_limit() {
    let row = format!(
        r#"{{"id":"{ID}","kind":"k","queue":"q","state":"running","attempt":1,"max_attempts":2,"at":""}}"#
    );
    let not_yet = format!(
        r#"{{"ended":false,"job":{row},"progress":{{"done":1,"total":null,"note":"n"}},"reason":null}}"#
    );
    let job = row.replace("running", "completed").replace(
        "\"at\"",
        r#""enqueued_at":"","tags":[],"content_type":"application/json","payload":1,"payload_bytes":1,"result":[2],
        "result_content_type":"application/json","result_bytes":3,"failure":null,"reason":null,"cancel":null,
        "progress":null,"at""#,
    );
    let ended = format!(r#"{{"ended":true,"job":{job},"progress":null,"reason":null}}"#);
    let server = Server::start(&[json(200, &not_yet), Step::Close, json(200, &ended)]);
    let waited = client(&server)
        .wait(ID, Duration::from_secs(10))
        .await
        .unwrap();
    let Waited::Ended(job) = waited else {
        panic!("{waited:?}");
    };
    assert_eq!(job.state, State::Completed);
    assert_eq!(job.result.unwrap().json::<[u8; 1]>().unwrap(), [2]);
    assert_eq!(server.seen().len(), 3);

    let server = Server::start(&[json(200, &not_yet)]);
    let waited = client(&server).wait(ID, Duration::ZERO).await.unwrap();
    let Waited::NotYet(waiting) = waited else {
        panic!("{waited:?}");
    };
    assert_eq!(
        (waiting.state, waiting.progress.unwrap().done),
        (State::Running, 1)
    );
    assert!(server.seen()[0].line.contains("timeout_ms=0"));
}

#[test]
fn a_token_does_not_go_out_in_the_open() {
    let options = Options {
        token: Some(Token::new(SECRET).unwrap()),
        ..Options::new("http://jobs.example.com")
    };
    let error = Client::with(options.clone()).unwrap_err();
    assert!(error.to_string().contains("https"), "{error}");
    assert!(!format!("{options:?} {error}").contains(SECRET));
    Client::with(Options {
        token_in_the_open: true,
        ..options
    })
    .unwrap();
}
