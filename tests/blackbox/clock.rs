//! T17: a wall clock that is set back and forth under a running runner. The monotonic clock goes on.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use sandhog_kit::{Home, Runner, wait};

use crate::SANDHOG;

const SOON: Duration = Duration::from_secs(30);

/// The library through which a program sees another time.
fn library() -> PathBuf {
    let places = fs::read_dir("/usr/lib").expect("/usr/lib is there");
    let places = places.flatten().map(|place| place.path());
    let library = places
        .map(|place| place.join("faketime/libfaketime.so.1"))
        .find(|library| library.exists());
    library.expect("libfaketime is there: `cargo xtask test` installs Debian's package")
}

/// Set the clock so many seconds off.
fn set(clock: &Path, seconds: i64) {
    let passing = clock.with_extension("passing");
    fs::write(&passing, format!("{seconds:+}\n")).expect("the clock can be set");
    fs::rename(passing, clock).expect("the clock can be set");
}

fn start(home: &Home, clock: &Path) -> Runner {
    let mut command = home.command(&["start"]);
    command
        .env("LD_PRELOAD", library())
        .env("FAKETIME_TIMESTAMP_FILE", clock)
        .env("FAKETIME_NO_CACHE", "1")
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    Runner::by(home, command)
}

/// Processor time a process has used, in seconds.
fn used(pid: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or("").split(' ').collect();
    // Ticks in its own code and in the kernel's; a hundred make a second.
    let ticks = |at: usize| fields[at].parse::<f64>().expect("ticks");
    (ticks(11) + ticks(12)) / 100.0
}

#[test]
fn t17_a_clock_that_is_set_loses_no_lease_and_gives_no_slot_two_jobs() {
    const HOUR: i64 = 3_600;
    const DAY: i64 = 24 * HOUR;
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config(
        "[runner]\nlease = \"1s\"\n[store]\nkeep_completed = \"forever\"\n\
         [cron.tick]\nschedule = \"* * * * * *\"\nkind = \"echo\"\ncatch_up_window = \"24h\"\n",
    );
    let clock = home.folder().join("clock");
    set(&clock, 0);
    let runner = start(&home, &clock);
    let later = home.enqueue(&["echo", "later", "--in", "2d"]);
    let began = Instant::now();
    let since_1970 = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("after 1970");
    let to_1970 = 600 - i64::try_from(since_1970.as_secs()).expect("seconds");
    let jumps = [-HOUR, 0, -DAY, DAY, to_1970, 0, 3_650 * DAY];
    for (number, jump) in jumps.into_iter().enumerate() {
        let id = home.enqueue(&["sleep", "x", "--header", "ms=1500"]);
        let _ = home.job_in(&id, "running");
        let (before, started) = (used(runner.pid()), Instant::now());
        set(&clock, jump);
        let job = home.job_in(&id, "completed");
        assert_eq!(
            (&job["attempt"], &job["losses"]),
            (&1.into(), &0.into()),
            "{jump}: {job}"
        );
        let (took, used) = (started.elapsed().as_secs_f64(), used(runner.pid()) - before);
        assert!(used < took / 2.0, "busy after {jump}: {used} s of {took} s");
        if number + 1 < jumps.len() {
            assert_eq!(home.job(&later)["state"], "scheduled", "{jump}");
        }
    }
    // Ten years on it is due, and not before.
    let _ = home.job_in(&later, "completed");

    let seconds = began.elapsed().as_secs() as usize;
    let (rows, _) = home.walk(&["job", "ls", "--kind", "echo"], "500");
    let mut slots = BTreeSet::new();
    for row in &rows {
        let job = home.job(row["id"].as_str().expect("an id"));
        let headers = job["headers"].as_array().expect("headers");
        let slot = headers.iter().find(|header| header[0] == "cron-slot");
        let Some(slot) = slot.and_then(|slot| slot[1].as_str()) else {
            assert_eq!(job["id"], later.as_str());
            continue;
        };
        assert!(slots.insert(slot.to_owned()), "{slot} got two jobs");
    }
    // One a second at most, and one made good after each step forward.
    assert!(
        slots.len() <= seconds + 2 * jumps.len(),
        "{} jobs in {seconds} s",
        slots.len()
    );
    assert!(!slots.is_empty());
    if std::env::var_os("SANDHOG_TABLE").is_some() {
        println!(
            "T17: {} steps of the clock, {} slots, one job each",
            jumps.len(),
            slots.len()
        );
    }
    assert!(runner.terminate().success());
}

#[test]
fn missed_slots_are_made_good_as_the_settings_say() {
    const HOUR: i64 = 3_600;
    let made_good = |policy: &str| {
        let home = Home::with(SANDHOG, &["misbehave"]);
        // Ten minutes apart, so that six of them are in the hour for which no runner was up.
        home.write_config(&format!(
            "[cron.tick]\nschedule = \"@every 10m\"\nkind = \"echo\"\noverlap = \"allow\"\n{policy}\n"
        ));
        let clock = home.folder().join("clock");
        set(&clock, -HOUR);
        let runner = start(&home, &clock);
        wait::until("the schedule to begin", SOON, || {
            let log = home.run(&["log", "dump"]).exits(0).text();
            log.contains("tick").then_some(())
        });
        assert!(runner.terminate().success());
        set(&clock, 0);
        let runner = start(&home, &clock);
        let told = wait::until("the missed slots to be dealt with", SOON, || {
            runner
                .said()
                .contains("slots were missed")
                .then(|| runner.said())
        });
        // What was told first is in the log before anything that is asked for later.
        let _ = home.run(&["enqueue", "headers", "x", "--wait"]).exits(0);
        let (rows, _) = home.walk(&["job", "ls", "--kind", "echo"], "50");
        assert!(
            told.contains(&format!("made_good={}", rows.len())),
            "{policy}: {} jobs, {told}",
            rows.len()
        );
        rows.len()
    };
    assert_eq!(made_good("catch_up = \"none\""), 0);
    assert_eq!(made_good("catch_up = \"latest\""), 1);
    let all = made_good("catch_up = \"all\"\ncatch_up_window = \"2h\"");
    assert!((5..=6).contains(&all), "{all}");
    let late = made_good("catch_up = \"all\"\ncatch_up_window = \"25m\"");
    assert!((2..=3).contains(&late), "{late}");
}
