//! T13: a disk on which each sync takes 300 ms.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use sandhog_kit::{Http, http, long};

use super::{
    caller::Caller,
    strace::{self, Traced},
    told,
};

/// Callers that each wait for their answer before they ask again.
const CALLERS: usize = 96;

#[test]
fn t13_a_slow_disk_is_shared_by_many_callers_and_no_lease_is_lost() {
    if !strace::permitted() {
        return;
    }
    strace::compile();
    let home = strace::home().over_http();
    home.write_config("[runner]\nworkers = 1\nlease = \"1s\"\n");
    let fault = "--inject=fdatasync:delay_enter=300000";
    let mut traced = Traced::start(&home, &["--trace=fdatasync", fault]);
    assert!(traced.ready(), "{}", traced.said());
    let asleep = home.enqueue(&["sleep", "x", "--header", "ms=2500"]);
    let time = Duration::from_secs(if long() { 30 } else { 3 });
    let (done, start) = (AtomicUsize::new(0), Instant::now());
    let reads = thread::scope(|scope| {
        for _ in 0..CALLERS {
            scope.spawn(|| {
                let mut caller = Caller::connect(&home);
                while start.elapsed() < time {
                    // A kind nobody serves, so that only enqueues are measured.
                    assert!(caller.enqueue("unserved"));
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let mut caller = Caller::connect(&home);
        let mut reads = Vec::new();
        while start.elapsed() < time {
            let begun = Instant::now();
            caller.list();
            reads.push(begun.elapsed());
        }
        reads
    });
    let rate = done.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64();
    let mut reads = reads;
    reads.sort();
    let p99 = reads[(reads.len() * 99 / 100).min(reads.len() - 1)];
    told(
        "T13",
        &format!(
            "{rate:.0} enqueues/s, {} reads, the 99th in 100 took {p99:?}",
            reads.len()
        ),
    );
    assert!(rate >= 100.0, "{rate:.0} enqueues/s");
    let address = http::announced(&traced.said()).expect("an address");
    let health = Http::new(address).get("/health").is(200).json();
    assert_eq!(health["status"], "degraded", "{health}");
    let job = home.job_in(&asleep, "completed");
    assert_eq!(job["losses"], 0, "its lease was lost: {job}");
    traced.ask();
    assert!(traced.end().success(), "{}", traced.said());
}
