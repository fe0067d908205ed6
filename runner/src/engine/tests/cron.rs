//! Schedules, beside a clock that leaps.

use std::{collections::BTreeMap, time::Duration};

use sandhog_cron::{Schedule, SignedDuration, Zone, plan::CatchUp};
use sandhog_model::{Asked, Cancellation, JobId, NewJob, State, UnixMs};

use super::stage::{Script, Setup, Stage, done, until_interrupted};
use crate::{
    engine::{CRON_HEADER, CronEntry, CronOverlap, Running, SLOT_HEADER},
    store::{CronRow, Inspect, JobFilter, PageRequest, Store},
};

const HOUR: u64 = 3_600_000;

fn entry(schedule: &str, kind: &str, overlap: CronOverlap) -> CronEntry {
    CronEntry {
        schedule: Schedule::parse(schedule, Zone::utc()).expect("a schedule"),
        job: NewJob {
            kind: kind.to_owned(),
            payload: b"7".to_vec(),
            ..NewJob::default()
        },
        overlap,
        catch_up: CatchUp::Latest,
        window: SignedDuration::from_hours(1),
        jitter_ms: 0,
    }
}

async fn stage(script: Script, entries: &[(&str, CronEntry)]) -> Stage {
    let crons = entries
        .iter()
        .map(|(name, entry)| ((*name).to_owned(), entry.clone()));
    let setup = Setup {
        crons: crons.collect::<BTreeMap<_, _>>(),
        ..Setup::default()
    };
    let stage = Stage::start_with(&["greet", "loop"], script, setup).await;
    // Each begins before anything is due.
    for (name, _) in entries {
        row_when(&stage, name, |_| true).await;
    }
    stage
}

fn greeting() -> Script {
    |_, _| Box::pin(async { done("hello") })
}

fn looping() -> Script {
    |request, _| Box::pin(until_interrupted(request.live))
}

/// An hour later.
fn an_hour_passes(stage: &Stage) {
    stage.clock.leap_wall(HOUR);
    stage.crons.tell();
}

async fn row_when(stage: &Stage, name: &str, so: impl Fn(&CronRow) -> bool) -> CronRow {
    let looked = async {
        loop {
            let rows = stage.store.crons().await.expect("the store works");
            if let Some(row) = rows.into_iter().find(|row| row.name == name && so(row)) {
                return row;
            }
            tokio::task::yield_now().await;
        }
    };
    // Sooner than the clockwork's longest sleep: nothing here may wait for that.
    let in_time = tokio::time::timeout(Duration::from_secs(10), looked).await;
    in_time.expect("it comes to be so")
}

/// The job of the slot after `before`.
async fn next_job(stage: &Stage, name: &str, before: Option<JobId>) -> JobId {
    let row = row_when(stage, name, |row| row.state.latest > before).await;
    row.state.latest.expect("it got a job")
}

async fn jobs(stage: &Stage) -> usize {
    let page = PageRequest {
        limit: 100,
        cursor: None,
    };
    let page = stage.store.jobs(JobFilter::default(), page).await;
    page.expect("the store works").rows.len()
}

#[tokio::test]
async fn each_slot_gets_one_job_that_says_which_it_is_of() {
    let hourly = entry("@hourly", "greet", CronOverlap::Skip);
    let stage = stage(greeting(), &[("hourly", hourly)]).await;
    let mut latest = None;
    for hour in 1..=3 {
        an_hour_passes(&stage);
        let id = next_job(&stage, "hourly", latest).await;
        latest = Some(id);
        let view = stage.until(id, State::Completed).await;
        let slot = row_when(&stage, "hourly", |_| true).await.state.slot;
        let slot = slot.expect("it had one");
        assert_eq!(slot.0 % HOUR, 0);
        let shown = sandhog_cron::plan::timestamp(slot)
            .expect("an instant")
            .to_string();
        let expected = [(CRON_HEADER, "hourly"), (SLOT_HEADER, shown.as_str())];
        let headers = view.job.headers.iter();
        let headers: Vec<_> = headers
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .collect();
        assert_eq!(headers, expected);
        assert_eq!(
            (view.job.due, view.job.payload.as_slice()),
            (slot, &b"7"[..])
        );
        // Looked at again and again, it stays at that.
        for _ in 0..3 {
            stage.crons.tell();
        }
        assert_eq!(jobs(&stage).await, hour);
    }
}

#[tokio::test]
async fn a_slot_that_waits_gets_its_job_when_the_one_before_ends() {
    let hourly = entry("@hourly", "loop", CronOverlap::BufferOne);
    let stage = stage(looping(), &[("hourly", hourly)]).await;
    an_hour_passes(&stage);
    let first = next_job(&stage, "hourly", None).await;
    stage.until_begun(first).await;
    an_hour_passes(&stage);
    row_when(&stage, "hourly", |row| row.state.waiting.is_some()).await;
    assert_eq!(jobs(&stage).await, 1);
    let cancel = Cancellation {
        how: Asked::Kill,
        at: UnixMs(0),
        by: "ada".into(),
        reason: None,
    };
    let off = stage
        .store
        .call_off(vec![first], cancel.clone())
        .await
        .expect("the store works");
    let lease = off[0].as_ref().expect("called off").lease.expect("it runs");
    stage.engine.call_off(first, lease, cancel);
    let second = next_job(&stage, "hourly", Some(first)).await;
    stage.until_begun(second).await;
    assert_eq!(stage.view(first).await.row.state, State::Cancelled);
    let row = row_when(&stage, "hourly", |_| true).await;
    assert_eq!((row.state.waiting, jobs(&stage).await), (None, 2));
}

#[tokio::test]
async fn a_slot_that_cancels_the_job_before_ends_its_attempt() {
    let hourly = entry("@hourly", "loop", CronOverlap::CancelOther);
    let stage = stage(looping(), &[("hourly", hourly)]).await;
    an_hour_passes(&stage);
    let first = next_job(&stage, "hourly", None).await;
    stage.until_begun(first).await;
    an_hour_passes(&stage);
    let second = next_job(&stage, "hourly", Some(first)).await;
    let view = stage.until(first, State::Cancelled).await;
    assert_eq!(
        view.cancel.expect("it was called off").by,
        "schedule hourly"
    );
    stage.until_begun(second).await;
}

#[tokio::test]
async fn one_that_fails_keeps_no_other_from_its_turn() {
    let mut faulty = entry("@hourly", "greet", CronOverlap::Skip);
    faulty.job.payload = vec![0; 2 << 20];
    let sound = entry("@hourly", "greet", CronOverlap::Skip);
    let stage = stage(greeting(), &[("a-faulty", faulty), ("sound", sound)]).await;
    an_hour_passes(&stage);
    next_job(&stage, "sound", None).await;
    let row = row_when(&stage, "a-faulty", |_| true).await;
    assert_eq!((row.state.latest, jobs(&stage).await), (None, 1));
}

#[tokio::test]
async fn a_start_is_a_slot_of_its_own_and_a_further_look_is_none() {
    let start = entry("@reboot", "greet", CronOverlap::Skip);
    let hourly = entry("@hourly", "greet", CronOverlap::Skip);
    let stage = stage(greeting(), &[("at-start", start), ("hourly", hourly)]).await;
    let id = next_job(&stage, "at-start", None).await;
    stage.until(id, State::Completed).await;
    an_hour_passes(&stage);
    next_job(&stage, "hourly", None).await;
    assert_eq!(jobs(&stage).await, 2);
}
