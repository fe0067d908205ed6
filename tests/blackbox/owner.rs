//! One directory, one runner.

use std::{
    fs::OpenOptions,
    process::Stdio,
    time::{Duration, Instant},
};

use sandhog_kit::{Home, wait};

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

#[test]
fn a_start_waits_for_a_command_that_is_about_to_end() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let _ = home.enqueue(&["echo", "x"]);
    // Each holds the directory for a moment, one after the other and some at once.
    let commands: Vec<_> = (0..40)
        .map(|_| home.command(&["job", "ls"]))
        .map(|mut command| {
            command.stdout(Stdio::null()).stderr(Stdio::null());
            command.spawn().expect("the command starts")
        })
        .collect();
    let runner = home.start();
    assert!(runner.pid() > 0);
    for mut command in commands {
        assert!(command.wait().expect("the command ends").success());
    }
}

#[test]
fn a_log_that_cannot_be_written_stops_no_job() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let full = OpenOptions::new().write(true).open("/dev/full");
    let mut runner = home.command(&["start"]);
    runner.stderr(full.expect("/dev/full is there"));
    let mut runner = runner.stdout(Stdio::null()).spawn().expect("it starts");
    let answer = wait::until("the runner", Duration::from_secs(30), || {
        let answer = home.run(&["enqueue", "echo", "heard", "--wait", "--timeout", "20s"]);
        (answer.code != 3).then_some(answer)
    });
    let failing = home.run(&["enqueue", "permanent", "x", "--wait", "--timeout", "20s"]);
    runner.kill().expect("it runs");
    runner.wait().expect("it ends");
    assert_eq!(answer.exits(0).text(), "heard");
    let _ = failing.exits(1);
}

#[test]
fn whoever_waits_keeps_the_id_when_the_runner_goes_away() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let runner = home.start();
    let mut waiting = home.command(&["-o", "json", "enqueue", "sleep", "--header", "ms=25000"]);
    waiting.arg("--wait").stdout(Stdio::piped());
    let waiting = waiting.stderr(Stdio::piped()).spawn().expect("it starts");
    let id = wait::until("the job to run", Duration::from_secs(30), || {
        let (rows, _) = home.walk(&["job", "ls", "--state", "running"], "10");
        Some(rows.first()?["id"].as_str()?.to_owned())
    });
    runner.kill9();
    let answer = waiting.wait_with_output().expect("it ends");
    assert_eq!(answer.status.code(), Some(3));
    let said = String::from_utf8_lossy(&answer.stdout);
    assert!(said.contains(&id), "{said}");
    assert!(String::from_utf8_lossy(&answer.stderr).contains(&id));
}
