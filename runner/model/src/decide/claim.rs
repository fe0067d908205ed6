//! Giving leases.

use alloc::{string::String, vec::Vec};

use crate::{event::Event, id::Token, ledger::Ledger, side::Side, time::Now};

/// A lease for the job of the served kinds whose turn it is, among the queues and then in its queue. It
/// has a larger token than any before it. What expired, and what waits in a batch that was called off, is passed over,
/// though nobody wrote down yet that it ended.
pub(super) fn claim(ledger: &Ledger, kinds: &[String], now: Now) -> Vec<Event> {
    let is_too_late = |id| {
        let side = ledger.sides.of(id).side;
        let expires = side.and_then(Side::expires);
        let batch = side.and_then(|side| side.batch);
        let is_off = batch.is_some_and(|batch| ledger.index.batches.is_doomed(batch));
        is_off || expires.is_some_and(|expires| expires <= now.wall)
    };
    let next = ledger.index.next(kinds, &ledger.names, is_too_late);
    let lease = next.map(|id| Event::Leased {
        id,
        token: Token(ledger.last_token().0.saturating_add(1)),
        at: now.wall,
    });
    lease.into_iter().collect()
}
