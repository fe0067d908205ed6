//! T53: signals, a terminal that goes away, and the first process of a container.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use sandhog_kit::{Home, Runner, wait};

use crate::SANDHOG;

const SOON: Duration = Duration::from_secs(60);

/// Another program with the environment of a home's.
fn outside(home: &Home, program: &str) -> Command {
    let own = home.command(&["start"]);
    let mut command = Command::new(program);
    command
        .envs(
            own.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .current_dir(home.folder())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// A job that runs, once there is a runner for it.
fn once_up(home: &Home, words: &[&str]) -> String {
    wait::until("a runner", SOON, || {
        (home.run(&["worker", "ls"]).code == 0).then_some(())
    });
    let id = home.enqueue(words);
    let _ = home.job_in(&id, "running");
    id
}

/// The attempts and losses of a job that is available again.
fn put_back(home: &Home, id: &str) -> (u64, u64) {
    let job = home.job(id);
    assert_eq!(job["state"], "available", "{job}");
    let number = |field: &str| job[field].as_u64().expect("a number");
    (number("attempt"), number("losses"))
}

fn ended_well(mut runner: Runner) {
    let status = wait::until("the end", SOON, || runner.ended());
    assert_eq!(status.code(), Some(0), "{}", runner.said());
}

#[test]
fn a_stop_waits_for_short_jobs_and_puts_stuck_ones_back() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config(
        "[runner]\nworkers = 2\nslots = 5\nshutdown_grace = \"5s\"\n[limits]\ntimeout = \"1h\"\n",
    );
    let runner = home.start();
    let sleeps = |ms: &str| home.enqueue(&["sleep", "x", "--header", &format!("ms={ms}")]);
    let mut in_time: Vec<String> = (0..4).map(|_| sleeps("300")).collect();
    in_time.extend((0..3).map(|_| sleeps("1200")));
    let mut stuck: Vec<String> = (0..2).map(|_| home.enqueue(&["loop", "x"])).collect();
    stuck.push(sleeps("600000"));
    for id in &stuck {
        let _ = home.job_in(id, "running");
    }
    runner.signal("TERM");
    let waiting = home.run(&["enqueue", "echo", "late"]);
    ended_well(runner);
    for id in &in_time {
        let job = home.job(id);
        assert_eq!(
            (&job["state"], &job["attempt"]),
            (&"completed".into(), &1.into()),
            "{job}"
        );
    }
    for id in &stuck {
        assert_eq!(put_back(&home, id), (0, 0));
    }
    // What was enqueued meanwhile was refused or waits.
    if waiting.code == 0 {
        assert_eq!(put_back(&home, waiting.text().trim()), (0, 0));
    }
}

#[test]
fn a_second_signal_stops_at_once() {
    for (first, second) in [("TERM", "TERM"), ("INT", "INT"), ("INT", "TERM")] {
        let home = Home::with(SANDHOG, &["misbehave"]);
        home.write_config("[runner]\nshutdown_grace = \"1h\"\n[limits]\ntimeout = \"2h\"\n");
        let runner = home.start();
        let id = once_up(&home, &["sleep", "x", "--header", "ms=3000000"]);
        runner.signal(first);
        wait::until("the stop to begin", SOON, || {
            runner
                .said()
                .contains("no new jobs are claimed")
                .then_some(())
        });
        assert_eq!(home.job(&id)["state"], "running");
        // One that asks for the settings ends nothing.
        runner.signal("HUP");
        runner.signal(second);
        ended_well(runner);
        assert_eq!(put_back(&home, &id), (0, 0));
    }
}

#[test]
fn a_terminal_that_goes_away_is_a_stop() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config("[runner]\nshutdown_grace = \"200ms\"\n");
    let start = home.command(&["start"]);
    let quoted = |text: &std::ffi::OsStr| format!("'{}'", text.to_string_lossy());
    let program = quoted(start.get_program());
    let mut terminal = Command::new("script");
    terminal
        .args(["-qec", &format!("exec {program} start"), "/dev/null"])
        .envs(
            start
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .current_dir(home.folder())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut terminal = terminal.spawn().expect("script can be run");
    let id = once_up(&home, &["sleep", "x", "--header", "ms=60000"]);
    let pid = home.json(&["stats"])["runner"]["pid"]
        .as_u64()
        .expect("a pid");
    terminal.kill().expect("it runs");
    terminal.wait().expect("it ends");
    let process = format!("/proc/{pid}");
    wait::until("the runner to end", SOON, || {
        (!Path::new(&process).exists()).then_some(())
    });
    // A runner that broke off would have lost the job.
    assert_eq!(put_back(&home, &id), (0, 0));
}

/// The processes whose parent a process is.
fn children(of: u32) -> Vec<u32> {
    let listed = fs::read_to_string(format!("/proc/{of}/task/{of}/children"));
    let ids = listed.unwrap_or_default();
    ids.split_whitespace()
        .filter_map(|id| id.parse().ok())
        .collect()
}

fn signal(name: &str, to: u32) {
    let sent = Command::new("kill")
        .args([&format!("-{name}"), &to.to_string()])
        .status();
    assert!(sent.expect("kill can be run").success());
}

#[test]
fn as_the_first_process_it_takes_in_orphans_and_ends_when_told() {
    const NAMESPACES: [&str; 5] = [
        "--user",
        "--map-root-user",
        "--pid",
        "--fork",
        "--kill-child",
    ];
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config("[runner]\nshutdown_grace = \"200ms\"\n");
    let allowed = outside(&home, "unshare")
        .args(NAMESPACES)
        .arg("true")
        .status();
    if !allowed.is_ok_and(|status| status.success()) {
        eprintln!("NOT RUN, this system allows no namespaces: the first process of a container");
        return;
    }
    let program = home.command(&["start"]).get_program().to_owned();
    let mut container = outside(&home, "unshare");
    container.args(NAMESPACES).arg(program).arg("start");
    let mut container = container.spawn().expect("unshare can be run");
    let id = once_up(&home, &["sleep", "x", "--header", "ms=60000"]);
    let first = children(container.id());
    let [first] = first[..] else {
        panic!("the first process: {first:?}");
    };
    assert_eq!(children(first).len(), 1, "the runner");

    // As `docker exec` does: a process of its own that leaves another behind.
    let leave = "sleep 1 & echo $!";
    let target = first.to_string();
    let mut stranger = outside(&home, "nsenter");
    stranger.args([
        "--target",
        &target,
        "--user",
        "--pid",
        "--preserve-credentials",
    ]);
    let left = stranger.args(["sh", "-c", leave]).status();
    assert!(left.expect("nsenter can be run").success());
    assert_eq!(children(first).len(), 2, "an orphan that still runs");
    wait::until("the orphan to be gone", SOON, || {
        (children(first).len() == 1).then_some(())
    });

    signal("HUP", first);
    assert_eq!(home.job(&id)["state"], "running");
    signal("TERM", first);
    let status = wait::until("the container to end", SOON, || {
        container.try_wait().expect("a child can be asked")
    });
    assert_eq!(status.code(), Some(0));
    assert_eq!(put_back(&home, &id), (0, 0));
}
