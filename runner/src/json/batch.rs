//! Batches as JSON.

use sandhog_model::Callback;
use serde_json::{Value, json};

use super::when::rfc3339;
use crate::store::BatchRow;

/// Where a batch is in its life.
pub(crate) fn status(row: &BatchRow) -> &'static str {
    let state = &row.state;
    match (&state.cancelled, state.ended_at, state.sealed_at) {
        (Some(_), _, _) => "cancelled",
        (None, Some(_), _) if row.count.unfinished() == 0 => "ended",
        (None, _, Some(_)) => "sealed",
        (None, _, None) => "open",
    }
}

/// A batch for programs.
pub(crate) fn shape(row: &BatchRow) -> Value {
    let (state, count, ended) = (&row.state, row.count, row.count.ended);
    let callback = |callback: &Option<Box<Callback>>| {
        callback.as_ref().map(|callback| {
            json!({
                "kind": callback.link.kind,
                "job": callback.id,
                "enqueued_at": callback.fired_at.map(rfc3339),
            })
        })
    };
    json!({
        "id": row.id,
        "name": state.name,
        "status": status(row),
        "opened_at": rfc3339(state.opened_at),
        "sealed_at": state.sealed_at.map(rfc3339),
        "ended_at": state.ended_at.map(rfc3339),
        "cancel": state.cancelled.as_ref().map(|cancel| json!({
            "at": rfc3339(cancel.at),
            "by": cancel.by,
            "reason": cancel.reason,
        })),
        "jobs": {
            "total": count.total(),
            "waiting": count.waiting,
            "running": count.running,
            "completed": ended.completed,
            "failed": ended.failed(),
            "dead": ended.dead,
            "cancelled": ended.cancelled,
            "discarded": ended.discarded,
            "expired": ended.expired,
            "deleted": ended.deleted,
        },
        "on_success": callback(&state.success),
        "on_complete": callback(&state.complete),
    })
}
