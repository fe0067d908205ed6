//! What cannot be done with a job, by the code that the client crate says it with.

use std::time::Duration;

use sandhog_client::{Client, Code, NewBatch, NewJob, State, Unique};
use sandhog_kit::{Home, wait};

use super::{client, runtime};
use crate::SANDHOG;

const BOUND: Duration = Duration::from_secs(60);

/// What is said to calling it off, killing, running it now or again, putting it off, and dropping it.
async fn all(client: &Client, id: &str) -> [Result<State, Option<Code>>; 5] {
    [
        client.cancel(id, None).await,
        client.kill(id, None).await,
        client.retry(id).await,
        client.snooze(id, Duration::from_secs(1)).await,
        client.discard(id, None).await,
    ]
    .map(|told| told.map_err(|error| error.code().cloned()))
}

#[test]
fn what_a_job_cannot_be_asked_for_is_refused() {
    let home = Home::with(SANDHOG, &["misbehave"]).over_http();
    let runner = home.start();
    let (client, runtime) = (client(runner.http()), runtime());
    let put = |job: NewJob| runtime.block_on(client.enqueue(&job)).unwrap().id;
    let told = |id: &str| runtime.block_on(all(&client, id));
    let ended = |id: &str| runtime.block_on(client.wait(id, BOUND)).unwrap();

    let nobody = "01KBA0000000000000000000AA";
    let missing = runtime.block_on(client.wait(nobody, BOUND)).unwrap_err();
    assert_eq!(missing.code(), Some(&Code::NotFound));
    assert_eq!(told(nobody), [const { Err(Some(Code::NotFound)) }; 5]);

    for job in [
        NewJob::new("unreachable", 1).max_attempts(1),
        NewJob::new("echo", 1),
    ] {
        let id = put(job);
        ended(&id);
        // What ended is over, and can be had again; what comes of that is another matter.
        let [cancel, kill, retry, ..] = told(&id);
        assert_eq!(
            [cancel, kill],
            [const { Err(Some(Code::WrongState)) }; 2],
            "{id}"
        );
        assert_eq!(retry, Ok(State::Available), "{id}");
    }

    let runs = put(NewJob::new("heed", 1));
    wait::until("the job to run", BOUND, || {
        let job = runtime.block_on(client.get(&runs)).unwrap();
        (job.state == State::Running).then_some(())
    });
    let refused = runtime.block_on(async {
        [
            client.retry(&runs).await,
            client.snooze(&runs, Duration::from_secs(1)).await,
            client.discard(&runs, None).await,
        ]
        .map(|told| told.unwrap_err().code().cloned())
    });
    assert_eq!(refused, [const { Some(Code::WrongState) }; 3]);
    runtime.block_on(client.kill(&runs, None)).unwrap();
}

#[test]
fn what_stands_in_the_way_of_a_job_is_told() {
    let home = Home::new(SANDHOG).over_http();
    let runner = home.start();
    let client = client(runner.http());
    runtime().block_on(async {
        let put = async |job: NewJob| client.enqueue(&job).await;
        let unique = || NewJob::new("k", 1).unique(Unique::payload());
        let first = put(unique()).await.unwrap().id;
        client.discard(&first, None).await.unwrap();
        let second = put(unique()).await.unwrap().id;
        let taken = client.retry(&first).await.unwrap_err();
        assert_eq!(taken.code(), Some(&Code::Duplicate), "{taken}");
        assert!(taken.to_string().contains(&second), "{taken}");

        let batch = client.open_batch(&NewBatch::new()).await.unwrap().id;
        let member = put(NewJob::new("k", 2).batch(&batch)).await.unwrap().id;
        client.cancel_batch(&batch, None).await.unwrap();
        for refused in [
            client.retry(&member).await.unwrap_err(),
            put(NewJob::new("k", 3).batch(&batch)).await.unwrap_err(),
        ] {
            assert_eq!(refused.code(), Some(&Code::BatchClosed), "{refused}");
        }
        let nobody = NewJob::new("k", 4).batch("01KBA0000000000000000000AA");
        let refused = put(nobody).await.unwrap_err();
        assert_eq!(refused.code(), Some(&Code::NotFound), "{refused}");
    });
}

#[test]
fn what_becomes_of_a_unique_job_in_the_way_is_told() {
    let home = Home::new(SANDHOG).over_http();
    let runner = home.start();
    let client = client(runner.http());
    runtime().block_on(async {
        let wait = Duration::from_secs(3600);
        let job = |unique: Unique| NewJob::new("k", 1).delay(wait).unique(unique);
        let put = async |job: NewJob| client.enqueue(&job).await.unwrap();
        let first = put(job(Unique::payload())).await;
        assert_eq!((&first.replaced, &first.due), (&None, &None));
        let second = put(job(Unique::payload().replace())).await;
        assert_eq!((second.existing, second.replaced), (false, Some(first.id)));
        let before = client.get(&second.id).await.unwrap().at;
        let later = put(job(Unique::payload().debounce()).delay(wait * 2)).await;
        assert_eq!((later.existing, &later.id), (true, &second.id));
        let now = client.get(&second.id).await.unwrap().at;
        assert_eq!(later.due.as_ref(), Some(&now));
        assert!(now > before, "{now} after {before}");
    });
}
