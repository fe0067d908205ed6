//! Jobs that ended are forgotten as the settings say, and their records leave the disk.

use std::{fs, time::Duration};

use sandhog_kit::{Home, wait};

use crate::SANDHOG;

const SEGMENT: u64 = 64 << 10;
const JOBS: usize = 1_000;

#[test]
fn ended_jobs_are_forgotten_and_the_log_stays_small() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config("[store]\nsegment_size = \"64KiB\"\nmax_completed = 3\n");
    let runner = home.start();
    let late = home.enqueue(&["echo", "kept", "--in", "87600h"]);
    let file = home.folder().join("many.ndjson");
    let line = |n: usize| format!("{{\"payload\": {{\"n\": {n}}}}}\n");
    fs::write(&file, (0..JOBS).map(line).collect::<String>()).unwrap();
    let answer = home
        .run(&["enqueue", "echo", "--bulk", file.to_str().unwrap()])
        .exits(0);
    let first = answer.text().lines().next().unwrap().to_owned();
    let stats = wait::until("a small log", Duration::from_secs(60), || {
        let stats = home.json(&["stats"]);
        let number = |name: &str| stats["store"][name].as_u64().unwrap();
        let small = number("log_bytes") + SEGMENT <= 10 * number("live_bytes") + 2 * SEGMENT;
        let all = number("pruned_jobs") == JOBS as u64 - 3;
        (all && small).then_some(stats)
    });
    assert!(
        stats["store"]["freed_segments"].as_u64() > Some(0),
        "{stats}"
    );
    let shown = home.run(&["stats"]).exits(0).text();
    assert!(shown.contains("997 ended jobs"), "{shown}");
    let gone = home.run(&["job", "show", &first]);
    assert!(
        gone.stderr.contains("store.keep_completed"),
        "{}",
        gone.stderr
    );
    assert_eq!(home.job(&late)["payload"], "kept");
    assert!(runner.terminate().success());
    let check = home.json(&["log", "check"]);
    assert_eq!(check["sound"], true, "{check}");
    let rows = home.run(&["job", "ls", "-o", "json"]).exits(0).rows();
    assert_eq!(rows.len(), 4, "{rows:?}");
    assert_eq!(home.job(&late)["state"], "scheduled");
}
