//! What each setting of durability syncs, and when.

use std::fs;

use sandhog_kit::wait;

use super::strace::{self, Traced};

/// Syncs of segments while some jobs were enqueued one after the other.
fn syncs(setting: &str) -> usize {
    strace::compile();
    let home = strace::home();
    home.write_config(&format!("[store]\n{setting}\n"));
    let mut traced = Traced::start(&home, &["-e", "trace=fdatasync"]);
    assert!(traced.ready(), "{}", traced.said());
    let counted = || {
        let calls = fs::read_to_string(&traced.calls).expect("a trace");
        calls.lines().filter(|line| line.contains(".seg>")).count()
    };
    let before = counted();
    for _ in 0..8 {
        let _ = home.enqueue(&["echo", "x", "--in", "1h"]);
    }
    if setting.contains("50ms") {
        wait::until("a sync in time", strace::BOUND, || {
            (counted() > before).then_some(())
        });
    }
    let syncs = counted() - before;
    traced.ask();
    let _ = traced.end();
    syncs
}

#[test]
fn each_setting_syncs_when_it_says() {
    if !strace::permitted() {
        return;
    }
    assert!(syncs("durability = \"commit\"") >= 8);
    assert_eq!(syncs("durability = \"none\""), 0);
    assert_eq!(syncs("durability = \"interval\"\ninterval = \"1m\""), 0);
    assert!(syncs("durability = \"interval\"\ninterval = \"50ms\"") >= 1);
}
