//! What is sent and answered, by name. A test holds the answers to it.

mod batches;
mod dead;
mod jobs;
mod new_job;
mod plugins;
mod queues;
mod runner;

use serde_json::Value;

use super::schema::{any, list, object, range, text};

type Named = Vec<(&'static str, Value)>;

/// Every schema.
pub(super) fn all() -> Named {
    let mut all = vec![
        ("Problem", problem()),
        ("Object", object([])),
        (
            "Refused",
            object([
                ("code", text("The stable code.")),
                ("detail", text("What went wrong.")),
            ]),
        ),
    ];
    all.extend(jobs::all());
    all.extend(new_job::all());
    all.extend(batches::all());
    all.extend(queues::all());
    all.extend(dead::all());
    all.extend(plugins::all());
    all.extend(runner::all());
    all
}

/// A page of a list.
fn page(rows: &'static str, of: &str) -> Value {
    object([
        (rows, list(super::schema::name(of))),
        (
            "next",
            super::schema::or_null(text("The cursor of the next page, when there is one.")),
        ),
    ])
}

fn problem() -> Value {
    object([
        ("type", text("The path of a page that says what to do.")),
        ("title", text("What it is, the same each time.")),
        ("status", range(400, 599, "The status.")),
        ("code", text("The stable code.")),
        ("detail", text("What went wrong this time.")),
    ])
}

/// A payload or result in one of its forms.
fn payload(name: &'static str) -> [(&'static str, Value); 2] {
    let (whole, base64) = match name {
        "result" => ("result", "result_base64"),
        _ => ("payload", "payload_base64"),
    };
    [
        (whole, any("JSON as it is, or text as a string.")),
        (
            base64,
            text("Any other bytes in base64, and JSON that would not come back the same."),
        ),
    ]
}
