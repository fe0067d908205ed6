//! The client crate and a real runner: what it promises when the runner goes away at the worst moment.

mod batches;
mod between;
mod lists;
mod refused;

use std::{collections::BTreeSet, time::Duration};

use between::Between;
use sandhog_client::{Client, Code, Error, NewJob, Options, State, Token, Unique, Waited};
use sandhog_kit::{Home, Http, Runner};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};

use crate::SANDHOG;

fn runtime() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

fn client(address: std::net::SocketAddr) -> Client {
    let options = Options {
        first_wait: Duration::from_millis(5),
        ..Options::new(format!("http://{address}"))
    };
    Client::with(options).unwrap()
}

/// A runner, and someone between it and its clients, whose name it knows.
fn begin() -> (Home, Between, Runner) {
    let home = Home::new(SANDHOG).over_http();
    let between = Between::new();
    home.write_config(&format!("[http]\nhosts = [\"{}\"]\n", between.address()));
    let runner = home.start();
    between.lead_to(runner.http());
    (home, between, runner)
}

/// Ids of all jobs of a runner.
fn jobs(home: &Home) -> Vec<String> {
    let (rows, _) = home.walk(&["job", "ls"], "500");
    let id = |row: &serde_json::Value| row["id"].as_str().unwrap().to_owned();
    rows.iter().map(id).collect()
}

#[test]
fn a_runner_killed_between_request_and_answer_has_one_job() {
    let (home, between, runner) = begin();
    let client = client(between.address());
    let runtime = runtime();
    between.keep_the_next_answer();
    let asked = {
        let client = client.clone();
        runtime.spawn(async move { client.enqueue(&NewJob::new("later", 1)).await })
    };
    // The job is on disk and the answer is on its way: it never gets there.
    between.wait_for_the_answer();
    runner.kill9();
    between.hang_up();
    let again = home.start();
    between.lead_to(again.http());
    let enqueued = runtime.block_on(asked).unwrap().unwrap();
    assert!(enqueued.existing, "{enqueued:?}");
    assert_eq!(jobs(&home), [enqueued.id]);
}

#[test]
fn a_runner_is_where_it_says_and_not_where_the_one_before_was() {
    let home = Home::new(SANDHOG).over_http();
    let first = home.start();
    let before = first.http();
    first.kill9();
    // So that the next is somewhere else.
    let taken = std::net::TcpListener::bind(before).unwrap();
    let next = home.start();
    assert_ne!(next.http(), before);
    assert!(
        !next.said().contains(&before.to_string()),
        "{}",
        next.said()
    );
    drop(taken);
}

#[test]
fn no_kill_makes_a_job_of_a_busy_producer_twice_or_loses_it() {
    const PRODUCERS: usize = 8;
    const JOBS: usize = 25;
    let (home, between, mut runner) = begin();
    let client = client(between.address());
    let runtime = runtime();
    let producers: Vec<_> = (0..PRODUCERS)
        .map(|producer| {
            let client = client.clone();
            runtime.spawn(async move {
                let mut told = Vec::new();
                for job in 0..JOBS {
                    let one =
                        NewJob::new("later", (producer, job)).delay(Duration::from_secs(3600));
                    told.push(client.enqueue(&one).await.unwrap().id);
                    let two = [one.clone(), one];
                    let many = client.enqueue_many(&two).await;
                    told.extend(many.into_iter().map(|answer| answer.unwrap().id));
                }
                told
            })
        })
        .collect();
    for _ in 0..if sandhog_kit::long() { 40 } else { 6 } {
        between.wait_for_more_answers(20);
        if producers.iter().all(tokio::task::JoinHandle::is_finished) {
            break;
        }
        runner.kill9();
        runner = home.start();
        between.lead_to(runner.http());
    }
    let mut told = BTreeSet::new();
    for producer in producers {
        told.extend(runtime.block_on(producer).unwrap());
    }
    assert_eq!(told.len(), PRODUCERS * JOBS * 3);
    assert_eq!(jobs(&home).into_iter().collect::<BTreeSet<_>>(), told);
    drop(runner);
}

#[test]
fn a_job_is_enqueued_waited_for_steered_and_refused() {
    let home = Home::with(SANDHOG, &["table", "misbehave"]).over_http();
    let runner = home.start();
    let client = client(runner.http());
    runtime().block_on(async {
        let csv = "name,n\na,1\nb,2\n";
        let job = NewJob::text("table", "text/csv", csv)
            .queue("reports")
            .tag("monthly")
            .header("a", "1");
        let id = client.enqueue(&job).await.unwrap().id;
        let waited = client.wait(&id, Duration::from_secs(60)).await.unwrap();
        let Waited::Ended(done) = waited else {
            panic!("{waited:?}");
        };
        assert_eq!(done.state, State::Completed, "{done:?}");
        assert_eq!(done.payload.text(), Some(csv));
        assert!(!done.result.as_ref().unwrap().bytes.is_empty());
        assert_eq!(
            (done.queue.as_str(), done.tags.as_slice()),
            ("reports", &["monthly".to_owned()][..])
        );
        let shown = client.get(&id).await.unwrap();
        assert_eq!(shown.result, done.result);

        let unique = || NewJob::bytes("none", "image/png", [0, 255]).unique(Unique::key("one"));
        let first = client.enqueue(&unique()).await.unwrap();
        let refused = client.enqueue(&unique()).await.unwrap_err();
        assert_eq!(refused.code(), Some(&Code::Duplicate));
        assert!(refused.to_string().contains(&first.id), "{refused}");
        let kept = NewJob::new("none", 1).unique(Unique::key("one").keep());
        assert_eq!(client.enqueue(&kept).await.unwrap().id, first.id);
        assert_eq!(client.get(&first.id).await.unwrap().payload.bytes, [0, 255]);

        let waited = client
            .wait(&first.id, Duration::from_millis(50))
            .await
            .unwrap();
        assert!(
            matches!(waited, Waited::NotYet(ref waiting) if !waiting.state.is_end()),
            "{waited:?}"
        );
        let snoozed = client
            .snooze(&first.id, Duration::from_secs(3600))
            .await
            .unwrap();
        assert_eq!(snoozed, State::Scheduled);
        let cancelled = client.cancel(&first.id, Some("no more")).await.unwrap();
        assert_eq!(cancelled, State::Cancelled);
        assert_eq!(
            client.get(&first.id).await.unwrap().reason.as_deref(),
            Some("no more")
        );
        assert_eq!(client.retry(&first.id).await.unwrap(), State::Available);
        assert_eq!(
            client.discard(&first.id, None).await.unwrap(),
            State::Discarded
        );

        let fails = NewJob::new("trap", json!({"how": "unreachable"})).max_attempts(1);
        let enqueued = client.enqueue(&fails).await.unwrap();
        let many = client
            .enqueue_many(&[fails.clone().queue("no such\n"), fails.idempotency_key("x")])
            .await;
        assert_eq!(many[0].as_ref().unwrap_err().code(), Some(&Code::Invalid));
        assert!(many[1].is_ok() && many[1].as_ref().unwrap().id != enqueued.id);
        let missing = client.get("01KBA0000000000000000000AA").await.unwrap_err();
        assert!(matches!(missing, Error::Refused(problem) if problem.code == Code::NotFound));
    });
}

#[test]
fn a_token_is_shown_and_its_role_counts() {
    let home = Home::new(SANDHOG).over_http();
    let secret = "0123456789abcdef0123";
    let tokens = home.folder().join("tokens");
    write_private(&tokens, &format!("viewer:looker:{secret}\n"));
    home.write_config(&format!(
        "[http]\ntoken_file = {:?}\n",
        tokens.display().to_string()
    ));
    let runner = home.start();
    let address = runner.http();
    let own = home.folder().join("own");
    write_private(&own, secret);
    let with = |token| {
        Client::with(Options {
            token,
            ..Options::new(format!("http://{address}"))
        })
    };
    runtime().block_on(async {
        let unknown = with(None)
            .unwrap()
            .enqueue(&NewJob::new("k", 1))
            .await
            .unwrap_err();
        assert_eq!(unknown.code(), Some(&Code::Unauthorized));
        let viewer = with(Some(Token::from_file(&own).unwrap())).unwrap();
        let error = viewer.enqueue(&NewJob::new("k", 1)).await.unwrap_err();
        assert_eq!(error.code(), Some(&Code::Forbidden));
    });
    assert_eq!(
        Http::new(address)
            .with(secret)
            .get("/api/v1/jobs")
            .is(200)
            .json()["jobs"],
        json!([])
    );
}

fn write_private(path: &std::path::Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;

    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}
