//! A job someone wishes, as a JSON object: a line of a bulk file, or the body of a request.

use sandhog_model::{JobId, NewJob, NewUnique, OnConflict, Scope, UniqueBy, UnixMs};
use serde::{
    Deserialize, Deserializer as _,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::{Deserializer, value::Map};

use super::{base64, chain, when};

/// The fields a line may have.
const FIELDS: [&str; 22] = [
    "kind",
    "payload",
    "payload_text",
    "payload_base64",
    "content_type",
    "headers",
    "queue",
    "priority",
    "in",
    "at",
    "max_attempts",
    "backoff",
    "attempt_timeout",
    "retry_for",
    "expires_in",
    "expires_at",
    "group",
    "tags",
    "unique",
    "idempotency_key",
    "batch",
    "then",
];

/// Why a line is no job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LineError {
    /// It is no JSON object.
    #[error("is no JSON object: {why}")]
    NotAnObject {
        /// What the parser said.
        why: String,
    },
    /// A field is not known, doubled, or has a wrong value.
    #[error("field `{field}` {why}")]
    Field {
        /// The field.
        field: String,
        /// What is wrong with it.
        why: String,
    },
}

/// Read a line. What it leaves out is as in `pattern`; `now` is what `in` counts from.
pub(crate) fn parse(line: &str, pattern: &NewJob, now: UnixMs) -> Result<NewJob, LineError> {
    read(line, pattern, now).map(|(job, _)| job)
}

/// The same, with the fields that it says.
pub(crate) fn read(
    line: &str,
    pattern: &NewJob,
    now: UnixMs,
) -> Result<(NewJob, Vec<&'static str>), LineError> {
    let mut job = pattern.clone();
    let mut seen: Vec<&'static str> = Vec::new();
    for (name, raw) in members(line)? {
        let refuse = |why: String| LineError::Field {
            field: name.clone(),
            why,
        };
        let Some(field) = FIELDS.into_iter().find(|field| *field == name) else {
            return Err(refuse(format!(
                "is unknown: known are {}",
                FIELDS.join(", ")
            )));
        };
        if seen.contains(&field) {
            return Err(refuse("stands there twice".into()));
        }
        let rival = seen.iter().find(|other| rivals(field, other));
        if let Some(rival) = rival {
            return Err(refuse(format!("and `{rival}` exclude each other")));
        }
        seen.push(field);
        fill(&mut job, field, raw, now).map_err(refuse)?;
    }
    if job.kind.is_empty() {
        return Err(LineError::Field {
            field: "kind".into(),
            why: "is missing: it names the handler that is to run the job".into(),
        });
    }
    Ok((job, seen))
}

/// Whether a job may be one of those that all go into a batch, `None` for one that is to be opened: it may say so
/// itself, and no other.
pub(crate) fn goes_into(batch: Option<JobId>, job: &NewJob) -> Result<(), LineError> {
    match job.batch {
        Some(own) if batch != Some(own) => {
            let into = match batch {
                Some(batch) => format!("batch {batch}"),
                None => "one batch of their own".to_owned(),
            };
            Err(LineError::Field {
                field: "batch".into(),
                why: format!(
                    "names batch {own}, and all of these jobs go into {into}: leave it out, or enqueue this \
                     job without the others"
                ),
            })
        }
        Some(_) | None => Ok(()),
    }
}

fn rivals(one: &str, other: &str) -> bool {
    let payload = |field: &str| field.starts_with("payload");
    let due = |field: &str| field == "in" || field == "at";
    let expires = |field: &str| field.starts_with("expires");
    payload(one) && payload(other) || due(one) && due(other) || expires(one) && expires(other)
}

fn fill(job: &mut NewJob, field: &str, raw: &str, now: UnixMs) -> Result<(), String> {
    match field {
        "kind" => job.kind = value(raw)?,
        // Byte for byte as it stands there: numbers of any size and the order of keys are kept.
        "payload" => payload(job, raw.as_bytes().to_vec(), "application/json"),
        "payload_text" => {
            let text: String = value(raw)?;
            payload(job, text.into_bytes(), "text/plain; charset=utf-8");
        }
        "payload_base64" => {
            let text: String = value(raw)?;
            job.payload = base64::decode(&text).ok_or("is no base64")?;
        }
        "content_type" => job.content_type = Some(value(raw)?),
        "headers" => job.headers = headers(raw)?,
        "queue" => job.queue = Some(value(raw)?),
        "priority" => job.priority = Some(value(raw)?),
        "in" => {
            let text: String = value(raw)?;
            job.due = Some(now.plus(when::millis(when::span(&text)?)));
        }
        "at" => {
            let text: String = value(raw)?;
            job.due = Some(when::instant(&text)?);
        }
        "max_attempts" => job.retry.max_attempts = Some(value(raw)?),
        "backoff" => {
            let text: String = value(raw)?;
            let parsed = text.parse().map_err(|why| format!("is {text:?}: {why}"))?;
            job.retry.backoff = Some(parsed);
        }
        "attempt_timeout" => job.timeout_ms = Some(span(raw)?),
        "retry_for" => job.retry_for_ms = Some(span(raw)?),
        "expires_in" => job.expires = Some(now.plus(span(raw)?)),
        "expires_at" => {
            let text: String = value(raw)?;
            job.expires = Some(when::instant(&text)?);
        }
        "group" => job.group = Some(value(raw)?),
        "tags" => job.tags = value(raw)?,
        "unique" => job.unique = Some(unique(raw)?),
        "batch" => job.batch = Some(value(raw)?),
        "then" => job.then = chain::links(raw)?,
        _ => job.idempotency_key = Some(value(raw)?),
    }
    Ok(())
}

/// A time span in milliseconds.
fn span(raw: &str) -> Result<u64, String> {
    let text: String = value(raw)?;
    when::span(&text).map(when::millis)
}

/// What a job must not be twice: `true`, or an object.
fn unique(raw: &str) -> Result<NewUnique, String> {
    #[derive(Deserialize, Default)]
    #[serde(deny_unknown_fields, default)]
    struct Wish {
        by: Option<Vec<String>>,
        key: Option<String>,
        r#for: Option<String>,
        r#while: Option<Scope>,
        on_conflict: OnConflict,
    }
    let wish = match raw {
        "true" => Wish::default(),
        raw => value(raw)?,
    };
    let by = match (wish.by, wish.key) {
        (Some(_), Some(_)) => return Err("has `by` and `key`, which exclude each other".into()),
        (Some(fields), None) => UniqueBy::Fields(fields),
        (None, Some(key)) => UniqueBy::Key(key),
        (None, None) => UniqueBy::Payload,
    };
    let period = wish.r#for.map(|text| when::span(&text)).transpose()?;
    Ok(NewUnique {
        by,
        period_ms: period.map(when::millis),
        scope: wish.r#while.unwrap_or(scope_of(wish.on_conflict)),
        on_conflict: wish.on_conflict,
    })
}

/// The states in which a unique job stands in the way of others when it does not say: one that runs
/// cannot be replaced or put off.
pub(crate) fn scope_of(on_conflict: OnConflict) -> Scope {
    match on_conflict {
        OnConflict::Reject | OnConflict::Keep => Scope::UNFINISHED,
        OnConflict::Replace | OnConflict::Debounce => Scope::WAITING.and(Scope::RETRYABLE),
    }
}

fn payload(job: &mut NewJob, bytes: Vec<u8>, content_type: &str) {
    job.payload = bytes;
    // A content type that the line says itself wins, wherever in the line it stands.
    job.content_type.get_or_insert_with(|| content_type.into());
}

pub(crate) fn value<T: DeserializeOwned>(raw: &str) -> Result<T, String> {
    serde_json::from_str(raw).map_err(|error| {
        let text = error.to_string();
        // The position is one within the value, which helps nobody.
        let why = text.split(" at line ").next().unwrap_or(&text);
        format!("is not right: {why}")
    })
}

/// An object of strings, or pairs where a key repeats.
fn headers(raw: &str) -> Result<Vec<(String, String)>, String> {
    if raw.starts_with('[') {
        return value(raw);
    }
    let object: Map<String, serde_json::Value> = value(raw)?;
    let pairs = object.into_iter().map(|(key, value)| match value {
        serde_json::Value::String(text) => Ok((key, text)),
        other => Err(format!("has {other} for {key:?}: write it as a string")),
    });
    pairs.collect()
}

/// The members of an object, each value as it stands there.
fn members(line: &str) -> Result<Vec<(String, &str)>, LineError> {
    let refuse = |error: serde_json::Error| LineError::NotAnObject {
        // The parser counts lines within the one it was given.
        why: error.to_string().replace("at line 1 column", "at column"),
    };
    let missing = |what: &str, at: usize| LineError::NotAnObject {
        why: format!("{what} expected at column {}", at + 1),
    };
    // First as a whole, so that what follows walks over sound JSON.
    let mut whole = Deserializer::from_str(line);
    whole.deserialize_map(Whole).map_err(refuse)?;
    whole.end().map_err(refuse)?;
    let mut members = Vec::new();
    let mut at = next(line, 0) + 1;
    loop {
        at = next(line, at);
        match line.as_bytes().get(at) {
            Some(b'}') => return Ok(members),
            Some(b',') => at = next(line, at + 1),
            Some(_) => {}
            None => return Err(missing("`}`", at)),
        }
        let (name, end) = one::<String>(line, at).map_err(refuse)?;
        let colon = next(line, end);
        if line.as_bytes().get(colon) != Some(&b':') {
            return Err(missing("`:`", colon));
        }
        let start = next(line, colon + 1);
        let (_, end) = one::<IgnoredAny>(line, start).map_err(refuse)?;
        members.push((name, &line[start..end]));
        at = end;
    }
}

/// The elements of a list, each as it stands there.
pub(crate) fn elements(raw: &str) -> Result<Vec<&str>, String> {
    // First as a whole, so that what follows walks over sound JSON.
    let all: Vec<IgnoredAny> = serde_json::from_str(raw).map_err(|why| why.to_string())?;
    let mut at = next(raw, 0) + 1;
    let mut elements = Vec::with_capacity(all.len());
    for _ in all {
        let start = next(raw, at);
        let (_, end) = one::<IgnoredAny>(raw, start).map_err(|why| why.to_string())?;
        elements.push(&raw[start..end]);
        // Behind the comma.
        at = next(raw, end) + 1;
    }
    Ok(elements)
}

/// Where the next character that is no blank stands.
fn next(line: &str, from: usize) -> usize {
    let blanks = line.as_bytes()[from.min(line.len())..]
        .iter()
        .take_while(|byte| byte.is_ascii_whitespace());
    from + blanks.count()
}

/// One JSON value from a place on, and where it ends.
fn one<'a, T: Deserialize<'a>>(line: &'a str, from: usize) -> serde_json::Result<(T, usize)> {
    let mut values = Deserializer::from_str(&line[from..]).into_iter::<T>();
    let value = match values.next() {
        Some(value) => value?,
        None => return Err(serde::de::Error::custom("a value is missing")),
    };
    Ok((value, from + values.byte_offset()))
}

/// Takes any object.
struct Whole;

impl<'de> serde::de::Visitor<'de> for Whole {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMs = UnixMs(1_000_000);

    fn read(line: &str) -> Result<NewJob, String> {
        let pattern = NewJob {
            queue: Some("pattern".into()),
            ..NewJob::default()
        };
        parse(line, &pattern, NOW).map_err(|error| error.to_string())
    }

    #[test]
    fn a_line_says_all_that_a_job_can() {
        let job = read(
            r#" { "kind" : "page", "payload": { "b" : 123456789012345678901234567890, "a":[1,"}"] } ,"headers":{"x":"1"},"queue":"q","priority":-3,"in":"5m","max_attempts":7,"backoff":"fixed 1s","attempt_timeout":"2s"} "#,
        )
        .unwrap();
        assert_eq!(job.kind, "page");
        assert_eq!(
            job.payload,
            br#"{ "b" : 123456789012345678901234567890, "a":[1,"}"] }"#
        );
        assert_eq!(job.content_type.as_deref(), Some("application/json"));
        assert_eq!(job.headers, [("x".into(), "1".into())]);
        assert_eq!((job.queue.as_deref(), job.priority), (Some("q"), Some(-3)));
        assert_eq!(job.due, Some(UnixMs(1_300_000)));
        assert_eq!(
            (job.retry.max_attempts, job.timeout_ms),
            (Some(7), Some(2_000))
        );
        assert!(job.retry.backoff.is_some());
        let text = read(r#"{"content_type":"text/csv","kind":"table","payload_text":"a\u0000é","headers":[["k","1"],["k","2"]],"at":"1970-01-01T01:00:00+01:00"}"#).unwrap();
        assert_eq!(text.payload, "a\0é".as_bytes());
        assert_eq!(text.content_type.as_deref(), Some("text/csv"));
        assert_eq!((text.headers.len(), text.due), (2, Some(UnixMs(0))));
        assert_eq!(text.queue.as_deref(), Some("pattern"));
        let bytes = read(r#"{"kind":"k","payload_base64":"/w=="}"#).unwrap();
        assert_eq!(
            (bytes.payload.as_slice(), bytes.content_type),
            (&[255][..], None)
        );
        assert_eq!(
            read(r#"{"kind":"k","payload":null}"#).unwrap().payload,
            b"null"
        );
    }

    #[test]
    fn what_is_wrong_is_named_by_its_field() {
        let table = [
            (r#"[1]"#, "is no JSON object"),
            (
                r#"{"kind":"k""#,
                "is no JSON object: EOF while parsing an object at column 11",
            ),
            (r#"{"kind":"k"} x"#, "is no JSON object"),
            (r#"{"kind":"k",}"#, "is no JSON object"),
            ("\u{1}", "is no JSON object"),
            (r#"{}"#, "field `kind` is missing"),
            (
                r#"{"kind":3}"#,
                "field `kind` is not right: invalid type: integer `3`, expected a string",
            ),
            (
                r#"{"kind":"k","kind":"l"}"#,
                "field `kind` stands there twice",
            ),
            (
                r#"{"kind":"k","payloads":1}"#,
                "field `payloads` is unknown: known are kind, payload,",
            ),
            (
                r#"{"kind":"k","payload":1,"payload_text":"1"}"#,
                "field `payload_text` and `payload` exclude each other",
            ),
            (
                r#"{"kind":"k","in":"1s","at":"2030-01-01T00:00:00Z"}"#,
                "field `at` and `in` exclude each other",
            ),
            (
                r#"{"kind":"k","payload_base64":"?"}"#,
                "field `payload_base64` is no base64",
            ),
            (
                r#"{"kind":"k","priority":40000}"#,
                "field `priority` is not right",
            ),
            (
                r#"{"kind":"k","priority":1.5}"#,
                "field `priority` is not right",
            ),
            (
                r#"{"kind":"k","max_attempts":-1}"#,
                "field `max_attempts` is not right",
            ),
            (
                r#"{"kind":"k","in":"soon"}"#,
                "field `in` \"soon\" is no time span",
            ),
            (r#"{"kind":"k","in":5}"#, "field `in` is not right"),
            (
                r#"{"kind":"k","at":"noon"}"#,
                "field `at` \"noon\" is no instant",
            ),
            (
                r#"{"kind":"k","backoff":"never"}"#,
                "field `backoff` is \"never\"",
            ),
            (
                r#"{"kind":"k","headers":{"a":1}}"#,
                "field `headers` has 1 for \"a\"",
            ),
        ];
        for (line, expected) in table {
            let refused = read(line).expect_err(line);
            assert!(refused.contains(expected), "{line} gave {refused}");
        }
    }
}
