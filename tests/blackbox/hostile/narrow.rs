//! A runner in an address space that is too small for a pool of sandboxes.

use std::{fs, os::unix::fs::PermissionsExt};

use sandhog_kit::Home;

use crate::SANDHOG;

/// Address space of the runner, in KiB: each sandbox of the pool reserves 4 GiB and more, so there is
/// room for a few attempts at a time and for no pool.
const KIB: u64 = 24 << 20;

#[test]
fn without_room_for_a_pool_attempts_map_their_own_memory_and_none_fails_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("narrow");
    let text = format!("#!/bin/sh\nulimit -v {KIB}\nexec '{SANDHOG}' \"$@\"\n");
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let home = Home::with(program.to_str().unwrap(), &["misbehave"]);
    home.write_config("[runner]\nworkers = 2\nslots = 8\n[kind.loop]\ntimeout = \"200ms\"\n");
    let runner = home.start();
    assert!(
        runner.said().contains("no sandbox pool"),
        "{}",
        runner.said()
    );
    // More at a time than fit: those that find no room are put back, and use no attempt.
    let sleep = ["sleep", "x", "--max-attempts", "1", "--header", "ms=300"];
    let jobs: Vec<String> = (0..16).map(|_| home.enqueue(&sleep)).collect();
    for id in jobs {
        let job = home.job_in(&id, "completed");
        assert_eq!((&job["attempt"], &job["failure"]), (&1.into(), &().into()));
    }
    for (kind, failure) in [
        ("loop", "timeout"),
        ("allocate", "memory"),
        ("recurse", "trap:stack-overflow"),
        ("out-of-bounds", "trap:out-of-bounds"),
    ] {
        let id = home.enqueue(&[kind, "x", "--max-attempts", "1"]);
        assert_eq!(home.job_in(&id, "dead")["failure"]["kind"], failure);
    }
}
