//! `sandhog stats`.

use super::{
    exit::{Exit, Outcome},
    session::{Session, ask},
    shapes, text,
};
use crate::{
    api::{Request, RunnerStats, Stats},
    engine::Mode,
    store::StoreStats,
};

pub(super) fn run(session: &mut Session<'_, '_>) -> Outcome<Exit> {
    let stats = ask!(session, Request::Stats, Stats);
    if session.is_json() {
        session.json(&shapes::stats(&stats))?;
    } else {
        session.say(&shown(&stats))?;
    }
    Ok(Exit::Done)
}

pub(super) fn shown(stats: &Stats) -> String {
    let store = &stats.store;
    let mut fields = vec![("version", stats.version.clone())];
    match &stats.runner {
        Some(runner) => fields.push(("runner", running(runner))),
        None => fields.push(("runner", "none is up".into())),
    }
    let jobs: Vec<String> = store
        .jobs
        .iter()
        .map(|(state, count)| format!("{count} {state}"))
        .collect();
    let jobs = if jobs.is_empty() {
        "none".into()
    } else {
        jobs.join(", ")
    };
    fields.push(("jobs", jobs));
    fields.push(("dead letters", store.dead_letters.to_string()));
    let log = format!(
        "{} in {}, durability {}",
        text::size(store.log_bytes),
        text::count(store.segments, "segment"),
        text::plain(&store.durability)
    );
    fields.push(("log", log));
    fields.extend(upkeep(store));
    // Without a runner the start was this command's.
    if stats.runner.is_some() {
        let writes = format!(
            "{} and {} since the start, the last took {} µs",
            text::count(store.appended, "record"),
            text::count(store.syncs, "sync"),
            store.last_sync_us
        );
        fields.push(("writes", writes));
    }
    fields.extend(at_start(store));
    if let Some(why) = &store.poisoned {
        fields.push(("takes nothing", text::plain(why).into_owned()));
    }
    text::fields(&fields)
}

/// What keeps the log short, and what went for it.
fn upkeep(store: &StoreStats) -> Vec<(&'static str, String)> {
    let mut fields = Vec::new();
    let mut needed = text::size(store.live_bytes);
    if store.freed_segments > 0 {
        needed += &format!(
            "; {} with {} freed since the start",
            text::count(store.freed_segments, "segment"),
            text::size(store.reclaimed_bytes)
        );
    }
    fields.push(("needed of it", needed));
    if let Some(segment) = store.stuck_segment {
        let stuck =
            format!("segment {segment} cannot be freed, so the log grows: see `sandhog log check`");
        fields.push(("cannot shrink", stuck));
    }
    if store.pruned_jobs > 0 {
        let pruned = format!(
            "{} since the start, as `store.keep_completed` and `store.max_completed` say",
            text::count(store.pruned_jobs, "ended job")
        );
        fields.push(("forgotten", pruned));
    }
    if store.purged_letters > 0 {
        let purged = format!(
            "{} since the start, as the bounds in `[dead]` say",
            text::count(store.purged_letters, "dead letter")
        );
        fields.push(("purged", purged));
    }
    fields
}

/// What the start found and put right.
fn at_start(store: &StoreStats) -> Vec<(&'static str, String)> {
    let mut fields = Vec::new();
    if store.torn_tail_bytes > 0 {
        let tail = format!(
            "{} never acknowledged were cut away at the start, and kept aside",
            text::size(store.torn_tail_bytes)
        );
        fields.push(("torn tail", tail));
    }
    if store.merged_logs > 0 {
        let taken = format!(
            "{} of {} at the start",
            text::count(store.merged_jobs, "job"),
            text::count(store.merged_logs, "other log")
        );
        fields.push(("taken over", taken));
    }
    fields
}

fn running(runner: &RunnerStats) -> String {
    let (busy, slots) = runner.busy_of_slots();
    let ended: u64 = runner.workers.iter().map(|worker| worker.ended).sum();
    let mut shown = format!(
        "pid {}, {} workers, {busy} of {slots} slots busy, {ended} attempts ended, {} plugins",
        runner.pid,
        runner.workers.len(),
        runner.plugins
    );
    if runner.mode != Mode::Running {
        shown += &format!(", {}: no new jobs are claimed", runner.mode.name());
    }
    if runner.held > 0 {
        shown += &format!(", {} held back: `sandhog plugin ls`", runner.held);
    }
    if runner.memory.short || runner.memory.waiting > 0 {
        shown += &format!(
            ", memory is short: {} of {} held",
            text::size(runner.memory.held),
            text::size(runner.memory.budget)
        );
    }
    if runner.problems > 0 {
        shown += &format!(", {} files unusable: `sandhog plugin ls`", runner.problems);
    }
    shown
}
