//! What guests ask of the host, and what they get.

use std::sync::Arc;

use sandhog_model::{FailureKind, LogLevel, Outcome};
use serde_json::json;

use super::kit::{Rig, Scripted, failure, json};
use crate::plugin::{Limits, Progress};

#[test]
fn a_flood_keeps_within_the_log_limit() {
    let rig = Rig::misbehaving();
    let mut request = rig.request("flood", &[("lines", "20000")]);
    request.limits.log = 8 << 10;
    let report = rig.attempt(request);
    assert!(matches!(report.outcome, Outcome::Completed(_)));
    let logs = &report.attempt.logs;
    assert_eq!(logs.len() as u64 + report.attempt.dropped_lines, 60_000);
    assert!(logs.iter().map(|line| line.text.len()).sum::<usize>() <= 8 << 10);
    assert_eq!(logs[0].text, "log line 0 of the flood");
    assert_eq!(logs.last().unwrap().text, "stdout line 19999 of the flood");
}

#[test]
fn log_lines_and_progress_reach_the_live_view() {
    let rig = Rig::misbehaving();
    let request = rig.request("progress", &[("steps", "4")]);
    let live = Arc::clone(&request.live);
    let report = rig.attempt(request);
    let levels: Vec<LogLevel> = report.attempt.logs.iter().map(|line| line.level).collect();
    assert_eq!(
        levels,
        [
            LogLevel::Trace,
            LogLevel::Debug,
            LogLevel::Info,
            LogLevel::Warn,
            LogLevel::Error
        ]
    );
    live.with(|view| {
        assert_eq!(view.logs, report.attempt.logs);
        assert_eq!(
            view.progress,
            Some(Progress {
                done: 4,
                total: Some(4),
                note: Some("stepping".into())
            })
        );
    });
}

#[test]
fn children_come_with_success_only() {
    let rig = Rig::misbehaving();
    let report = rig.run("spawn", &[("children", "3")]);
    assert_eq!(report.children.len(), 3);
    let child = &report.children[1];
    assert_eq!(
        (child.kind.as_str(), child.queue.as_str()),
        ("echo", "completed-queue")
    );
    assert_eq!(child.payload, b"child 1 of attempt 1");
    assert_eq!(child.parent, Some(sandhog_model::JobId(7)));
    let ids: Vec<String> = report
        .children
        .iter()
        .map(|child| child.id.text())
        .collect();
    assert_eq!(json(&report)["children"], json!(ids));
    assert!(
        rig.run("spawn", &[("children", "3"), ("fail", "1")])
            .children
            .is_empty()
    );
}

#[test]
fn a_quota_of_children_is_an_error_for_the_guest() {
    let rig = Rig::misbehaving();
    let mut request = rig.request("spawn", &[("children", "3")]);
    request.limits.children = 2;
    let report = rig.attempt(request);
    assert!(
        failure(&report).cause.contains("may enqueue 2 jobs"),
        "{:?}",
        report.outcome
    );
    let mut request = rig.request("spawn", &[("children", "3")]);
    request.limits.children_bytes = 50;
    let report = rig.attempt(request);
    assert!(
        failure(&report).cause.contains("may be 50 bytes in all"),
        "{:?}",
        report.outcome
    );
}

#[test]
fn a_checkpoint_goes_to_the_services_and_comes_back() {
    let rig = Rig::misbehaving();
    let mut request = rig.request("checkpoint", &[]);
    request.checkpoint = Some(b"2".to_vec());
    assert_eq!(json(&rig.attempt(request))["count"], 3);
    assert_eq!(*rig.services.checkpoints.lock().unwrap(), [b"3"]);
    let mut request = rig.request("checkpoint", &[]);
    request.limits = Limits {
        checkpoint: 0,
        ..Limits::default()
    };
    assert!(
        failure(&rig.attempt(request))
            .cause
            .contains("over its limit of 0 bytes")
    );
}

#[test]
fn a_guest_sees_its_job_and_nothing_of_the_machine() {
    let rig = Rig::misbehaving();
    let seen = json(&rig.run("headers", &[("a", "1"), ("a", "2")]));
    assert_eq!(seen["id"], sandhog_model::JobId(7).text());
    assert_eq!(seen["idempotency_key"], seen["id"]);
    assert_eq!(
        (&seen["attempt"], &seen["max_attempts"]),
        (&json!(1), &json!(5))
    );
    assert_eq!(seen["headers"], json!([["a", "1"], ["a", "2"]]));
    assert_eq!(seen["deadline_ms"], 5_000 + 30_000);
    assert_eq!(
        (&seen["enqueued_at_ms"], &seen["cancelled"]),
        (&json!(1_000), &json!(false))
    );
    assert_eq!(
        (&seen["env"], &seen["args"], &seen["root_readable"]),
        (&json!(0), &json!(0), &json!(false))
    );
    assert_eq!(json(&rig.run("config", &[("key", "colour")])), json!("red"));
    assert_eq!(json(&rig.run("config", &[("key", "shape")])), json!(null));
}

#[test]
fn the_next_guest_finds_zeros() {
    // One slot, so that the second attempt gets the first one's memory.
    let rig = Rig::with_slots(Arc::unwrap_or_clone(Rig::misbehaving().plugin), 1);
    for _ in 0..3 {
        assert_eq!(
            json(&rig.run("poison", &[("pages", "512")]))["bytes"],
            512 << 16
        );
        assert_eq!(json(&rig.run("peek", &[("pages", "512")]))["nonzero"], 0);
    }
}

#[test]
fn a_host_call_that_panics_is_a_failed_attempt() {
    let mut rig = Rig::misbehaving();
    rig.services = Arc::new(Scripted {
        panics: true,
        ..Default::default()
    });
    let report = rig.run("checkpoint", &[]);
    let failed = failure(&report);
    assert_eq!(failed.kind, FailureKind::HostError);
    assert!(
        failed.cause.contains("the disk caught fire"),
        "{}",
        failed.cause
    );
    assert_eq!(report.attempt.digest, rig.plugin.digest);
    assert!(matches!(
        rig.run("echo", &[]).outcome,
        Outcome::Completed(_)
    ));
}
