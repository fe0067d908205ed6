//! Dead letters.

use serde_json::{Value, json};

use super::{
    super::{
        super::{form::Form, resources::DEAD_FILTERS},
        schema::{
            closed, count, flag, id, instant, list, name, object, one_of, or_null, range, text,
            without,
        },
    },
    Named,
    jobs::{accepted, short_failure},
    page, payload,
};

pub(super) fn all() -> Named {
    vec![
        ("LetterRow", row()),
        ("LetterPage", page("letters", "LetterRow")),
        ("Letter", letter()),
        (
            "RawLetter",
            object([
                ("id", id("The letter.")),
                (
                    "unreadable",
                    or_null(text("Why it cannot be read, if it cannot.")),
                ),
                ("raw_bytes", count("How many bytes it has.")),
                ("raw_base64", text("Its bytes in base64.")),
            ]),
        ),
        ("LetterName", object([("id", id("The letter."))])),
        ("Letters", many()),
        (
            "LettersChanged",
            object([
                (
                    "letters",
                    list(without(
                        object([("id", id("The letter.")), ("error", name("Refused"))]),
                        &["error"],
                    )),
                ),
                ("done", count("How many were changed, or would be.")),
                (
                    "refused",
                    count(
                        "How many were left alone, or would be. Of all that fit a filter `letters` names these, at most 1000.",
                    ),
                ),
                (
                    "stopped",
                    or_null(text(
                        "Why it ended before it was through, if it did: the rest is as it was.",
                    )),
                ),
            ]),
        ),
        ("Count", object([("count", count("How many."))])),
        ("Purge", purge()),
        (
            "Purged",
            object([
                (
                    "letters",
                    list(object([
                        ("id", id("The letter.")),
                        (
                            "reason",
                            one_of(&["age", "number", "bytes"], "Which bound it is over."),
                        ),
                    ])),
                ),
                ("left", count("How many more the bounds are against.")),
                ("dry_run", flag("Whether nothing was changed.")),
            ]),
        ),
    ]
}

fn many() -> Value {
    let letter = closed(
        &["id"],
        [
            ("id", Form::Letter.schema()),
            (
                "token",
                or_null(json!({
                    "type": "string", "pattern": "^[0-9]{1,20}$",
                    "description": "Only as long as it is the letter of that very death, as its row says.",
                })),
            ),
        ],
    );
    let letters = json!({ "type": "array", "maxItems": 1000, "items": letter });
    closed(
        &[],
        [
            ("letters", letters),
            ("filter", filter()),
            (
                "all",
                flag("All letters; in place of `letters` and `filter`."),
            ),
            (
                "per_second",
                range(
                    0,
                    i64::from(u32::MAX),
                    "At most so many a second of those that fit; 0 for no bound.",
                ),
            ),
            ("dry_run", flag("Only say what would become of each.")),
        ],
    )
}

/// All that a list of letters is chosen by; something must be said.
fn filter() -> Value {
    let fields = DEAD_FILTERS.iter().map(|param| {
        let mut schema = param.form.schema();
        schema["description"] = param.says.into();
        (param.name, or_null(schema))
    });
    let mut filter = closed(&[], fields);
    filter["minProperties"] = 1.into();
    filter["description"] = "All letters that fit, in place of `letters`.".into();
    filter
}

fn purge() -> Value {
    closed(
        &["dry_run"],
        [
            ("keep_ms", or_null(count("Those that died longer ago go."))),
            (
                "max_letters",
                or_null(count("At most so many stay, the newest.")),
            ),
            (
                "max_bytes",
                or_null(count("At most so many bytes stay, the newest.")),
            ),
            ("dry_run", flag("Only say what would go.")),
        ],
    )
}

fn row() -> Value {
    object([
        (
            "id",
            id("The id of its job, or the place of one that cannot be read."),
        ),
        ("kind", text("Its kind; empty when it cannot be read.")),
        ("queue", text("Its queue; empty when it cannot be read.")),
        ("state", text("`dead`.")),
        ("attempt", count("Attempts in its history.")),
        ("attempts_in_all", count("The same.")),
        (
            "last_attempt",
            count("The number of the last of them, which begins anew when a job is brought back."),
        ),
        ("max_attempts", count("Attempts it was allowed.")),
        ("died_at", or_null(instant("When it died."))),
        ("failure", short_failure()),
        (
            "digest",
            or_null(text("SHA-256 of the component the last attempt ran on.")),
        ),
        ("bytes", count("Bytes it takes in the file.")),
        ("token", text("Names this very death.")),
        (
            "unreadable",
            or_null(text("Why it cannot be read, if it cannot.")),
        ),
    ])
}

fn letter() -> Value {
    let mut fields = vec![
        ("id", id("The job.")),
        ("kind", text("Its kind.")),
        ("queue", text("Its queue.")),
        ("state", text("`dead`.")),
        ("attempt", count("The number of its last attempt.")),
        ("max_attempts", count("Attempts it was allowed.")),
        (
            "priority",
            range(i16::MIN.into(), i16::MAX.into(), "Higher ran first."),
        ),
        ("died_at", instant("When it died.")),
        ("failure", or_null(name("Failure"))),
        (
            "digest",
            or_null(text("SHA-256 of the component the last attempt ran on.")),
        ),
        (
            "parent",
            or_null(id("The job whose handler enqueued this one.")),
        ),
        ("attempts", list(name("Attempt"))),
        ("attempts_in_all", count("How many those are.")),
        (
            "losses",
            count("How often its lease was lost with its runner."),
        ),
    ];
    fields.extend(accepted());
    fields.extend(payload("payload"));
    without(object(fields), &["payload", "payload_base64"])
}
