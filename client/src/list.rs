//! Jobs listed.

use std::time::SystemTime;

use crate::{
    client::Client,
    job::{JobRow, State},
    new_job::instant,
    pages::{Pages, Query},
};

/// Which jobs are listed: those that fit all that is said. Without anything, all there are, newest first.
///
/// ```
/// # use sandhog_client::{JobFilter, State};
/// # use std::time::{Duration, SystemTime};
/// let hour = SystemTime::now() - Duration::from_secs(3600);
/// let failing = JobFilter::new().state(State::Retryable).queue("orders").since(hour).page_size(200);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use = "jobs are listed by `Client::list`"]
pub struct JobFilter {
    query: Query,
}

/// A setter of one parameter.
macro_rules! set {
    ($($(#[$doc:meta])+ $name:ident($given:ident: $type:ty) $parameter:literal = $value:expr;)+) => {
        $($(#[$doc])+
        pub fn $name(mut self, $given: $type) -> Self {
            self.query.set($parameter, $value);
            self
        })+
    };
}

impl JobFilter {
    /// Every job.
    pub fn new() -> Self {
        Self::default()
    }

    set! {
        /// Only in this state.
        state(state: State) "state" = &state.to_string();
        /// Only in this queue.
        queue(queue: &str) "queue" = queue;
        /// Only of this kind.
        kind(kind: &str) "kind" = kind;
        /// Only with this tag.
        tag(word: &str) "tag" = word;
        /// Only in this batch.
        batch(id: &str) "batch" = id;
        /// Only enqueued by the handler of this job.
        parent(id: &str) "parent" = id;
        /// Only of this schedule.
        schedule(name: &str) "cron" = name;
        /// Only accepted at this instant, to the millisecond, or later.
        since(at: SystemTime) "since" = &instant(at);
        /// Only accepted before this instant, to the millisecond.
        until(at: SystemTime) "until" = &instant(at);
        /// This many a page at most, 1 to 1000. 50 when nothing is said.
        page_size(rows: u32) "limit" = &rows.to_string();
    }

    /// Those that wait for an instant, scheduled and retryable, the earliest first; without
    /// [`tag`](Self::tag), [`parent`](Self::parent) and [`schedule`](Self::schedule), with which it is refused.
    pub fn by_due(mut self) -> Self {
        self.query.set("order", "due");
        self
    }
}

impl Client {
    /// List jobs, a page at a time. Nothing is sent yet.
    ///
    /// ```no_run
    /// # use sandhog_client::{Client, Error, JobFilter, State};
    /// # async fn example(client: &Client) -> Result<(), Error> {
    /// let filter = JobFilter::new().state(State::Dead).tag("shop").page_size(500);
    /// let mut pages = client.list(&filter);
    /// while let Some(jobs) = pages.next().await? {
    ///     for job in jobs {
    ///         let why = job.failure.map(|failure| failure.cause);
    ///         println!("{} {} {}", job.id, job.kind, why.unwrap_or_default());
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn list(&self, filter: &JobFilter) -> Pages<JobRow> {
        Pages::new(self, "/api/v1/jobs", filter.query.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, time::Duration};

    use serde_json::Value;

    use super::*;

    fn whole() -> JobFilter {
        let at = |ms| SystemTime::UNIX_EPOCH + Duration::from_millis(ms);
        JobFilter::new()
            .state(State::Retryable)
            .queue("q")
            .kind("k")
            .tag("a b")
            .batch("B")
            .parent("P")
            .schedule("nightly")
            .since(at(1_500))
            .until(at(2_000))
            .by_due()
            .page_size(7)
    }

    #[test]
    fn a_filter_says_all_that_the_api_takes() {
        let wanted = "?state=retryable&queue=q&kind=k&tag=a%20b&batch=B&parent=P&cron=nightly\
            &since=1970-01-01T00%3A00%3A01.500Z&until=1970-01-01T00%3A00%3A02.000Z&order=due&limit=7";
        assert_eq!(whole().query.to_string(), wanted);
        // What is said again counts, and is sent once.
        let again = whole().state(State::Dead).page_size(8).query.to_string();
        assert!(
            !again.contains("retryable") && !again.contains("limit=7"),
            "{again}"
        );
        assert_eq!(again.matches('=').count(), wanted.matches('=').count());
    }

    /// A parameter that the list gains is to be looked at here.
    #[test]
    fn every_parameter_of_the_document_can_be_said() {
        let document: Value =
            serde_json::from_str(include_str!("../../docs/openapi.json")).unwrap();
        let known = &document["paths"]["/api/v1/jobs"]["get"]["parameters"];
        let known = known.as_array().unwrap().iter();
        let known: BTreeSet<&str> = known.map(|one| one["name"].as_str().unwrap()).collect();
        let query = whole().query.to_string();
        let said = query[1..]
            .split('&')
            .map(|one| one.split('=').next().unwrap());
        // The cursor is said by the pages.
        assert_eq!(known, said.chain(["cursor"]).collect());
    }
}
