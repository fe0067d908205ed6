//! What each request does. The socket and the offline path both come through here.

mod amend;
mod batch;
mod cron;
mod dead;
mod enqueue;
mod metrics;
mod plugin;
mod queue;
mod waiting;
mod why;

use sandhog_model::{Attempt, JobId, State};

pub use enqueue::check_job;

use super::{
    ApiError, AttemptLogs, Ctx, ErrorCode, Nth, Pong, Reply, Request, Response, RunnerStats, Stats,
    WorkersAct,
};
use crate::{
    engine::Mode,
    store::{DeadWish, JobView, PageRequest},
};

/// Most ids in one requeue or delete, and most rows of a page.
const ROWS: usize = 1_000;

/// Do what a request asks.
pub async fn handle(ctx: &Ctx, request: Request) -> Reply {
    match request {
        Request::Ping => Ok(Response::Pong(Pong {
            version: ctx.version.into(),
            pid: std::process::id(),
        })),
        Request::Enqueue { jobs } => enqueue::all(ctx, jobs).await,
        Request::Job { id } => {
            let mut view = job(ctx, id).await?;
            keep_latest_logs(&mut view.attempts);
            view.waiting_because = why::of_job(ctx, &view.row).await?;
            Ok(Response::Job(Box::new(view)))
        }
        Request::Jobs { filter, page } => {
            let rows = ctx.store.jobs(filter, checked(page)?).await?;
            Ok(Response::Jobs(rows))
        }
        Request::Logs { id, attempt } => logs(ctx, id, attempt).await.map(Response::Logs),
        Request::Retry { id } => amend::retry(ctx, id).await,
        Request::AmendJobs { ids, act, dry_run } => amend::jobs(ctx, ids, act, dry_run).await,
        Request::CallOff {
            ids,
            how,
            by,
            reason,
            dry_run,
        } => amend::call_off(ctx, ids, (how, by, reason), dry_run).await,
        Request::Wait { id, timeout_ms } => waiting::wait(ctx, id, timeout_ms)
            .await
            .map(|waited| Response::Waited(Box::new(waited))),
        Request::Queues => queue::list(ctx).await,
        Request::Steer(steer) => queue::steer(ctx, steer).await,
        Request::Unique { page } => queue::unique(ctx, page).await,
        Request::Unlock { ids } => queue::unlock(ctx, ids).await,
        Request::Crons => cron::list(ctx).await,
        Request::ActOnCron { name, act } => cron::act(ctx, name, act).await,
        Request::Batch(request) => batch::act(ctx, request).await,
        Request::Dead { filter, page } => dead::list(ctx, filter, page).await,
        Request::CountDead { filter, cursor } => dead::count(ctx, filter, cursor).await,
        Request::Letter { id, logs } => dead::letter(ctx, id, logs).await,
        Request::RawLetter { name } => dead::raw(ctx, name).await,
        Request::Requeue { letters, dry_run } => {
            dead::amend(ctx, letters, DeadWish::Requeue, dry_run).await
        }
        Request::Delete { letters, dry_run } => {
            dead::amend(ctx, letters, DeadWish::Delete, dry_run).await
        }
        Request::ImportDead { letters, dry_run } => dead::import(ctx, letters, dry_run).await,
        Request::PurgeDead { bounds, dry_run } => {
            let purged = ctx.store.purge_dead(bounds, dry_run).await?;
            Ok(Response::Purged(purged))
        }
        Request::Plugins => plugin::list(ctx),
        Request::Plugin { name } => plugin::view(ctx, name).await,
        Request::CheckPlugin { name } => plugin::check(ctx, name).await,
        Request::ActOnPlugin { name, act } => plugin::act(ctx, name, act).await,
        Request::Workers => {
            let workers = ctx.running.as_ref().map(|running| running.workers());
            Ok(Response::Workers(workers.unwrap_or_default()))
        }
        Request::ActOnWorkers { act } => steer(ctx, act),
        Request::Reload => reload(ctx).await,
        Request::Metrics => metrics::text(ctx).await,
        Request::Settings => {
            let settings = ctx.reload.as_ref().ok_or_else(plugin::no_runner)?;
            Ok(Response::Settings(Box::new(settings.settings())))
        }
        Request::Stats => Ok(Response::Stats(Box::new(stats(ctx).await?))),
    }
}

fn invalid(why: impl Into<String>) -> ApiError {
    ApiError::new(ErrorCode::Invalid, why)
}

fn checked(page: PageRequest) -> Result<PageRequest, ApiError> {
    if (1..=ROWS).contains(&page.limit) {
        return Ok(page);
    }
    Err(invalid(format!(
        "a page of {} rows: allowed is 1 to {ROWS}",
        page.limit
    )))
}

async fn job(ctx: &Ctx, id: JobId) -> Result<JobView, ApiError> {
    let view = ctx.store.job(id).await?;
    view.ok_or_else(|| no_job(id))
}

fn no_job(id: JobId) -> ApiError {
    let text = format!(
        "no job {id} here: it never was, or it ended and was forgotten (`store.keep_completed` and \
         `store.max_completed` say when)"
    );
    ApiError::new(ErrorCode::NotFound, text)
}

/// The lines of earlier attempts are asked for one attempt at a time; together they could be larger
/// than a frame.
fn keep_latest_logs(attempts: &mut [Attempt]) {
    if let Some((_, earlier)) = attempts.split_last_mut() {
        for attempt in earlier {
            attempt.logs = Vec::new();
        }
    }
}

async fn logs(ctx: &Ctx, id: JobId, attempt: Option<Nth>) -> Result<AttemptLogs, ApiError> {
    let view = job(ctx, id).await?;
    let live = ctx.running.as_ref().and_then(|running| running.live(id));
    let next = view.attempts.len() as u32 + 1;
    let current = match view.row.state {
        State::Running => view.row.attempt,
        _ => view.attempts.last().map_or(0, |last| last.number) + 1,
    };
    let fits = |number, place| match attempt {
        Some(Nth::Number(wanted)) => wanted == number,
        Some(Nth::InAll(wanted)) => wanted == place,
        None => true,
    };
    let also = |number, place| {
        let others = view.attempts.iter().zip(1..);
        let others = others.filter(|(one, at)| one.number == number && *at != place);
        others.map(|(_, at)| at).collect()
    };
    if let Some(live) = live.filter(|_| fits(current, next)) {
        return Ok(AttemptLogs {
            id,
            attempt: current,
            in_all: next,
            also: also(current, next),
            running: true,
            lines: live.logs,
            dropped: 0,
        });
    }
    // Numbers start again after a requeue; the latest of a number is meant.
    let mut ended = view.attempts.iter().zip(1..next).rev();
    let Some((found, place)) = ended.find(|(one, at)| fits(one.number, *at)) else {
        let what = match attempt {
            Some(Nth::Number(number) | Nth::InAll(number)) => {
                format!("job {id} has no attempt {number} that ended")
            }
            None => format!("job {id} has had no attempt yet"),
        };
        return Err(ApiError::new(ErrorCode::NotFound, what));
    };
    Ok(AttemptLogs {
        id,
        attempt: found.number,
        in_all: place,
        also: also(found.number, place),
        running: false,
        lines: found.logs.clone(),
        dropped: found.dropped_lines,
    })
}

fn steer(ctx: &Ctx, act: WorkersAct) -> Reply {
    let running = ctx.running.as_ref().ok_or_else(plugin::no_runner)?;
    Ok(Response::ActedOnWorkers(match act {
        WorkersAct::Quiet => running.be_quiet(true),
        WorkersAct::Resume => running.be_quiet(false),
        WorkersAct::Stop => {
            running.ask_to_stop();
            Mode::Stopping
        }
    }))
}

async fn reload(ctx: &Ctx) -> Reply {
    let settings = ctx.reload.as_ref().ok_or_else(plugin::no_runner)?;
    settings.reload().await.map(Response::Reloaded)
}

async fn stats(ctx: &Ctx) -> Result<Stats, ApiError> {
    let store = ctx.store.stats().await?;
    let runner = ctx.running.as_ref().map(|running| {
        let catalog = running.catalog();
        RunnerStats {
            pid: std::process::id(),
            mode: running.mode(),
            workers: running.workers(),
            memory: running.memory(),
            plugins: catalog.plugins.len(),
            problems: catalog.problems.len(),
            held: catalog.held.len(),
        }
    });
    Ok(Stats {
        version: ctx.version.into(),
        store,
        runner,
    })
}
