//! Components that cost more to compile than they may: refused by name, while everything else goes on
//! (T29).

use std::{
    fs,
    time::{Duration, Instant},
};

use sandhog_kit::{
    Home, Runner,
    component::{handler, many_loops, nested},
    wait,
};
use serde_json::Value;

use crate::SANDHOG;

const SOON: Duration = Duration::from_secs(90);

fn drop_in(home: &Home, name: &str, text: &str) {
    let bytes = wat::parse_str(text).expect("a component's text");
    let passing = home.folder().join("passing");
    fs::write(&passing, bytes).expect("a file");
    fs::rename(passing, home.plugins().join(format!("{name}.wasm"))).expect("a rename");
}

fn row(home: &Home, name: &str) -> Option<Value> {
    let rows = home.run(&["plugin", "ls", "-o", "json"]).exits(0).rows();
    rows.into_iter().find(|row| row["name"] == name)
}

fn refused(home: &Home, name: &str) -> Value {
    wait::until("the bomb to be refused", SOON, || {
        row(home, name).filter(|row| row["status"] == "unusable")
    })
}

/// The compilers that run for a runner, by their parent's process id.
fn compilers(runner: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("processes");
    let of = |entry: fs::DirEntry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let words = fs::read(entry.path().join("cmdline")).ok()?;
        let status = fs::read_to_string(entry.path().join("status")).ok()?;
        let parent = format!("PPid:\t{runner}\n");
        let compiles = words
            .split(|byte| *byte == 0)
            .any(|word| word == b"compile-component");
        (compiles && status.contains(&parent)).then_some(pid)
    };
    entries.flatten().filter_map(of).collect()
}

fn is_there(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// A component whose one function takes minutes to compile.
fn slow() -> String {
    handler("slow", "", &many_loops(40_000), "slow")
}

/// A runner whose compiler has a slow component in hand, and that compiler.
fn compiling(home: &Home) -> (Runner, u32) {
    let runner = home.start();
    drop_in(home, "slow", &slow());
    let compiler = wait::until("the compiler to start", SOON, || {
        compilers(runner.pid()).first().copied()
    });
    (runner, compiler)
}

#[test]
fn t29_a_component_that_takes_too_long_to_compile_is_refused_and_jobs_go_on() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let mut runner = home.start();
    assert!(runner.terminate().success());
    home.write_config("[plugins]\ncompile_timeout = \"2s\"\n");
    runner = home.start();
    let before = runner.resident_kib();
    drop_in(&home, "slow", &slow());
    let mut slowest = Duration::ZERO;
    let row = wait::until("the bomb to be refused", SOON, || {
        let start = Instant::now();
        let echo = home.run(&["enqueue", "echo", "still here", "--wait"]);
        assert_eq!(echo.exits(0).text(), "still here");
        slowest = slowest.max(start.elapsed());
        row(&home, "slow").filter(|row| row["status"] == "unusable")
    });
    assert_eq!(
        row["cause"],
        "compiling it takes longer than 2 s, the limit"
    );
    assert!(
        row["hint"].as_str().unwrap().contains("compile_timeout"),
        "{row}"
    );
    assert!(slowest < Duration::from_secs(2), "a job took {slowest:?}");
    assert_eq!(compilers(runner.pid()), [0; 0]);
    let grown = runner.resident_kib().saturating_sub(before);
    assert!(grown < 64 << 10, "the runner grew by {grown} KiB");
    // The next start knows, and does not try again.
    let tries = |runner: &Runner| runner.said().matches("compiling plugin=\"slow\"").count();
    assert_ne!(tries(&runner), 0, "{}", runner.said());
    runner.kill9();
    let runner = home.start();
    let again = refused(&home, "slow");
    assert_eq!(again["cause"], row["cause"]);
    assert_eq!(tries(&runner), 0, "{}", runner.said());
}

#[test]
fn t29_a_component_that_takes_too_much_memory_to_compile_is_refused() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let runner = home.start();
    assert!(runner.terminate().success());
    home.write_config("[plugins]\ncompile_memory = \"160MiB\"\n");
    let runner = home.start();
    let before = runner.resident_kib();
    let text = nested(5, 24);
    drop_in(&home, "large", &text);
    let row = refused(&home, "large");
    assert_eq!(
        row["cause"],
        "compiling it takes more memory than 160 MiB, the limit"
    );
    assert!(
        row["hint"].as_str().unwrap().contains("compile_memory"),
        "{row}"
    );
    let grown = runner.resident_kib().saturating_sub(before);
    assert!(grown < 64 << 10, "the runner grew by {grown} KiB");
    let echo = home.run(&["enqueue", "echo", "still here", "--wait"]);
    assert_eq!(echo.exits(0).text(), "still here");
}

#[test]
fn a_start_does_not_wait_for_a_component_that_takes_minutes() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    assert!(home.start().terminate().success());
    drop_in(&home, "slow", &slow());
    let mut runner = home.start();
    assert!(
        runner.ready_after < Duration::from_secs(40),
        "{:?}",
        runner.ready_after
    );
    let echo = home.run(&["enqueue", "echo", "x", "--wait"]);
    assert_eq!(echo.exits(0).text(), "x");
    assert_eq!(runner.ended(), None);
}

#[test]
fn going_back_does_not_wait_for_a_compilation() {
    let home = Home::new(SANDHOG);
    let runner = home.start();
    for mark in ["first", "second"] {
        drop_in(&home, "worker", &handler("work", "", "", mark));
        wait::until(mark, SOON, || {
            row(&home, "worker").filter(|row| row["kinds"][0]["summary"] == mark)
        });
    }
    drop_in(&home, "slow", &slow());
    wait::until("the compiler to start", SOON, || {
        compilers(runner.pid()).first().copied()
    });
    let start = Instant::now();
    let _ = home.run(&["plugin", "rollback", "worker"]).exits(0);
    wait::until("the first version", SOON, || {
        row(&home, "worker").filter(|row| row["kinds"][0]["summary"] == "first")
    });
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "{:?}",
        start.elapsed()
    );
    // What stepped aside is begun again.
    wait::until("the compiler to start again", SOON, || {
        compilers(runner.pid()).first().copied()
    });
}

#[test]
fn a_stop_ends_the_compiler() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let (runner, compiler) = compiling(&home);
    let start = Instant::now();
    assert!(runner.terminate().success());
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "{:?}",
        start.elapsed()
    );
    assert!(!is_there(compiler));
}

#[test]
fn the_compiler_dies_with_its_runner() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let (runner, compiler) = compiling(&home);
    runner.kill9();
    wait::until("the compiler to be gone", SOON, || {
        (!is_there(compiler)).then_some(())
    });
}

#[test]
fn a_stop_while_plugins_are_taken_in_is_heeded() {
    let home = Home::new(SANDHOG);
    drop_in(&home, "slow", &slow());
    let mut command = home.command(&["start"]);
    let mut runner = command.stderr(std::process::Stdio::null()).spawn().unwrap();
    let compiler = wait::until("the compiler to start", SOON, || {
        compilers(runner.id()).first().copied()
    });
    let pid = runner.id().to_string();
    let told = std::process::Command::new("kill")
        .args(["-TERM", &pid])
        .status();
    assert!(told.unwrap().success());
    let ended = wait::until("the runner to stop", Duration::from_secs(10), || {
        runner.try_wait().unwrap()
    });
    assert!(ended.success(), "{ended}");
    assert!(!is_there(compiler));
}

#[test]
fn a_check_of_a_bomb_ends_too() {
    let home = Home::new(SANDHOG);
    home.write_config("[plugins]\ncompile_timeout = \"1s\"\n");
    drop_in(&home, "slow", &slow());
    let file = home.plugins().join("slow.wasm");
    let answer = home
        .run(&["plugin", "check", file.to_str().unwrap()])
        .exits(1);
    assert!(
        answer.text().contains("takes longer than 1 s"),
        "{}",
        answer.text()
    );
}
