//! Batches by the client crate: from opening to what follows, and over a runner that is killed before it answered.

use std::{collections::BTreeSet, future::Future, time::Duration};

use sandhog_client::{
    Batch, BatchStatus, BatchWaited, Client, Code, Error, JobFilter, NewBatch, NewJob, State,
    Waited,
};
use sandhog_kit::{Home, Runner};
use serde_json::json;
use tokio::{runtime::Runtime, task::JoinHandle};

use super::{begin, between::Between, client, runtime};
use crate::SANDHOG;

const BOUND: Duration = Duration::from_secs(60);
const NOBODY: &str = "01KBA0000000000000000000AA";

async fn open(client: &Client, batch: NewBatch) -> String {
    client.open_batch(&batch).await.unwrap().id
}

fn later(count: u32) -> Vec<NewJob> {
    let job = |number| NewJob::new("later", number).delay(Duration::from_secs(3600));
    (0..count).map(job).collect()
}

async fn ended(client: &Client, id: &str) -> Batch {
    match client.wait_for_batch(id, BOUND).await.unwrap() {
        BatchWaited::Ended(batch) => *batch,
        BatchWaited::NotYet(batch) => panic!("{batch:?}"),
    }
}

fn code<T: std::fmt::Debug>(refused: Result<T, Error>) -> Option<Code> {
    refused.unwrap_err().code().cloned()
}

/// A batch with four members and what follows it, and the members.
async fn filled(client: &Client) -> (String, BTreeSet<String>) {
    let publish = NewJob::new("echo", json!({"to": "shop"})).queue("slow");
    let new = NewBatch::new()
        .name("import")
        .on_success(publish.priority(3));
    let id = open(client, new.on_complete(NewJob::after("echo"))).await;
    let mut jobs: Vec<NewJob> = (0..3).map(|number| NewJob::new("echo", number)).collect();
    jobs.push(NewJob::new("echo", 4).batch(NOBODY));
    let mut answers = client.enqueue_into(&id, &jobs).await;
    assert_eq!(code(answers.pop().unwrap()), Some(Code::BadRequest));
    let one = NewJob::new("echo", 5).batch(&id);
    answers.push(client.enqueue(&one).await);
    let mut members = BTreeSet::new();
    for answer in answers {
        let enqueued = answer.unwrap();
        assert_eq!(
            (enqueued.existing, enqueued.batch.as_ref()),
            (false, Some(&id))
        );
        members.insert(enqueued.id);
    }
    (id, members)
}

#[test]
fn a_batch_is_filled_sealed_waited_for_and_followed() {
    let home = Home::with(SANDHOG, &["misbehave"]).over_http();
    let runner = home.start();
    let client = client(runner.http());
    runtime().block_on(async {
        let (id, members) = filled(&client).await;
        let waited = client.wait_for_batch(&id, Duration::from_millis(20)).await;
        assert!(
            matches!(waited, Ok(BatchWaited::NotYet(_))),
            "it is open: {waited:?}"
        );
        assert_eq!(client.batch(&id).await.unwrap().status, BatchStatus::Open);
        assert!(client.seal_batch(&id).await.unwrap().sealed_at.is_some());
        let batch = ended(&client, &id).await;
        assert_eq!(
            (batch.status, batch.name.as_deref()),
            (BatchStatus::Ended, Some("import"))
        );
        assert_eq!(
            (batch.jobs.total, batch.jobs.completed, batch.jobs.failed),
            (4, 4, 0)
        );
        let mut pages = client.list(&JobFilter::new().batch(&id));
        let listed = pages.next().await.unwrap().unwrap();
        assert_eq!(
            listed
                .into_iter()
                .map(|row| row.id)
                .collect::<BTreeSet<_>>(),
            members
        );

        let follows = batch.on_success.unwrap();
        assert!(follows.enqueued_at.is_some() && batch.on_complete.is_some());
        let waited = client.wait(&follows.job, BOUND).await.unwrap();
        let Waited::Ended(job) = waited else {
            panic!("{waited:?}");
        };
        assert_eq!((job.state, job.queue.as_str()), (State::Completed, "slow"));
        let told: serde_json::Value = job.payload.json().unwrap();
        assert_eq!(
            (&told["completed"], &told["payload"]["to"]),
            (&json!(4), &json!("shop"))
        );
        let member = members.first().unwrap();
        assert_eq!(client.get(member).await.unwrap().batch.as_ref(), Some(&id));

        // It has ended: sealed it is, and called off it cannot be.
        assert_eq!(
            client.seal_batch(&id).await.unwrap().status,
            BatchStatus::Ended
        );
        assert_eq!(
            code(client.cancel_batch(&id, None).await),
            Some(Code::WrongState)
        );
        for answer in client.enqueue_into(&id, &later(2)).await {
            assert_eq!(code(answer), Some(Code::BatchClosed));
        }
    });
}

#[test]
fn what_a_batch_cannot_be_is_refused() {
    let home = Home::new(SANDHOG).over_http();
    let runner = home.start();
    let client = client(runner.http());
    runtime().block_on(async {
        let job = || NewJob::new("k", 1);
        for (batch, wanted) in [
            (NewBatch::new().name("x".repeat(201)), Code::Invalid),
            (
                NewBatch::new().on_success(NewJob::after("two words")),
                Code::Invalid,
            ),
            (
                NewBatch::new().on_success(job().queue("no such\n")),
                Code::Invalid,
            ),
            (
                NewBatch::new().on_complete(NewJob::text("k", "text/plain", "x")),
                Code::Invalid,
            ),
            (
                NewBatch::new().on_complete(NewJob::new("k", "x".repeat(64 << 10))),
                Code::Invalid,
            ),
            (
                NewBatch::new().on_complete(job().then(job())),
                Code::BadRequest,
            ),
            (
                NewBatch::new().on_complete(job().batch(NOBODY)),
                Code::BadRequest,
            ),
        ] {
            let refused = client.open_batch(&batch).await;
            assert_eq!(code(refused), Some(wanted), "{batch:?}");
        }
        assert!(
            client.batches(10).next().await.unwrap().is_none(),
            "none is there"
        );
        assert_eq!(code(client.batches(0).next().await), Some(Code::BadRequest));

        let id = open(&client, NewBatch::new()).await;
        let off = client.cancel_batch(&id, Some(&"x".repeat(4097))).await;
        assert_eq!(code(off), Some(Code::Invalid));
        let off = client.cancel_batch(&id, Some("no more")).await.unwrap();
        assert_eq!(off.status, BatchStatus::Cancelled);
        assert_eq!(off.cancel.unwrap().reason.as_deref(), Some("no more"));
        assert_eq!(code(client.seal_batch(&id).await), Some(Code::WrongState));

        assert_eq!(code(client.batch(NOBODY).await), Some(Code::NotFound));
        assert_eq!(code(client.seal_batch(NOBODY).await), Some(Code::NotFound));
        assert_eq!(
            code(client.cancel_batch(NOBODY, None).await),
            Some(Code::NotFound)
        );
        assert_eq!(
            code(client.wait_for_batch(NOBODY, BOUND).await),
            Some(Code::NotFound)
        );
        for answer in client.enqueue_into(NOBODY, &later(2)).await {
            assert_eq!(code(answer), Some(Code::NotFound));
        }
    });
}

/// A runner with an open batch in it, and a client whose next answer does not get there.
struct Lossy {
    home: Home,
    between: Between,
    runner: Runner,
    runtime: Runtime,
    client: Client,
    batch: String,
}

impl Lossy {
    fn new(members: u32) -> Self {
        let (home, between, runner) = begin();
        let (runtime, client) = (runtime(), client(between.address()));
        let new = NewBatch::new().on_complete(NewJob::after("later"));
        let batch = runtime.block_on(open(&client, new));
        let put = runtime.block_on(client.enqueue_into(&batch, &later(members)));
        assert!(put.iter().all(Result::is_ok));
        Self {
            home,
            between,
            runner,
            runtime,
            client,
            batch,
        }
    }

    /// Ask for something whose answer is there and does not arrive.
    fn lose<F>(&self, ask: impl FnOnce(Client, String) -> F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        self.between.keep_the_next_answer();
        let asked = self
            .runtime
            .spawn(ask(self.client.clone(), self.batch.clone()));
        self.between.wait_for_the_answer();
        asked
    }

    /// Kill the runner, and have another one answer what was asked.
    fn kill<T>(mut self, asked: JoinHandle<T>) -> (T, Self) {
        self.runner.kill9();
        self.between.hang_up();
        self.runner = self.home.start();
        self.between.lead_to(self.runner.http());
        let told = self.runtime.block_on(asked).unwrap();
        (told, self)
    }

    fn batch(&self) -> Batch {
        self.runtime
            .block_on(self.client.batch(&self.batch))
            .unwrap()
    }
}

#[test]
fn a_kill_before_the_answer_opens_one_batch_and_says_that_it_may_have() {
    let there = Lossy::new(0);
    let asked = there.lose(|client, _| async move {
        let new = NewBatch::new().name("import");
        client.open_batch(&new).await
    });
    let (told, there) = there.kill(asked);
    let gone = told.unwrap_err();
    assert!(matches!(gone, Error::Gone { tries: 1, .. }), "{gone}");
    there.runtime.block_on(async {
        // It is found by its name, and goes.
        let mut pages = there.client.batches(1);
        let mut names = Vec::new();
        while let Some(batches) = pages.next().await.unwrap() {
            names.extend(batches.into_iter().map(|batch| (batch.name, batch.id)));
        }
        assert_eq!(names.len(), 2, "{names:?}");
        assert_eq!(names[0].0.as_deref(), Some("import"));
        there.client.cancel_batch(&names[0].1, None).await.unwrap();
        assert_eq!(ended(&there.client, &names[0].1).await.jobs.total, 0);
    });
}

#[test]
fn a_kill_before_the_answer_puts_no_job_into_a_batch_twice() {
    let there = Lossy::new(0);
    let asked = there.lose(|client, id| async move { client.enqueue_into(&id, &later(3)).await });
    let (told, there) = there.kill(asked);
    for answer in told {
        let enqueued = answer.unwrap();
        assert!(enqueued.existing, "{enqueued:?}");
        assert_eq!(enqueued.batch.as_ref(), Some(&there.batch));
    }
    assert_eq!(there.batch().jobs.total, 3);
}

#[test]
fn jobs_that_went_in_before_the_seal_are_in_when_they_are_told_again_after_it() {
    let there = Lossy::new(0);
    let asked = there.lose(|client, id| async move { client.enqueue_into(&id, &later(3)).await });
    let another = client(there.runner.http());
    there
        .runtime
        .block_on(another.seal_batch(&there.batch))
        .unwrap();
    there.between.hang_up();
    there.between.lead_to(there.runner.http());
    for answer in there.runtime.block_on(asked).unwrap() {
        let enqueued = answer.unwrap();
        assert_eq!(
            (enqueued.existing, enqueued.batch.as_ref()),
            (true, Some(&there.batch))
        );
    }
    let batch = there.batch();
    assert_eq!((batch.jobs.total, batch.status), (3, BatchStatus::Sealed));
}

#[test]
fn a_kill_before_the_answer_seals_a_batch_and_is_followed_once() {
    // One that is over with its seal is refused when it is told again.
    for (members, status) in [(2, BatchStatus::Sealed), (0, BatchStatus::Ended)] {
        let there = Lossy::new(members);
        let asked = there.lose(|client, id| async move { client.seal_batch(&id).await });
        let (told, there) = there.kill(asked);
        let batch = told.unwrap();
        assert_eq!((batch.status, batch.sealed_at.is_some()), (status, true));
        let all = u64::from(members) + u64::from(status == BatchStatus::Ended);
        assert_eq!(super::jobs(&there.home).len() as u64, all);
    }
}

#[test]
fn a_kill_before_the_answer_calls_a_batch_off() {
    let there = Lossy::new(2);
    let asked = there.lose(|client, id| async move { client.cancel_batch(&id, Some("why")).await });
    let (told, there) = there.kill(asked);
    let off = told.unwrap();
    assert_eq!(off.status, BatchStatus::Cancelled);
    assert_eq!(off.cancel.unwrap().reason.as_deref(), Some("why"));
    let batch = there.runtime.block_on(ended(&there.client, &there.batch));
    assert_eq!((batch.jobs.cancelled, batch.jobs.waiting), (2, 0));
}

#[test]
fn the_end_of_a_batch_is_waited_for_over_a_kill() {
    let there = Lossy::new(2);
    let asked = there.lose(|client, id| async move { ended(&client, &id).await });
    let another = client(there.runner.http());
    let job = there.runtime.block_on(async {
        another.seal_batch(&there.batch).await.unwrap();
        let filter = JobFilter::new().batch(&there.batch);
        let rows = another.list(&filter).next().await.unwrap().unwrap();
        another.discard(&rows[0].id, None).await.unwrap();
        another.cancel(&rows[1].id, None).await.unwrap();
        rows.len()
    });
    let (batch, there) = there.kill(asked);
    assert_eq!(
        (batch.jobs.discarded, batch.jobs.cancelled, batch.jobs.total),
        (1, 1, job as u64)
    );
    let follows = batch.on_complete.unwrap().job;
    let job = there.runtime.block_on(there.client.get(&follows)).unwrap();
    assert_eq!(job.kind, "later");
}
