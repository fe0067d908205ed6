//! A batch to open.

use serde::Serialize;

use crate::{
    error::Error,
    new_job::{Fields, NewJob},
};

/// A batch to open.
///
/// What follows is a job as any other, of which the payload, JSON of up to 64 KiB, comes as `payload` beside the
/// numbers of the batch. What is a time in it counts from the batch's end; it has no `at`, `expires_at`, `unique`,
/// `idempotency_key`, `batch` or `then` of its own. What it leaves open is looked up when the batch is opened.
///
/// ```
/// # use sandhog_client::{NewBatch, NewJob};
/// NewBatch::new()
///     .name("import")
///     .on_success(NewJob::new("publish", ["shop", "app"]).queue("slow"))
///     .on_complete(NewJob::after("report"));
/// ```
#[derive(Debug, Clone, Default, Serialize)]
#[must_use = "a batch is opened by `Client::open_batch`"]
pub struct NewBatch {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    on_success: Option<Fields>,
    #[serde(skip_serializing_if = "Option::is_none")]
    on_complete: Option<Fields>,
    /// The error of a payload waits here for the opening, so that building never fails.
    #[serde(skip)]
    wrong: Option<String>,
}

impl NewBatch {
    /// A batch that nothing follows.
    pub fn new() -> Self {
        Self::default()
    }

    /// What it is, for people; 200 bytes at most.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// With this job once it is sealed and all of its jobs completed, and nobody called it off.
    pub fn on_success(mut self, job: NewJob) -> Self {
        self.on_success = Some(self.follower(job));
        self
    }

    /// With this job once it is sealed and all of its jobs ended, however.
    pub fn on_complete(mut self, job: NewJob) -> Self {
        self.on_complete = Some(self.follower(job));
        self
    }

    fn follower(&mut self, job: NewJob) -> Fields {
        let wrong = job.wrong().err();
        self.wrong = self.wrong.take().or(wrong.map(|why| why.to_string()));
        job.fields
    }

    /// As it is sent.
    pub(crate) fn line(&self) -> Result<String, Error> {
        match &self.wrong {
            Some(why) => Err(Error::Unusable(format!("what follows a batch, {why}"))),
            None => serde_json::to_string(self).map_err(|error| Error::Unusable(error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashMap};

    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_batch_says_all_that_the_api_takes() {
        let batch = NewBatch::new()
            .name("import")
            .on_success(NewJob::new("publish", json!({"to": "shop"})).queue("slow"))
            .on_complete(NewJob::after("report"));
        let sent: Value = serde_json::from_str(&batch.line().unwrap()).unwrap();
        let wanted = json!({
            "name": "import",
            "on_success": {"kind": "publish", "payload": {"to": "shop"}, "queue": "slow"},
            "on_complete": {"kind": "report"},
        });
        assert_eq!(sent, wanted);
        assert_eq!(NewBatch::new().line().unwrap(), "{}");
        // A field that the document gains is to be looked at here.
        let document: Value =
            serde_json::from_str(include_str!("../../docs/openapi.json")).unwrap();
        let fields = &document["components"]["schemas"]["NewBatch"]["properties"];
        let known: BTreeSet<&String> = fields.as_object().unwrap().keys().collect();
        assert_eq!(known, sent.as_object().unwrap().keys().collect());
    }

    #[test]
    fn a_payload_that_is_no_json_is_told_at_the_opening() {
        let odd = || NewJob::new("odd", HashMap::from([((1, 2), 3)]));
        for batch in [
            NewBatch::new().on_success(odd()),
            NewBatch::new()
                .on_complete(odd())
                .on_success(NewJob::after("k")),
        ] {
            let why = batch.line().unwrap_err().to_string();
            assert!(
                why.starts_with("what follows a batch, job of kind \"odd\": the payload"),
                "{why}"
            );
        }
    }
}
