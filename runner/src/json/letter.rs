//! A letter as one line of JSON, and back.

use sandhog_model::Letter;
use serde_json::{Value, json};

use super::{base64, when::rfc3339};
use crate::store::RawLetter;

/// The version of a line's shape.
const VERSION: u64 = 1;

/// A letter as a line. What people and programs look for stands in front; `letter` is all of it but
/// the payload.
pub(crate) fn line(letter: Letter) -> Result<String, String> {
    let mut letter = letter;
    let payload = std::mem::take(&mut letter.job.payload);
    let failure = letter
        .attempts
        .last()
        .and_then(|last| last.failure.as_ref());
    let mut value = json!({
        "sandhog_letter": VERSION,
        "id": letter.id(),
        "kind": letter.job.kind,
        "queue": letter.job.queue,
        "died_at": rfc3339(letter.died_at),
        "failure": failure.map(|failure| failure.kind),
        "cause": failure.map(|failure| &failure.cause),
        "payload_base64": base64::encode(&payload),
        "payload_text": str::from_utf8(&payload).ok(),
    });
    value["letter"] = serde_json::to_value(&letter).map_err(|error| error.to_string())?;
    Ok(value.to_string())
}

/// An entry that cannot be read as a line.
pub(crate) fn raw_line(raw: &RawLetter) -> String {
    let value = json!({
        "sandhog_letter": VERSION,
        "id": raw.name,
        "unreadable": raw.unreadable,
        "raw_base64": base64::encode(&raw.bytes),
    });
    value.to_string()
}

/// A line as a letter, or what is wrong with it. A payload given as text alone is taken too: someone
/// may have written it by hand.
pub(crate) fn letter(line: &str) -> Result<Letter, String> {
    let mut value: Value =
        serde_json::from_str(line).map_err(|error| format!("no JSON: {error}"))?;
    match value["sandhog_letter"].as_u64() {
        Some(VERSION) => {}
        Some(other) => {
            return Err(format!(
                "`sandhog_letter` is {other}: this program reads {VERSION}, use a newer one"
            ));
        }
        None => return Err("no letter: `sandhog_letter` is missing".to_owned()),
    }
    if value.get("raw_base64").is_some() {
        return Err(
            "it could not be read when it was exported, so it cannot be taken in".to_owned(),
        );
    }
    let payload = match (&value["payload_base64"], &value["payload_text"]) {
        (Value::String(text), _) => {
            base64::decode(text).ok_or("`payload_base64` is no base64 with padding")?
        }
        (Value::Null, Value::String(text)) => text.clone().into_bytes(),
        _ => return Err("neither `payload_base64` nor `payload_text` is a text".to_owned()),
    };
    let mut letter: Letter = serde_json::from_value(value["letter"].take())
        .map_err(|error| format!("`letter`: {error}"))?;
    letter.job.payload = payload;
    Ok(letter)
}
