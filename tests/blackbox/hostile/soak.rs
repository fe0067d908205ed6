//! Many bad ends one after the other, and what is left of them.

use std::{fs, time::Duration};

use sandhog_kit::{Home, Runner, long, wait};

use super::table::holds;
use crate::SANDHOG;

/// Jobs of one round: as many trap, run out of time and are well.
const ROUND: usize = 600;
/// Rounds within which memory must have settled.
const WARM_UP: usize = 12;

fn round(home: &Home, runner: &Runner) -> u64 {
    let file = home.folder().join("round.ndjson");
    let line = |n: usize| {
        let kind = ["divide", "loop", "echo"][n % 3];
        format!("{{\"kind\":\"{kind}\",\"payload\":\"x\",\"max_attempts\":1}}\n")
    };
    fs::write(&file, (0..ROUND).map(line).collect::<String>()).unwrap();
    let _ = home
        .run(&["enqueue", "--bulk", file.to_str().unwrap()])
        .exits(0);
    wait::until("the round to end", Duration::from_secs(600), || {
        let jobs = &home.json(&["stats"])["store"]["jobs"];
        let left = ["available", "running"].map(|state| jobs[state].as_u64().unwrap());
        (left == [0, 0]).then_some(())
    });
    runner.resident_kib()
}

#[test]
fn traps_and_time_outs_leave_no_memory_file_or_thread_behind() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    // What ended is not kept, so that memory is that of attempts alone.
    home.write_config(
        "[runner]\nworkers = 4\nslots = 8\n[store]\nmax_completed = 100\n[dead]\nmax_letters = 100\n\
         [plugins]\nquarantine_after = 0\n\
         [kind.loop]\ntimeout = \"20ms\"\n",
    );
    let mut runner = home.start();
    let rounds = if long() { 100_000 / ROUND } else { 4 };
    // Warm once two rounds in a row add no more than one in a hundred: how many rounds that takes goes
    // by how many slots are used at a time, on a busy machine by more than on an idle one.
    let mut seen = vec![round(&home, &runner)];
    let mut still = 0;
    while seen.len() < WARM_UP && still < 2 {
        let (most, now) = (*seen.iter().max().unwrap(), round(&home, &runner));
        seen.push(now);
        still = if now <= most + most / 100 {
            still + 1
        } else {
            0
        };
    }
    let warm = *seen.iter().max().unwrap();
    let held = holds(&runner);
    let warmed_up = seen.len();
    seen.extend((0..rounds).map(|_| round(&home, &runner)));
    let last = *seen.last().unwrap();
    assert!(runner.ended().is_none(), "{}", runner.said());
    println!(
        "{} good and bad ends after {warmed_up} rounds to warm up: resident {warm} KiB → {last} KiB, files and threads {held:?} → {:?}",
        rounds * ROUND,
        holds(&runner)
    );
    assert!(
        last < warm + warm / 10,
        "{warm} KiB after {warmed_up} rounds grew to {last} KiB: {seen:?}"
    );
    let now = holds(&runner);
    assert!(
        now.0 <= held.0 + 4 && now.1 <= held.1,
        "{held:?} became {now:?}"
    );
}
