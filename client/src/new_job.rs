//! A job to enqueue.

use std::time::{Duration, SystemTime};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::{error::Error, unique::Unique};

/// A job to enqueue.
///
/// ```
/// # use sandhog_client::NewJob;
/// # use std::time::Duration;
/// NewJob::new("mail", ["a@example.org", "b@example.org"]).queue("slow").delay(Duration::from_secs(60));
/// NewJob::text("page", "text/markdown", "# Hello").header("path", "hello.md");
/// NewJob::bytes("thumbnail", "image/png", b"\x89PNG").then(NewJob::after("publish"));
/// ```
#[derive(Debug, Clone)]
#[must_use = "a job is enqueued by `Client::enqueue`"]
pub struct NewJob {
    pub(crate) fields: Fields,
    /// The payload's error waits here for the enqueue, so that building never fails.
    wrong: Option<String>,
}

/// As the API has them.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Fields {
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_base64: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_type: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    headers: Vec<(String, String)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<i16>,
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    delay: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_attempts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    backoff: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt_timeout: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_for: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_in: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unique: Option<Unique>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotency_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    batch: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    then: Vec<Fields>,
}

/// A setter of one field.
macro_rules! set {
    ($($(#[$doc:meta])+ $name:ident($($given:ident: $type:ty)?) $field:ident = $value:expr;)+) => {
        $($(#[$doc])+
        pub fn $name(mut self, $($given: $type)?) -> Self {
            self.fields.$field = Some($value);
            self
        })+
    };
}

impl NewJob {
    /// A job of a kind, its payload as JSON.
    pub fn new(kind: impl Into<String>, payload: impl Serialize) -> Self {
        let mut job = Self::after(kind);
        match to_raw_value(&payload) {
            Ok(raw) => job.fields.payload = Some(raw),
            Err(error) => {
                job.wrong = Some(format!("the payload cannot be written as JSON: {error}"))
            }
        }
        job
    }

    /// A job whose payload is text of a media type.
    pub fn text(kind: impl Into<String>, media_type: &str, text: impl Into<String>) -> Self {
        let mut job = Self::after(kind);
        job.fields.payload_text = Some(text.into());
        job.fields.content_type = Some(media_type.to_owned());
        job
    }

    /// A job whose payload is bytes of a media type.
    pub fn bytes(kind: impl Into<String>, media_type: &str, bytes: impl AsRef<[u8]>) -> Self {
        let mut job = Self::after(kind);
        job.fields.payload_base64 = Some(STANDARD.encode(bytes));
        job.fields.content_type = Some(media_type.to_owned());
        job
    }

    /// A job without a payload of its own: one that [follows](Self::then) takes the result of the job before it.
    pub fn after(kind: impl Into<String>) -> Self {
        let fields = Fields {
            kind: kind.into(),
            ..Fields::default()
        };
        Self {
            fields,
            wrong: None,
        }
    }

    set! {
        /// In this queue, not the kind's own.
        queue(queue: impl Into<String>) queue = queue.into();
        /// With this priority inside its queue: higher runs first.
        priority(priority: i16) priority = priority;
        /// Not to be run before this time has passed, in place of [`at`](Self::at).
        delay(delay: Duration) delay = span(delay);
        /// Not to be run before this instant, in place of [`delay`](Self::delay).
        at(at: SystemTime) at = instant(at);
        /// With this many attempts at most.
        max_attempts(attempts: u32) max_attempts = attempts;
        /// The wait between attempts, such as `exponential 1s factor 2 max 1h`.
        backoff(backoff: impl Into<String>) backoff = backoff.into();
        /// With this much wall time for one attempt.
        attempt_timeout(time: Duration) attempt_timeout = span(time);
        /// With this long to go on failing, from its first failure on.
        retry_for(time: Duration) retry_for = span(time);
        /// Not to be begun once this time has passed.
        expires_in(time: Duration) expires_in = span(time);
        /// Not to be begun from this instant on.
        expires_at(at: SystemTime) expires_at = instant(at);
        /// In this group, with which it takes turns in its queue and shares limits.
        group(group: impl Into<String>) group = group.into();
        /// In this batch, as long as that is open.
        batch(id: impl Into<String>) batch = id.into();
        /// Not beside another one like it.
        unique(unique: Unique) unique = unique;
        /// The caller's name for this wish: told again with the same kind, it gives the same job, as long as
        /// that is known. Without one each enqueue makes a key of its own, for its own retries.
        idempotency_key(key: impl Into<String>) idempotency_key = key.into();
    }

    /// With one more header.
    pub fn header(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.fields.headers.push((key.into(), value.into()));
        self
    }

    /// With one more word to find it by.
    pub fn tag(mut self, word: impl Into<String>) -> Self {
        self.fields.tags.push(word.into());
        self
    }

    /// With one more job that follows once it, and those before, completed. What is a time in it counts from
    /// the end of the job before.
    pub fn then(mut self, job: NewJob) -> Self {
        self.fields.then.push(job.fields);
        self.wrong = self.wrong.or(job.wrong);
        self
    }

    /// What is wrong with it, as far as it was not said yet.
    pub(crate) fn wrong(&self) -> Result<(), Error> {
        let said = |why| Error::Unusable(format!("job of kind {:?}: {why}", self.fields.kind));
        self.wrong.as_ref().map_or(Ok(()), |why| Err(said(why)))
    }

    /// As it is sent, with a key.
    pub(crate) fn line(&self) -> Result<String, Error> {
        self.wrong()?;
        let mut fields = self.fields.clone();
        if fields.idempotency_key.is_none() {
            fields.idempotency_key = Some(key()?);
        }
        serde_json::to_string(&fields).map_err(|error| Error::Unusable(error.to_string()))
    }
}

/// A key that nobody else has.
fn key() -> Result<String, Error> {
    let draw =
        || getrandom::u64().map_err(|error| Error::Unusable(format!("no randomness: {error}")));
    Ok(format!("client-{:016x}{:016x}", draw()?, draw()?))
}

/// A time span as the API reads it.
pub(crate) fn span(time: Duration) -> String {
    // Rounded up: a wait is not to be shorter than was asked for.
    format!("{}ms", time.as_nanos().div_ceil(1_000_000))
}

pub(crate) fn instant(at: SystemTime) -> String {
    humantime::format_rfc3339_millis(at).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn sent(job: &NewJob) -> Value {
        serde_json::from_str(&job.line().unwrap()).unwrap()
    }

    #[test]
    fn a_job_says_all_that_the_api_takes() {
        let at = SystemTime::UNIX_EPOCH + Duration::from_millis(1_500);
        let job = NewJob::new("k", json!({"a": 1}))
            .queue("q")
            .priority(-3)
            .delay(Duration::from_micros(1_500))
            .max_attempts(7)
            .backoff("fixed 1s")
            .attempt_timeout(Duration::from_secs(2))
            .retry_for(Duration::from_secs(3))
            .expires_at(at)
            .group("g")
            .tag("one")
            .tag("two")
            .header("a", "1")
            .header("a", "2")
            .unique(
                Unique::fields(["x.y"])
                    .within(Duration::from_secs(9))
                    .keep(),
            )
            .idempotency_key("mine")
            .batch("b")
            .then(NewJob::after("next").delay(Duration::from_secs(1)))
            .then(NewJob::text("last", "text/plain", "é"));
        let wanted = json!({
            "kind": "k", "payload": {"a": 1}, "queue": "q", "priority": -3, "in": "2ms", "max_attempts": 7,
            "backoff": "fixed 1s", "attempt_timeout": "2000ms", "retry_for": "3000ms",
            "expires_at": "1970-01-01T00:00:01.500Z", "group": "g", "tags": ["one", "two"],
            "headers": [["a", "1"], ["a", "2"]], "idempotency_key": "mine", "batch": "b",
            "unique": {"by": ["x.y"], "for": "9000ms", "on_conflict": "keep"},
            "then": [
                {"kind": "next", "in": "1000ms"},
                {"kind": "last", "payload_text": "é", "content_type": "text/plain"},
            ],
        });
        assert_eq!(sent(&job), wanted);
        let bytes = NewJob::bytes("k", "image/png", [255])
            .at(at)
            .expires_in(Duration::from_secs(1));
        let bytes = sent(&bytes.idempotency_key("mine"));
        assert_eq!(
            bytes,
            json!({"kind": "k", "payload_base64": "/w==", "content_type": "image/png", "expires_in": "1000ms",
                "at": "1970-01-01T00:00:01.500Z", "idempotency_key": "mine"})
        );
    }

    /// What the API takes is listed in its document; a field it gains is to be looked at here.
    #[test]
    fn every_field_of_the_document_can_be_said() {
        let document = include_str!("../../docs/openapi.json");
        let document: Value = serde_json::from_str(document).unwrap();
        let fields = &document["components"]["schemas"]["NewJob"]["properties"];
        let told = [
            "at",
            "batch",
            "attempt_timeout",
            "backoff",
            "content_type",
            "expires_at",
            "expires_in",
            "group",
            "headers",
            "idempotency_key",
            "in",
            "kind",
            "max_attempts",
            "payload",
            "payload_base64",
            "payload_text",
            "priority",
            "queue",
            "retry_for",
            "tags",
            "then",
            "unique",
        ];
        for field in fields.as_object().unwrap().keys() {
            assert!(told.contains(&field.as_str()), "{field}");
        }
    }

    #[test]
    fn each_enqueue_has_a_key_of_its_own() {
        let job = NewJob::new("k", ());
        let keys = [sent(&job), sent(&job)].map(|sent| sent["idempotency_key"].clone());
        assert!(keys[0].is_string() && keys[0] != keys[1], "{keys:?}");
    }

    #[test]
    fn a_payload_that_is_no_json_is_told_at_the_enqueue() {
        let odd = std::collections::HashMap::from([((1, 2), 3)]);
        let first = NewJob::new("odd", &odd).line().unwrap_err();
        assert!(
            first.to_string().contains("\"odd\": the payload"),
            "{first}"
        );
        let later = NewJob::new("k", 1).then(NewJob::new("odd", &odd));
        assert!(later.line().is_err());
    }
}
