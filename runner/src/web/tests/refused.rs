//! Bodies that are refused before anything is done.

use serde_json::json;

use super::Desk;

#[test]
fn bodies_that_mean_two_things_are_refused() {
    let desk = Desk::new();
    for (name, body) in [
        ("enqueueJob", json!({ "kind": "page", "payloads": 1 })),
        (
            "enqueueJob",
            json!({ "kind": "page", "payload": 1, "payload_text": "1" }),
        ),
        ("enqueueJob", json!({ "kind": "page", "priority": 40_000 })),
        ("enqueueJob", json!([])),
        ("enqueueJobs", json!({ "jobs": [] })),
        ("enqueueJobs", json!({ "jobs": [1] })),
        (
            "enqueueJob",
            json!({ "kind": "page", "then": [{ "kind": "page", "at": "2099-01-01T00:00:00Z" }] }),
        ),
        ("releaseUnique", json!({ "ids": ["x"] })),
        ("purgeDead", json!({ "max_letters": -1, "dry_run": true })),
        ("retryManyDead", json!({})),
        ("retryManyDead", json!({ "filter": {} })),
        ("retryManyDead", json!({ "filter": { "kind": null } })),
        ("retryManyDead", json!({ "filter": { "kinds": "page" } })),
        (
            "retryManyDead",
            json!({ "filter": { "kind": 3, "unreadable": "yes" } }),
        ),
        (
            "retryManyDead",
            json!({ "filter": { "kind": "page" }, "all": true }),
        ),
        ("deleteManyDead", json!({ "letters": [], "all": true })),
        ("deleteManyDead", json!({ "letters": [], "per_second": 1 })),
        ("purgeDead", json!({ "max_letters": 1.5, "dry_run": true })),
    ] {
        let refused = desk.ask(name, &[], "", body.clone()).unwrap_err();
        assert_eq!(
            refused.code.name(),
            "bad-request",
            "{name} {body}: {}",
            refused.detail
        );
    }
}
