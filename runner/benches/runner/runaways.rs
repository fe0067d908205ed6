//! A healthy queue beside handlers that loop for ever.

use sandhog::{
    app::{Stage, Stand},
    figures::below,
    plugin::Plugins as _,
    store::Store,
};
use sandhog_model::NewJob;

use super::{
    latency::{Ends, sample},
    stand,
};
use crate::{
    command::Size,
    report::{Goal, Line, Report},
    sandbox::guests,
    stage::Place,
};

/// How much longer all but one in a hundred of the healthy may take.
const TIMES: f64 = 2.0;
/// Healthy jobs in a round.
const HEALTHY: usize = 200;
/// The kind that loops, and the queue its jobs are in.
const LOOPS: &str = "loop";
const QUEUE: &str = "runaways";
/// Wall time of those that loop: each is stopped by then, and the next begins.
const WALL: &str = "1s";

/// A setting: what it is called, and what stands in it beside the wall time.
const SETTINGS: [(&str, &str); 2] = [
    (
        "concurrency 1 for their queue",
        "[queue.runaways]\nconcurrency = 1\n",
    ),
    ("no limit", ""),
];

pub(crate) fn measure(place: &Place, wanted: &Size, report: &mut Report) -> Result<(), String> {
    let [_, rust] = guests::all()?;
    for (name, text) in SETTINGS {
        let dir = place.fresh("runaways")?;
        let config = stand::settings(&format!("{text}[kind.loop]\ntimeout = \"{WALL}\"\n"))?;
        let stand = stand::of(&dir, &rust, &config)?;
        let known = stand.registry().catalog();
        if known.serving(LOOPS).is_none() {
            return Err("the guest does not loop".to_owned());
        }
        // Without a limit each healthy job waits for one that loops to be stopped.
        let healthy = if text.is_empty() {
            HEALTHY / 10
        } else {
            HEALTHY
        };
        let healthy = healthy.min(wanted.count);
        let (mut beside, mut quiet) = (Vec::new(), Vec::new());
        for _ in 0..wanted.rounds {
            quiet.push(round(&stand, rust.kind, healthy, 0)?);
            beside.push(round(&stand, rust.kind, healthy, wanted.count)?);
        }
        let runaways = wanted.count;
        for (part, p, goal) in [
            (0, "p50", Goal::Information),
            (1, "p99", Goal::AtMost(TIMES)),
        ] {
            let of = |rounds: &[[f64; 2]]| rounds.iter().map(|round| round[part]).collect();
            let title = format!("healthy {p} beside {runaways} runaways, {name}");
            let goal = if text.is_empty() {
                Goal::Information
            } else {
                goal
            };
            report.push(
                Line::new(&title, "commit", "µs", of(&beside))
                    .beside(of(&quiet))
                    .goal(goal),
            );
        }
        stand::clear(stand, &dir)?;
    }
    Ok(())
}

/// Half and all but one in a hundred of the healthy jobs take no longer than this, in µs, one after the other.
fn round(stand: &Stand, kind: &str, healthy: usize, runaways: usize) -> Result<[f64; 2], String> {
    let (ends, ended) = Ends::new();
    let job = stand::job(kind);
    stand.run(async {
        let stage = stand.start(ends).await.map_err(stand::told)?;
        sample(stand, &stage, &job, &ended).await?;
        loops(stand, &stage, runaways).await?;
        let mut took = Vec::new();
        for _ in 0..healthy {
            took.push(sample(stand, &stage, &job, &ended).await?);
        }
        stage.close().await.map_err(stand::told)?;
        Ok([below(&took, 0.5), below(&took, 0.99)])
    })
}

async fn loops(stand: &Stand, stage: &Stage, runaways: usize) -> Result<(), String> {
    let new = NewJob {
        queue: Some(QUEUE.to_owned()),
        ..stand::job(LOOPS)
    };
    let jobs = (0..runaways).map(|_| stand.job(stage.store.mint(), new.clone()));
    let answers = stage.store.enqueue(jobs.collect()).await;
    let answers = answers.map_err(|error| error.to_string())?;
    match answers.into_iter().find_map(Result::err) {
        Some(refused) => Err(refused.to_string()),
        None => Ok(()),
    }
}
