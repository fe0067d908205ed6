//! Enqueues per second, each answered once durable, against the bare group commit.

use std::{
    future::Future,
    path::Path,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use sandhog::store::{Inspect, Store, wal::Durability};

use super::bare::BareLog;
use crate::{
    command::Size,
    report::{Goal, Line, Report},
    stage::{self, PAYLOAD, Place},
};

/// How many ask at once, and how many jobs are enqueued in a round.
const CALLERS: [(usize, usize); 4] = [(1, 3_000), (8, 16_000), (64, 80_000), (512, 300_000)];
/// The share of the bare rate to reach.
const SHARE: f64 = 0.85;

/// What a round gave.
struct Round {
    per_second: f64,
    p50_us: f64,
    p99_us: f64,
    max_us: f64,
    per_sync: f64,
}

pub(crate) fn measure(place: &Place, wanted: &Size, report: &mut Report) -> Result<(), String> {
    for (callers, jobs) in CALLERS {
        compare(place, wanted, report, callers, jobs, Durability::Commit)?;
    }
    for durability in [Durability::Interval(100), Durability::None] {
        for (callers, jobs) in [CALLERS[0], CALLERS[2]] {
            compare(place, wanted, report, callers, jobs, durability)?;
        }
    }
    Ok(())
}

fn compare(
    place: &Place,
    wanted: &Size,
    report: &mut Report,
    callers: usize,
    jobs: usize,
    durability: Durability,
) -> Result<(), String> {
    let each = jobs.min(wanted.count).div_ceil(callers);
    let sync = durability == Durability::Commit;
    let (mut products, mut bares) = (Vec::new(), Vec::new());
    for round in 0..wanted.rounds {
        // Who goes first changes, so that neither always meets what the other left.
        for product in [round % 2 == 0, round % 2 != 0] {
            let dir = place.fresh("appends")?;
            if product {
                products.push(enqueue(&dir, durability, callers, each)?);
            } else {
                bares.push(append(&dir, sync, callers, each)?);
            }
            stage::clear(&dir)?;
        }
    }
    let rates = |rounds: &[Round]| rounds.iter().map(|round| round.per_second).collect();
    let goal = if sync && callers != 8 {
        Goal::AtLeast(SHARE)
    } else {
        Goal::Information
    };
    let name = format!("enqueues/s, {callers} callers");
    report.push(
        Line::new(&name, &durability.to_string(), "1/s", rates(&products))
            .beside(rates(&bares))
            .goal(goal),
    );
    if sync {
        type Pick = (&'static str, &'static str, fn(&Round) -> f64);
        let picks: [Pick; 4] = [
            ("p50", "µs", |round| round.p50_us),
            ("p99", "µs", |round| round.p99_us),
            ("longest", "µs", |round| round.max_us),
            ("per sync", "jobs", |round| round.per_sync),
        ];
        for (what, unit, pick) in picks {
            let name = format!("  {what}, {callers} callers");
            let line = Line::new(&name, "commit", unit, products.iter().map(pick).collect());
            report.push(if what == "per sync" {
                line
            } else {
                line.beside(bares.iter().map(pick).collect())
            });
        }
    }
    Ok(())
}

/// Durable enqueues of one job each.
fn enqueue(
    dir: &Path,
    durability: Durability,
    callers: usize,
    each: usize,
) -> Result<Round, String> {
    let store = stage::store(dir, durability)?;
    let syncs = |stats: sandhog::store::StoreStats| stats.syncs;
    let runtime = stage::runtime();
    let before = runtime.block_on(store.stats()).map(syncs);
    let asked: Arc<dyn Store> = store.clone();
    let mut round = drive(&runtime, callers, each, move || {
        let store = asked.clone();
        async move {
            let answers = store.enqueue(vec![stage::job(&*store, stage::now())]).await;
            assert!(
                matches!(answers.as_deref(), Ok([Ok(_)])),
                "not enqueued: {answers:?}"
            );
        }
    });
    let after = runtime.block_on(store.stats()).map(syncs);
    let syncs = after.unwrap_or(0).saturating_sub(before.unwrap_or(0));
    round.per_sync = (callers * each) as f64 / syncs.max(1) as f64;
    Ok(round)
}

/// The same number of bare records.
fn append(dir: &Path, sync: bool, callers: usize, each: usize) -> Result<Round, String> {
    let log = BareLog::open(dir, sync).map_err(|error| format!("the bare log: {error}"))?;
    let log = Rc::new(log);
    Ok(drive(&stage::runtime(), callers, each, move || {
        let log = log.clone();
        async move {
            log.append(vec![7; PAYLOAD]).await;
        }
    }))
}

/// So many callers ask so many times each, one after another.
fn drive<F: Future<Output = ()>>(
    runtime: &tokio::runtime::Runtime,
    callers: usize,
    each: usize,
    ask: impl Fn() -> F + Clone + 'static,
) -> Round {
    let tasks = tokio::task::LocalSet::new();
    let start = Instant::now();
    let mut times: Vec<Duration> = tasks.block_on(runtime, async move {
        let callers: Vec<_> = (0..callers)
            .map(|_| {
                let ask = ask.clone();
                tokio::task::spawn_local(async move {
                    let mut times = Vec::with_capacity(each);
                    for _ in 0..each {
                        let start = Instant::now();
                        ask().await;
                        times.push(start.elapsed());
                    }
                    times
                })
            })
            .collect();
        let mut times = Vec::new();
        for caller in callers {
            times.extend(caller.await.expect("a caller ends"));
        }
        times
    });
    let took = start.elapsed().as_secs_f64();
    times.sort_unstable();
    let at = |share: f64| {
        let place = ((times.len() - 1) as f64 * share) as usize;
        times[place].as_secs_f64() * 1e6
    };
    Round {
        per_second: times.len() as f64 / took,
        p50_us: at(0.5),
        p99_us: at(0.99),
        max_us: at(1.0),
        per_sync: 0.0,
    }
}
