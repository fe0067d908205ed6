//! What was counted and measured, as text for Prometheus.

use std::sync::Arc;

use bytes::Bytes;

use crate::{
    api::{QueueView, Request, Stats},
    engine::Mode,
    metrics::{Glance, MEDIA_TYPE, Metrics, One, count},
    web::{
        answer::{Answer, Outcome},
        call::Call,
        problem::{Code, Problem},
        route::{Gives, Route, run},
        site::{Site, ask},
    },
};

pub(super) const ROUTES: &[Route] = &[Route::get(
    "/metrics",
    "getMetrics",
    "What was counted and measured since the start, as text for Prometheus in the OpenMetrics format.",
    Gives::Other(MEDIA_TYPE),
    run!(metrics),
)];

async fn metrics(site: Arc<Site>, call: Call) -> Outcome {
    let Some(metrics) = &site.ctx.metrics else {
        return Err(Problem::new(Code::NotFound, "nothing is counted here"));
    };
    let stats = ask!(site, call, Request::Stats, Stats);
    let queues = ask!(site, call, Request::Queues, Queues);
    let text = metrics.text(|glance| {
        store(glance, &stats);
        runner(glance, &stats);
        jobs(metrics, glance, &queues);
    });
    Ok(Answer::Bytes(MEDIA_TYPE, Bytes::from(text)))
}

fn jobs(metrics: &Metrics, glance: &Glance, queues: &[QueueView]) {
    let names = &metrics.jobs.queues;
    for row in queues.iter().map(|view| &view.row) {
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
    let running: usize = runner
        .workers
        .iter()
        .map(|worker| worker.running.len())
        .sum();
    let slots: usize = runner.workers.iter().map(|worker| worker.slots).sum();
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
