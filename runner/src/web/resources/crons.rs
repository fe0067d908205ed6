//! Schedules: listed, paused, run out of their turn, added and taken away; and the slots of an expression.

use std::sync::Arc;

use sandhog_cron::{Schedule, Zone, plan::timestamp};
use sandhog_model::UnixMs;
use serde::Deserialize;
use serde_json::{Value, json};

use super::jobs::{Nothing, Reason};
use crate::{
    api::{CronAct, Request, by_name},
    json::cron as shapes,
    web::{
        answer::{Answer, Outcome},
        call::Call,
        form::{CURSOR, Form, LIMIT, Param, param},
        problem::{Code, Problem},
        route::{Gives, Route, Size, Takes, Verb, run},
        site::{Site, ask},
        token::Role,
    },
};

const NAME: &[Param] = &[param("name", Form::Name, "The schedule.")];
const MAY: &[Code] = &[
    Code::NotFound,
    Code::Invalid,
    Code::WrongState,
    Code::Duplicate,
    Code::QueueFull,
    Code::Full,
    Code::Poisoned,
    Code::Stopping,
];
const GIVES: Gives = Gives::Json(&[200], "ScheduleChanged");

pub(super) const ROUTES: &[Route] = &[
    Route::get(
        "/api/v1/crons",
        "listSchedules",
        "Schedules by name, with their next slot and latest job.",
        Gives::Json(&[200], "SchedulePage"),
        run!(list),
    )
    .query(&[LIMIT, CURSOR]),
    Route::get(
        "/api/v1/crons/next",
        "nextSlots",
        "The slots of an expression to come, whether a schedule has it or not.",
        Gives::Json(&[200], "Slots"),
        run!(next),
    )
    .query(&[
        param(
            "schedule",
            Form::Text(1_024),
            "The expression, such as `30 2 * * MON-FRI`. Must be there.",
        ),
        param(
            "zone",
            Form::Text(64),
            "The zone whose clocks count; UTC when not given.",
        ),
        param(
            "after",
            Form::Instant,
            "Slots after this instant; now when not given.",
        ),
        param(
            "count",
            Form::Count { min: 1, max: 1_000 },
            "How many; 10 when not given.",
        ),
    ])
    .may(&[Code::Invalid]),
    act(
        "/api/v1/crons/{name}/pause",
        "pauseSchedule",
        "Give its slots no jobs until it is resumed.",
        run!(pause),
    )
    .takes(Takes::Maybe("Reason")),
    act(
        "/api/v1/crons/{name}/resume",
        "resumeSchedule",
        "Give its slots jobs again, from now on.",
        run!(resume),
    ),
    act(
        "/api/v1/crons/{name}/trigger",
        "triggerSchedule",
        "Enqueue its job now, outside of its slots.",
        run!(trigger),
    ),
    Route::write(
        (Verb::Put, Role::Admin),
        "/api/v1/crons/{name}",
        "putSchedule",
        "Add a schedule, or change one that was added; it lasts over restarts.",
        GIVES,
        run!(put),
    )
    .at(NAME)
    .takes(Takes::Json("NewSchedule", Size::Job))
    .may(MAY),
    Route::write(
        (Verb::Delete, Role::Admin),
        "/api/v1/crons/{name}",
        "deleteSchedule",
        "Take away a schedule that was added; its jobs stay.",
        GIVES,
        run!(delete),
    )
    .at(NAME)
    .may(MAY),
];

const fn act(
    path: &'static str,
    name: &'static str,
    says: &'static str,
    run: crate::web::route::Run,
) -> Route {
    Route::write((Verb::Post, Role::Operator), path, name, says, GIVES, run)
        .at(NAME)
        .takes(Takes::Maybe("Nothing"))
        .may(MAY)
}

async fn list(site: Arc<Site>, call: Call) -> Outcome {
    let crons = ask!(site, call, Request::Crons, Crons);
    let (crons, next) = by_name(crons, |cron| &cron.name, &call.page()?);
    let rows = crons.iter().map(shapes::entry).collect();
    Answer::rows("schedules", rows, next)
}

async fn next(site: Arc<Site>, call: Call) -> Outcome {
    let expression: String = call.path("schedule")?;
    let zone = call.text("zone").unwrap_or("UTC");
    let after = call.instant("after")?.unwrap_or(site.ctx.clock.now().wall);
    let count = call.given("count")?.unwrap_or(10);
    let slots = slots((&expression, zone), after, count)?;
    Answer::json(json!({ "slots": slots }))
}

/// So many slots of an expression in a zone.
pub(in crate::web) fn slots(
    (expression, zone): (&str, &str),
    after: UnixMs,
    count: usize,
) -> Result<Vec<Value>, Problem> {
    let invalid = |why: String| Problem::new(Code::Invalid, why);
    let zone = Zone::named(zone).map_err(|error| invalid(error.to_string()))?;
    let schedule = Schedule::parse(expression, zone);
    let schedule = schedule.map_err(|error| invalid(error.to_string()))?;
    if schedule.is_at_start() {
        let why = "`@reboot`: has no slots to show, it is each start of the runner";
        return Err(invalid(why.to_owned()));
    }
    let after = timestamp(after);
    let after = after.ok_or_else(|| invalid("`after` is behind the end of the calendar".into()))?;
    let slots = schedule.slots_after(after).take(count);
    let slots = slots.map(|at| shapes::slot(schedule.zone(), &schedule.slot(at)));
    Ok(slots.collect())
}

async fn change(site: &Site, call: &Call, act: CronAct) -> Outcome {
    let name = call.path("name")?;
    let done = ask!(site, call, Request::ActOnCron { name, act }, ActedOnCron);
    Answer::json(shapes::acted(&done))
}

async fn pause(site: Arc<Site>, call: Call) -> Outcome {
    let Reason { reason } = call.body()?;
    let by = call.by();
    change(&site, &call, CronAct::Pause { by, reason }).await
}

async fn resume(site: Arc<Site>, call: Call) -> Outcome {
    let Nothing {} = call.body()?;
    change(&site, &call, CronAct::Resume).await
}

async fn trigger(site: Arc<Site>, call: Call) -> Outcome {
    let Nothing {} = call.body()?;
    change(&site, &call, CronAct::Trigger).await
}

/// A schedule as JSON says it: the keys of `[cron.NAME]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct New {
    schedule: String,
    kind: String,
    zone: Option<String>,
    queue: Option<String>,
    priority: Option<i16>,
    payload: Option<String>,
    overlap: Option<String>,
    catch_up: Option<String>,
    catch_up_window: Option<String>,
    jitter: Option<String>,
}

async fn put(site: Arc<Site>, call: Call) -> Outcome {
    let new: New = call.whole_body()?;
    let texts = [
        ("schedule", Some(new.schedule)),
        ("kind", Some(new.kind)),
        ("zone", new.zone),
        ("queue", new.queue),
        ("payload", new.payload),
        ("overlap", new.overlap),
        ("catch_up", new.catch_up),
        ("catch_up_window", new.catch_up_window),
        ("jitter", new.jitter),
    ];
    let entry = shapes::table(texts, new.priority.map(i64::from));
    change(&site, &call, CronAct::Add { entry }).await
}

async fn delete(site: Arc<Site>, call: Call) -> Outcome {
    change(&site, &call, CronAct::Remove).await
}
