//! Resident memory with many waiting jobs.

use std::{path::Path, time::Duration};

use sandhog::store::{Inspect, Store, wal::Durability};
use sandhog_model::State;
use serde_json::{Value, json};

use super::recovery;
use crate::{
    command::Size,
    part,
    report::{Goal, Line, Report},
    stage::{self, Place},
};

/// Bytes a waiting job may cost.
const BYTES: f64 = 150.0;
/// Longer than the allocator keeps what is free.
const REST: Duration = Duration::from_millis(1500);

pub(crate) fn measure(place: &Place, wanted: &Size, report: &mut Report) -> Result<(), String> {
    let jobs = wanted.count;
    let mut filled = Vec::new();
    let mut opened = Vec::new();
    for _ in 0..wanted.rounds.min(3) {
        let dir = place.fresh("memory")?;
        let figures = part::figures(&["fill", &jobs.to_string()], &dir)?;
        filled.push(part::figure(&figures, "resident")? / jobs as f64);
        let figures = part::figures(&["open"], &dir)?;
        opened.push(part::figure(&figures, "resident")? / jobs as f64);
        stage::clear(&dir)?;
    }
    let goal = Goal::FigureAtMost(BYTES);
    report.push(Line::new("memory of a waiting job, filled live", "none", "B", filled).goal(goal));
    report.push(
        Line::new(
            "memory of a waiting job, soon after an open",
            "commit",
            "B",
            opened,
        )
        .goal(goal),
    );
    Ok(())
}

/// Fill a store with waiting jobs and look at what it took.
pub(crate) fn fill(dir: &Path, jobs: &str) -> Result<Value, String> {
    let jobs: usize = jobs.parse().map_err(|_| format!("{jobs} is no number"))?;
    let store = stage::store(dir, Durability::None)?;
    let before = resident()?;
    recovery::enqueue(&*store, jobs)?;
    let after = resident()?;
    stage::runtime()
        .block_on(store.close())
        .map_err(|error| error.to_string())?;
    Ok(json!({"resident": after.saturating_sub(before)}))
}

/// Bytes of this process that are in memory after a moment's rest: what it read the log into is free,
/// and the allocator gives it back to the system with the first work after that.
pub(crate) fn rested(store: &dyn Inspect) -> Result<u64, String> {
    std::thread::sleep(REST);
    let stats = stage::runtime().block_on(store.stats());
    stats.map_err(|error| error.to_string())?;
    resident()
}

/// Bytes of this process that are in memory.
pub(crate) fn resident() -> Result<u64, String> {
    let status = std::fs::read_to_string("/proc/self/status")
        .map_err(|error| format!("cannot read /proc/self/status: {error}"))?;
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.trim().strip_suffix("kB"))
        .and_then(|kib| kib.trim().parse::<u64>().ok())
        .ok_or("no VmRSS in /proc/self/status")?;
    Ok(kib * 1024)
}

/// Jobs that wait.
pub(crate) fn waiting(store: &dyn Inspect) -> Result<usize, String> {
    let stats = stage::runtime().block_on(store.stats());
    let stats = stats.map_err(|error| error.to_string())?;
    let mut states = stats.jobs.iter();
    let waiting = states.find(|(state, _)| *state == State::Available);
    Ok(waiting.map_or(0, |(_, count)| *count as usize))
}
