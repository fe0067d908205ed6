//! The runner and its workers.

use serde_json::Value;

use super::{
    super::schema::{count, flag, id, list, name, object, one_of, or_null, text},
    Named,
    queues::counts,
};

pub(super) fn all() -> Named {
    vec![
        (
            "Health",
            object([
                (
                    "status",
                    one_of(&["ok", "degraded", "failing"], "How it is."),
                ),
                ("reason", or_null(text("Why, when it is not well."))),
            ]),
        ),
        (
            "Ready",
            object([
                ("ready", flag("Whether it takes jobs in.")),
                (
                    "reason",
                    or_null(text("Why, when it does not or is not well.")),
                ),
            ]),
        ),
        (
            "Worker",
            object([
                ("number", count("Its number, from 0.")),
                ("slots", count("Attempts it can run at a time.")),
                ("running", list(id("A job it runs now."))),
                ("ended", count("Attempts it ended since the start.")),
            ]),
        ),
        ("Workers", object([("workers", list(name("Worker")))])),
        ("WorkersMode", object([("mode", mode())])),
        ("Reloaded", object([("differs", list(difference()))])),
        (
            "Settings",
            object([
                (
                    "file",
                    or_null(text("The file they were read from, if there was one.")),
                ),
                ("settings", list(setting())),
                ("waiting", list(difference())),
            ]),
        ),
        (
            "Stats",
            object([
                ("version", text("The program's version.")),
                ("store", store()),
                ("runner", or_null(runner())),
            ]),
        ),
    ]
}

fn setting() -> Value {
    object([
        (
            "key",
            text("The key with its table, such as `runner.slots`."),
        ),
        (
            "value",
            or_null(text(
                "Its value, as the file would have it; `null` when it is left open.",
            )),
        ),
        (
            "origin",
            text("Where it comes from: `file`, `default`, a variable or a flag."),
        ),
    ])
}

fn difference() -> Value {
    object([
        (
            "key",
            text("The key with its table, such as `queue.mail.weight`."),
        ),
        (
            "before",
            or_null(text("Its value before, as the file has it.")),
        ),
        ("after", or_null(text("Its value now."))),
        (
            "at_once",
            flag("Whether it counts now; else from the next start."),
        ),
    ])
}

fn mode() -> Value {
    one_of(&["running", "quiet", "stopping"], "What the workers do.")
}

fn runner() -> Value {
    object([
        ("pid", count("The process.")),
        ("mode", mode()),
        ("workers", list(name("Worker"))),
        (
            "memory",
            object([
                (
                    "budget",
                    count("What running attempts may take together, in bytes."),
                ),
                ("held", count("The limits of those that run, in bytes.")),
                ("waiting", count("Leased jobs that wait for room.")),
                ("short", flag("Whether a free slot may lack room.")),
            ]),
        ),
        ("plugins", count("Plugins served.")),
        (
            "problems",
            count("Files in the plugin folder that cannot be used."),
        ),
        ("held", count("Plugins that are held back.")),
    ])
}

fn store() -> Value {
    let mut store = object([
        ("jobs", counts()),
        ("durability", text("What an acknowledgement waits for.")),
        (
            "poisoned",
            or_null(text("Why the store takes nothing more, if so.")),
        ),
        (
            "purged",
            object([
                ("age", count("For their age.")),
                ("number", count("For their number.")),
                ("bytes", count("For their bytes.")),
            ]),
        ),
        (
            "stuck_segment",
            or_null(count("The first segment, when it cannot be freed.")),
        ),
    ]);
    for (field, says) in [
        ("dead_letters", "Dead letters."),
        ("segments", "Segments of the log."),
        ("log_bytes", "Bytes of the log on disk."),
        ("appended", "Records appended since the start."),
        ("syncs", "Syncs since the start."),
        ("last_sync_us", "The last sync's time in microseconds."),
        (
            "torn_tail_bytes",
            "Bytes of a torn tail that the start cut away.",
        ),
        ("merged_logs", "Other logs that the start took over."),
        ("merged_jobs", "Jobs of theirs."),
        (
            "purged_letters",
            "Dead letters deleted because of the bounds.",
        ),
        ("dead_bytes", "Bytes of the dead letters' file."),
        ("live_bytes", "Bytes of the log that are needed."),
        (
            "pruned_jobs",
            "Jobs forgotten because of their age or number.",
        ),
        ("freed_segments", "Segments removed since the start."),
        ("reclaimed_bytes", "Their bytes."),
    ] {
        store["properties"][field] = count(says);
        if let Some(required) = store["required"].as_array_mut() {
            required.push(field.into());
        }
    }
    store
}
