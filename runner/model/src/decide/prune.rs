//! Forgetting jobs that ended, and ending jobs that waited too long.

use alloc::vec::Vec;

use crate::{
    command::Retention,
    event::Event,
    ledger::Ledger,
    time::{Now, UnixMs},
};

/// The oldest of the jobs that are not kept, in one fact, and the batches; none when all are.
pub(super) fn prune(ledger: &Ledger, retention: &Retention, now: Now) -> Vec<Event> {
    let ended = ledger.index.ended();
    let excess = ended.len().saturating_sub(retention.keep);
    let is_spared = |at: UnixMs| is_spared(retention, at, now);
    let ids: Vec<_> = ended
        .earliest_first()
        .enumerate()
        .take_while(|(place, (at, _))| {
            (*place < excess || *at < retention.ended_before) && !is_spared(*at)
        })
        .map(|(_, (_, id))| id)
        .take(retention.max)
        .collect();
    let at = now.wall;
    let jobs = (!ids.is_empty()).then_some(Event::Pruned { ids, at });
    let batches = super::batch::prune(ledger, retention, now);
    jobs.into_iter().chain(batches).collect()
}

/// Whether someone may still be about to ask for what ended at an instant.
pub(super) fn is_spared(retention: &Retention, at: UnixMs, now: Now) -> bool {
    (retention.spared_from..=now.wall).contains(&at)
}

/// The jobs that waited until they expired, each in a fact of its own.
pub(super) fn expire(ledger: &Ledger, max: usize, now: Now) -> Vec<Event> {
    let expired = ledger.index.expired(now.wall).take(max);
    let at = now.wall;
    expired.map(|id| Event::Expired { id, at }).collect()
}
