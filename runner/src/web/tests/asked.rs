//! What is asked for in a way of HTTP's own, and what is said of what is not right in it.

use http::{HeaderMap, HeaderValue};

use super::*;
use crate::web::{call::checked, serve::idempotency_key};

fn route(name: &str) -> Route {
    let found = resources::routes().find(|route| route.name == name);
    found.unwrap_or_else(|| panic!("no route {name}"))
}

#[test]
fn what_is_wrong_is_named_as_what_it_stands_for() {
    let desk = Desk::new();
    for (name, noun) in [("getBatch", "batch"), ("getJob", "job")] {
        let param = &route(name).path_params[0];
        let said = checked(param, "garbage").unwrap_err().detail;
        let says = format!("`id` \"garbage\" is no {noun} id: an id has 26 characters");
        assert!(said.contains(&says), "{said}");
    }
    let said = checked(&route("getDead").path_params[0], "garbage");
    let said = said.unwrap_err().detail;
    let says = "\"garbage\" is no job id and no place such as @7168: `/api/v1/dead` lists them";
    assert!(said.contains(says), "{said}");
    let none = desk.ask("enqueueJob", &[], "", json!({ "payload": 1 }));
    let said = none.unwrap_err().detail;
    assert!(said.contains("field `kind` is missing"), "{said}");
    assert!(!said.contains("command line"), "{said}");
    let batch = json!({ "kind": "page", "batch": "garbage" });
    let said = desk.ask("enqueueJob", &[], "", batch).unwrap_err().detail;
    assert!(
        said.contains("field `batch`") && !said.contains("job id"),
        "{said}"
    );
}

/// What would be done is the answer, and nothing is done.
#[test]
fn one_job_can_be_asked_about_before_it_is_changed() {
    let desk = Desk::new();
    let id = desk.enqueue(json!({ "kind": "page" })).text();
    let dry = json!({ "dry_run": true });
    for (name, body, would) in [
        (
            "cancelJob",
            json!({ "reason": "r", "dry_run": true }),
            "cancelled",
        ),
        ("killJob", dry.clone(), "cancelled"),
        ("retryJob", dry.clone(), "available"),
        (
            "snoozeJob",
            json!({ "for": "1h", "dry_run": true }),
            "scheduled",
        ),
        ("discardJob", dry.clone(), "discarded"),
    ] {
        let told = desk.ask(name, &[&id], "", body).unwrap();
        assert_eq!(told, json!({ "id": id, "state": would }), "{name}");
    }
    let told = desk.ask("deleteJob", &[&id], "force=true&dry_run=true", Value::Null);
    assert_eq!(told.unwrap()["state"], "deleted");
    let refused = desk.ask("deleteJob", &[&id], "dry_run=true", Value::Null);
    assert_eq!(refused.unwrap_err().code.name(), "wrong-state");
    assert_eq!(desk.get("getJob", &[&id], "")["state"], "available");
}

#[test]
fn a_key_counts_where_it_can_and_is_refused_where_all_would_be_done_again() {
    let mut headers = HeaderMap::new();
    let asked = |headers: &HeaderMap, name: &str| idempotency_key(&route(name), headers);
    assert_eq!(asked(&headers, "openBatch").unwrap(), None);
    headers.insert("idempotency-key", HeaderValue::from_static("k"));
    assert_eq!(asked(&headers, "enqueueJob").unwrap().as_deref(), Some("k"));
    for name in [
        "openBatch",
        "enqueueJobs",
        "enqueueIntoBatch",
        "triggerSchedule",
    ] {
        let refused = asked(&headers, name).unwrap_err();
        assert_eq!(refused.code.name(), "bad-request", "{name}");
        let says = "`Idempotency-Key` does not count for POST /api/v1/";
        assert!(refused.detail.contains(says), "{}", refused.detail);
    }
    for name in ["cancelJob", "sealBatch", "pauseQueue"] {
        assert_eq!(asked(&headers, name).unwrap(), None, "{name}");
    }
}
