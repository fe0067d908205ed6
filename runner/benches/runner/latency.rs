//! From an enqueue to the end of its handler on a runner that has nothing else to do, beside one sync and one bare
//! attempt.

use std::{
    fs::File,
    os::unix::fs::FileExt as _,
    path::Path,
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
    time::{Duration, Instant},
};

use sandhog::{
    app::{AttemptEnd, AttemptWatch, Stage, Stand},
    figures::below,
    store::Store,
};
use sandhog_model::{JobId, NewJob, Outcome, State};
use tokio::sync::broadcast::error::RecvError;

use super::stand;
use crate::{
    command::Size,
    report::{Goal, Line, Report},
    sandbox::{bare::Bare, guests},
    stage::{PAYLOAD, Place},
};

/// How much longer than the baseline's middle half of them may take, and all but one in a hundred.
const TIMES: (f64, f64) = (1.3, 3.0);
/// Bytes of the file that the baseline writes over, zero-filled before.
const FILE: usize = 16 << 20;
/// Bytes of a job's record beside its payload.
const RECORD: usize = 128;

/// Tells when attempts ended.
pub(crate) struct Ends(Sender<(JobId, Instant, bool)>);

impl Ends {
    pub(crate) fn new() -> (Arc<Self>, Receiver<(JobId, Instant, bool)>) {
        let (told, ends) = channel();
        (Arc::new(Self(told)), ends)
    }
}

impl AttemptWatch for Ends {
    fn ended(&self, end: &AttemptEnd<'_>) {
        let completed = matches!(end.outcome, Outcome::Completed(_));
        // Whoever waited may have gone.
        let _ = self.0.send((end.job, end.ended, completed));
    }
}

pub(crate) fn measure(place: &Place, wanted: &Size, report: &mut Report) -> Result<(), String> {
    let [hand_made, _] = guests::all()?;
    let dir = place.fresh("latency")?;
    let stand = stand::of(&dir, &hand_made, &stand::settings("")?)?;
    let bare = Synced::new(&dir, Bare::new(&hand_made.bytes, hand_made.kind)?)?;
    let (ends, ended) = Ends::new();
    let job = stand::job(hand_made.kind);
    let (mut products, mut bares) = (Vec::new(), Vec::new());
    stand.run(async {
        let stage = stand.start(ends).await.map_err(stand::told)?;
        // Pages touched, code linked.
        sample(&stand, &stage, &job, &ended).await?;
        for _ in 0..wanted.rounds {
            let (mut ours, mut least) = (Vec::new(), Vec::new());
            for number in 0..wanted.count {
                ours.push(sample(&stand, &stage, &job, &ended).await?);
                least.push(bare.sample(number)?);
            }
            products.push(ours);
            bares.push(least);
        }
        stage.close().await.map_err(stand::told)
    })?;
    let part = |of: &[Vec<f64>], part| of.iter().map(|round| below(round, part)).collect();
    let line = |name, part_of, goal| {
        Line::new(name, "commit", "µs", part(&products, part_of))
            .beside(part(&bares, 0.5))
            .goal(goal)
    };
    report.push(line(
        "enqueue to handler's end, p50, beside p50",
        0.5,
        Goal::AtMost(TIMES.0),
    ));
    report.push(line(
        "enqueue to handler's end, p99, beside p50",
        0.99,
        Goal::AtMost(TIMES.1),
    ));
    report.push(
        Line::new(
            "enqueue to handler's end, p99, beside p99",
            "commit",
            "µs",
            part(&products, 0.99),
        )
        .beside(part(&bares, 0.99)),
    );
    stand::clear(stand, &dir)
}

/// Microseconds from an enqueue to the end of its attempt. Gives back once the report is durable, so that the runner
/// is idle again.
pub(crate) async fn sample(
    stand: &Stand,
    stage: &Stage,
    job: &NewJob,
    ended: &Receiver<(JobId, Instant, bool)>,
) -> Result<f64, String> {
    use sandhog::store::Inspect as _;
    let mut changes = stage.store.changes();
    let id = stage.store.mint();
    let job = stand.job(id, job.clone());
    let start = Instant::now();
    let answers = stage.store.enqueue(vec![job]).await;
    let answers = answers.map_err(|error| error.to_string())?;
    answers
        .into_iter()
        .try_for_each(|answer| answer.map(drop).map_err(|refused| refused.to_string()))?;
    loop {
        match changes.recv().await {
            Ok(change) if change.id == id && change.state.is_final() => {
                if change.state != State::Completed {
                    return Err(format!("a job ended as {}", change.state));
                }
                break;
            }
            // Those of other jobs may be many.
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return Err("the store closed".to_owned()),
        }
    }
    let end = ended.try_iter().find(|(job, ..)| *job == id);
    let (_, end, _) = end.ok_or("an attempt's end was not told")?;
    Ok(microseconds(end.saturating_duration_since(start)))
}

fn microseconds(span: Duration) -> f64 {
    span.as_secs_f64() * 1e6
}

/// A record written and synced, then a bare attempt, on one thread.
struct Synced {
    file: File,
    host: Bare,
}

impl Synced {
    fn new(dir: &Path, host: Bare) -> Result<Self, String> {
        let make = || -> std::io::Result<File> {
            let file = File::create(dir.join("synced"))?;
            file.write_all_at(&vec![0; FILE], 0)?;
            file.sync_all()?;
            Ok(file)
        };
        let file = make().map_err(|error| format!("the baseline's file: {error}"))?;
        Ok(Self { file, host })
    }

    fn sample(&self, number: usize) -> Result<f64, String> {
        let record = [7; PAYLOAD + RECORD];
        let place = number * record.len() % (FILE - record.len());
        let start = Instant::now();
        let written = self.file.write_all_at(&record, place as u64);
        written
            .and_then(|()| self.file.sync_data())
            .map_err(|error| format!("the baseline's file: {error}"))?;
        self.host.attempt()?;
        Ok(microseconds(start.elapsed()))
    }
}
