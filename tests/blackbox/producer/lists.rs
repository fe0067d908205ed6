//! Jobs listed a page at a time while jobs come and go and the runner goes away, and what an attempt logged.

use std::{
    collections::BTreeSet,
    time::{Duration, SystemTime},
};

use sandhog_client::{
    Client, Code, JobFilter, JobRow, LogLevel, LogSource, NewJob, Pages, State, Waited,
};
use sandhog_kit::{Home, Http, wait};
use serde_json::json;

use super::{begin, client, runtime};
use crate::SANDHOG;

const BOUND: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

fn later(number: u64) -> NewJob {
    NewJob::new("later", number).delay(HOUR + Duration::from_secs(number))
}

async fn enqueue(client: &Client, job: &NewJob) -> String {
    client.enqueue(job).await.unwrap().id
}

fn ids(rows: &[JobRow]) -> Vec<String> {
    rows.iter().map(|row| row.id.clone()).collect()
}

/// The ids of all that is left of a list.
async fn all(mut pages: Pages<JobRow>) -> Vec<String> {
    let mut all = Vec::new();
    while let Some(rows) = pages.next().await.unwrap() {
        all.extend(ids(&rows));
    }
    all
}

#[test]
fn a_list_is_whole_while_jobs_come_and_go() {
    for filter in [JobFilter::new(), JobFilter::new().by_due()] {
        let home = Home::new(SANDHOG).over_http();
        let runner = home.start();
        let (client, http) = (client(runner.http()), Http::new(runner.http()));
        runtime().block_on(async {
            let (mut told, mut pages) = (Vec::new(), 0);
            let mut there = BTreeSet::new();
            for number in 0..16 {
                there.insert(enqueue(&client, &later(number)).await);
            }
            let filter = filter.state(State::Scheduled).page_size(3);
            let mut list = client.list(&filter);
            while let Some(rows) = list.next().await.unwrap() {
                told.extend(ids(&rows));
                pages += 1;
                // The one that the cursor is made of goes for good, another one to another state, and one stays.
                let last = &rows[rows.len() - 1].id;
                for id in BTreeSet::from([&rows[0].id, last]) {
                    client.discard(id, None).await.unwrap();
                }
                let gone = json!({ "ids": [last] });
                let gone = http.post("/api/v1/jobs/delete", &gone).is(200).json();
                assert!(gone["jobs"][0]["error"].is_null(), "{gone}");
                // In both orders one comes in before the place of the list.
                if pages < 5 {
                    enqueue(&client, &later(0)).await;
                    enqueue(&client, &later(100)).await;
                }
            }
            let once: BTreeSet<String> = told.iter().cloned().collect();
            assert_eq!(told.len(), once.len(), "one came twice: {told:?}");
            assert!(once.is_superset(&there), "{told:?} of {there:?}");
            assert!(pages > 5, "{pages}");
        });
    }
}

#[test]
fn a_list_goes_on_over_a_runner_that_is_killed() {
    let (home, between, runner) = begin();
    let client = client(between.address());
    let runtime = runtime();
    let there: BTreeSet<String> = (0..9)
        .map(|number| runtime.block_on(enqueue(&client, &later(number))))
        .collect();
    let mut pages = client.list(&JobFilter::new().page_size(4));
    let first = runtime.block_on(pages.next()).unwrap().unwrap();
    let cursor = pages.cursor().unwrap().to_owned();
    between.keep_the_next_answer();
    let asked = runtime.spawn(all(pages));
    between.wait_for_the_answer();
    runner.kill9();
    between.hang_up();
    let again = home.start();
    between.lead_to(again.http());
    let rest = runtime.block_on(asked).unwrap();
    let told: BTreeSet<String> = ids(&first).into_iter().chain(rest.clone()).collect();
    assert_eq!((told, rest.len()), (there, 5));
    // Another program, which was told where this one stood.
    let filter = JobFilter::new().page_size(2);
    let pages = self::client(again.http()).list(&filter).from_cursor(cursor);
    assert_eq!(runtime.block_on(all(pages)), rest);
}

#[test]
fn no_kill_makes_a_list_of_a_busy_runner_lose_a_row_or_tell_it_twice() {
    const WALKS: usize = 3;
    let (home, between, mut runner) = begin();
    let client = client(between.address());
    let runtime = runtime();
    let many: Vec<NewJob> = (0..400).map(later).collect();
    let there: BTreeSet<String> = runtime
        .block_on(client.enqueue_many(&many))
        .into_iter()
        .map(|answer| answer.unwrap().id)
        .collect();
    let walks: Vec<_> = (0..WALKS)
        .map(|walk| {
            let client = client.clone();
            runtime.spawn(async move {
                let filter = JobFilter::new().page_size(5);
                let filter = if walk == 0 { filter.by_due() } else { filter };
                let (mut list, mut told) = (client.list(&filter), Vec::new());
                while let Some(rows) = list.next().await.unwrap() {
                    told.extend(ids(&rows));
                    // In the order of what is due these come before those that are there.
                    let job = later(0).delay(HOUR / 2);
                    let id = enqueue(&client, &job).await;
                    client.discard(&id, None).await.ok();
                }
                told
            })
        })
        .collect();
    for _ in 0..if sandhog_kit::long() { 10 } else { 3 } {
        between.wait_for_more_answers(20);
        if walks.iter().all(tokio::task::JoinHandle::is_finished) {
            break;
        }
        runner.kill9();
        runner = home.start();
        between.lead_to(runner.http());
    }
    for walk in walks {
        let told = runtime.block_on(walk).unwrap();
        let once: BTreeSet<String> = told.iter().cloned().collect();
        assert_eq!(told.len(), once.len(), "one came twice");
        assert!(
            once.is_superset(&there),
            "{} of {}",
            once.len(),
            there.len()
        );
    }
    drop(runner);
}

#[test]
fn jobs_are_found_by_all_that_a_filter_says() {
    let home = Home::with(SANDHOG, &["misbehave"]).over_http();
    home.grant("misbehave", "[grants]\nenqueue = { queues = [\"*\"] }\n");
    let runner = home.start();
    let client = client(runner.http());
    runtime().block_on(async {
        let parent = enqueue(&client, &NewJob::new("spawn", 1)).await;
        client.wait(&parent, BOUND).await.unwrap();
        let children = all(client.list(&JobFilter::new().parent(&parent))).await;
        assert_eq!(children.len(), 1);
        let dead = NewJob::new("unreachable", 1).queue("other");
        let dead = dead.priority(-7).max_attempts(1);
        let dead = enqueue(&client, &dead).await;
        client.wait(&dead, BOUND).await.unwrap();
        let due = enqueue(&client, &later(5).tag("b.c")).await;
        let sooner = enqueue(&client, &later(1).tag("a")).await;
        let now = SystemTime::now();
        for (filter, wanted) in [
            (JobFilter::new().state(State::Dead), vec![&dead]),
            (JobFilter::new().queue("other"), vec![&dead]),
            (JobFilter::new().kind("later").by_due(), vec![&sooner, &due]),
            (JobFilter::new().kind("later"), vec![&sooner, &due]),
            (JobFilter::new().tag("b.c"), vec![&due]),
            (JobFilter::new().tag("b.c").state(State::Dead), vec![]),
            (JobFilter::new().tag("a b&queue=other"), vec![]),
            (JobFilter::new().schedule("nightly"), vec![]),
            (JobFilter::new().since(now + HOUR), vec![]),
            (
                JobFilter::new()
                    .since(now - HOUR)
                    .until(now + HOUR)
                    .queue("other"),
                vec![&dead],
            ),
            (JobFilter::new().until(now - HOUR), vec![]),
        ] {
            let found = all(client.list(&filter)).await;
            assert_eq!(found.iter().collect::<Vec<_>>(), wanted, "{filter:?}");
        }
        let filter = JobFilter::new().state(State::Dead);
        let rows = client.list(&filter).next().await.unwrap().unwrap();
        let row = &rows[0];
        assert_eq!((row.priority, row.state, row.attempt), (-7, State::Dead, 1));
        let failure = row.failure.as_ref().unwrap();
        assert!(!failure.cause.is_empty(), "{failure:?}");
        let filter = JobFilter::new().parent(&parent);
        let child = client.list(&filter).next().await.unwrap().unwrap();
        assert_eq!(child[0].parent.as_ref(), Some(&parent));

        let nobody = "01KBA0000000000000000000AA";
        for (filter, code) in [
            (JobFilter::new().queue(""), Code::BadRequest),
            (JobFilter::new().kind("two words"), Code::BadRequest),
            (JobFilter::new().state(State::Unknown), Code::BadRequest),
            (JobFilter::new().parent("../x"), Code::BadRequest),
            (JobFilter::new().page_size(0), Code::BadRequest),
            (JobFilter::new().page_size(1001), Code::BadRequest),
            (JobFilter::new().by_due().parent(nobody), Code::Invalid),
        ] {
            let refused = client.list(&filter).next().await.unwrap_err();
            assert_eq!(refused.code(), Some(&code), "{filter:?}: {refused}");
        }
        let mut pages = client.list(&JobFilter::new()).from_cursor("nowhere");
        let refused = pages.next().await.unwrap_err();
        assert_eq!(refused.code(), Some(&Code::Invalid), "{refused}");
        assert!(refused.to_string().contains("nowhere"), "{refused}");
    });
}

#[test]
fn an_attempt_says_what_it_logged_and_printed() {
    let home = Home::with(SANDHOG, &["misbehave"]).over_http();
    let runner = home.start();
    let (client, runtime) = (client(runner.http()), runtime());
    let logs = |id: &str, attempt| runtime.block_on(client.logs(id, attempt));
    let put = |job: &NewJob| runtime.block_on(enqueue(&client, job));
    let ended = |id: &str| runtime.block_on(client.wait(id, BOUND)).unwrap();

    let said = put(&NewJob::text("recite", "text/plain", "hello"));
    ended(&said);
    let told = logs(&said, None).unwrap();
    assert_eq!(
        (told.attempt, told.running, told.dropped_lines),
        (1, false, 0)
    );
    let line = |source| {
        told.lines
            .iter()
            .find(|line| line.source == source)
            .unwrap()
    };
    let (log, printed) = (line(LogSource::Log), line(LogSource::Stdout));
    assert_eq!((log.level, log.text.as_str()), (LogLevel::Warn, "hello"));
    assert_eq!(log.fields, [("said".to_owned(), "hello".to_owned())]);
    assert_eq!(
        (printed.level, printed.text.as_str()),
        (LogLevel::Info, "hello")
    );
    assert!(log.at < BOUND, "{log:?}");

    // Each attempt has lines of its own.
    let twice = NewJob::new("panic", "x")
        .header("lines", "2")
        .max_attempts(2);
    let twice = put(&twice.backoff("fixed 10ms"));
    let waited = ended(&twice);
    assert!(matches!(waited, Waited::Ended(job) if job.state == State::Dead));
    for (asked, attempt) in [(None, 2), (Some(1), 1), (Some(2), 2)] {
        let told = logs(&twice, asked).unwrap();
        let first = &told.lines[0];
        assert_eq!(
            (told.attempt, first.text.as_str()),
            (attempt, "line 0 before the end")
        );
    }

    let runs = put(&NewJob::new("heed", 1));
    let told = wait::until("a line of the running attempt", BOUND, || {
        logs(&runs, None).ok().filter(|logs| !logs.lines.is_empty())
    });
    assert!(
        told.running && told.lines[0].text == "waiting to be told",
        "{told:?}"
    );

    let waits = put(&later(1));
    let code = |refused: Result<_, sandhog_client::Error>| refused.unwrap_err().code().cloned();
    for (id, attempt, wanted) in [
        ("01KBA0000000000000000000AA", None, Code::NotFound),
        (waits.as_str(), None, Code::NotFound),
        (twice.as_str(), Some(3), Code::NotFound),
        (twice.as_str(), Some(0), Code::BadRequest),
    ] {
        assert_eq!(code(logs(id, attempt)), Some(wanted), "{id} {attempt:?}");
    }
    runtime.block_on(client.kill(&runs, None)).unwrap();
}

/// Numbers begin anew when a job is brought back; its place among all tells an attempt from another of its number.
#[test]
fn attempts_of_a_job_that_was_brought_back_are_told_apart() {
    let home = Home::with(SANDHOG, &["misbehave"]).over_http();
    let runner = home.start();
    let (runtime, client) = (runtime(), client(runner.http()));
    runtime.block_on(async {
        let fails = NewJob::new("panic", "x")
            .max_attempts(2)
            .backoff("fixed 10ms");
        let id = client.enqueue(&fails).await.unwrap().id;
        for brought_back in [false, true] {
            if brought_back {
                client.retry(&id).await.unwrap();
            }
            let waited = client.wait(&id, BOUND).await.unwrap();
            assert!(matches!(waited, Waited::Ended(job) if job.state == State::Dead));
        }
        let latest = client.logs(&id, Some(1)).await.unwrap();
        assert_eq!((latest.in_all, latest.also.as_slice()), (3, &[1][..]));
        let first = client.logs_in_all(&id, 1).await.unwrap();
        assert_eq!((first.attempt, first.in_all), (1, 1));
    });
}
