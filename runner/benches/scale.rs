//! What many waiting jobs in many queues cost: the start, memory, and the next claim and enqueue.

use std::{path::Path, time::Instant};

use sandhog::{
    figures::{below, median},
    store::{Store, wal::Durability},
};
use sandhog_model::ClaimRequest;
use serde_json::{Value, json};

use crate::{
    command::Size,
    part,
    report::{Goal, Line, Report},
    scheduler::decades,
    stage::{self, KIND, Place},
    store::{memory, recovery},
};

/// How much longer a claim or an enqueue may take beside all jobs than beside the fewest.
const TIMES: f64 = 2.0;
/// Claims and enqueues that are measured, where as many jobs wait.
const STEPS: usize = 5_000;

/// What is measured beside each number of waiting jobs.
struct Beside {
    waiting: usize,
    start: Vec<f64>,
    read: Vec<f64>,
    memory: Vec<f64>,
    steps: [Vec<f64>; 3],
}

/// The figures of a step, by their names in what its process gives.
const STEP_NAMES: [(&str, &str); 3] = [
    ("claim_p50", "claim, p50"),
    ("claim_p99", "claim, p99"),
    ("enqueue_p50", "enqueue, p50"),
];

pub(crate) fn measure(place: &Place, wanted: &Size, report: &mut Report) -> Result<(), String> {
    let mut all = Vec::new();
    for waiting in decades(wanted.count) {
        all.push(beside(place, wanted, waiting)?);
    }
    let queues = wanted.queues;
    for one in &all {
        let waiting = one.waiting;
        let per_job = |of: &[f64], times: f64| median(of) * times / waiting as f64;
        report.grows("start, µs a job", waiting, per_job(&one.start, 1e3));
        report.grows("memory, B a job", waiting, per_job(&one.memory, 1.0));
        let name = format!("start, {waiting} waiting jobs in {queues} queues");
        report.push(
            Line::new(&name, "commit, cache warm", "ms", one.start.clone())
                .beside(one.read.clone()),
        );
        let each = one.memory.iter().map(|bytes| bytes / waiting as f64);
        report.push(Line::new("  memory of each", "commit", "B", each.collect()));
    }
    for (place, (_, name)) in STEP_NAMES.iter().enumerate() {
        for one in &all {
            let us = &one.steps[place];
            report.grows(&format!("{name}, µs"), one.waiting, median(us));
            let told = format!("{name} beside {} waiting jobs", one.waiting);
            let line = Line::new(&told, "none", "µs", us.clone());
            report.push(match one.waiting == all[0].waiting {
                true => line,
                false => line
                    .beside(all[0].steps[place].clone())
                    .goal(Goal::AtMost(TIMES)),
            });
        }
    }
    Ok(())
}

fn beside(place: &Place, wanted: &Size, waiting: usize) -> Result<Beside, String> {
    let dir = place.fresh("scale")?;
    let store = stage::store(&dir, Durability::None)?;
    recovery::enqueue_over(&*store, waiting, wanted.queues)?;
    stage::runtime()
        .block_on(store.close())
        .map_err(|error| error.to_string())?;
    drop(store);
    let mut one = Beside {
        waiting,
        start: Vec::new(),
        read: Vec::new(),
        memory: Vec::new(),
        steps: Default::default(),
    };
    // The cache is warm for both.
    part::figures(&["read"], &dir)?;
    for _ in 0..wanted.rounds {
        let opened = part::figures(&["open"], &dir)?;
        one.start.push(part::figure(&opened, "ms")?);
        one.memory.push(part::figure(&opened, "resident")?);
        let read = part::figures(&["read"], &dir)?;
        one.read.push(part::figure(&read, "ms")?);
        let steps = part::figures(&["scale", &wanted.queues.to_string()], &dir)?;
        for (figures, (key, _)) in one.steps.iter_mut().zip(STEP_NAMES) {
            figures.push(part::figure(&steps, key)?);
        }
    }
    stage::clear(&dir)?;
    Ok(one)
}

/// One claim after the other, and one enqueue after the other, each answered before the next. What is claimed comes
/// back at the next open.
pub(crate) fn steps(dir: &Path, queues: &str) -> Result<Value, String> {
    let queues: usize = queues
        .parse()
        .map_err(|_| format!("{queues} is no number"))?;
    let store = stage::store(dir, Durability::None)?;
    let runtime = stage::runtime();
    let waiting = memory::waiting(&*store)?;
    let (mut claims, mut enqueues) = (Vec::new(), Vec::new());
    runtime.block_on(async {
        for number in 0..STEPS.min(waiting) {
            let request = ClaimRequest {
                kinds: vec![KIND.to_owned()],
                max: 1,
            };
            let start = Instant::now();
            let claimed = store.claim(request).await;
            claims.push(start.elapsed().as_secs_f64() * 1e6);
            let claimed = claimed.map_err(|error| error.to_string())?;
            if claimed.jobs.len() != 1 {
                return Err(format!("{} jobs were claimed", claimed.jobs.len()));
            }
            let job = stage::job_in(&*store, stage::now(), number % queues);
            let start = Instant::now();
            let answers = store.enqueue(vec![job]).await;
            enqueues.push(start.elapsed().as_secs_f64() * 1e6);
            let answers = answers.map_err(|error| error.to_string())?;
            if let Some(refused) = answers.into_iter().find_map(Result::err) {
                return Err(refused.to_string());
            }
        }
        store.close().await.map_err(|error| error.to_string())
    })?;
    Ok(json!({
        "claim_p50": below(&claims, 0.5),
        "claim_p99": below(&claims, 0.99),
        "enqueue_p50": below(&enqueues, 0.5),
    }))
}
