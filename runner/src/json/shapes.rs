//! Jobs and queues as JSON, and by name what stands beside them. A shape only ever gains fields.

use sandhog_model::{
    Attempt, Cancellation, Failure, Job, Link, LogLine, Output, QueueLimits, QueueMode, Rate,
    State, Terms,
};
use serde::de::IgnoredAny;
use serde_json::{Value, json};

pub(crate) use super::plugins::{catalog, checked, plugin_view};

use super::{base64, sound, when::rfc3339};
use crate::{
    api::{ApiError, AttemptLogs, Enqueued, Stats},
    store::{FailureRow, JobRow, JobView, QueueRow, UniqueRow},
};

/// A job in a list. A job on its own has these fields and more.
pub(crate) fn job_row(row: &JobRow) -> Value {
    json!({
        "id": row.id,
        "kind": row.kind,
        "queue": row.queue,
        "state": row.state,
        "attempt": row.attempt,
        "max_attempts": row.max_attempts,
        "priority": row.priority,
        "at": rfc3339(row.at),
        "failure": row.failure.as_ref().map(failure_row),
        "digest": row.digest,
        "parent": row.parent,
    })
}

/// The state of a job that was changed, which may be gone.
pub(crate) fn state_now(state: Option<State>) -> &'static str {
    state.map_or("deleted", State::name)
}

pub(crate) fn failure_row(failure: &FailureRow) -> Value {
    json!({ "kind": failure.kind, "cause": failure.cause, "hint": failure.hint })
}

/// A failure with all that is known of it.
pub(crate) fn failure(failure: &Failure) -> Value {
    json!({
        "kind": failure.kind,
        "cause": failure.cause,
        "hint": failure.hint,
        "code": failure.code,
        "panic": failure.panic,
        "backtrace": failure.backtrace,
        "details": failure.details,
    })
}

/// A job on its own.
pub(crate) fn job(view: &JobView) -> Value {
    let mut value = job_row(&view.row);
    if let Some(full) = &view.failure {
        value["failure"] = failure(full);
    }
    accepted(&mut value, &view.job);
    value["attempts"] = attempts(&view.attempts);
    value["attempts_in_all"] = view.attempts.len().into();
    value["losses"] = view.losses.into();
    value["reason"] = view.reason.clone().into();
    value["waiting_because"] = view.waiting_because.clone().into();
    value["cancel"] = view.cancel.as_ref().map(cancellation).into();
    value["children"] = view.children.iter().map(|id| id.text()).collect();
    if let Some(output) = &view.output {
        result(&mut value, output);
    }
    value
}

fn cancellation(cancel: &Cancellation) -> Value {
    json!({
        "how": cancel.how,
        "at": rfc3339(cancel.at),
        "by": cancel.by,
        "reason": cancel.reason,
    })
}

/// What the job said when it was accepted.
pub(crate) fn accepted(value: &mut Value, job: &Job) {
    value["enqueued_at"] = rfc3339(job.enqueued_at).into();
    value["due"] = rfc3339(job.due).into();
    value["content_type"] = job.content_type.clone().into();
    value["headers"] = json!(job.headers);
    value["backoff"] = job.retry.backoff.as_ref().map(ToString::to_string).into();
    value["attempt_timeout_ms"] = job.timeout_ms.into();
    terms(value, &job.terms);
    value["then"] = job.terms.then.iter().map(link).collect();
    bytes(value, "payload", &job.content_type, &job.payload);
}

/// A job that is to follow.
fn link(link: &Link) -> Value {
    let mut value = json!({
        "kind": link.kind,
        "queue": link.queue,
        "delay_ms": link.delay_ms,
        "takes_result": link.payload.is_none(),
    });
    if let Some(payload) = &link.payload {
        let content_type = link.content_type.as_deref().unwrap_or_default();
        bytes(&mut value, "payload", content_type, payload);
    }
    value
}

/// A handler's result, into the object of its job or attempt.
pub(crate) fn result(value: &mut Value, output: &Output) {
    value["result_content_type"] = output.content_type.clone().into();
    bytes(value, "result", &output.content_type, &output.payload);
}

/// Bytes as the JSON they are, as text, or in base64, whichever is the first that keeps them.
fn bytes(value: &mut Value, name: &str, content_type: &str, bytes: &[u8]) {
    value[format!("{name}_bytes")] = bytes.len().into();
    if is_json(content_type) && serde_json::from_slice::<IgnoredAny>(bytes).is_ok() {
        match sound::exact(bytes) {
            Some(exact) => value[name] = exact,
            // A number that no 64 bits hold, or a key that stands there twice.
            None => value[format!("{name}_base64")] = base64::encode(bytes).into(),
        }
        return;
    }
    match str::from_utf8(bytes) {
        Ok(text) if is_text(content_type) => value[name] = text.into(),
        _ => value[format!("{name}_base64")] = base64::encode(bytes).into(),
    }
}

/// Whether a media type says JSON.
pub(crate) fn is_json(content_type: &str) -> bool {
    let essence = essence(content_type);
    essence == "application/json" || essence.ends_with("+json")
}

/// Whether a media type says text a person can read.
pub(crate) fn is_text(content_type: &str) -> bool {
    is_json(content_type) || essence(content_type).starts_with("text/")
}

fn essence(content_type: &str) -> String {
    let essence = content_type.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

/// All attempts, each with its place among them.
pub(crate) fn attempts(attempts: &[Attempt]) -> Value {
    let placed = attempts.iter().zip(1_u32..).map(|(one, in_all)| {
        let mut value = attempt(one);
        value["in_all"] = in_all.into();
        value
    });
    placed.collect()
}

/// One attempt.
pub(crate) fn attempt(attempt: &Attempt) -> Value {
    json!({
        "attempt": attempt.number,
        "started_at": rfc3339(attempt.started_at),
        "ended_at": rfc3339(attempt.ended_at),
        "duration_us": attempt.duration_us,
        "cpu_us": attempt.cpu_us,
        "plugin": said(&attempt.plugin),
        "digest": said(&attempt.digest),
        "peak_memory": attempt.peak_memory,
        "failure": attempt.failure.as_ref().map(failure),
        "logs": attempt.logs.iter().map(log_line).collect::<Value>(),
        "dropped_lines": attempt.dropped_lines,
    })
}

/// A text that says something; null for one that an attempt which nobody saw the end of does not have.
fn said(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

/// One log line. Fields keep their order and may repeat, so they are pairs.
pub(crate) fn log_line(line: &LogLine) -> Value {
    json!({
        "at_ms": line.at_ms,
        "source": line.source,
        "level": line.level,
        "text": line.text,
        "fields": line.fields,
    })
}

/// A queue. Every state has a number.
pub(crate) fn queue(row: &QueueRow, reason: Option<&str>) -> Value {
    json!({
        "queue": row.queue,
        "jobs": counts(&row.counts),
        "reason": reason,
        "mode": row.mode.name(),
        "weight": row.weight,
        "max_depth": row.max_depth,
        "limits": limits(&row.limits),
        "set": limits(&row.set),
        "oldest_due": row.oldest_due.map(rfc3339),
    })
}

/// The limits of a queue; null where there is none.
pub(crate) fn limits(limits: &QueueLimits) -> Value {
    let text = |rate: Option<Rate>| rate.map(|rate| rate.to_string());
    json!({
        "concurrency": limits.concurrency,
        "rate": text(limits.rate),
        "group_concurrency": limits.group_concurrency,
        "group_rate": text(limits.group_rate),
    })
}

/// A unique job that stands in the way of others.
pub(crate) fn unique(row: &UniqueRow) -> Value {
    let unique = row.unique.as_ref();
    json!({
        "key": row.key,
        "id": row.id,
        "kind": row.kind,
        "state": row.state,
        "until": row.until.map(rfc3339),
        "says": unique.map(|unique| &unique.says),
        "while": unique.map(|unique| unique.scope),
        "on_conflict": unique.map(|unique| unique.on_conflict),
    })
}

/// What few jobs say, into the object of a job.
fn terms(value: &mut Value, terms: &Terms) {
    value["expires"] = terms.expires.map(rfc3339).into();
    value["retry_for_ms"] = terms.retry_for_ms.into();
    value["group"] = terms.group.clone().into();
    value["tags"] = terms.tags.clone().into();
    value["batch"] = json!(terms.batch);
    value["unique"] = match &terms.unique {
        Some(unique) => json!({
            "key": unique.key,
            "says": unique.says,
            "while": unique.scope,
            "until": unique.until.map(rfc3339),
            "on_conflict": unique.on_conflict,
        }),
        None => Value::Null,
    };
    value["idempotency_key"] = match &terms.idempotency {
        Some(named) => named.says.clone().into(),
        None => Value::Null,
    };
}

/// Jobs by state, states without jobs as 0.
pub(crate) fn counts(counts: &[(State, u64)]) -> Value {
    let of = |state| {
        let found = counts.iter().find(|(one, _)| *one == state);
        Value::from(found.map_or(0, |(_, count)| *count))
    };
    let all = State::ALL.into_iter();
    Value::Object(all.map(|state| (state.name().into(), of(state))).collect())
}

/// A queue of which no job is known.
pub(crate) fn no_queue(queue: &str) -> Value {
    let row = QueueRow {
        queue: queue.to_owned(),
        counts: Vec::new(),
        mode: QueueMode::default(),
        limits: QueueLimits::default(),
        set: QueueLimits::default(),
        weight: 1,
        max_depth: None,
        hold: None,
        oldest_due: None,
        kinds: Vec::new(),
    };
    self::queue(&row, None)
}

/// What an attempt logged and printed.
pub(crate) fn logs(logs: &AttemptLogs) -> Value {
    json!({
        "id": logs.id,
        "attempt": logs.attempt,
        "in_all": logs.in_all,
        "also": logs.also,
        "running": logs.running,
        "lines": logs.lines.iter().map(log_line).collect::<Value>(),
        "dropped_lines": logs.dropped,
    })
}

/// Everything at a glance.
pub(crate) fn stats(stats: &Stats) -> Value {
    let mut store = json!(stats.store);
    store["jobs"] = counts(&stats.store.jobs);
    json!({
        "version": stats.version,
        "store": store,
        "runner": stats.runner,
    })
}

/// A job that was enqueued, with what became of the unique one that stood in its way; with a wish for a batch, the
/// batch that it is in.
pub(crate) fn enqueued(job: &Enqueued) -> Value {
    let mut value = json!({ "id": job.id, "existing": job.existing });
    if let Some(replaced) = job.replaced {
        value["replaced"] = json!(replaced);
    }
    if let Some(due) = job.due {
        value["due"] = rfc3339(due).into();
    }
    if let Some(batch) = job.batch {
        value["batch"] = json!(batch.is);
    }
    value
}

/// A part of an answer that was refused.
pub(crate) fn refused(error: &ApiError) -> Value {
    json!({ "error": { "code": error.code.name(), "detail": error.text } })
}

#[cfg(test)]
mod tests {
    use sandhog_model::{JobId, UnixMs};

    use super::*;

    #[test]
    fn bytes_are_written_in_the_first_form_that_keeps_them() {
        let of = |content_type: &str, payload: &[u8]| {
            let mut value = json!({});
            let payload = payload.to_vec();
            let content_type = content_type.into();
            result(
                &mut value,
                &Output {
                    content_type,
                    payload,
                },
            );
            value
        };
        assert_eq!(
            of("application/json; charset=utf-8", b"{\"a\":1}")["result"]["a"],
            1
        );
        assert_eq!(of("application/problem+json", b"[]")["result"], json!([]));
        assert_eq!(of("application/json", b"{broken")["result"], "{broken");
        assert_eq!(of("text/html", "é".as_bytes())["result"], "é");
        assert_eq!(of("text/html", b"\xff")["result_base64"], "/w==");
        let large = of("application/json", b"[18446744073709551616]");
        assert_eq!(large["result_base64"], "WzE4NDQ2NzQ0MDczNzA5NTUxNjE2XQ==");
        let png = of("image/png", b"\x89PNG");
        assert_eq!(
            (&png["result_base64"], &png["result_bytes"]),
            (&json!("iVBORw=="), &json!(4))
        );
        assert!(png.get("result").is_none());
    }

    #[test]
    fn a_failure_keeps_its_three_fields_in_a_row() {
        let row = JobRow {
            id: JobId(1),
            kind: "page".into(),
            queue: "default".into(),
            state: State::Retryable,
            attempt: 2,
            max_attempts: 25,
            priority: 0,
            at: UnixMs(0),
            failure: Some(FailureRow {
                kind: sandhog_model::FailureKind::Timeout,
                cause: "ran longer than 30s".into(),
                hint: None,
            }),
            digest: Some("ab".into()),
            parent: None,
        };
        assert_eq!(
            job_row(&row).to_string(),
            r#"{"at":"1970-01-01T00:00:00.000Z","attempt":2,"digest":"ab","failure":{"cause":"ran longer than 30s","hint":null,"kind":"timeout"},"id":"00000000000000000000000001","kind":"page","max_attempts":25,"parent":null,"priority":0,"queue":"default","state":"retryable"}"#
        );
    }
}
