//! Why jobs wait.

use sandhog_model::{Ahead, Hold, QueueMode, Rival, State};

use crate::{
    api::{ApiError, Ctx, busy_of_slots},
    engine::Mode,
    store::{JobRow, QueueRow},
};

/// Most queues that are named.
const NAMED: usize = 5;

/// Why a job waits, when it does.
pub(super) async fn of_job(ctx: &Ctx, row: &JobRow) -> Result<Option<String>, ApiError> {
    let at = row.at;
    Ok(match row.state {
        State::Scheduled => Some(format!("it is not due before {at}")),
        State::Retryable => Some(format!(
            "its last attempt failed, the next one is not due before {at}"
        )),
        State::Available => {
            let hold = ctx.store.hold(row.id).await?;
            Some(lasting(ctx, row, hold.as_ref()).unwrap_or_else(|| for_now(ctx, row, hold)))
        }
        State::Running
        | State::Completed
        | State::Cancelled
        | State::Discarded
        | State::Expired
        | State::Dead => None,
    })
}

/// Why a due job waits, when that does not pass by itself.
pub(super) async fn settled(ctx: &Ctx, row: &JobRow) -> Result<Option<String>, ApiError> {
    let hold = ctx.store.hold(row.id).await?;
    Ok(lasting(ctx, row, hold.as_ref()))
}

fn lasting(ctx: &Ctx, row: &JobRow, hold: Option<&Hold>) -> Option<String> {
    if hold == Some(&Hold::Paused) {
        return Some(paused(&row.queue));
    }
    if ctx.running.is_none() {
        return Some(no_runner());
    }
    unserved(ctx, [row.kind.as_str()].into_iter()).or_else(|| quiet(ctx))
}

/// What a due job waits for that passes by itself.
fn for_now(ctx: &Ctx, row: &JobRow, hold: Option<Hold>) -> String {
    let ahead = match hold {
        // It began, or is about to.
        None => Ahead::default(),
        Some(Hold::Behind(ahead)) => ahead,
        Some(hold) => return told(&row.queue, &hold),
    };
    if let Some(reason) = crowded(ctx) {
        return reason;
    }
    let jobs = behind(&row.queue, ahead.jobs);
    let rivals = rivals(ctx, &ahead);
    match (busy(ctx), rivals) {
        (Some(busy), Some(rivals)) => format!("{busy}; {jobs}, {rivals}"),
        (Some(busy), None) => format!("{busy}; {jobs}"),
        (None, _) => format!("{jobs}: a worker is about to take it"),
    }
}

fn behind(queue: &str, jobs: usize) -> String {
    match jobs {
        0 => format!("no job of queue {queue} comes first"),
        1 => format!("1 job of queue {queue} comes first"),
        Hold::LOOK => format!("{} or more jobs of queue {queue} come first", Hold::LOOK),
        _ => format!("{jobs} jobs of queue {queue} come first"),
    }
}

/// What is said of other queues that have jobs which a plugin serves: those that come first by the settings, or those
/// that a queue takes turns with.
fn rivals(ctx: &Ctx, ahead: &Ahead) -> Option<String> {
    let catalog = ctx.running.as_ref()?.catalog();
    let served = |rival: &&Rival| {
        let mut kinds = rival.kinds.iter();
        kinds.any(|kind| catalog.serving(kind).is_some())
    };
    let (first, beside): (Vec<&Rival>, Vec<&Rival>) = ahead
        .rivals
        .iter()
        .filter(served)
        .partition(|rival| rival.is_first);
    let (which, does) = match (first.is_empty(), beside.is_empty()) {
        (false, _) => (first, "before it by `first` under [queues]"),
        (true, false) => (beside, "with which its queue takes turns by their weights"),
        (true, true) => return None,
    };
    let names: Vec<&str> = which
        .iter()
        .take(NAMED)
        .map(|one| one.queue.as_str())
        .collect();
    let noun = if which.len() == 1 { "queue" } else { "queues" };
    let more = match which.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "jobs of {noun} {}{more} wait, {does}",
        names.join(", ")
    ))
}

/// The sentence that says that no worker has a place, if so.
fn busy(ctx: &Ctx) -> Option<String> {
    let workers = ctx.running.as_ref()?.workers();
    let (running, slots) = busy_of_slots(&workers);
    (running >= slots).then(|| format!("all {slots} places of the workers are taken"))
}

/// Why due jobs of a queue wait: what [`of_job`] says of one of them, as far as it is the same for all.
pub(super) fn of_queue(ctx: &Ctx, row: &QueueRow) -> Option<String> {
    let mut states = row.counts.iter();
    if !states.any(|(state, count)| *state == State::Available && *count > 0) {
        return None;
    }
    if row.mode == QueueMode::Paused {
        return Some(paused(&row.queue));
    }
    if ctx.running.is_none() {
        return Some(no_runner());
    }
    let hold = row.hold.as_ref().map(|hold| told(&row.queue, hold));
    unserved(ctx, row.kinds.iter().map(String::as_str))
        .or_else(|| quiet(ctx))
        .or(hold)
        .or_else(|| crowded(ctx))
        .or_else(|| busy(ctx))
}

fn paused(queue: &str) -> String {
    format!("queue {queue} is paused: `sandhog queue resume {queue}`")
}

fn no_runner() -> String {
    "no runner is up: `sandhog start`".to_owned()
}

/// The sentence for a hold.
fn told(queue: &str, hold: &Hold) -> String {
    let whose = |group: &Option<String>| match group {
        Some(group) => (format!("group {group} of queue {queue}"), "group_"),
        None => (format!("queue {queue}"), ""),
    };
    match hold {
        Hold::Paused => paused(queue),
        Hold::Full {
            group,
            running,
            most: _,
        } => {
            let (of, which) = whose(group);
            format!("{running} of {of} run, as many as its `{which}concurrency` lets")
        }
        Hold::Rate { group, rate, opens } => {
            let (of, which) = whose(group);
            format!("next at {opens}: as many of {of} began as its `{which}rate` {rate} lets")
        }
        Hold::Behind(ahead) => behind(queue, ahead.jobs),
    }
}

/// The sentence that says that nothing is claimed, if so.
fn quiet(ctx: &Ctx) -> Option<String> {
    match ctx.running.as_ref()?.mode() {
        Mode::Running => None,
        Mode::Quiet => Some("the workers are quiet: `sandhog worker resume`".into()),
        Mode::Stopping => Some("the runner is stopping".into()),
    }
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
    let due = due.filter(|kind| catalog.serving(kind).is_none());
    let (held, kinds): (Vec<&str>, Vec<&str>) =
        due.partition(|kind| catalog.holding(kind).is_some());
    if let Some(told) = held.first().and_then(|kind| catalog.held_back(kind)) {
        return Some(told);
    }
    if kinds.is_empty() {
        return None;
    }
    Some(format!(
        "no plugin serves {}: see `sandhog plugin ls`",
        kinds.join(", ")
    ))
}
