//! One directory, one runner.

use std::time::{Duration, Instant};

use sandhog_kit::Home;

use crate::SANDHOG;

#[test]
fn a_second_start_ends_at_once_and_names_the_holder() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let runner = home.start();
    let start = Instant::now();
    let second = home.run(&["start"]);
    let took = start.elapsed();
    assert_ne!(second.code, 0);
    assert!(took < Duration::from_secs(1), "it took {took:?}");
    let pid = runner.pid().to_string();
    assert!(
        second.stderr.contains(&pid),
        "pid {pid} is not in: {}",
        second.stderr
    );
    assert_eq!(
        home.run(&["enqueue", "echo", "x", "--wait"])
            .exits(0)
            .text(),
        "x"
    );
}

#[test]
fn after_a_kill_the_next_start_takes_over() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let runner = home.start();
    let dead = runner.pid();
    runner.kill9();
    let runner = home.start();
    assert_ne!(runner.pid(), dead);
    assert!(
        runner.ready_after < Duration::from_secs(2),
        "{:?}",
        runner.ready_after
    );
}

#[test]
fn a_stop_puts_running_jobs_back_and_ends_well() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config("[runner]\nshutdown_grace = \"200ms\"\n");
    let runner = home.start();
    let id = home.enqueue(&["sleep", "x", "--header", "ms=2000", "--max-attempts", "1"]);
    let _ = home.job_in(&id, "running");
    let start = Instant::now();
    assert!(
        runner.terminate().success(),
        "a stop that was asked for is no failure"
    );
    assert!(
        start.elapsed() < Duration::from_secs(2),
        "it waited for the handler: {:?}",
        start.elapsed()
    );
    let job = home.job(&id);
    assert_eq!(
        (&job["state"], &job["attempt"]),
        (&"available".into(), &0.into()),
        "{job}"
    );
    let _runner = home.start();
    assert_eq!(home.job_in(&id, "completed")["attempt"], 1);
}
