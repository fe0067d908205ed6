//! What was counted and measured, and what is looked at when someone asks for it.

use super::stats;
use crate::{
    api::{ApiError, Ctx, ErrorCode, Reply, Response, Stats},
    engine::Mode,
    metrics::{Glance, Metrics, One, count},
    store::QueueRow,
};

pub(super) async fn text(ctx: &Ctx) -> Reply {
    let Some(metrics) = &ctx.metrics else {
        return Err(ApiError::new(
            ErrorCode::NotFound,
            "nothing is counted here",
        ));
    };
    let stats = stats(ctx).await?;
    let queues = ctx.store.queues().await?;
    let text = metrics.text(|glance| {
        store(glance, &stats);
        runner(glance, &stats);
        jobs(metrics, glance, &queues);
    });
    Ok(Response::Metrics(text))
}

fn jobs(metrics: &Metrics, glance: &Glance, queues: &[QueueRow]) {
    let names = &metrics.jobs.queues;
    for row in queues {
        let label = names.value(&row.queue);
        let open = row.counts.iter().filter(|(state, _)| !state.is_final());
        for (state, jobs) in open {
            glance.add_queue(label.clone(), state.name(), *jobs);
        }
    }
}

fn store(glance: &Glance, stats: &Stats) {
    let store = &stats.store;
    glance.clear_jobs();
    for (state, jobs) in &store.jobs {
        let place = One::state(state.name());
        glance.jobs.get_or_create(&place).set(count(*jobs));
    }
    for (gauge, number) in [
        (&glance.dead_letters, store.dead_letters),
        (&glance.dead_bytes, store.dead_bytes),
        (&glance.purged, store.purged_letters),
        (&glance.log_bytes, store.log_bytes),
        (&glance.live_bytes, store.live_bytes),
        (&glance.segments, store.segments),
        (&glance.records, store.appended),
        (&glance.poisoned, u64::from(store.poisoned.is_some())),
    ] {
        gauge.set(count(number));
    }
}

fn runner(glance: &Glance, stats: &Stats) {
    let Some(runner) = &stats.runner else { return };
    let (running, slots) = runner.busy_of_slots();
    for (gauge, number) in [
        (&glance.running, running as u64),
        (&glance.slots, slots as u64),
        (&glance.claiming, u64::from(runner.mode == Mode::Running)),
        (&glance.memory_held, runner.memory.held),
        (&glance.memory_budget, runner.memory.budget),
        (&glance.plugins, runner.plugins as u64),
        (&glance.held, runner.held as u64),
        (&glance.problems, runner.problems as u64),
    ] {
        gauge.set(count(number));
    }
}
