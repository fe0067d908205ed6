//! What is kept and for how long, and what schedules give their jobs.

use std::{fs, time::Duration};

use sandhog_kit::{Home, millis, wait};

use super::home;

const SOON: Duration = Duration::from_secs(30);

fn segments(home: &Home) -> Vec<u64> {
    let logs = fs::read_dir(home.data().join("logs")).expect("logs");
    let logs = logs
        .flatten()
        .flat_map(|log| fs::read_dir(log.path()).expect("a log"));
    logs.flatten()
        .filter(|file| {
            file.path()
                .extension()
                .is_some_and(|ending| ending == "seg")
        })
        .map(|file| file.metadata().expect("a size").len())
        .collect()
}

#[test]
fn segments_are_as_large_as_they_may_be() {
    let payload = "x".repeat(30_000);
    for (size, bytes, least) in [("64KiB", 64 << 10, 5), ("1MiB", 1 << 20, 1)] {
        let home = home(&format!("[store]\nsegment_size = \"{size}\"\n"));
        for _ in 0..10 {
            let _ = home.enqueue(&["echo", &payload, "--in", "1h"]);
        }
        let found = segments(&home);
        assert!(
            found.iter().all(|length| *length <= bytes),
            "{size}: {found:?}"
        );
        assert!(
            found.len() >= least && (least > 1 || found.len() == 1),
            "{size}: {found:?}"
        );
    }
}

#[test]
fn what_ended_is_forgotten_in_time() {
    let home = home("[store]\nkeep_completed = \"200ms\"\n[dead]\nkeep = \"1s\"\n");
    let runner = home.start();
    let id = home.enqueue(&["echo", "x"]);
    wait::until("the job to be forgotten", SOON, || {
        (home.run(&["job", "show", &id]).code != 0).then_some(())
    });
    let id = home.enqueue(&["permanent", "x"]);
    wait::until("the letter to be let go", SOON, || {
        runner.said().contains(&id).then_some(())?;
        (home.run(&["dead", "show", &id]).code != 0).then_some(())
    });
}

#[test]
fn dead_letters_are_kept_within_their_bytes() {
    let home = home("[dead]\nmax_bytes = \"8KiB\"\n");
    let _runner = home.start();
    let payload = "x".repeat(3_000);
    let ids: Vec<String> = (0..4)
        .map(|_| {
            let id = home.enqueue(&["permanent", &payload]);
            let _ = home.run(&["enqueue", "echo", "next", "--wait"]).exits(0);
            id
        })
        .collect();
    let left = wait::until("the oldest to go", SOON, || {
        let rows = home.run(&["dead", "ls", "-o", "json"]).exits(0).rows();
        let left: Vec<String> = rows
            .iter()
            .map(|row| row["id"].as_str().unwrap_or("").to_owned())
            .collect();
        (left.len() <= 2 && left.first() == ids.last()).then_some(left)
    });
    assert!(!left.is_empty());
}

#[test]
fn a_schedule_has_its_zone_and_its_job() {
    let home = home(
        "[cron.daily]\nschedule = \"30 12 * * *\"\nzone = \"Asia/Kathmandu\"\nkind = \"headers\"\nqueue = \"far\"\n\
         priority = -7\npayload = \"{\\\"n\\\": 1}\"\n",
    );
    let _ = home.enqueue(&["echo", "makes the data directory"]);
    let id = home.run(&["cron", "trigger", "daily"]).exits(0).text();
    let job = home.job(id.trim());
    assert_eq!(
        (&job["kind"], &job["queue"], &job["priority"]),
        (&"headers".into(), &"far".into(), &(-7).into()),
        "{job}"
    );
    assert!(job["payload"].to_string().contains('1'), "{job}");
    let rows = home.run(&["cron", "ls", "-o", "json"]).exits(0).rows();
    let next = rows[0]["next"].as_str().expect("a next slot");
    // A quarter to an hour that nobody else has.
    assert!(next.contains("T06:45:00"), "{next}");
}

#[test]
fn a_schedule_minds_its_overlap_and_its_jitter() {
    let home = home(
        "[cron.skips]\nschedule = \"* * * * * *\"\nkind = \"sleep\"\n[kind.sleep]\ntimeout = \"1h\"\n\
         [cron.allows]\nschedule = \"* * * * * *\"\nkind = \"echo\"\noverlap = \"allow\"\njitter = \"1h\"\n",
    );
    let runner = home.start();
    assert!(
        home.run(&["queue", "pause", "default"])
            .exits(0)
            .text()
            .len()
            < 1_000
    );
    let of = |kind: &str| home.walk(&["job", "ls", "--kind", kind], "50").0;
    let allowed = wait::until("slots to get their jobs", SOON, || {
        let jobs = of("echo");
        (jobs.len() > 3).then_some(jobs)
    });
    // The queue stands still: the first job has not ended.
    assert_eq!(of("sleep").len(), 1);
    let late = allowed.iter().filter(|row| {
        let job = home.job(row["id"].as_str().expect("an id"));
        let headers = job["headers"].as_array().expect("headers").clone();
        let slot = headers.into_iter().find(|header| header[0] == "cron-slot");
        let slot = slot.expect("a slot")[1]
            .as_str()
            .expect("an instant")
            .replace('Z', ".000Z");
        let slot = millis(&slot.into());
        millis(&job["at"]) > slot + 1_000
    });
    assert!(late.count() >= 2, "{allowed:?}");
    drop(runner);
}
