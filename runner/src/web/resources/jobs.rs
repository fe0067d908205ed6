//! Jobs: enqueued, shown, called off, tried again.

use std::sync::Arc;

use http::StatusCode;
use sandhog_model::{JobId, NewJob, State, limits};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use crate::{
    api::{ApiError, Enqueued, JOBS_PER_ENQUEUE, Nth, Request, check_job},
    engine::CRON_HEADER,
    json::{
        new_job::{self, LineError},
        shapes,
    },
    store::{JobFilter, JobView},
    traces,
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

/// Jobs that are not right and are told of.
const TOLD: usize = 20;
const STATES: [&str; State::ALL.len()] = {
    let mut names = [""; State::ALL.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = State::ALL[at].name();
        at += 1;
    }
    names
};
pub(super) const ID: &[Param] = &[param("id", Form::Id("job"), "The job.")];
pub(super) const OPERATOR: (Verb, Role) = (Verb::Post, Role::Operator);
const ENQUEUE_MAY: &[Code] = &[
    Code::Invalid,
    Code::Duplicate,
    Code::BatchClosed,
    Code::NotFound,
    Code::QueueFull,
    Code::Full,
    Code::Poisoned,
    Code::Stopping,
];

pub(super) const ROUTES: &[Route] = &[
    Route::write(
        OPERATOR,
        "/api/v1/jobs",
        "enqueueJob",
        "Enqueue a job. 201 when it is new, 200 when the one it asks for was there: the same `Idempotency-Key`, or a unique job that is kept.",
        Gives::Json(&[200, 201], "Enqueued"),
        run!(enqueue),
    )
    .takes(Takes::Json("NewJob", Size::Job))
    .may(ENQUEUE_MAY),
    Route::write(
        OPERATOR,
        "/api/v1/jobs/bulk",
        "enqueueJobs",
        "Enqueue many jobs. One that is not right in itself refuses them all before any is enqueued; a refusal for the sake of what is there, such as a duplicate or a full queue, stands in its place.",
        Gives::Json(&[200], "EnqueuedJobs"),
        run!(enqueue_many),
    )
    .takes(Takes::Json("NewJobs", Size::Jobs))
    .may(&[Code::Invalid, Code::Full, Code::Poisoned, Code::Stopping]),
    Route::get(
        "/api/v1/jobs",
        "listJobs",
        "Jobs, newest first; or, with `order` `due`, those that are `scheduled` or `retryable` by when they are due, the earliest first, which \
         `parent`, `tag` and `cron` do not go with.",
        Gives::Json(&[200], "JobPage"),
        run!(list),
    )
    .query(&[
        param("state", Form::OneOf(&STATES), "Only in this state."),
        param("queue", Form::Name, "Only in this queue."),
        param("kind", Form::Name, "Only of this kind."),
        param("parent", Form::Id("job"), "Only enqueued by this job."),
        param("tag", Form::Text(64), "Only with this tag."),
        param("batch", Form::Id("batch"), "Only in this batch."),
        param("cron", Form::Name, "Only of this schedule."),
        param("since", Form::Instant, "Only accepted at this instant or later."),
        param("until", Form::Instant, "Only accepted before this instant."),
        param("order", Form::OneOf(&["newest", "due"]), "In which order; `newest` when not given."),
        LIMIT,
        CURSOR,
    ])
    .may(&[Code::Invalid]),
    Route::get(
        "/api/v1/jobs/{id}",
        "getJob",
        "One job with its history. Of its attempts only the latest keeps its log lines.",
        Gives::Json(&[200], "Job"),
        run!(show),
    )
    .at(ID)
    .may(&[Code::NotFound]),
    Route::get(
        "/api/v1/jobs/{id}/logs",
        "getJobLogs",
        "What an attempt logged and printed.",
        Gives::Json(&[200], "Logs"),
        run!(logs),
    )
    .at(ID)
    .query(&[
        param(
            "attempt",
            Form::Count { min: 1, max: u32::MAX as u64 },
            "Of which attempt, the latest of that number; the latest when not given, one that runs included.",
        ),
        param(
            "in_all",
            Form::Count { min: 1, max: u32::MAX as u64 },
            "Of which of all its attempts instead, those before it was brought back included.",
        ),
    ])
    .may(&[Code::NotFound]),
];

async fn enqueue(site: Arc<Site>, call: Call) -> Outcome {
    let mut job = read(&site, call.sound_body()?, "", &NewJob::default())?;
    carry(&call, &mut job);
    if let Some(key) = &call.idempotency_key {
        if job
            .idempotency_key
            .as_ref()
            .is_some_and(|other| other != key)
        {
            return Err(Problem::malformed(
                "the header `Idempotency-Key` and the field `idempotency_key` differ",
            ));
        }
        job.idempotency_key = Some(key.clone());
    }
    let jobs = vec![job];
    let mut answers = ask!(site, call, Request::Enqueue { jobs }, Enqueued);
    let answer = answers.pop().ok_or_else(nothing)??;
    let status = match answer.existing {
        true => StatusCode::OK,
        false => StatusCode::CREATED,
    };
    Ok(Answer::Json(status, shapes::enqueued(&answer)))
}

async fn enqueue_many(site: Arc<Site>, call: Call) -> Outcome {
    many(&site, &call, None).await
}

/// Enqueue the jobs of a body, all of them into a batch when one is given.
pub(super) async fn many(site: &Site, call: &Call, batch: Option<JobId>) -> Outcome {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Many<'a> {
        #[serde(borrow)]
        jobs: Vec<&'a RawValue>,
    }
    let many: Many<'_> = serde_json::from_str(call.sound_body()?)
        .map_err(|error| Problem::malformed(format!("the body: {error}")))?;
    let count = many.jobs.len();
    if !(1..=JOBS_PER_ENQUEUE).contains(&count) {
        return Err(Problem::malformed(format!(
            "{count} jobs in one request: allowed are 1 to {JOBS_PER_ENQUEUE}"
        )));
    }
    let mut jobs = all_right(site, &many.jobs, batch)?;
    for job in &mut jobs {
        carry(call, job);
    }
    let answers = ask!(site, call, Request::Enqueue { jobs }, Enqueued);
    let told = |answer: &Result<Enqueued, ApiError>| match answer {
        Ok(job) => shapes::enqueued(job),
        Err(error) => shapes::refused(error),
    };
    Answer::json(json!({ "jobs": answers.iter().map(told).collect::<Value>() }))
}

/// The jobs, when each is right in itself; else what is wrong with those that are not. Nothing was done then.
fn all_right(
    site: &Site,
    jobs: &[&RawValue],
    batch: Option<JobId>,
) -> Result<Vec<NewJob>, Problem> {
    let pattern = NewJob {
        batch,
        ..NewJob::default()
    };
    let now = site.ctx.clock.now().wall;
    let (mut right, mut wrong) = (Vec::with_capacity(jobs.len()), Vec::new());
    for (number, raw) in jobs.iter().enumerate() {
        let place = format!(" `jobs[{number}]`");
        let checked = read(site, raw.get(), &place, &pattern)
            .and_then(|job| match batch {
                Some(_) => new_job::goes_into(batch, &job)
                    .map(|()| job)
                    .map_err(|error| at(&place, &error)),
                None => Ok(job),
            })
            .and_then(|job| {
                let checked = check_job(job.clone(), now, site.ctx.payload_bytes);
                checked.map(|()| job).map_err(|error| {
                    let why = format!("`jobs[{number}]`: {error}");
                    Problem::new(Code::from(error.code), why)
                })
            });
        match checked {
            Ok(job) => right.push(job),
            Err(problem) => wrong.push(problem),
        }
    }
    let Some(first) = wrong.first() else {
        return Ok(right);
    };
    let told: Vec<&str> = wrong.iter().take(TOLD).map(|one| &*one.detail).collect();
    let mut told = told.join("; ");
    if wrong.len() > TOLD {
        told += &format!("; and {} more", wrong.len() - TOLD);
    }
    told += ". Nothing was enqueued";
    Err(Problem::new(first.code, told))
}

/// A job as JSON says it.
fn read(site: &Site, text: &str, place: &str, pattern: &NewJob) -> Result<NewJob, Problem> {
    let now = site.ctx.clock.now().wall;
    new_job::parse(text, pattern, now).map_err(|error| at(place, &error))
}

fn at(place: &str, error: &LineError) -> Problem {
    Problem::malformed(format!("the body{place}: {error}"))
}

/// Have a job carry the trace of its request, unless it says one itself.
fn carry(call: &Call, job: &mut NewJob) {
    let says = job.headers.iter().any(|(key, _)| key == traces::HEADER);
    // A job may have so many headers, and what it says itself comes first.
    let has_room = !says && job.headers.len() < limits::HEADERS;
    if let Some(context) = call.traceparent.as_ref().filter(|_| has_room) {
        let header = (traces::HEADER.to_owned(), context.clone());
        job.headers.push(header);
    }
}

pub(super) fn nothing() -> Problem {
    Problem::new(Code::Internal, "the runner gave no answer")
}

/// The header that jobs of the schedule have that is asked for.
pub(in crate::web) fn of_schedule(call: &Call) -> Option<(String, String)> {
    Some((CRON_HEADER.to_owned(), call.owned("cron")?))
}

async fn list(site: Arc<Site>, call: Call) -> Outcome {
    let filter = JobFilter {
        states: call.given("state")?.into_iter().collect(),
        queue: call.owned("queue"),
        kind: call.owned("kind"),
        parent: call.given("parent")?,
        tag: call.owned("tag"),
        since: call.instant("since")?,
        until: call.instant("until")?,
        batch: call.given("batch")?,
        header: of_schedule(&call),
        by_due: call.text("order") == Some("due"),
    };
    let page = call.page()?;
    let page = ask!(site, call, Request::Jobs { filter, page }, Jobs);
    let rows = page.rows.iter().map(shapes::job_row).collect();
    Answer::rows("jobs", rows, page.next)
}

async fn show(site: Arc<Site>, call: Call) -> Outcome {
    let id: JobId = call.path("id")?;
    let view = ask!(site, call, Request::Job { id }, Job);
    Answer::json(whole(&site, &view))
}

/// A job with what its running attempt last reported.
pub(super) fn whole(site: &Site, view: &JobView) -> Value {
    let mut value = shapes::job(view);
    let live = site
        .ctx
        .running
        .as_ref()
        .filter(|_| view.row.state == State::Running);
    let live = live.and_then(|running| running.live(view.row.id));
    value["progress"] = json!(live.and_then(|live| live.progress));
    value
}

async fn logs(site: Arc<Site>, call: Call) -> Outcome {
    let (id, number, in_all) = (
        call.path("id")?,
        call.given("attempt")?,
        call.given("in_all")?,
    );
    let attempt = in_all.map(Nth::InAll).or(number.map(Nth::Number));
    let logs = ask!(site, call, Request::Logs { id, attempt }, Logs);
    Answer::json(shapes::logs(&logs))
}

/// Why someone calls something off.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Reason {
    pub(super) reason: Option<String>,
}

/// Nothing more to say.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}
