//! Queues, and their limits.

use std::sync::Arc;

use sandhog_model::{QueueLimits, QueueMode, Rate};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::jobs::Nothing;
use crate::{
    api::{QueueView, Request, Response, by_name},
    json::shapes,
    store::Steer,
    web::{
        answer::{Answer, Outcome},
        call::Call,
        form::{CURSOR, Form, LIMIT, Param, param},
        problem::{Code, Problem},
        route::{Gives, Route, Size, Takes, Verb, run},
        site::{Site, ask, mismatch},
        token::Role,
    },
};

const QUEUE: &[Param] = &[param("queue", Form::Name, "The queue.")];
const MAY: &[Code] = &[Code::Invalid, Code::Full, Code::Poisoned, Code::Stopping];

pub(super) const ROUTES: &[Route] = &[
    Route::get(
        "/api/v1/queues",
        "listQueues",
        "Queues by name, with their jobs by state, their limits, and why jobs wait.",
        Gives::Json(&[200], "QueuePage"),
        run!(list),
    )
    .query(&[LIMIT, CURSOR]),
    steering("/api/v1/queues/{queue}/pause", "pauseQueue", "Begin no job of the queue any more; it goes on taking jobs in.", run!(pause)),
    steering("/api/v1/queues/{queue}/resume", "resumeQueue", "Open a queue again that was paused or drained.", run!(resume)),
    steering("/api/v1/queues/{queue}/drain", "drainQueue", "Take no job in any more; what is there goes on being run.", run!(drain)),
    Route::write(
        (Verb::Put, Role::Operator),
        "/api/v1/queues/{queue}/limits",
        "setLimits",
        "Set limits of a queue, above those of the settings. What is left out stays as it is; null takes a limit away that was set here.",
        Gives::Json(&[200], "Queue"),
        run!(set_limits),
    )
    .at(QUEUE)
    .takes(Takes::Json("Limits", Size::Small))
    .may(MAY),
    Route::write(
        (Verb::Delete, Role::Operator),
        "/api/v1/queues/{queue}/limits",
        "resetLimits",
        "Let the settings count again for a queue.",
        Gives::Json(&[200], "Queue"),
        run!(reset_limits),
    )
    .at(QUEUE)
    .may(MAY),
];

const fn steering(
    path: &'static str,
    name: &'static str,
    says: &'static str,
    run: crate::web::route::Run,
) -> Route {
    let gives = Gives::Json(&[200], "Queue");
    Route::write((Verb::Post, Role::Operator), path, name, says, gives, run)
        .at(QUEUE)
        .takes(Takes::Maybe("Nothing"))
        .may(MAY)
}

async fn list(site: Arc<Site>, call: Call) -> Outcome {
    let queues = ask!(site, call, Request::Queues, Queues);
    let (queues, next) = by_name(queues, |queue| &queue.row.queue, &call.page()?);
    let rows = queues.iter().map(shape).collect();
    Answer::rows("queues", rows, next)
}

fn shape(queue: &QueueView) -> Value {
    shapes::queue(&queue.row, queue.reason.as_deref())
}

async fn pause(site: Arc<Site>, call: Call) -> Outcome {
    turn(site, call, QueueMode::Paused).await
}

async fn resume(site: Arc<Site>, call: Call) -> Outcome {
    turn(site, call, QueueMode::Open).await
}

async fn drain(site: Arc<Site>, call: Call) -> Outcome {
    turn(site, call, QueueMode::Draining).await
}

async fn turn(site: Arc<Site>, call: Call, mode: QueueMode) -> Outcome {
    let Nothing {} = call.body()?;
    steer(site, call, Some(mode), None).await
}

/// A field that may be left out, null, or say something.
#[derive(Default)]
enum Said<T> {
    #[default]
    Nothing,
    Null,
    Value(T),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Said<T> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        Ok(match Option::deserialize(json)? {
            Some(value) => Self::Value(value),
            None => Self::Null,
        })
    }
}

impl<T> Said<T> {
    fn or(self, before: Option<T>) -> Option<T> {
        match self {
            Self::Nothing => before,
            Self::Null => None,
            Self::Value(value) => Some(value),
        }
    }
}

/// Limits as JSON says them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
struct Limits {
    concurrency: Said<u32>,
    rate: Said<String>,
    group_concurrency: Said<u32>,
    group_rate: Said<String>,
}

async fn set_limits(site: Arc<Site>, call: Call) -> Outcome {
    let said: Limits = call.whole_body()?;
    let queue: String = call.path("queue")?;
    let before = find(&site, &call, &queue).await?;
    let before = before.map(|view| view.row.set).unwrap_or_default();
    let rate = |said: Said<String>, before: Option<Rate>| match said {
        Said::Nothing => Ok(before),
        Said::Null => Ok(None),
        Said::Value(text) => text
            .parse()
            .map(Some)
            .map_err(|why| Problem::new(Code::Invalid, format!("the rate {text:?}: {why}"))),
    };
    let limits = QueueLimits {
        concurrency: said.concurrency.or(before.concurrency),
        rate: rate(said.rate, before.rate)?,
        group_concurrency: said.group_concurrency.or(before.group_concurrency),
        group_rate: rate(said.group_rate, before.group_rate)?,
    };
    limits
        .check()
        .map_err(|why| Problem::new(Code::Invalid, why))?;
    steer(site, call, None, Some(limits)).await
}

async fn reset_limits(site: Arc<Site>, call: Call) -> Outcome {
    steer(site, call, None, Some(QueueLimits::default())).await
}

async fn steer(
    site: Arc<Site>,
    call: Call,
    mode: Option<QueueMode>,
    limits: Option<QueueLimits>,
) -> Outcome {
    let queue: String = call.path("queue")?;
    let steer = Steer {
        queue: queue.clone(),
        mode,
        limits,
        by: call.by(),
    };
    match site.ask(Request::Steer(steer), &call.asking).await? {
        Response::Steered => {}
        other => return Err(mismatch(&other)),
    }
    let there = find(&site, &call, &queue).await?;
    let there = there.map_or_else(|| shapes::no_queue(&queue), |view| shape(&view));
    Answer::json(there)
}

async fn find(site: &Site, call: &Call, queue: &str) -> Result<Option<QueueView>, Problem> {
    let queues = ask!(site, call, Request::Queues, Queues);
    Ok(queues.into_iter().find(|view| view.row.queue == queue))
}
