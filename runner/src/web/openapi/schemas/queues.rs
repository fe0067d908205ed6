//! Queues and schedules.

use sandhog_model::State;
use serde_json::{Value, json};

use super::{
    super::schema::{
        closed, count, flag, id, instant, kind_or_queue, list, name, object, one_of, or_null,
        range, span, text, without,
    },
    Named, page,
};

pub(super) fn all() -> Named {
    vec![
        ("Queue", queue()),
        ("QueuePage", page("queues", "Queue")),
        ("Limits", new_limits()),
        ("Schedule", schedule()),
        ("SchedulePage", page("schedules", "Schedule")),
        (
            "ScheduleChanged",
            object([
                ("job", or_null(id("The job that was enqueued."))),
                ("schedule", or_null(name("Schedule"))),
            ]),
        ),
        ("NewSchedule", new_schedule()),
        ("Slots", object([("slots", list(slot()))])),
    ]
}

/// How many jobs are in each state.
pub(super) fn counts() -> Value {
    object(State::ALL.map(|state| (state.name(), count("Jobs in this state."))))
}

fn queue() -> Value {
    object([
        ("queue", text("Its name.")),
        ("jobs", counts()),
        (
            "reason",
            or_null(text("Why due jobs wait, when it is not for a free worker.")),
        ),
        (
            "mode",
            text("What it does: `open`, `paused` or `draining`."),
        ),
        ("weight", count("Its share beside other queues.")),
        ("max_depth", or_null(count("Jobs that may wait in it."))),
        ("limits", limits("The limits that count.")),
        ("set", limits("Those of them that people set.")),
        (
            "oldest_due",
            or_null(instant(
                "When the due job became due that has waited longest; null when none is due, or when they are of more groups than are looked at.",
            )),
        ),
    ])
}

fn limits(says: &str) -> Value {
    let mut limits = object([
        (
            "concurrency",
            or_null(count("Attempts of it that run at a time.")),
        ),
        ("rate", or_null(text("Attempts of it that begin."))),
        (
            "group_concurrency",
            or_null(count("Attempts of one of its groups that run at a time.")),
        ),
        (
            "group_rate",
            or_null(text("Attempts of one of its groups that begin.")),
        ),
    ]);
    limits["description"] = says.into();
    limits
}

fn new_limits() -> Value {
    let rate = |says: &str| {
        or_null(json!({
            "type": "string",
            "pattern": "^[1-9][0-9]{0,5}/[1-9][0-9]?(s|m|h)$",
            "description": says,
        }))
    };
    let most = |says: &str| or_null(range(1, 1_000_000, says));
    closed(
        &[],
        [
            ("concurrency", most("Attempts of it that run at a time.")),
            (
                "rate",
                rate("Attempts of it that begin, such as `100/1m` or `100/1m burst 10`."),
            ),
            (
                "group_concurrency",
                most("Attempts of one of its groups that run at a time."),
            ),
            (
                "group_rate",
                rate("Attempts of one of its groups that begin."),
            ),
        ],
    )
}

fn schedule() -> Value {
    object([
        ("name", text("Its name.")),
        ("schedule", or_null(text("Its expression."))),
        ("zone", or_null(text("The zone whose clocks count."))),
        ("kind", or_null(text("The kind of its jobs."))),
        ("queue", or_null(text("Their queue, when it names one."))),
        (
            "added",
            flag("Whether it was added while a runner was up; else it stands in the settings."),
        ),
        (
            "fault",
            or_null(text("Why it does not run, if it does not.")),
        ),
        ("next", or_null(instant("Its next slot."))),
        (
            "last_slot",
            or_null(instant("The latest slot that had a job.")),
        ),
        ("latest_job", or_null(id("Its latest job."))),
        ("latest_state", or_null(name("State"))),
        (
            "waiting_slot",
            or_null(instant("A slot that waits for the job before it.")),
        ),
        (
            "paused",
            or_null(object([
                ("at", instant("When.")),
                ("by", text("By whom.")),
                ("reason", or_null(text("Why."))),
            ])),
        ),
    ])
}

fn new_schedule() -> Value {
    closed(
        &["schedule", "kind"],
        [
            (
                "schedule",
                json!({
                    "type": "string", "pattern": "^[0-9]{1,2} [0-9]{1,2} \\* \\* \\*$",
                    "description": "When, such as `30 2 * * *`; `docs/cron.md` has all of it.",
                }),
            ),
            ("kind", kind_or_queue("The kind of its jobs.")),
            (
                "zone",
                or_null(json!({
                    "type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_+-]{0,30}(/[A-Za-z0-9_+-]{1,30}){0,2}$",
                    "examples": ["UTC", "Europe/Paris", "America/New_York"],
                    "description": "The zone whose clocks count: one of the IANA database.",
                })),
            ),
            ("queue", or_null(kind_or_queue("Their queue."))),
            (
                "priority",
                or_null(range(i16::MIN.into(), i16::MAX.into(), "Their priority.")),
            ),
            (
                "payload",
                or_null(text(
                    "Their payload: JSON when it reads as JSON, otherwise text.",
                )),
            ),
            (
                "overlap",
                or_null(one_of(
                    &["skip", "buffer_one", "allow", "cancel_other"],
                    "While the job before has not ended.",
                )),
            ),
            (
                "catch_up",
                or_null(one_of(
                    &["none", "latest", "all"],
                    "For slots that were missed.",
                )),
            ),
            (
                "catch_up_window",
                or_null(span("How far back missed slots count.")),
            ),
            (
                "jitter",
                or_null(span("Up to how long after its slot a job becomes due.")),
            ),
        ],
    )
}

fn slot() -> Value {
    let change = object([
        ("at", text("The instant.")),
        ("from", text("What clocks show before.")),
        ("to", text("What they show after.")),
        ("dst", flag("Whether it is for daylight saving.")),
    ]);
    let slot = object([
        ("utc", instant("The instant.")),
        (
            "local",
            text("What clocks of the zone show, with their offset."),
        ),
        ("weekday", text("The day.")),
        ("zone", text("The zone.")),
        ("abbreviation", text("What the zone's time is called then.")),
        ("clock_change", or_null(change)),
        (
            "pass",
            or_null(one_of(
                &["first", "second"],
                "Which, of a time that comes twice.",
            )),
        ),
        (
            "moved",
            flag("Whether the time asked for is skipped that day."),
        ),
    ]);
    without(slot, &[])
}
