//! Samples of the facts that came with format 2.

use sandhog_model::{
    Backoff, Carried, Event, FailureKind, JobId, Output, Record, RecordAt, Status, Token, UnixMs,
};

use super::first::{AT, ID, TOKEN, bare, bare_attempt, failed, full, named};

pub(super) fn carried(status: Status) -> Carried {
    Carried {
        job: bare(),
        at: AT,
        status,
        attempts: 0,
        losses: 0,
        token: Token(0),
        failure: None,
        history: Vec::new(),
        output: None,
        reason: None,
        children: Vec::new(),
        checkpoint: None,
        cancel: None,
        traps: 0,
        lifted: false,
        unlocked: false,
        failing_since: None,
    }
}

fn statuses() -> Vec<(&'static str, Status)> {
    let waiting = |backoff| Status::Waiting { due: AT, backoff };
    vec![
        ("waiting", waiting(false)),
        ("waiting out a backoff", waiting(true)),
        ("running", Status::Running { since: AT }),
        ("completed", Status::Completed(AT)),
        ("cancelled", Status::Cancelled(AT)),
        ("discarded", Status::Discarded(AT)),
        ("dead", Status::Dead(AT)),
    ]
}

/// The samples.
pub(super) fn records() -> Vec<(String, Record)> {
    let (at, last_token) = (AT, TOKEN);
    let mut records = Vec::new();
    for (name, status) in statuses() {
        let event = Event::Carried(Box::new(carried(status)));
        records.push(named(&format!("carried, {name}"), event));
    }
    let full = Carried {
        job: full(Backoff::Polynomial),
        attempts: 3,
        losses: 2,
        token: TOKEN,
        failure: Some(FailureKind::Timeout),
        history: vec![bare_attempt(), failed(FailureKind::Timeout)],
        output: Some(Output {
            content_type: "a/b".into(),
            payload: vec![1, 2, 3],
        }),
        reason: Some("no use".into()),
        children: vec![ID, JobId(ID.0 + 9)],
        checkpoint: Some(vec![0xC1; 40]),
        ..carried(Status::Completed(UnixMs(AT.0 + 90)))
    };
    let trimmed = |last_id| Event::Trimmed {
        before: RecordAt(9 << 32),
        at,
        last_id,
        last_token,
    };
    let pruned = |ids| Event::Pruned { ids, at };
    let merged = Event::Merged {
        log: "0f".repeat(16),
        at,
        last_token,
    };
    records.extend([
        named("carried, everything", Event::Carried(Box::new(full))),
        named("pruned", pruned(vec![ID, JobId(ID.0 + 1)])),
        named("pruned, nothing", pruned(Vec::new())),
        named("trimmed", trimmed(Some(ID))),
        named("trimmed, no id yet", trimmed(None)),
        named("merged", merged),
    ]);
    records
}
