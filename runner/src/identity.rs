//! What makes two jobs the same: the digests of unique keys and idempotency keys.
//!
//! Knows nothing of who has jobs, or of what becomes of two that are the same.

use sandhog_model::{
    Digest, Job, Named, NewUnique, Unique, UniqueBy,
    limits::{KEY_BYTES, KEY_SAYS_BYTES},
};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

/// Give a job the keys that its wish names. What is wrong when they cannot be made.
pub(crate) fn name(
    job: &mut Job,
    unique: Option<NewUnique>,
    idempotency: Option<String>,
) -> Result<(), String> {
    if let Some(text) = idempotency {
        check("the idempotency key", &text)?;
        job.terms.idempotency = Some(Named {
            key: digest(["idempotency", &job.kind, ""], text.as_bytes()),
            says: shown(&text),
        });
    }
    if let Some(wish) = unique {
        let (key, says) = key(job, &wish.by)?;
        job.terms.unique = Some(Unique {
            key,
            says,
            scope: wish.scope,
            until: wish.period_ms.map(|ms| job.enqueued_at.plus(ms)),
            on_conflict: wish.on_conflict,
        });
    }
    Ok(())
}

fn check(what: &str, text: &str) -> Result<(), String> {
    match text.len() {
        0 => Err(format!("{what} is empty")),
        length if length > KEY_BYTES => Err(format!(
            "{what} has {length} bytes: at most {KEY_BYTES} are allowed"
        )),
        _ => Ok(()),
    }
}

/// The digest of a unique key over the job's kind, and what people read of it.
fn key(job: &Job, by: &UniqueBy) -> Result<(Digest, String), String> {
    let of = |how: &str, bytes: &[u8]| digest(["unique", &job.kind, how], bytes);
    match by {
        UniqueBy::Key(text) => {
            check("the unique key", text)?;
            Ok((of("key", text.as_bytes()), shown(text)))
        }
        UniqueBy::Payload => {
            // The same JSON is the same payload, however it is laid out.
            let json = serde_json::from_slice::<Value>(&job.payload).ok();
            let bytes = match json {
                Some(json) => canonical(json).to_string().into_bytes(),
                None => job.payload.clone(),
            };
            Ok((of("payload", &bytes), "the payload".to_owned()))
        }
        UniqueBy::Fields(paths) if paths.is_empty() => {
            Err("no field is named to be unique by".into())
        }
        UniqueBy::Fields(paths) => {
            let json: Value = serde_json::from_slice(&job.payload).map_err(|error| {
                format!("the payload is no JSON, so it has no fields to be unique by ({error})")
            })?;
            let mut fields: Vec<(&str, Value)> = paths
                .iter()
                .map(|path| (path.as_str(), canonical(field(&json, path).clone())))
                .collect();
            fields.sort_by_key(|(path, _)| *path);
            fields.dedup_by(|(one, _), (other, _)| one == other);
            let text = fields
                .iter()
                .map(|(path, value)| format!("{path}={value}"))
                .collect::<Vec<_>>()
                .join(" ");
            let json = Value::Array(
                fields
                    .into_iter()
                    .map(|(path, value)| Value::Array(vec![path.into(), value]))
                    .collect(),
            );
            Ok((of("fields", json.to_string().as_bytes()), shown(&text)))
        }
    }
}

/// A field of a field, with dots in between; nothing where there is none.
fn field<'a>(json: &'a Value, path: &str) -> &'a Value {
    path.split('.')
        .try_fold(json, |value, name| value.get(name))
        .unwrap_or(&Value::Null)
}

/// The same with the keys of every object in their order.
fn canonical(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(String, Value)> = fields.into_iter().collect();
            fields.sort_by(|(one, _), (other, _)| one.cmp(other));
            let fields = fields.into_iter();
            let fields = fields.map(|(name, value)| (name, canonical(value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        Value::Array(values) => Value::Array(values.into_iter().map(canonical).collect()),
        other => other,
    }
}

fn digest(domain: [&str; 3], bytes: &[u8]) -> Digest {
    let mut hasher = Sha256::new();
    for part in domain {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.update(bytes);
    let hash = hasher.finalize();
    let mut first = [0; 16];
    first.copy_from_slice(&hash[..16]);
    Digest(u128::from_be_bytes(first))
}

fn shown(text: &str) -> String {
    let mut shown = String::new();
    for one in text.chars().filter(|one| !one.is_control()) {
        if shown.len() + one.len_utf8() > KEY_SAYS_BYTES {
            break;
        }
        shown.push(one);
    }
    shown
}

#[cfg(test)]
mod tests {
    use sandhog_model::{JobId, KindDefaults, NewJob, UnixMs};

    use super::*;

    fn job(kind: &str, payload: &str) -> Job {
        let new = NewJob {
            kind: kind.into(),
            payload: payload.into(),
            ..NewJob::default()
        };
        new.accept(JobId(1), UnixMs(0), &KindDefaults::default())
            .expect("within bounds")
    }

    fn fields(names: &[&str]) -> UniqueBy {
        UniqueBy::Fields(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn the_order_of_keys_and_fields_makes_no_difference_and_what_they_say_does() {
        let digest = |kind: &str, payload: &str, by: &UniqueBy| {
            key(&job(kind, payload), by).expect("a key").0
        };
        let (one, other) = (
            r#"{"a": {"x": 1, "y": [2]}, "b": 3}"#,
            r#"{"b":3,"a":{"y":[2],"x":1}}"#,
        );
        for by in [
            UniqueBy::Payload,
            fields(&["a", "b"]),
            fields(&["b", "a", "a"]),
            fields(&["a.x"]),
        ] {
            assert_eq!(digest("k", one, &by), digest("k", other, &by), "{by:?}");
            assert_ne!(digest("k", one, &by), digest("l", one, &by), "{by:?}");
        }
        let by = fields(&["a.x"]);
        assert_ne!(digest("k", one, &by), digest("k", r#"{"a":{"x":2}}"#, &by));
        assert_eq!(
            digest("k", r#"{"a":{"x":null}}"#, &by),
            digest("k", "{}", &by),
            "what is not there counts as null"
        );
        assert_ne!(
            digest("k", one, &fields(&["a"])),
            digest("k", one, &fields(&["b"]))
        );
        // A text, a payload and a field that look alike are three different keys.
        let text = UniqueBy::Key("1".into());
        assert_ne!(
            digest("k", "1", &text),
            digest("k", "1", &UniqueBy::Payload)
        );
    }

    #[test]
    fn what_has_no_fields_or_is_no_key_is_refused() {
        let why = key(&job("k", "no json"), &fields(&["a"])).expect_err("no JSON");
        assert!(why.contains("no JSON"), "{why}");
        assert!(key(&job("k", "{}"), &fields(&[])).is_err());
        for text in ["", &"x".repeat(KEY_BYTES + 1)] {
            assert!(key(&job("k", ""), &UniqueBy::Key(text.into())).is_err());
            assert!(name(&mut job("k", ""), None, Some(text.into())).is_err());
        }
        // Bytes that are no JSON are compared as they are.
        let of = |bytes: &[u8]| {
            let mut job = job("k", "");
            job.payload = bytes.to_vec();
            key(&job, &UniqueBy::Payload).expect("a key").0
        };
        assert_ne!(of(b"\xff"), of(b"\xfe"));
    }

    #[test]
    fn what_people_read_of_a_key_is_short_and_plain() {
        let (_, says) = key(&job("k", r#"{"user":7}"#), &fields(&["user"])).expect("a key");
        assert_eq!(says, "user=7");
        let long = "ä".repeat(KEY_SAYS_BYTES);
        assert!(shown(&long).len() <= KEY_SAYS_BYTES);
        assert_eq!(shown("a\u{1b}b"), "ab");
    }
}
