//! Batches.

use serde_json::{Value, json};

use super::{
    super::{
        super::form::Form,
        schema::{bounded, closed, count, id, instant, name, object, one_of, or_null, text},
    },
    Named, page,
};

pub(super) fn all() -> Named {
    vec![
        ("NewBatch", new()),
        ("Batch", batch()),
        ("BatchPage", page("batches", "Batch")),
    ]
}

fn new() -> Value {
    let link = |says: &str| {
        let says = format!("{says} Its payload is JSON, which it is told with the counts.");
        json!({ "anyOf": [Form::Name.schema(), name("NextJob")], "description": says })
    };
    closed(
        &[],
        [
            ("name", bounded(50, "What it is, for people.")),
            (
                "on_success",
                link("The job that follows when all of its jobs completed."),
            ),
            (
                "on_complete",
                link("The job that follows when all of its jobs ended, however."),
            ),
        ],
    )
}

fn batch() -> Value {
    let follows = or_null(object([
        ("kind", text("The kind of the job that follows.")),
        ("job", id("The id that it has, or will have.")),
        ("enqueued_at", or_null(instant("When it was enqueued."))),
    ]));
    let jobs = [
        ("total", "All of them."),
        ("waiting", "Those that wait."),
        ("running", "Those that run."),
        ("completed", "Those that completed."),
        ("failed", "Those that ended otherwise."),
        ("dead", "Of these: dead."),
        ("cancelled", "Called off."),
        ("discarded", "Dropped."),
        ("expired", "Too late to begin."),
        ("deleted", "Deleted before they ended."),
    ];
    object([
        ("id", id("The batch.")),
        ("name", or_null(text("What it is, for people."))),
        (
            "status",
            one_of(
                &["open", "sealed", "ended", "cancelled"],
                "Where it is in its life.",
            ),
        ),
        ("opened_at", instant("When it was opened.")),
        ("sealed_at", or_null(instant("When it was sealed."))),
        (
            "ended_at",
            or_null(instant("When the last of its jobs ended first.")),
        ),
        (
            "cancel",
            or_null(object([
                ("at", instant("When.")),
                ("by", text("Who asked.")),
                ("reason", or_null(text("Why."))),
            ])),
        ),
        ("jobs", object(jobs.map(|(name, says)| (name, count(says))))),
        ("on_success", follows.clone()),
        ("on_complete", follows),
    ])
}
