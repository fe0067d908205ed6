//! Plugins.

use serde_json::Value;

use super::{
    super::schema::{
        any, bounded, closed, count, flag, instant, list, name, object, or_null, text, without,
    },
    Named,
};

pub(super) fn all() -> Named {
    vec![
        ("Plugin", plugin()),
        ("FileProblem", problem()),
        (
            "Plugins",
            object([("plugins", list(any_of(&["Plugin", "FileProblem"])))]),
        ),
        (
            "PluginView",
            object([
                ("name", text("Its name.")),
                (
                    "status",
                    text("`ok`, `rolled-back`, `quarantined`, `waiting` or `unusable`."),
                ),
                ("file", text("Its file.")),
                ("served", or_null(name("Plugin"))),
                (
                    "of_file",
                    or_null(text("The digest of the version the file has.")),
                ),
                ("held", or_null(name("Plugin"))),
                ("problem", or_null(name("FileProblem"))),
                ("versions", list(version())),
            ]),
        ),
        ("PluginCheck", any_of(&["CheckedPlugin", "FileProblem"])),
        ("CheckedPlugin", checked()),
        (
            "Rollback",
            closed(
                &[],
                [(
                    "to",
                    or_null(bounded(
                        64,
                        "The version, by the beginning of its digest; the last good one when not given.",
                    )),
                )],
            ),
        ),
    ]
}

fn any_of(names: &[&str]) -> Value {
    let names: Vec<Value> = names.iter().map(|one| name(one)).collect();
    serde_json::json!({ "anyOf": names })
}

fn plugin() -> Value {
    without(
        object([
            ("name", text("Its name.")),
            (
                "status",
                text("Whether it is served, held back, or another version is served."),
            ),
            ("file", text("Its file.")),
            (
                "kinds",
                list(any(
                    "A kind it serves, with what its handler proposes for it.",
                )),
            ),
            ("digest", text("SHA-256 of the component.")),
            ("size", count("Its size in bytes.")),
            ("sdk", text("What it was built with.")),
            (
                "cached",
                flag("Whether its native code came from the cache."),
            ),
            (
                "of_file",
                text("The digest of its file's version, when another one is served."),
            ),
            ("since", or_null(instant("Since when it is held back."))),
            ("why", text("Why it is held back.")),
            ("by_hand", flag("Whether a person said so.")),
        ]),
        &["of_file", "since", "why", "by_hand"],
    )
}

fn checked() -> Value {
    let mut checked = plugin();
    let more = [
        ("imports", list(text("An interface that it imports."))),
        (
            "asks",
            or_null(text(
                "What its handlers ask for, as a file of grants has it.",
            )),
        ),
        ("grants", text("What it is granted, as such a file has it.")),
        (
            "missing",
            list(text("What it asks for or imports and is denied.")),
        ),
        (
            "linked",
            list(text(
                "What its language's runtime imports, used or not, and nothing grants.",
            )),
        ),
        ("verdict", text("What becomes of it.")),
    ];
    for (name, schema) in more {
        checked["properties"][name] = schema;
        if let Some(required) = checked["required"].as_array_mut() {
            required.push(name.into());
        }
    }
    checked
}

fn problem() -> Value {
    object([
        ("name", or_null(text("The file's name without its ending."))),
        ("status", text("`unusable`.")),
        ("file", text("The file.")),
        ("cause", text("What is wrong with it.")),
        ("hint", text("What to do about it.")),
        (
            "earlier_served",
            flag("Whether an earlier version of the file is still served."),
        ),
    ])
}

fn version() -> Value {
    object([
        ("digest", text("SHA-256 of the component.")),
        ("size", count("Its size in bytes.")),
        ("sdk", text("What it was built with.")),
        ("taken_at", instant("When it was taken in.")),
        ("proven", flag("Whether it completed a job.")),
        (
            "quarantine",
            or_null(object([
                ("since", instant("Since when it is held back.")),
                ("why", text("Why.")),
                ("by_hand", flag("Whether a person said so.")),
            ])),
        ),
    ])
}
