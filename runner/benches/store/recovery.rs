//! Opening a large log, against reading and checksumming the same bytes.

use std::path::Path;

use sandhog::store::{LeasedJob, Store, wal::Durability};
use sandhog_model::{Attempt, ClaimRequest, Outcome, Output, Settlement};

use crate::{
    command::Size,
    part,
    report::{Goal, Line, Report},
    stage::{self, KIND, Place},
};

/// Jobs in a wish when a log is made.
pub(crate) const MANY: usize = 1000;
/// How much longer an open may take than a read.
const TIMES: f64 = 2.0;

pub(crate) fn measure(place: &Place, wanted: &Size, report: &mut Report) -> Result<(), String> {
    let dir = place.fresh("waiting")?;
    with_store(&dir, |store| enqueue(store, wanted.count))?;
    let name = format!("open, {} waiting jobs", wanted.count);
    compare(&dir, &name, wanted.rounds, Goal::AtMost(TIMES), report)?;
    stage::clear(&dir)?;
    // A job that ran to its end leaves three records.
    let dir = place.fresh("ended")?;
    with_store(&dir, |store| {
        for _ in 0..(wanted.count / 3).div_ceil(MANY) {
            enqueue(store, MANY)?;
            end(store, MANY, completed)?;
        }
        Ok(())
    })?;
    let name = format!("open, {} records of ended jobs", wanted.count);
    compare(&dir, &name, wanted.rounds, Goal::AtMost(TIMES), report)?;
    stage::clear(&dir)
}

/// Make a log in `dir`.
pub(crate) fn with_store(
    dir: &Path,
    make: impl FnOnce(&dyn Store) -> Result<(), String>,
) -> Result<(), String> {
    let store = stage::store(dir, Durability::None)?;
    make(&*store)?;
    stage::runtime()
        .block_on(store.close())
        .map_err(|error| error.to_string())
}

/// Opens and bare reads in turns.
pub(crate) fn compare(
    dir: &Path,
    name: &str,
    rounds: usize,
    goal: Goal,
    report: &mut Report,
) -> Result<(), String> {
    // The cache is warm for both.
    part::figures(&["read"], dir)?;
    let (mut opens, mut reads) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        opens.push(part::figure(&part::figures(&["open"], dir)?, "ms")?);
        reads.push(part::figure(&part::figures(&["read"], dir)?, "ms")?);
    }
    report.push(
        Line::new(name, "commit", "ms", opens)
            .beside(reads)
            .goal(goal),
    );
    Ok(())
}

/// Enqueue jobs, many in a wish.
pub(crate) fn enqueue(store: &dyn Store, jobs: usize) -> Result<(), String> {
    enqueue_over(store, jobs, 1)
}

/// The same over so many queues, one after the other.
pub(crate) fn enqueue_over(store: &dyn Store, jobs: usize, queues: usize) -> Result<(), String> {
    let runtime = stage::runtime();
    let mut left = jobs;
    while left > 0 {
        let now = stage::now();
        let many: Vec<_> = (0..left.min(MANY))
            .map(|number| stage::job_in(store, now, (left - number) % queues))
            .collect();
        left -= many.len();
        let answers = runtime
            .block_on(store.enqueue(many))
            .map_err(|error| error.to_string())?;
        if let Some(refused) = answers.into_iter().find_map(Result::err) {
            return Err(refused.to_string());
        }
    }
    Ok(())
}

/// Bring waiting jobs to an end.
pub(crate) fn end(
    store: &dyn Store,
    jobs: usize,
    how: impl Fn(&LeasedJob) -> Outcome,
) -> Result<(), String> {
    let runtime = stage::runtime();
    let request = ClaimRequest {
        kinds: vec![KIND.to_owned()],
        max: jobs,
    };
    let claimed = runtime
        .block_on(store.claim(request))
        .map_err(|error| error.to_string())?;
    let reports = claimed
        .jobs
        .iter()
        .map(|leased| settlement(leased, how(leased)))
        .collect();
    let answers = runtime
        .block_on(store.settle(reports))
        .map_err(|error| error.to_string())?;
    match answers.into_iter().find_map(Result::err) {
        Some(refused) => Err(refused.to_string()),
        None => Ok(()),
    }
}

fn completed(_: &LeasedJob) -> Outcome {
    Outcome::Completed(Output {
        content_type: "application/json".to_owned(),
        payload: b"{\"ok\":true}".to_vec(),
    })
}

fn settlement(leased: &LeasedJob, outcome: Outcome) -> Settlement {
    let now = stage::now();
    Settlement {
        id: leased.job.id,
        token: leased.token,
        outcome,
        attempt: Attempt {
            number: leased.attempt,
            token: leased.token,
            started_at: now,
            ended_at: now,
            duration_us: 77,
            digest: "ab".repeat(32),
            plugin: "thumbnail".to_owned(),
            peak_memory: 1 << 20,
            failure: None,
            logs: Vec::new(),
            dropped_lines: 0,
            cpu_us: 900,
        },
        children: Vec::new(),
        retry: leased.job.retry.clone(),
    }
}
