//! A service manager that wants to be told.

use std::{fs, os::unix::net::UnixDatagram, process::Command, time::Duration};

use sandhog_kit::{Home, Runner, wait, workspace};

use crate::SANDHOG;

/// What the manager hears until it hears this.
fn heard(socket: &UnixDatagram, until: &str) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        let mut buffer = [0; 4096];
        let length = socket.recv(&mut buffer).expect("something is said in time");
        let said = String::from_utf8_lossy(&buffer[..length]).into_owned();
        let found = said.contains(until);
        all.push(said);
        if found {
            return all;
        }
    }
}

#[test]
fn a_manager_hears_of_the_start_of_reloads_of_life_and_of_the_stop() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config("[runner]\nshutdown_grace = \"200ms\"\n");
    let path = home.folder().join("notify");
    let socket = UnixDatagram::bind(&path).expect("a socket");
    let patience = Some(Duration::from_secs(60));
    socket.set_read_timeout(patience).expect("a time-out");
    let mut start = home.command(&["start"]);
    start
        .env("NOTIFY_SOCKET", &path)
        .env("WATCHDOG_USEC", "200000");
    let mut runner = Runner::by(&home, start);
    let said = heard(&socket, "READY=1");
    assert!(said.concat().contains("STATUS="), "{said:?}");
    for _ in 0..3 {
        let _ = heard(&socket, "WATCHDOG=1");
    }
    runner.signal("HUP");
    let said = heard(&socket, "RELOADING=1");
    assert!(said.concat().contains("MONOTONIC_USEC="), "{said:?}");
    let _ = heard(&socket, "READY=1");
    // One that stands still says nothing, and is started anew by whoever listens.
    runner.signal("STOP");
    socket.set_nonblocking(true).expect("a flag");
    let mut buffer = [0; 4096];
    while socket.recv(&mut buffer).is_ok() {}
    wait::let_run(Duration::from_millis(600));
    assert!(
        socket.recv(&mut buffer).is_err(),
        "it speaks while it stands still"
    );
    socket.set_nonblocking(false).expect("a flag");
    runner.signal("CONT");
    let _ = heard(&socket, "WATCHDOG=1");
    runner.signal("TERM");
    let _ = heard(&socket, "STOPPING=1");
    let status = wait::until("the end", Duration::from_secs(60), || runner.ended());
    assert_eq!(status.code(), Some(0));
}

/// As old a systemd as Debian has must take the unit without a word: what it does not know it passes over, and the
/// unit would be another one.
#[test]
fn the_unit_says_nothing_that_systemd_does_not_know() {
    let home = Home::new(SANDHOG);
    let unit = fs::read_to_string(workspace().join("deploy/sandhog.service")).expect("the unit");
    let unit = unit.replace("/usr/local/bin/sandhog", SANDHOG);
    let path = home.folder().join("sandhog.service");
    fs::write(&path, unit).expect("the unit can be written");
    let verified = Command::new("systemd-analyze")
        .arg("verify")
        .arg(&path)
        .output();
    let Ok(verified) = verified else {
        eprintln!("NOT RUN: systemd-analyze is not here");
        return;
    };
    let said = String::from_utf8_lossy(&verified.stderr);
    // What it says of units of the system is not about this one.
    let ours: Vec<&str> = said
        .lines()
        .filter(|line| line.contains("sandhog.service"))
        .collect();
    assert!(ours.is_empty(), "{ours:#?}");
}
