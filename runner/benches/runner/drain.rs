//! Whole jobs from the store through the engine, beside a prototype that runs bare attempts and hands its reports to a
//! bare log.

use std::{
    collections::VecDeque,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Instant,
};

use sandhog::plugin::Live;

use super::stand;
use crate::{
    command::Size,
    report::{Goal, Line, Report},
    sandbox::{
        bare::Bare,
        guests::{self, Guest},
    },
    stage::Place,
    store::bare::BareLog,
};

/// What is to be reached of the prototype's rate.
const SHARE: f64 = 0.7;
/// Attempts of the prototype for one wish to its log, and wishes that may be without an answer.
const BATCH: usize = 64;
const AHEAD: usize = 16;
/// Bytes of the prototype's report on a job.
const DONE: usize = 32;

/// Every worker of the machine, and each report synced.
pub(crate) fn durable(place: &Place, wanted: &Size, report: &mut Report) -> Result<(), String> {
    compare(place, wanted, report, "commit", stand::workers())
}

/// One worker, and no sync.
pub(crate) fn loose(place: &Place, wanted: &Size, report: &mut Report) -> Result<(), String> {
    compare(place, wanted, report, "none", 1)
}

fn compare(
    place: &Place,
    wanted: &Size,
    report: &mut Report,
    durability: &str,
    workers: usize,
) -> Result<(), String> {
    let slots = wanted.slots;
    for guest in guests::all()? {
        let dir = place.fresh("drain")?;
        let config = stand::settings(&format!(
            "[runner]\nworkers = {workers}\nslots = {slots}\n[limits]\nmemory = \"16MiB\"\n[store]\ndurability = \"{durability}\"\n"
        ))?;
        let stand = stand::of(&dir, &guest, &config)?;
        let (mut products, mut bares, mut parts) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..wanted.rounds {
            // Who goes first changes, so that neither always meets what the other left.
            for ours in [round % 2 == 0, round % 2 != 0] {
                if ours {
                    let drained =
                        stand.drain(&stand::job(guest.kind), wanted.count, &Live::default());
                    let drained = drained.map_err(stand::told)?;
                    products.push(drained.jobs as f64 / drained.seconds);
                    parts.push(drained);
                } else {
                    bares.push(prototype(
                        &dir,
                        &guest,
                        workers,
                        wanted.count,
                        durability == "commit",
                    )?);
                }
            }
        }
        let setting = format!("{durability}, {workers} × {slots} slots");
        let name = format!("jobs/s, {} guest", guest.name);
        report.push(
            Line::new(&name, &setting, "1/s", products)
                .beside(bares)
                .goal(Goal::AtLeast(SHARE)),
        );
        let of_job = |part: fn(&sandhog::cli::Drained) -> f64| {
            let each = parts.iter();
            each.map(|one| part(one) / one.jobs as f64).collect()
        };
        let us = |name, part| Line::new(name, &setting, "µs", of_job(part));
        report.push(us("  of a worker for a job", |one| {
            one.seconds * 1e6 * one.workers as f64
        }));
        report.push(us("  in its sandbox and around it", |one| {
            one.running.as_secs_f64() * 1e6
        }));
        report.push(us("  waiting for claims", |one| {
            one.claiming.as_secs_f64() * 1e6
        }));
        stand::clear(stand, &dir)?;
    }
    Ok(())
}

/// Jobs a second of as many threads as there are workers, each with an engine of its own: bare attempts, whose reports
/// are handed in many at a time to one thread that writes and syncs them.
fn prototype(
    dir: &Path,
    guest: &Guest,
    workers: usize,
    jobs: usize,
    sync: bool,
) -> Result<f64, String> {
    let place = dir.join("bare-log");
    std::fs::create_dir(&place).map_err(|error| format!("cannot make a folder: {error}"))?;
    let log = BareLog::open(&place, sync).map_err(|error| format!("the bare log: {error}"))?;
    let hosts = (0..workers)
        .map(|_| Bare::new(&guest.bytes, guest.kind))
        .collect::<Result<Vec<Bare>, String>>()?;
    let left = AtomicUsize::new(jobs);
    let start = Instant::now();
    thread::scope(|scope| {
        let threads: Vec<_> = hosts
            .into_iter()
            .map(|host| scope.spawn(|| drained(host, &left, &log)))
            .collect();
        threads.into_iter().try_for_each(|thread| {
            let ended = thread.join();
            ended.unwrap_or_else(|_| Err("a thread of the prototype broke".to_owned()))
        })
    })?;
    let seconds = start.elapsed().as_secs_f64();
    drop(log);
    crate::stage::clear(&place)?;
    Ok(jobs as f64 / seconds)
}

/// One thread of it, until all jobs are taken and its reports are durable.
fn drained(host: Bare, left: &AtomicUsize, log: &BareLog) -> Result<(), String> {
    let mut open = VecDeque::new();
    let answered = |answer: tokio::sync::oneshot::Receiver<u64>| {
        let durable = answer.blocking_recv();
        durable
            .map(drop)
            .map_err(|_| "the bare log broke".to_owned())
    };
    loop {
        let take = |left: usize| (left > 0).then(|| left - left.min(BATCH));
        let Ok(before) = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) else {
            break;
        };
        let many = before.min(BATCH);
        (0..many).try_for_each(|_| host.attempt())?;
        open.push_back(log.tell(vec![7; DONE], many));
        if open.len() > AHEAD {
            open.pop_front().map_or(Ok(()), answered)?;
        }
    }
    open.into_iter().try_for_each(answered)
}
