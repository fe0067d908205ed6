//! Jobs as a runner tells them.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;

/// The answer of an enqueue: the job is on disk.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Enqueued {
    /// The job.
    pub id: String,
    /// Whether it was there before: by its idempotency key, by an earlier try of the same call, or because a
    /// unique one was kept.
    pub existing: bool,
    /// The batch it is in, where one was asked for.
    #[serde(default)]
    pub batch: Option<String>,
    /// The unique job that was cancelled so that this one takes its place.
    #[serde(default)]
    pub replaced: Option<String>,
    /// When a unique job that was put off is due now; RFC 3339 in UTC.
    #[serde(default)]
    pub due: Option<String>,
}

/// Where a job is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum State {
    /// Due later.
    Scheduled,
    /// Due.
    Available,
    /// In an attempt.
    Running,
    /// Waiting out a backoff.
    Retryable,
    /// Done.
    Completed,
    /// Called off.
    Cancelled,
    /// Dropped.
    Discarded,
    /// Out of attempts, in the dead letters.
    Dead,
    /// Not begun in time.
    Expired,
    /// One that this version does not know.
    #[serde(other)]
    Unknown,
}

impl State {
    /// Whether nothing more happens unless someone asks.
    #[must_use]
    pub const fn is_end(self) -> bool {
        match self {
            Self::Completed | Self::Cancelled | Self::Discarded | Self::Dead | Self::Expired => {
                true
            }
            Self::Scheduled | Self::Available | Self::Running | Self::Retryable | Self::Unknown => {
                false
            }
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheduled => "scheduled",
            Self::Available => "available",
            Self::Running => "running",
            Self::Retryable => "retryable",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Discarded => "discarded",
            Self::Dead => "dead",
            Self::Expired => "expired",
            Self::Unknown => "unknown",
        })
    }
}

/// A job in short.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct JobRow {
    /// The job.
    pub id: String,
    /// Which handler runs it.
    pub kind: String,
    /// Its queue.
    pub queue: String,
    /// Where it is.
    pub state: State,
    /// The attempt that runs, or the number of attempts used.
    pub attempt: u32,
    /// Attempts it may use.
    pub max_attempts: u32,
    /// When it is or was due, started or ended; RFC 3339 in UTC.
    pub at: String,
    /// Its priority inside its queue: higher runs first.
    #[serde(default)]
    pub priority: i16,
    /// The job whose handler enqueued it.
    pub parent: Option<String>,
    /// Why its latest attempt failed.
    pub failure: Option<Failure>,
}

/// A job with its payload and what came of it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Job {
    /// The job.
    pub id: String,
    /// Which handler runs it.
    pub kind: String,
    /// Its queue.
    pub queue: String,
    /// Where it is.
    pub state: State,
    /// The attempt that runs, or the number of attempts used.
    pub attempt: u32,
    /// Attempts it may use.
    pub max_attempts: u32,
    /// When it was accepted; RFC 3339 in UTC, as all instants.
    pub enqueued_at: String,
    /// When it is or was due, started or ended.
    pub at: String,
    /// Its words to find it by.
    pub tags: Vec<String>,
    /// The batch it is in.
    pub batch: Option<String>,
    /// Its payload.
    pub payload: Body,
    /// Its result, once completed.
    pub result: Option<Body>,
    /// Why its latest attempt failed.
    pub failure: Option<Failure>,
    /// The handler's or the caller's reason, when it was dropped or called off.
    pub reason: Option<String>,
    /// What a running attempt last reported.
    pub progress: Option<Progress>,
}

/// Why an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Failure {
    /// Such as `timeout` or `trap:unreachable`.
    pub kind: String,
    /// One line in job terms.
    pub cause: String,
    /// What to do about it, when known.
    pub hint: Option<String>,
    /// The handler's own code.
    pub code: Option<String>,
}

/// How far a running attempt is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Progress {
    /// Steps done.
    pub done: u64,
    /// Of how many, when known.
    pub total: Option<u64>,
    /// A short note.
    pub note: Option<String>,
}

/// What came of waiting.
#[derive(Debug, Clone)]
pub enum Waited {
    /// It ended, well or not: look at its state.
    Ended(Box<Job>),
    /// The time was over first.
    NotYet(Box<Waiting>),
}

/// A job that has not ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Waiting {
    /// Where it is.
    pub state: State,
    /// The job in short.
    pub job: JobRow,
    /// What its attempt last reported.
    pub progress: Option<Progress>,
    /// Why it waits although it is due, when known.
    pub reason: Option<String>,
}

/// A payload or a result.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Body {
    /// Its media type.
    pub media_type: String,
    /// Its bytes. JSON is the same value as was stored, written in a form of the runner's.
    pub bytes: Vec<u8>,
}

impl Body {
    /// As JSON.
    pub fn json<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_slice(&self.bytes)
    }

    /// As text, when it is UTF-8.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        str::from_utf8(&self.bytes).ok()
    }
}

/// Payloads may hold what is nobody's business: not in a log line by accident.
impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Body({} bytes of {:?})",
            self.bytes.len(),
            self.media_type
        )
    }
}

/// Bytes in the one of the three forms that an answer has them in.
#[derive(Clone, Copy)]
struct Form<'a> {
    media_type: &'a str,
    plain: Option<&'a RawValue>,
    base64: Option<&'a str>,
    length: usize,
}

impl Form<'_> {
    fn read(self) -> Result<Body, String> {
        let bytes = match (self.plain, self.base64) {
            (_, Some(text)) => STANDARD.decode(text).map_err(|why| why.to_string())?,
            (Some(raw), None) => {
                let text = serde_json::from_str::<String>(raw.get()).ok();
                // Text that the media type calls JSON and that is none comes as text, too: a string of JSON is
                // always longer than what it says.
                let is_text =
                    |text: &String| !is_json(self.media_type) || text.len() == self.length;
                match text.filter(is_text) {
                    Some(text) => text.into_bytes(),
                    None => raw.get().as_bytes().to_vec(),
                }
            }
            // No value and a value that is null are one to a reader of optional fields.
            (None, None) if is_json(self.media_type) => b"null".to_vec(),
            (None, None) => return Err("neither text nor base64 is there".into()),
        };
        Ok(Body {
            media_type: self.media_type.to_owned(),
            bytes,
        })
    }
}

fn is_json(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    let essence = essence.to_ascii_lowercase();
    essence == "application/json" || essence.ends_with("+json")
}

/// A job as it is sent.
#[derive(Deserialize)]
struct Told<'a> {
    id: String,
    kind: String,
    queue: String,
    state: State,
    attempt: u32,
    max_attempts: u32,
    enqueued_at: String,
    at: String,
    tags: Vec<String>,
    batch: Option<String>,
    content_type: String,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
    payload_base64: Option<String>,
    payload_bytes: usize,
    result_content_type: Option<String>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    result_base64: Option<String>,
    result_bytes: Option<usize>,
    failure: Option<Failure>,
    reason: Option<String>,
    cancel: Option<Cancel>,
    progress: Option<Progress>,
}

#[derive(Deserialize)]
struct Cancel {
    reason: Option<String>,
}

/// Read a job. The error says what is wrong with the answer.
pub(crate) fn read(text: &str) -> Result<Job, String> {
    let told: Told<'_> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let payload = Form {
        media_type: &told.content_type,
        plain: told.payload,
        base64: told.payload_base64.as_deref(),
        length: told.payload_bytes,
    };
    let result = told.result_content_type.as_deref().map(|media_type| Form {
        media_type,
        plain: told.result,
        base64: told.result_base64.as_deref(),
        length: told.result_bytes.unwrap_or_default(),
    });
    Ok(Job {
        payload: payload
            .read()
            .map_err(|why| format!("the payload: {why}"))?,
        result: result
            .map(Form::read)
            .transpose()
            .map_err(|why| format!("the result: {why}"))?,
        id: told.id,
        kind: told.kind,
        queue: told.queue,
        state: told.state,
        attempt: told.attempt,
        max_attempts: told.max_attempts,
        enqueued_at: told.enqueued_at,
        at: told.at,
        tags: told.tags,
        batch: told.batch,
        failure: told.failure,
        reason: told.reason.or(told.cancel.and_then(|cancel| cancel.reason)),
        progress: told.progress,
    })
}

/// Read what came of waiting.
pub(crate) fn read_waited(text: &str) -> Result<Waited, String> {
    #[derive(Deserialize)]
    struct Answer<'a> {
        ended: bool,
        #[serde(borrow)]
        job: &'a RawValue,
        progress: Option<Progress>,
        reason: Option<String>,
    }
    let answer: Answer<'_> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if answer.ended {
        return read(answer.job.get()).map(|job| Waited::Ended(Box::new(job)));
    }
    let job: JobRow = serde_json::from_str(answer.job.get()).map_err(|error| error.to_string())?;
    Ok(Waited::NotYet(Box::new(Waiting {
        state: job.state,
        job,
        progress: answer.progress,
        reason: answer.reason,
    })))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn with(payload: &str, media_type: &str, length: usize) -> Body {
        let text = format!(
            r#"{{"id":"1","kind":"k","queue":"q","state":"completed","attempt":1,"max_attempts":2,
            "enqueued_at":"","at":"","tags":[],"content_type":"{media_type}",{payload},"payload_bytes":{length},
            "failure":null,"reason":null,"cancel":null,"progress":null,"later":[1]}}"#
        );
        read(&text).unwrap().payload
    }

    #[test]
    fn bytes_come_back_from_each_form() {
        let json = with(
            r#""payload":{"n":12345678901234567890123}"#,
            "application/json",
            30,
        );
        assert_eq!(json.bytes, br#"{"n":12345678901234567890123}"#);
        let null = with(r#""payload":null"#, "application/json", 4);
        assert_eq!(null.json::<Option<u8>>().unwrap(), None);
        let word = with(r#""payload":"a\"b""#, "application/vnd.a+json; q=1", 6);
        assert_eq!(word.json::<String>().unwrap(), "a\"b");
        assert_eq!(
            with(r#""payload":"{broken""#, "application/json", 7).bytes,
            b"{broken"
        );
        assert_eq!(
            with(r#""payload":"a\"é""#, "text/plain", 4).text(),
            Some("a\"é")
        );
        assert_eq!(
            with(r#""payload_base64":"/w==""#, "image/png", 1).bytes,
            [255]
        );
    }

    /// What an answer says is listed in the document; a field it gains is to be looked at here.
    #[test]
    fn every_field_of_the_document_is_read() {
        let document: Value =
            serde_json::from_str(include_str!("../../docs/openapi.json")).unwrap();
        // Of the component and of the attempts there is nothing that a producer asks for.
        let row = "id kind queue state attempt max_attempts at priority parent failure digest";
        let lists =
            "total waiting running completed failed dead cancelled discarded expired deleted";
        for (at, read) in [
            ("/Enqueued", "id existing batch replaced due"),
            ("/JobRow", row),
            ("/JobPage", "jobs next"),
            ("/BatchPage", "batches next"),
            (
                "/Batch",
                "id name status opened_at sealed_at ended_at jobs on_success on_complete cancel",
            ),
            ("/Batch/properties/jobs", lists),
            ("/Batch/properties/on_success", "job kind enqueued_at"),
            ("/Batch/properties/cancel", "at by reason"),
            (
                "/Logs",
                "id attempt in_all also running lines dropped_lines",
            ),
            ("/LogLine", "at_ms source level text fields"),
        ] {
            let schema = document.pointer(&format!("/components/schemas{at}/properties"));
            for field in schema.unwrap().as_object().unwrap().keys() {
                assert!(read.split(' ').any(|one| one == field), "{at}: {field}");
            }
        }
    }

    #[test]
    fn what_is_not_known_yet_is_read_over() {
        assert_eq!(
            serde_json::from_str::<State>("\"frozen\"").unwrap(),
            State::Unknown
        );
        assert!(!State::Unknown.is_end());
    }

    #[test]
    fn a_body_keeps_its_bytes_out_of_the_log() {
        let body = with(r#""payload":"secret""#, "text/plain", 6);
        assert_eq!(format!("{body:?}"), "Body(6 bytes of \"text/plain\")");
    }
}
