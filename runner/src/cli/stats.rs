//! `sandhog stats`.

use serde_json::json;

use super::{
    exit::{Exit, Outcome},
    session::{Session, ask},
    shapes, text,
};
use crate::api::{Request, RunnerStats, Stats};

pub(super) fn run(session: &mut Session<'_, '_>) -> Outcome<Exit> {
    let stats = ask!(session, Request::Stats, Stats);
    if session.is_json() {
        let mut store = json!(stats.store);
        store["jobs"] = shapes::counts(&stats.store.jobs);
        session.json(&json!({
            "version": stats.version,
            "store": store,
            "runner": stats.runner,
        }))?;
    } else {
        session.say(&shown(&stats))?;
    }
    Ok(Exit::Done)
}

fn shown(stats: &Stats) -> String {
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
    if let Some(why) = &store.poisoned {
        fields.push(("takes nothing", text::plain(why).into_owned()));
    }
    text::fields(&fields)
}

fn running(runner: &RunnerStats) -> String {
    let slots: usize = runner.workers.iter().map(|worker| worker.slots).sum();
    let busy: usize = runner
        .workers
        .iter()
        .map(|worker| worker.running.len())
        .sum();
    let ended: u64 = runner.workers.iter().map(|worker| worker.ended).sum();
    let mut shown = format!(
        "pid {}, {} workers, {busy} of {slots} slots busy, {ended} attempts ended, {} plugins",
        runner.pid,
        runner.workers.len(),
        runner.plugins
    );
    if runner.problems > 0 {
        shown += &format!(", {} files unusable: `sandhog plugin ls`", runner.problems);
    }
    shown
}
