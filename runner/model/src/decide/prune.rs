//! Forgetting jobs that ended.

use alloc::{vec, vec::Vec};

use crate::{command::Retention, event::Event, ledger::Ledger, time::Now};

/// The oldest of the jobs that are not kept, in one fact; none when all are.
pub(super) fn prune(ledger: &Ledger, retention: &Retention, now: Now) -> Vec<Event> {
    let ended = ledger.index.ended();
    let excess = ended.len().saturating_sub(retention.keep);
    let ids: Vec<_> = ended
        .earliest_first()
        .enumerate()
        .take_while(|(place, (at, _))| *place < excess || *at < retention.ended_before)
        .map(|(_, (_, id))| id)
        .take(retention.max)
        .collect();
    if ids.is_empty() {
        return Vec::new();
    }
    vec![Event::Pruned { ids, at: now.wall }]
}
