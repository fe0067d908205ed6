//! Batches over HTTP.

use super::*;

#[test]
fn answers_about_batches_are_what_the_document_says() {
    let desk = Desk::new();
    let new = json!({ "name": "n", "on_success": "page", "on_complete": { "kind": "page", "payload": 1 } });
    let opened = desk.ask("openBatch", &[], "", new).unwrap();
    let id = opened["id"].as_str().unwrap();
    let _ = desk.get("getBatch", &[id], "");
    let jobs = json!({ "jobs": [{ "kind": "page" }] });
    let _ = desk.ask("enqueueIntoBatch", &[id], "", jobs).unwrap();
    for (name, status) in [("sealBatch", "sealed"), ("cancelBatch", "cancelled")] {
        // Done twice it is as it was.
        for _ in 0..2 {
            let told = desk.ask(name, &[id], "", json!({})).unwrap();
            assert_eq!(told["status"], status);
        }
    }
    let over = desk.ask("sealBatch", &[id], "", Value::Null).unwrap_err();
    assert_eq!(over.code.name(), "wrong-state");
    assert!(over.detail.contains("was called off"), "{}", over.detail);
    let other = json!({ "jobs": [{ "kind": "page", "batch": "0000000000000000000000000Z" }, { "kind": "page", "batch": id }] });
    let other = desk.ask("enqueueIntoBatch", &[id], "", other).unwrap_err();
    let place = other
        .detail
        .contains("`jobs[0]`: field `batch` names batch 0000000000000000000000000Z");
    assert!(
        place && !other.detail.contains("jobs[1]"),
        "{}",
        other.detail
    );
    let _ = desk.get("listBatches", &[], "");
}
