//! Jobs.

use sandhog_model::State;
use serde_json::Value;

use super::{
    super::schema::{
        count, flag, id, instant, list, name, object, one_of, or_null, range, text, without,
    },
    Named, page, payload,
};

/// What tells attempts apart that have the same number.
const IN_ALL: &str =
    "Its place among all attempts, those before the job was brought back included, from 1.";

pub(super) fn all() -> Named {
    let logs = object([
        ("id", id("The job.")),
        ("attempt", count("The attempt's number.")),
        ("in_all", count(IN_ALL)),
        (
            "also",
            list(count("The same of another attempt that has this number.")),
        ),
        ("running", flag("Whether it still runs.")),
        ("lines", list(name("LogLine"))),
        ("dropped_lines", count("Lines left out: over `limits.log`.")),
    ]);
    let state = one_of(&State::ALL.map(State::name), "Where a job is in its life.");
    let state_now = [&State::ALL.map(State::name)[..], &["deleted"]].concat();
    let state_now = one_of(
        &state_now,
        "Where a job is in its life, or that it is gone.",
    );
    vec![
        ("State", state),
        (
            "JobState",
            object([("id", id("The job.")), ("state", name("StateNow"))]),
        ),
        ("StateNow", state_now),
        ("JobRow", object(row())),
        ("JobPage", page("jobs", "JobRow")),
        ("Job", job()),
        ("Attempt", attempt()),
        ("Failure", failure()),
        ("LogLine", log_line()),
        ("Link", link()),
        ("Logs", logs),
        ("Waited", waited()),
        ("Progress", progress()),
        ("UniqueJob", unique_job()),
        ("UniquePage", page("jobs", "UniqueJob")),
    ]
}

/// A job that is to follow.
fn link() -> Value {
    let mut fields = vec![
        ("kind", text("Its kind.")),
        ("queue", or_null(text("Its queue, when it is said."))),
        (
            "delay_ms",
            count("How long after the job before it is due."),
        ),
        (
            "takes_result",
            flag("Whether its payload is the result of the job before."),
        ),
        (
            "payload_bytes",
            count("The payload's length, when it has one of its own."),
        ),
    ];
    fields.extend(payload("payload"));
    without(
        object(fields),
        &["payload", "payload_base64", "payload_bytes"],
    )
}

/// The short of a job, and all of it once it ended.
fn waited() -> Value {
    object([
        ("ended", flag("Whether the job ended.")),
        (
            "job",
            serde_json::json!({ "anyOf": [name("Job"), name("JobRow")] }),
        ),
        ("progress", or_null(name("Progress"))),
        (
            "reason",
            or_null(text("Why it waits although it is due, when known.")),
        ),
    ])
}

fn row() -> Vec<(&'static str, Value)> {
    vec![
        ("id", id("The job.")),
        ("kind", text("Which handler runs it.")),
        ("queue", text("Its queue.")),
        ("state", name("State")),
        (
            "attempt",
            count("The attempt that runs, or the number of attempts used."),
        ),
        ("max_attempts", count("Attempts it may use.")),
        (
            "priority",
            range(i16::MIN.into(), i16::MAX.into(), "Higher runs first."),
        ),
        ("at", instant("When it is or was due, started or ended.")),
        ("failure", or_null(short_failure())),
        (
            "digest",
            or_null(text(
                "SHA-256 of the component the latest ended attempt ran on.",
            )),
        ),
        (
            "parent",
            or_null(id("The job whose handler enqueued this one.")),
        ),
    ]
}

pub(super) fn short_failure() -> Value {
    object([
        ("kind", text("Such as `timeout` or `trap:unreachable`.")),
        ("cause", text("One line in job terms.")),
        ("hint", or_null(text("What to do about it, when known."))),
    ])
}

fn failure() -> Value {
    object([
        ("kind", text("Such as `timeout` or `trap:unreachable`.")),
        ("cause", text("One line in job terms.")),
        ("hint", or_null(text("What to do about it, when known."))),
        ("code", or_null(text("The handler's own code."))),
        (
            "panic",
            or_null(text("What the handler said when it panicked, and where.")),
        ),
        ("backtrace", list(text("A frame."))),
        ("details", list(list(text("A key, then its value.")))),
    ])
}

/// What a job said when it was accepted.
pub(super) fn accepted() -> Vec<(&'static str, Value)> {
    vec![
        ("enqueued_at", instant("When it was accepted.")),
        (
            "due",
            instant("When it was first to be run; `at` says when it is now."),
        ),
        ("content_type", text("The payload's media type.")),
        ("headers", list(list(text("A key, then its value.")))),
        (
            "backoff",
            or_null(text("The wait between attempts, when the job says.")),
        ),
        (
            "attempt_timeout_ms",
            or_null(count("Wall time of one attempt, when the job says.")),
        ),
        (
            "expires",
            or_null(instant("Not to be begun from this instant on.")),
        ),
        (
            "retry_for_ms",
            or_null(count("How long it may go on failing.")),
        ),
        ("group", or_null(text("Whom it takes turns with."))),
        ("tags", list(text("A word to find it by."))),
        (
            "batch",
            or_null(text("The batch it belongs to, by its id.")),
        ),
        (
            "unique",
            or_null(object([
                ("key", text("The digest of what it must not be twice.")),
                ("says", text("The same for people.")),
                (
                    "while",
                    text("The states in which it stands in the way of others."),
                ),
                ("until", or_null(instant("From when on it does not."))),
                (
                    "on_conflict",
                    text("What becomes of it when another one is in its way."),
                ),
            ])),
        ),
        (
            "idempotency_key",
            or_null(text("The caller's name for the wish.")),
        ),
        ("then", list(name("Link"))),
        ("payload_bytes", count("The payload's length.")),
    ]
}

fn job() -> Value {
    let mut fields = row();
    fields.retain(|(name, _)| *name != "failure");
    fields.extend(accepted());
    fields.extend([
        ("failure", or_null(name("Failure"))),
        ("attempts", list(name("Attempt"))),
        (
            "attempts_in_all",
            count("Attempts that ended, those before it was brought back included."),
        ),
        (
            "losses",
            count("How often its lease was lost with its runner."),
        ),
        (
            "reason",
            or_null(text("The handler's reason, once discarded.")),
        ),
        (
            "waiting_because",
            or_null(text("Why it waits, when it does.")),
        ),
        (
            "cancel",
            or_null(object([
                ("how", text("`cancel` or `kill`.")),
                ("at", instant("When.")),
                ("by", text("Who asked.")),
                ("reason", or_null(text("Why."))),
            ])),
        ),
        ("children", list(id("A job it enqueued."))),
        ("progress", or_null(name("Progress"))),
        (
            "result_content_type",
            text("The result's media type, once completed."),
        ),
        (
            "result_bytes",
            count("The result's length, once completed."),
        ),
    ]);
    fields.extend(payload("payload"));
    fields.extend(payload("result"));
    without(
        object(fields),
        &[
            "payload",
            "payload_base64",
            "result",
            "result_base64",
            "result_bytes",
            "result_content_type",
        ],
    )
}

fn attempt() -> Value {
    object([
        (
            "attempt",
            count("Its number, which begins anew when a job is brought back."),
        ),
        ("in_all", count(IN_ALL)),
        ("started_at", instant("When it began.")),
        ("ended_at", instant("When it ended.")),
        ("duration_us", count("Its wall time in microseconds.")),
        (
            "cpu_us",
            or_null(count("Its processor time in microseconds.")),
        ),
        ("plugin", or_null(text("The plugin it ran on."))),
        (
            "digest",
            or_null(text("SHA-256 of the component it ran on.")),
        ),
        (
            "peak_memory",
            or_null(count("Most memory it had, in bytes.")),
        ),
        ("failure", or_null(name("Failure"))),
        ("logs", list(name("LogLine"))),
        ("dropped_lines", count("Lines left out.")),
    ])
}

fn log_line() -> Value {
    object([
        ("at_ms", count("Milliseconds since the attempt began.")),
        ("source", text("Where the line came from.")),
        ("level", text("Its level.")),
        ("text", text("What it says.")),
        ("fields", list(list(text("A key, then its value.")))),
    ])
}

fn progress() -> Value {
    object([
        ("done", count("Steps done.")),
        ("total", or_null(count("Of how many, when known."))),
        ("note", or_null(text("A short note."))),
    ])
}

fn unique_job() -> Value {
    object([
        ("key", text("The digest of what it must not be twice.")),
        ("id", id("The job.")),
        ("kind", text("Its kind.")),
        ("state", name("State")),
        (
            "until",
            or_null(instant("From when on it does not stand in the way.")),
        ),
        ("says", or_null(text("The key for people."))),
        (
            "while",
            or_null(text("The states in which it stands in the way.")),
        ),
        (
            "on_conflict",
            or_null(text("What becomes of it when another one is in its way.")),
        ),
    ])
}
