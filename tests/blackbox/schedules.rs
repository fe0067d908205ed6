//! Schedules of a runner that is there, is killed, and comes back.

use std::{collections::BTreeMap, time::Duration};

use sandhog_kit::{Home, long, wait};
use serde_json::Value;

use crate::SANDHOG;

const EVERY_SECOND: &str =
    "[cron.tick]\nschedule = \"@every 1s\"\nkind = \"echo\"\noverlap = \"allow\"\n";

/// How many jobs each slot of a schedule got, by what the log says.
fn slots(home: &Home) -> BTreeMap<u64, usize> {
    let mut slots = BTreeMap::new();
    for line in home.run(&["log", "dump", "-o", "json"]).exits(0).rows() {
        let cron = &line["event"]["Cron"];
        if !cron["job"].is_null() {
            let slot = cron["state"]["slot"].as_u64().expect("a slot");
            *slots.entry(slot).or_default() += 1;
        }
    }
    slots
}

/// The rows of `cron ls` by name.
fn listed(home: &Home) -> BTreeMap<String, Value> {
    let rows = home.run(&["cron", "ls", "-o", "json"]).exits(0).json();
    let rows = rows.as_array().expect("rows").clone();
    rows.into_iter()
        .map(|row| (row["name"].as_str().expect("a name").to_owned(), row))
        .collect()
}

/// T22: killed at any moment, the next runner goes on where this one was.
#[test]
fn t22_each_slot_gets_one_job_however_often_the_runner_is_killed() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config(&format!("{EVERY_SECOND}catch_up = \"all\"\n"));
    let kills = if long() { 200 } else { 12 };
    for kill in 0..kills {
        let runner = home.start();
        // Around the turn of a second as well as between: 130 ms later in each second.
        wait::let_run(Duration::from_millis(400 + (kill * 130) % 1_000));
        runner.kill9();
    }
    let runner = home.start();
    let before = listed(&home)["tick"]["last_slot"].clone();
    wait::until("another slot", Duration::from_secs(20), || {
        (listed(&home)["tick"]["last_slot"] != before).then_some(())
    });
    assert!(runner.terminate().success());
    let slots = slots(&home);
    let twice: Vec<_> = slots.iter().filter(|(_, jobs)| **jobs != 1).collect();
    assert!(twice.is_empty(), "slots with more than one job: {twice:?}");
    let (first, last) = (slots.keys().next().unwrap(), slots.keys().last().unwrap());
    let expected = (last - first) / 1_000 + 1;
    assert_eq!(
        slots.len() as u64,
        expected,
        "slots without a job: {slots:?}"
    );
    assert!(expected > kills / 2, "{expected} slots in {kills} runs");
    if std::env::var_os("SANDHOG_TABLE").is_some() {
        println!("T22: {kills} kills, {expected} slots, one job each");
    }
}

#[test]
fn a_job_of_a_schedule_runs_and_says_which_slot_it_is_of() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config(EVERY_SECOND);
    let _runner = home.start();
    let row = wait::until("a job", Duration::from_secs(20), || {
        let row = listed(&home)["tick"].clone();
        (row["latest_state"] == "completed").then_some(row)
    });
    let job = home.job(row["latest_job"].as_str().expect("an id"));
    let headers = job["headers"].to_string();
    let slot = row["last_slot"]
        .as_str()
        .expect("a slot")
        .replace(".000Z", "Z");
    assert!(
        headers.contains("\"tick\"") && headers.contains(&slot),
        "{headers} {slot}"
    );
}

/// The jobs of a schedule.
fn jobs_of(home: &Home, name: &str) -> Vec<Value> {
    let words = ["job", "ls", "--cron", name, "-o", "json"];
    let rows = home.run(&words).exits(0).json();
    rows.as_array().expect("rows").clone()
}

#[test]
fn what_is_said_of_a_schedule_lasts_over_a_restart() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config(
        "[cron.yearly]\nschedule = \"@yearly\"\nkind = \"echo\"\npayload = \"happy\"\n",
    );
    let runner = home.start();
    wait::until("the schedule to begin", Duration::from_secs(20), || {
        (!listed(&home)["yearly"]["next"].is_null()).then_some(())
    });
    let words = [
        "cron", "pause", "yearly", "--reason", "too cold", "--by", "ada",
    ];
    let _ = home.run(&words).exits(0);
    let words = [
        "cron",
        "add",
        "hourly",
        "@hourly",
        "--kind",
        "echo",
        "--tz",
        "Europe/Paris",
    ];
    let _ = home.run(&words).exits(0);
    runner.kill9();

    // Also what is asked while no runner is up.
    let rows = listed(&home);
    assert_eq!(rows["yearly"]["paused"]["by"], "ada");
    assert_eq!(rows["yearly"]["next"], Value::Null);
    assert_eq!(
        (&rows["hourly"]["zone"], &rows["hourly"]["added"]),
        (&"Europe/Paris".into(), &true.into())
    );
    let asked = home.run(&["cron", "trigger", "yearly"]).exits(0).text();
    let of_it = jobs_of(&home, "yearly");
    assert!(
        of_it.iter().any(|row| row["id"] == asked.trim()),
        "{of_it:?}"
    );
    assert_eq!(jobs_of(&home, "year"), Vec::<Value>::new());
    let _runner = home.start();
    let job = home.job_in(asked.trim(), "completed");
    assert_eq!(job["kind"], "echo");
    let _ = home.run(&["cron", "resume", "yearly"]).exits(0);
    let _ = home.run(&["cron", "rm", "hourly"]).exits(0);
    let rows = listed(&home);
    assert_eq!((rows.len(), rows["yearly"]["paused"].is_null()), (1, true));
    assert!(!rows["yearly"]["next"].is_null());

    let refused = home.run(&["cron", "rm", "yearly"]).exits(2);
    assert!(
        refused.stderr.contains("[cron.yearly]"),
        "{}",
        refused.stderr
    );
    let _ = home.run(&["cron", "pause", "never"]).exits(4);
    let refused = home
        .run(&["cron", "add", "never", "0 0 30 2 *", "--kind", "echo"])
        .exits(2);
    assert!(
        refused.stderr.contains("can never occur"),
        "{}",
        refused.stderr
    );
}
