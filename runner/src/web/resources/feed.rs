//! Changes of jobs as they happen, as server-sent events. A reader that is slow is told how many it missed;
//! nobody waits for it.

use std::{fmt::Write as _, sync::Arc, time::Duration};

use bytes::Bytes;
use sandhog_model::JobId;
use serde_json::json;
use tokio::{
    sync::{
        broadcast::{
            self,
            error::{RecvError, TryRecvError},
        },
        mpsc,
    },
    time::{Instant, MissedTickBehavior, interval_at},
};

use crate::{
    store::JobChange,
    web::{
        answer::{Answer, Flow, Outcome},
        call::Call,
        form::{Form, param},
        problem::Code,
        route::{Gives, Route, run},
        site::Site,
    },
};

/// How often a word is said when there is nothing to tell, so that whoever is between keeps the
/// connection open.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Most bytes of events that are sent as one part.
const PART_BYTES: usize = 16 << 10;
const EVENT_STREAM: &str = "text/event-stream";

pub(super) const ROUTES: &[Route] = &[Route::get(
    "/api/v1/events",
    "watchJobs",
    "Changes of jobs from now on, each told once it is durable. `hello` comes first, with `resumed` false: what happened before is not told again, so list what you show once it is there. `job` has a job's `id` and `state`; `missed` says how many changes this reader was too slow for: list again.",
    Gives::Other(EVENT_STREAM),
    run!(watch),
)
.query(&[
    param("job", Form::Id("job"), "Only of this job."),
    param("ends", Form::Flag, "Only the ends of jobs."),
])
.may(&[Code::Stopping])];

async fn watch(site: Arc<Site>, call: Call) -> Outcome {
    let meant = Meant {
        only: call.given("job")?,
        ends: call.given("ends")?.unwrap_or(false),
    };
    let place = site.place()?;
    // From here on, so that nothing falls between the first word and the first change.
    let changes = site.ctx.store.changes();
    let (to, flow) = Flow::new();
    tokio::spawn(async move {
        let _place = place;
        tell(&site, &meant, changes, &to).await;
    });
    Ok(Answer::Flow(EVENT_STREAM, flow))
}

/// Which changes a reader wants.
struct Meant {
    only: Option<JobId>,
    ends: bool,
}

impl Meant {
    fn fits(&self, change: &JobChange) -> bool {
        self.only.is_none_or(|only| only == change.id) && (!self.ends || change.state.is_final())
    }
}

/// Until the reader or the server goes.
async fn tell(
    site: &Site,
    meant: &Meant,
    mut changes: broadcast::Receiver<JobChange>,
    to: &mpsc::Sender<Bytes>,
) {
    let mut tick = interval_at(Instant::now() + KEEP_ALIVE, KEEP_ALIVE);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut part = "retry: 2000\n".to_owned();
    event(&mut part, "hello", &json!({ "resumed": false }));
    loop {
        // Waits for a slow reader. Meanwhile changes are counted as missed, and nobody else waits.
        let full = std::mem::take(&mut part);
        if !full.is_empty() && to.send(full.into()).await.is_err() {
            return;
        }
        let change = tokio::select! {
            change = changes.recv() => change,
            _ = tick.tick() => {
                part.push_str(": nothing new\n\n");
                continue;
            }
            () = to.closed() => return,
            () = site.stopped() => return,
        };
        let mut next = Some(change);
        // What is there already goes along.
        while let Some(change) = next.take() {
            match change {
                Ok(change) if meant.fits(&change) => {
                    let data = json!({ "id": change.id, "state": change.state });
                    event(&mut part, "job", &data);
                }
                Ok(_) => {}
                Err(RecvError::Lagged(missed)) => {
                    event(&mut part, "missed", &json!({ "changes": missed }));
                }
                Err(RecvError::Closed) => return,
            }
            if part.len() >= PART_BYTES {
                break;
            }
            next = match changes.try_recv() {
                Ok(change) => Some(Ok(change)),
                Err(TryRecvError::Lagged(missed)) => Some(Err(RecvError::Lagged(missed))),
                Err(TryRecvError::Empty | TryRecvError::Closed) => None,
            };
        }
    }
}

fn event(part: &mut String, name: &str, data: &serde_json::Value) {
    // Writing to a text does not fail.
    let _ = write!(part, "event: {name}\ndata: {data}\n\n");
}
