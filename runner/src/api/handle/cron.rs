//! Schedules: shown, paused, added and taken away, and run out of their turn.

use sandhog_cron::plan::{plan, timestamp, unix};
use sandhog_model::{
    JobId,
    cron::{CronChange, CronState, CronWish},
    job::Bounds,
};

use super::{
    super::{ActedOnCron, ApiError, CronAct, CronDoes, CronView, Ctx, ErrorCode, Reply, Response},
    invalid,
};
use crate::{
    engine::CronEntry,
    store::{CronRow, StoreError},
};

pub(super) async fn list(ctx: &Ctx) -> Reply {
    let mut views: Vec<CronView> = Vec::new();
    for row in ctx.store.crons().await? {
        views.extend(view(ctx, row));
    }
    // Those of the settings that no runner has begun yet.
    for name in ctx.crons.settings().keys() {
        if !views.iter().any(|view| view.name == *name) {
            views.extend(view(ctx, unknown(name)));
        }
    }
    views.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(Response::Crons(views))
}

pub(super) async fn act(ctx: &Ctx, name: String, act: CronAct) -> Reply {
    let of_settings = ctx.crons.settings().contains_key(&name);
    if of_settings {
        // Its first runner may be still to come.
        change(ctx, &name, CronChange::Begin).await?;
    }
    let mut job = None;
    let done = match act {
        CronAct::Pause { by, reason } => CronChange::Pause { by, reason },
        CronAct::Resume => CronChange::Resume,
        CronAct::Trigger => {
            let (id, triggered) = trigger(ctx, &name).await?;
            job = Some(id);
            triggered
        }
        CronAct::Add { .. } | CronAct::Remove if of_settings => {
            return Err(invalid(format!(
                "schedule {name:?} stands in the settings: change [cron.{name}] there"
            )));
        }
        CronAct::Add { entry } => {
            ctx.crons.read(&name, &entry).map_err(invalid)?;
            CronChange::Define(entry)
        }
        CronAct::Remove => CronChange::Forget,
    };
    change(ctx, &name, done).await?;
    ctx.crons.tell();
    let rows = ctx.store.crons().await?;
    let view = rows
        .into_iter()
        .find(|row| row.name == name)
        .and_then(|row| view(ctx, row));
    Ok(Response::ActedOnCron(Box::new(ActedOnCron { view, job })))
}

async fn change(ctx: &Ctx, name: &str, change: CronChange) -> Result<(), ApiError> {
    let name = name.to_owned();
    ctx.store.cron(CronWish { name, change }).await?;
    Ok(())
}

/// The job of a schedule, now.
async fn trigger(ctx: &Ctx, name: &str) -> Result<(JobId, CronChange), ApiError> {
    let rows = ctx.store.crons().await?;
    let row = rows.into_iter().find(|row| row.name == name);
    let entry = row.and_then(|row| ctx.crons.entry(name, &row.state));
    let entry = entry.ok_or_else(|| missing(name))?.map_err(invalid)?;
    let new = entry.job_of(name, None);
    let defaults = (ctx.defaults)(&new.kind);
    let bounds = Bounds {
        payload_bytes: ctx.payload_bytes,
    };
    let wall = ctx.clock.now().wall;
    let job = new.accept_within(ctx.store.mint(), wall, &defaults, bounds);
    let job = job.map_err(StoreError::Rejected)?;
    Ok((job.id, CronChange::Trigger(Box::new(job))))
}

fn missing(name: &str) -> ApiError {
    let why = sandhog_model::Rejected::NoSuchCron(name.to_owned());
    ApiError::new(ErrorCode::NotFound, why.to_string())
}

fn unknown(name: &str) -> CronRow {
    CronRow {
        name: name.to_owned(),
        state: CronState::default(),
        latest: None,
    }
}

/// `None` for one that nobody wants any more, and that the next runner forgets.
fn view(ctx: &Ctx, row: CronRow) -> Option<CronView> {
    let CronRow {
        name,
        state,
        latest,
    } = row;
    let read = ctx.crons.entry(&name, &state)?;
    let wall = ctx.clock.now().wall;
    let (does, next, fault) = match read {
        Ok(entry) => (Some(does(&entry)), next(&entry, &state, wall), None),
        Err(why) => (None, None, Some(why)),
    };
    Some(CronView {
        is_added: !ctx.crons.settings().contains_key(&name),
        name,
        does,
        fault,
        next,
        latest: latest.map(|status| status.state(wall)),
        state,
    })
}

fn does(entry: &CronEntry) -> CronDoes {
    CronDoes {
        schedule: entry.schedule.text().to_owned(),
        zone: entry.schedule.zone().name().to_owned(),
        kind: entry.job.kind.clone(),
        queue: entry.job.queue.clone(),
    }
}

fn next(
    entry: &CronEntry,
    state: &CronState,
    wall: sandhog_model::UnixMs,
) -> Option<sandhog_model::UnixMs> {
    if state.paused.is_some() {
        return None;
    }
    let now = timestamp(wall)?;
    let planned = plan(
        &entry.schedule,
        &state.done,
        now,
        entry.catch_up,
        entry.window,
    );
    planned.next.map(unix)
}
