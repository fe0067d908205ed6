//! Everything in the kit's list of what a guest may try, on a pool and without one.

use sandhog_kit::hostile::{self, End, Hostile};
use sandhog_model::Outcome;
use tempfile::TempDir;

use super::kit::{Rig, unchecked_bytes};
use crate::plugin::{Limits, Report};

/// Far from what any of them takes beyond its limit, far below for ever.
const LATEST_MS: u64 = 20_000;

fn attempt(rig: &Rig, hostile: &Hostile) -> Report {
    let mut request = rig.request(hostile.name, &[]);
    request.limits = Limits {
        timeout_ms: hostile.limit_ms,
        ..Limits::default()
    };
    rig.attempt(request)
}

fn each_ends_as_it_must(on: fn(crate::plugin::Plugin) -> Rig) {
    let mut tried = 0;
    for hostile in hostile::all() {
        if matches!(hostile.end, End::Refused(_)) {
            continue;
        }
        let dir = TempDir::new().unwrap();
        let rig = on(unchecked_bytes(dir.path(), &hostile.bytes()));
        let report = attempt(&rig, hostile);
        let told = format!("{}: {:?}", hostile.name, report.outcome);
        let took_ms = report.attempt.duration_us / 1000;
        assert!(took_ms < hostile.limit_ms + LATEST_MS, "{told}");
        match (hostile.end, &report.outcome) {
            (End::Failed { kind, code, says }, Outcome::Failed { failure, .. }) => {
                assert_eq!(
                    (failure.kind.name(), failure.code.as_str()),
                    (kind, code),
                    "{told}"
                );
                assert!(failure.cause.contains(says), "{told}");
                assert!(report.children.is_empty(), "{told}");
            }
            (End::Completed, Outcome::Completed(_)) => {}
            _ => panic!("{told}, but it must end as {:?}", hostile.end),
        }
        tried += 1;
    }
    assert!(tried > 40, "only {tried} were tried");
}

#[test]
fn what_a_guest_tries_in_a_pool_ends_as_it_must() {
    each_ends_as_it_must(Rig::with);
}

#[test]
fn what_a_guest_tries_without_a_pool_ends_as_it_must() {
    each_ends_as_it_must(Rig::on_demand);
}
