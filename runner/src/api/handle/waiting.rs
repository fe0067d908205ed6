//! Waiting for a job's end, and why jobs wait.

use std::{collections::BTreeSet, future::Future, pin::pin, time::Duration};

use sandhog_model::{JobId, QueueMode, State};
use tokio::{
    sync::broadcast::{self, error::RecvError},
    time::{Instant, timeout_at},
};

use super::{ROWS, job, keep_latest_logs};
use crate::{
    api::{ApiError, Ctx, ErrorCode, WAIT_MS, Waited},
    engine::Mode,
    store::{JobChange, JobFilter, PageRequest, QueueRow},
};

/// How a job stands once it ended, or when the time is over.
pub(super) async fn wait(ctx: &Ctx, id: JobId, timeout_ms: u64) -> Result<Waited, ApiError> {
    let deadline = Instant::now() + Duration::from_millis(timeout_ms.min(WAIT_MS));
    // Before the first look, so that no change falls between the two.
    let mut changes = ctx.store.changes();
    loop {
        let mut view = job(ctx, id).await?;
        if view.row.state.is_final() {
            keep_latest_logs(&mut view.attempts);
            return Ok(Waited {
                row: view.row.clone(),
                progress: None,
                reason: None,
                ended: Some(view),
            });
        }
        let Some(running) = &ctx.running else {
            return Err(ApiError::new(
                ErrorCode::NoRunner,
                format!(
                    "job {id} is {} and no runner is up to run it",
                    view.row.state
                ),
            ));
        };
        let changed = pin!(changed(&mut changes, id));
        if told(deadline, changed).await {
            continue;
        }
        let reason = (view.row.state == State::Available)
            .then(|| unserved(ctx, [view.row.kind.as_str()].into_iter()).or_else(|| quiet(ctx)))
            .flatten();
        return Ok(Waited {
            progress: running.live(id).and_then(|live| live.progress),
            row: view.row,
            reason,
            ended: None,
        });
    }
}

async fn told(deadline: Instant, changed: impl Future<Output = ()>) -> bool {
    timeout_at(deadline, changed).await.is_ok()
}

/// Resolves when the job may have changed.
async fn changed(changes: &mut broadcast::Receiver<JobChange>, id: JobId) {
    loop {
        match changes.recv().await {
            Ok(change) if change.id != id => {}
            // Missed changes may have been this job's.
            Ok(_) | Err(RecvError::Lagged(_)) => return,
            // The store is closing: nothing will change any more.
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}

/// Why due jobs of a queue wait, when it is not for a free worker.
pub(super) async fn of_queue(ctx: &Ctx, row: &QueueRow) -> Result<Option<String>, ApiError> {
    let due = row
        .counts
        .iter()
        .any(|(state, count)| *state == State::Available && *count > 0);
    if !due {
        return Ok(None);
    }
    if let Some(reason) = held(row) {
        return Ok(Some(reason));
    }
    if ctx.running.is_none() {
        return Ok(Some("no runner is up: `sandhog start`".into()));
    }
    // The newest thousand stand for all: a kind that only older jobs have is told once those are
    // done.
    let filter = JobFilter {
        states: vec![State::Available],
        queue: Some(row.queue.clone()),
        ..JobFilter::default()
    };
    let page = PageRequest {
        limit: ROWS,
        cursor: None,
    };
    let rows = ctx.store.jobs(filter, page).await?.rows;
    let kinds: BTreeSet<&str> = rows.iter().map(|row| row.kind.as_str()).collect();
    let reason = unserved(ctx, kinds.into_iter()).or_else(|| quiet(ctx));
    Ok(reason.or_else(|| crowded(ctx)))
}

/// The sentence that says that nothing is claimed, if so.
fn quiet(ctx: &Ctx) -> Option<String> {
    match ctx.running.as_ref()?.mode() {
        Mode::Running => None,
        Mode::Quiet => Some("the workers are quiet: `sandhog worker resume`".into()),
        Mode::Stopping => Some("the runner is stopping".into()),
    }
}

/// Why a queue gives out nothing, when that was said of it.
fn held(row: &QueueRow) -> Option<String> {
    let queue = &row.queue;
    if row.mode == QueueMode::Paused {
        return Some(format!("it is paused: `sandhog queue resume {queue}`"));
    }
    let most = row.limits.concurrency?;
    let running = row.counts.iter().find(|(one, _)| *one == State::Running);
    let running = running.map_or(0, |(_, count)| *count);
    (running >= u64::from(most))
        .then(|| format!("{running} of it run, as many as its `concurrency` lets"))
}

/// The sentence that says that memory is short, if it is.
fn crowded(ctx: &Ctx) -> Option<String> {
    let memory = ctx.running.as_ref()?.memory();
    (memory.short || memory.waiting > 0).then(|| {
        format!(
            "running attempts hold {} of the {} MiB that `memory_budget` under [runner] lets them have",
            memory.held >> 20,
            memory.budget >> 20
        )
    })
}

/// The sentence that names the kinds without a plugin, if there are any.
fn unserved<'a>(ctx: &Ctx, due: impl Iterator<Item = &'a str>) -> Option<String> {
    let catalog = ctx.running.as_ref()?.catalog();
    let (held, kinds): (Vec<&str>, Vec<&str>) = due
        .filter(|kind| catalog.serving(kind).is_none())
        .partition(|kind| catalog.holding(kind).is_some());
    if let Some((kind, (name, why))) = held
        .first()
        .and_then(|kind| Some((kind, catalog.holding(kind)?)))
    {
        return Some(format!(
            "{kind} is served by plugin {name}, which is held back: {}; see `sandhog plugin show {name}`",
            why.why
        ));
    }
    if kinds.is_empty() {
        return None;
    }
    Some(format!(
        "no plugin serves {}: see `sandhog plugin ls`",
        kinds.join(", ")
    ))
}
