//! Whole jobs from the store through the engine, without a sync, beside as many bare attempts.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use sandhog::{
    clock::SystemClock,
    engine::{CronBook, Engine, EngineOptions, EngineParts, KindRule, Settings},
    plugin::{SandboxOptions, WasmHostFactory},
    store::{Inspect, Store, wal::Durability},
};
use sandhog_model::{JobId, KindDefaults, NewJob, State};

use crate::{
    bare::Bare,
    command::Wanted,
    guests::{self, Guest},
    product::{self, PAYLOAD},
    report::{Goal, Line, Report},
    stage::{self, Place},
};

/// Jobs enqueued at a time.
const BATCH: usize = 1_000;
/// What a bare attempt may cost of a whole job's time.
const SHARE: f64 = 0.7;

/// The operator says nothing.
struct Plain;

impl Settings for Plain {
    fn rule(&self, _: &str) -> KindRule {
        KindRule::default()
    }
}

pub(crate) fn measure(place: &Place, wanted: &Wanted, report: &mut Report) -> Result<(), String> {
    let jobs = wanted.count;
    for guest in guests::all()? {
        let bare = Bare::new(&guest.bytes, guest.kind)?;
        let (mut products, mut bares) = (Vec::new(), Vec::new());
        for _ in 0..wanted.rounds.div_ceil(2) {
            products.push(jobs as f64 / drained(place, &guest, jobs)?);
            let start = Instant::now();
            (0..jobs).try_for_each(|_| bare.attempt())?;
            bares.push(jobs as f64 / start.elapsed().as_secs_f64());
        }
        let name = format!("jobs/s of one worker, {} guest", guest.name);
        report.push(
            Line::new(&name, "none", "1/s", products)
                .beside(bares)
                .goal(Goal::AtLeast(SHARE)),
        );
    }
    Ok(())
}

/// Seconds that one worker takes for so many waiting jobs.
fn drained(place: &Place, guest: &Guest, jobs: usize) -> Result<f64, String> {
    let dir = place.fresh("drain")?;
    product::lay(&dir, "guest", &guest.bytes)?;
    let registry = Arc::new(product::registry(&dir)?);
    let data = dir.join("data");
    let store = stage::store(&data, Durability::None)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let seconds = runtime.block_on(async {
        fill(&*store, guest.kind, jobs).await?;
        let hosts = WasmHostFactory::new(SandboxOptions::default())?;
        let parts = EngineParts {
            store: store.clone(),
            plugins: registry.clone(),
            hosts: Arc::new(hosts),
            settings: Arc::new(Plain),
            crons: Arc::new(CronBook::new(
                BTreeMap::new(),
                Box::new(|_, _| Err("none are added here".into())),
            )),
            clock: Arc::new(SystemClock::default()),
        };
        let start = Instant::now();
        let engine = Engine::start(options(), parts).await;
        let engine = engine.map_err(|error| error.to_string())?;
        until_done(&*store, jobs).await?;
        let seconds = start.elapsed().as_secs_f64();
        engine.stop(Duration::ZERO, std::future::pending()).await;
        store.close().await.map_err(|error| error.to_string())?;
        Ok::<f64, String>(seconds)
    })?;
    drop(registry);
    stage::clear(&dir)?;
    Ok(seconds)
}

fn options() -> EngineOptions {
    EngineOptions {
        workers: 1,
        slots: 16,
        memory_budget: 64 << 30,
        memory_ceiling: 128 << 20,
        lease_ms: 60_000,
        cancel_grace: Duration::from_secs(1),
    }
}

async fn fill(store: &dyn Store, kind: &str, jobs: usize) -> Result<(), String> {
    let job = |id: JobId| {
        let new = NewJob {
            kind: kind.to_owned(),
            payload: PAYLOAD.to_vec(),
            content_type: Some("text/plain".to_owned()),
            ..NewJob::default()
        };
        new.accept(id, stage::now(), &KindDefaults::default())
            .expect("the job is within bounds")
    };
    let mut left = jobs;
    while left > 0 {
        let many = left.min(BATCH);
        let batch = (0..many).map(|_| job(store.mint())).collect();
        store
            .enqueue(batch)
            .await
            .map_err(|error| error.to_string())?;
        left -= many;
    }
    Ok(())
}

/// The change that ends the last job ends the wait.
async fn until_done(store: &(impl Inspect + ?Sized), jobs: usize) -> Result<(), String> {
    loop {
        let stats = store.stats().await.map_err(|error| error.to_string())?;
        let done = stats
            .jobs
            .iter()
            .find(|(state, _)| *state == State::Completed);
        if done.is_some_and(|(_, count)| *count == jobs as u64) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
