//! What is sent to have jobs, and to change them.

use sandhog_model::limits;
use serde_json::{Value, json};

use super::{
    super::{
        super::form::Form,
        schema::{
            any, bounded, closed, flag, id, instant, kind_or_queue, list, name, object, one_of,
            or_null, range, span, text, without,
        },
    },
    Named,
};
use crate::api::JOBS_PER_ENQUEUE;

pub(super) fn all() -> Named {
    let many = json!({
        "type": "array", "items": name("NewJob"), "minItems": 1, "maxItems": JOBS_PER_ENQUEUE,
    });
    let ids = json!({ "type": "array", "items": Form::Id("job").schema(), "maxItems": 1000 });
    let dry_run = flag("Only say what would become of each.");
    let dry_one = flag("Only say what would become of it.");
    let reason = or_null(bounded(1_000, "Why; kept with what it is about."));
    let changed = object([
        ("id", id("The job.")),
        ("state", name("StateNow")),
        ("error", name("Refused")),
    ]);
    let changed = without(changed, &["state", "error"]);
    vec![
        ("NewJob", new_job()),
        ("NextJob", next_job()),
        ("NewJobs", closed(&["jobs"], [("jobs", many)])),
        ("Enqueued", enqueued()),
        ("EnqueuedJobs", object([("jobs", list(each(enqueued())))])),
        ("Reason", closed(&[], [("reason", reason.clone())])),
        (
            "CallOff",
            closed(
                &[],
                [("reason", reason.clone()), ("dry_run", dry_one.clone())],
            ),
        ),
        ("Retry", closed(&[], [("dry_run", dry_one.clone())])),
        ("Nothing", closed(&[], [])),
        ("Snooze", snooze(dry_one)),
        ("JobIds", closed(&["ids"], [("ids", ids.clone())])),
        (
            "JobsToRetry",
            closed(
                &["ids"],
                [("ids", ids.clone()), ("dry_run", dry_run.clone())],
            ),
        ),
        (
            "JobsForAReason",
            closed(
                &["ids"],
                [
                    ("ids", ids.clone()),
                    ("reason", reason.clone()),
                    ("dry_run", dry_run.clone()),
                ],
            ),
        ),
        ("JobsForATime", for_a_time(ids.clone(), dry_run.clone())),
        (
            "JobsToDelete",
            closed(
                &["ids"],
                [
                    ("ids", ids),
                    ("force", flag("Delete those that wait, too.")),
                    ("dry_run", dry_run),
                ],
            ),
        ),
        ("JobsChanged", object([("jobs", list(changed))])),
        ("Released", object([("jobs", list(released()))])),
    ]
}

fn enqueued() -> Value {
    let is = id(
        "Where a batch was asked for: the one it is in. A job that was there before stays where it was.",
    );
    let answer = object([
        ("id", id("The job.")),
        ("existing", flag("Whether it was there before.")),
        (
            "replaced",
            id("The unique job that was cancelled so that this one takes its place."),
        ),
        (
            "due",
            instant("When a unique job that was put off (`debounce`) is due now."),
        ),
        ("batch", or_null(is)),
    ]);
    without(answer, &["replaced", "due", "batch"])
}

/// What each job of many is answered with.
fn each(mut answer: Value) -> Value {
    answer["properties"]["error"] = name("Refused");
    without(answer, &["id", "existing", "replaced", "due", "batch"])
}

fn new_job() -> Value {
    let mut fields = what();
    fields.extend(when());
    fields.extend(terms());
    of_which_one(fields)
}

/// A job that follows another one: what is a time counts from the end of that.
fn next_job() -> Value {
    let mut fields = what();
    fields.extend(when());
    fields.extend(found_by());
    fields.retain(|(name, _)| !matches!(*name, "at" | "expires_at"));
    of_which_one(fields)
}

/// A job of these fields, without two that say the same.
fn of_which_one(fields: Fields) -> Value {
    let rivals = [
        ["payload", "payload_text"],
        ["payload", "payload_base64"],
        ["payload_text", "payload_base64"],
        ["in", "at"],
        ["expires_in", "expires_at"],
    ];
    let is_there = |wanted: &str| fields.iter().any(|(name, _)| *name == wanted);
    let rivals = rivals
        .iter()
        .filter(|two| two.iter().all(|name| is_there(name)));
    let rivals: Vec<Value> = rivals.map(|two| json!({ "required": two })).collect();
    let mut schema = closed(&["kind"], fields);
    schema["not"] = json!({ "anyOf": rivals });
    schema
}

type Fields = Vec<(&'static str, Value)>;

/// What is to be run.
fn what() -> Fields {
    vec![
        ("kind", kind_or_queue("Which handler is to run it.")),
        (
            "payload",
            any("The payload, any JSON, kept as it stands here."),
        ),
        (
            "payload_text",
            text("The payload as text, in place of `payload`."),
        ),
        (
            "payload_base64",
            json!({
                "type": "string",
                "pattern": "^([A-Za-z0-9+/]{4})*$",
                "contentEncoding": "base64",
                "description": "The payload's bytes in base64 with padding, in place of `payload`.",
            }),
        ),
        (
            "content_type",
            json!({
                "type": "string", "pattern": "^[a-z]{1,20}/[a-z0-9.+-]{1,40}$",
                "description": "The payload's media type, such as `text/csv`.",
            }),
        ),
        (
            "headers",
            json!({
                "type": "object", "maxProperties": 16,
                "additionalProperties": { "type": "string", "maxLength": 250 },
                "propertyNames": { "pattern": "^[a-z][a-z0-9-]{0,63}$" },
                "description": "Key/value pairs for the handler; also a list of pairs, where a key repeats.",
            }),
        ),
    ]
}

/// Where and when.
fn when() -> Fields {
    let backoff = json!({
        "type": "string",
        "pattern": "^(polynomial|fixed [1-9][0-9]{0,3}(ms|s|m)|linear [1-9][0-9]{0,3}(ms|s)( max [1-9]h)?|exponential [1-9][0-9]{0,3}(ms|s)( factor [2-9])?( max [1-9]h)?)$",
        "description": "The wait between attempts, such as `exponential 1s factor 2 max 1h`.",
    });
    vec![
        ("queue", kind_or_queue("Its queue.")),
        (
            "priority",
            range(
                i16::MIN.into(),
                i16::MAX.into(),
                "Higher runs first within a queue.",
            ),
        ),
        ("in", span("Not to be run before this time has passed.")),
        (
            "at",
            instant("Not to be run before this instant, in place of `in`."),
        ),
        ("max_attempts", range(1, 1_000, "Attempts in all.")),
        ("backoff", backoff),
        (
            "attempt_timeout",
            json!({
                "type": "string", "pattern": "^[1-9][0-9]{0,3}(ms|s)$", "description": "Wall time of one attempt.",
            }),
        ),
        ("retry_for", span("How long it may go on failing.")),
        (
            "expires_in",
            span("Not to be begun once this time has passed."),
        ),
        (
            "expires_at",
            instant("Not to be begun from this instant on, in place of `expires_in`."),
        ),
    ]
}

/// What it is found by.
fn found_by() -> Fields {
    let word = "^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$";
    vec![
        (
            "group",
            json!({
                "type": "string", "pattern": word, "description": "Whom it takes turns with in its queue.",
            }),
        ),
        (
            "tags",
            json!({
                "type": "array", "maxItems": limits::TAGS,
                "items": { "type": "string", "pattern": word },
                "description": "Words to find it by.",
            }),
        ),
    ]
}

/// The same, what follows it, and what it must not be twice.
fn terms() -> Fields {
    let mut batch = Form::Id("batch").schema();
    batch["description"] = "The batch it belongs to, as long as that is open.".into();
    let then = json!({ "anyOf": [Form::Name.schema(), name("NextJob")] });
    let mut fields = found_by();
    fields.extend([
        (
            "then",
            json!({
                "type": "array", "maxItems": 4, "items": then,
                "description": "Jobs that follow one another once it completed: kinds, or objects as this one without times that are instants.",
            }),
        ),
        (
            "unique",
            json!({
                "description": "What it must not be there twice: `true` for its payload, or an object.",
                "anyOf": [{ "const": true }, unique_wish()],
            }),
        ),
        (
            "idempotency_key",
            json!({
                "type": "string", "minLength": 1, "maxLength": 250,
                "description": "The caller's name for this wish, as the header `Idempotency-Key`.",
            }),
        ),
        ("batch", batch),
    ]);
    fields
}

/// What became of a lock.
fn released() -> Value {
    let released = object([
        ("id", id("The job.")),
        ("released", flag("Whether it stood in the way of others.")),
        ("error", name("Refused")),
    ]);
    without(released, &["released", "error"])
}

/// Jobs, and one of the two.
fn for_a_time(ids: Value, dry_run: Value) -> Value {
    let mut schema = snooze(dry_run);
    schema["properties"]["ids"] = ids;
    schema["required"] = json!(["ids"]);
    schema["minProperties"] = 2.into();
    schema["maxProperties"] = 3.into();
    schema
}

/// One of the two.
fn snooze(dry_run: Value) -> Value {
    let mut schema = closed(
        &[],
        [
            ("for", span("Until this time has passed.")),
            ("until", instant("Until this instant.")),
            ("dry_run", dry_run),
        ],
    );
    schema["minProperties"] = 1.into();
    schema["maxProperties"] = 2.into();
    schema["oneOf"] = json!([{ "required": ["for"] }, { "required": ["until"] }]);
    schema
}

fn unique_wish() -> Value {
    closed(
        &[],
        [
            (
                "by",
                list(text(
                    "A field of the payload; dots go into fields of fields.",
                )),
            ),
            ("key", text("A text, in place of `by`.")),
            (
                "for",
                span("For how long at most it stands in the way of others."),
            ),
            (
                "while",
                text("In which states it does, such as `unfinished`."),
            ),
            (
                "on_conflict",
                one_of(
                    &["reject", "keep", "replace", "debounce"],
                    "When another one is in its way.",
                ),
            ),
        ],
    )
}
