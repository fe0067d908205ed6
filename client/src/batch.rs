//! Batches: jobs that are followed once all of them ended.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::{
    client::{Client, Twice, is_id},
    code::Code,
    error::Error,
    job::Enqueued,
    new_batch::NewBatch,
    new_job::NewJob,
    pages::{Pages, Query},
};

const PATH: &str = "/api/v1/batches";

/// A batch, and how its jobs stand.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Batch {
    /// The batch.
    pub id: String,
    /// What it is, for people.
    pub name: Option<String>,
    /// Where it is in its life.
    pub status: BatchStatus,
    /// When it was opened; RFC 3339 in UTC, as all instants.
    pub opened_at: String,
    /// Since when it takes no more jobs in from outside.
    pub sealed_at: Option<String>,
    /// When the last of its jobs ended first; one that was run again may not have ended since.
    pub ended_at: Option<String>,
    /// How many jobs it has, by where they are.
    pub jobs: BatchJobs,
    /// What follows when all of its jobs completed.
    pub on_success: Option<Follows>,
    /// What follows when all of its jobs ended, however.
    pub on_complete: Option<Follows>,
    /// Who called it off.
    pub cancel: Option<CalledOff>,
}

/// Where a batch is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum BatchStatus {
    /// It takes jobs in.
    Open,
    /// It takes no more in from outside, and has jobs that have not ended.
    Sealed,
    /// All of its jobs ended.
    Ended,
    /// Called off; some of its jobs may still run.
    Cancelled,
    /// One that this version does not know.
    #[serde(other)]
    Unknown,
}

/// How many jobs a batch has, by where they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct BatchJobs {
    /// All of them, those that are forgotten by now included.
    pub total: u64,
    /// Scheduled, available or retryable.
    pub waiting: u64,
    /// In an attempt.
    pub running: u64,
    /// Done.
    pub completed: u64,
    /// Ended otherwise: the five below together.
    pub failed: u64,
    /// Out of attempts.
    pub dead: u64,
    /// Called off.
    pub cancelled: u64,
    /// Dropped.
    pub discarded: u64,
    /// Not begun in time.
    pub expired: u64,
    /// Deleted before they ended.
    pub deleted: u64,
}

/// A job that follows a batch.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Follows {
    /// The id that it has, or will have.
    pub job: String,
    /// Which handler runs it.
    pub kind: String,
    /// When it was enqueued, once it was.
    pub enqueued_at: Option<String>,
}

/// That a batch was called off.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct CalledOff {
    /// When.
    pub at: String,
    /// Who asked.
    pub by: String,
    /// Why, if they said.
    pub reason: Option<String>,
}

/// What came of waiting for a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BatchWaited {
    /// All of its jobs ended, well or not: look at their numbers.
    Ended(Box<Batch>),
    /// The time was over first.
    NotYet(Box<Batch>),
}

impl Batch {
    /// Whether all of its jobs ended and no more come, unless someone asks for one of them again.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.ended_at.is_some() && self.jobs.waiting == 0 && self.jobs.running == 0
    }
}

/// Batches. All that is done with one may be done twice, and is sent again as an enqueue is; but for
/// [`open_batch`](Self::open_batch).
///
/// ```no_run
/// # use std::time::Duration;
/// # use sandhog_client::{BatchWaited, Client, Error, NewBatch, NewJob};
/// # async fn example(client: &Client) -> Result<(), Error> {
/// // `publish` follows when all completed, with the batch's numbers and its own payload as its payload.
/// let batch = NewBatch::new().name("import").on_success(NewJob::new("publish", "shop"));
/// let batch = client.open_batch(&batch).await?.id;
/// let rows: Vec<NewJob> = (1..=1000).map(|row| NewJob::new("table", row)).collect();
/// for answer in client.enqueue_into(&batch, &rows).await {
///     answer?;
/// }
/// client.seal_batch(&batch).await?;
/// match client.wait_for_batch(&batch, Duration::from_secs(600)).await? {
///     BatchWaited::Ended(batch) => println!("{} of {}", batch.jobs.completed, batch.jobs.total),
///     BatchWaited::NotYet(batch) => println!("{} still wait", batch.jobs.waiting),
/// }
/// # Ok(())
/// # }
/// ```
impl Client {
    /// Open a batch. It takes jobs in until it is sealed, and is kept as long as it is open.
    ///
    /// # Errors
    ///
    /// [`Error::Gone`] when the answer got lost: nothing tells two openings apart, so it is not sent again, and the
    /// batch may be there, open and empty. Opening another one does no harm. The one that is left is among
    /// [`batches`](Self::batches), by its name, and goes by [`cancel_batch`](Self::cancel_batch).
    ///
    /// [`Code::Invalid`] when the name has more than 200 bytes, or what follows has a kind or a queue that cannot
    /// be, a payload that is no JSON, or one of over 64 KiB; [`Code::BadRequest`] when it says what does not go with it.
    pub async fn open_batch(&self, batch: &NewBatch) -> Result<Batch, Error> {
        self.json(self.post(PATH, batch.line()?), Twice::Never)
            .await
    }

    /// Enqueue many jobs into a batch, as [`enqueue_many`](Self::enqueue_many) does. One by one they go in by
    /// [`NewJob::batch`].
    ///
    /// A job that was there before, by its idempotency key or as a unique one that is kept, stays where it was:
    /// [`Enqueued::batch`] says where each is.
    ///
    /// # Errors
    ///
    /// Each for itself: [`Code::BatchClosed`] when the batch is sealed or was called off, [`Code::NotFound`] when
    /// there is none, [`Code::BadRequest`] for a job that names another one, and all that an enqueue can be refused
    /// for.
    pub async fn enqueue_into(&self, id: &str, jobs: &[NewJob]) -> Vec<Result<Enqueued, Error>> {
        match path(id, "/jobs") {
            Ok(path) => self.enqueue_all(&path, jobs).await,
            Err(why) => jobs.iter().map(|_| Err(why.clone())).collect(),
        }
    }

    /// Take no more jobs into a batch from outside: what follows it is enqueued once all of its jobs ended. It is over
    /// at once when it has none. One that is sealed stays as it is, also when it has ended since.
    ///
    /// # Errors
    ///
    /// [`Code::WrongState`] when it was called off, and [`Code::NotFound`] when there is none.
    pub async fn seal_batch(&self, id: &str) -> Result<Batch, Error> {
        let request = self.post(&path(id, "/seal")?, json!({}).to_string());
        match self.json::<Batch>(request, Twice::Fine).await {
            // A runner refuses one that has ended: it may have, before the seal was told again.
            Err(error) if error.code() == Some(&Code::WrongState) => {
                let batch = self.batch(id).await?;
                let is_sealed = batch.cancel.is_none() && batch.sealed_at.is_some();
                if is_sealed { Ok(batch) } else { Err(error) }
            }
            told => told,
        }
    }

    /// Call a batch off: no job of it begins any more, those that wait end, and those that run may finish up within
    /// the runner's `runner.cancel_grace`. One that was called off stays as it is.
    ///
    /// # Errors
    ///
    /// [`Code::WrongState`] when it has ended, [`Code::NotFound`] when there is none, and [`Code::Invalid`] for a
    /// reason of more than 4 KiB.
    pub async fn cancel_batch(&self, id: &str, reason: Option<&str>) -> Result<Batch, Error> {
        let body = json!({ "reason": reason }).to_string();
        self.json(self.post(&path(id, "/cancel")?, body), Twice::Fine)
            .await
    }

    /// A batch as it is now. Its jobs are listed by [`JobFilter::batch`](crate::JobFilter::batch).
    ///
    /// # Errors
    ///
    /// [`Code::NotFound`] when there is none, or none any more.
    pub async fn batch(&self, id: &str) -> Result<Batch, Error> {
        self.json(self.read(&path(id, "")?), Twice::Fine).await
    }

    /// Every batch, newest first, this many a page, 1 to 1000.
    pub fn batches(&self, page_size: u32) -> Pages<Batch> {
        let mut query = Query::default();
        query.set("limit", &page_size.to_string());
        Pages::new(self, PATH, query)
    }

    /// Wait until a batch [is over](Batch::is_over), for this long at most. It is looked at after waits that grow to 5 s,
    /// and once more at the end of the time. A runner that is away meanwhile may come back within that time.
    ///
    /// # Errors
    ///
    /// [`Code::NotFound`] when there is no such batch.
    pub async fn wait_for_batch(&self, id: &str, limit: Duration) -> Result<BatchWaited, Error> {
        let request = self.read(&path(id, "")?);
        let start = Instant::now();
        let mut looks = self.patience_for(limit);
        loop {
            let left = limit.saturating_sub(start.elapsed());
            let answered = self.persist(&request, Twice::Fine, self.patience_for(left));
            let batch: Box<Batch> = self.parse_json(&answered.await?)?;
            if batch.is_over() {
                return Ok(BatchWaited::Ended(batch));
            }
            if left.is_zero() {
                return Ok(BatchWaited::NotYet(batch));
            }
            if !looks.wait(None).await {
                sleep(limit.saturating_sub(start.elapsed())).await;
            }
        }
    }
}

/// The path of a batch. What is no id is not sent: it might lead elsewhere.
fn path(id: &str, rest: &str) -> Result<String, Error> {
    if !is_id(id) {
        return Err(Error::Unusable(format!("{id:?} is no id of a batch")));
    }
    Ok(format!("{PATH}/{id}{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(status: &str, ended_at: &str, waiting: u64, running: u64) -> Batch {
        let text = format!(
            r#"{{"id":"1","name":null,"status":"{status}","opened_at":"o","sealed_at":null,"ended_at":{ended_at},
            "cancel":{{"at":"a","by":"b","reason":null}},"jobs":{{"total":9,"waiting":{waiting},"running":{running},
            "completed":1,"failed":2,"dead":3,"cancelled":4,"discarded":5,"expired":6,"deleted":7}},"later":1,
            "on_success":{{"kind":"k","job":"2","enqueued_at":null}},"on_complete":null}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_batch_is_over_when_its_jobs_are_and_that_is_written_down() {
        let ended = r#""2026-11-30T00:00:00Z""#;
        for (status, ended_at, waiting, running, is_over) in [
            ("ended", ended, 0, 0, true),
            ("cancelled", ended, 0, 0, true),
            ("cancelled", "null", 0, 0, false),
            ("cancelled", ended, 0, 1, false),
            // One of its jobs was run again.
            ("sealed", ended, 1, 0, false),
            ("sealed", "null", 0, 0, false),
            ("open", "null", 0, 0, false),
        ] {
            let batch = read(status, ended_at, waiting, running);
            assert_eq!(batch.is_over(), is_over, "{batch:?}");
        }
    }

    #[test]
    fn a_batch_is_read_with_what_is_not_known_yet() {
        let batch = read("frozen", "null", 1, 2);
        assert_eq!(batch.status, BatchStatus::Unknown);
        let jobs = batch.jobs;
        assert_eq!((jobs.total, jobs.waiting, jobs.running), (9, 1, 2));
        let ends = [jobs.completed, jobs.failed, jobs.dead, jobs.cancelled];
        assert_eq!(ends, [1, 2, 3, 4]);
        assert_eq!([jobs.discarded, jobs.expired, jobs.deleted], [5, 6, 7]);
        let follows = batch.on_success.unwrap();
        assert_eq!((follows.job.as_str(), follows.enqueued_at), ("2", None));
        assert_eq!(batch.cancel.unwrap().by, "b");
    }

    #[test]
    fn what_is_no_id_is_not_sent() {
        for wrong in ["", "../jobs", "a/b", "a?b"] {
            assert!(path(wrong, "/seal").is_err(), "{wrong}");
        }
    }
}
