//! T7: the runner is killed at a system call, at each one that changes the store in turn.

use std::os::unix::process::ExitStatusExt;

use sandhog_kit::{Home, long};

use super::{
    audit,
    strace::{self, Traced},
    told,
};

/// Kills at the n-th of these calls for n = 1, 2, … until it does not come to that.
fn killed_at(calls: &str) {
    if !strace::permitted() {
        return;
    }
    strace::compile();
    let (mut at, mut kills) = (1, 0);
    loop {
        let home = strace::home();
        let mut options = strace::store_paths(&home);
        options.push(format!("--trace={calls}"));
        options.push(format!("--inject={calls}:signal=KILL:when={at}"));
        let mut traced = Traced::start(&home, &options);
        let promised = if traced.ready() {
            audit::work(&home, &mut traced)
        } else {
            audit::Promised::default()
        };
        traced.ask();
        let status = traced.end();
        let killed = status.signal() == Some(9);
        if killed {
            killed_again(&home, 1 + at % 4);
        }
        audit::audit(&home, &promised, &format!("killed at {calls} number {at}"));
        if !killed {
            break;
        }
        kills += 1;
        at += if long() { 1 } else { 1 + at / 2 };
    }
    assert!(kills > 0, "no {calls} was met");
    told(
        "T7",
        &format!("{kills} kills at {calls}, the last before {at}, nothing lost"),
    );
}

/// Kills the start that follows, at its n-th call of any kind or when it has come up.
fn killed_again(home: &Home, at: u64) {
    let calls = "pwrite64,fdatasync,fsync,rename,unlink";
    let mut options = strace::store_paths(home);
    options.push(format!("--trace={calls}"));
    options.push(format!("--inject={calls}:signal=KILL:when={at}"));
    let mut traced = Traced::start(home, &options);
    let _ = traced.ready();
}

#[test]
fn t7_killed_while_writing() {
    killed_at("pwrite64");
}

#[test]
fn t7_killed_while_syncing() {
    killed_at("fdatasync");
}

#[test]
fn t7_killed_while_syncing_a_directory() {
    killed_at("fsync");
}

#[test]
fn t7_killed_while_renaming() {
    killed_at("rename");
}

#[test]
fn t7_killed_while_opening() {
    killed_at("openat");
}

/// Segments are removed by compaction, a spare at a start.
#[test]
fn t7_killed_while_removing() {
    killed_at("unlink");
}
