//! The JSON of dead letters.

use sandhog_model::Letter;
use serde_json::{Value, json};

use super::{
    shapes::{accepted, attempts, failure, failure_row},
    when::rfc3339,
};
use crate::store::{DeadRow, LetterName};

/// A dead letter in a list: a job's fields, as far as a letter has them.
pub(crate) fn row(row: &DeadRow) -> Value {
    json!({
        "id": row.name.to_string(),
        "kind": row.kind,
        "queue": row.queue,
        "state": "dead",
        "attempt": row.attempts,
        "attempts_in_all": row.attempts,
        "last_attempt": row.last,
        "max_attempts": row.max_attempts,
        "died_at": (row.died_at.0 > 0).then(|| rfc3339(row.died_at)),
        "failure": failure_row(&row.failure),
        "digest": row.digest,
        "bytes": row.bytes,
        // As text: a number of 64 bits is more than many programs keep.
        "token": row.token.0.to_string(),
        "unreadable": row.unreadable,
    })
}

/// A dead letter on its own.
pub(crate) fn letter(letter: &Letter) -> Value {
    let last = letter.attempts.last();
    let mut value = json!({
        "id": letter.id(),
        "kind": letter.job.kind,
        "queue": letter.job.queue,
        "state": "dead",
        "attempt": last.map_or(0, |last| last.number),
        "max_attempts": letter.job.retry.max_attempts(),
        "priority": letter.job.priority,
        "died_at": rfc3339(letter.died_at),
        "failure": last.and_then(|last| last.failure.as_ref()).map(failure),
        "digest": last.map(|last| last.digest.as_str()),
        "parent": letter.job.parent,
        "attempts": attempts(&letter.attempts),
        "attempts_in_all": letter.attempts.len(),
        "losses": letter.losses,
    });
    accepted(&mut value, &letter.job);
    value
}

/// The bytes of a letter.
pub(crate) fn raw(name: LetterName, unreadable: Option<&str>, bytes: &[u8]) -> Value {
    json!({
        "id": name.to_string(),
        "unreadable": unreadable,
        "raw_bytes": bytes.len(),
        "raw_base64": super::base64::encode(bytes),
    })
}
