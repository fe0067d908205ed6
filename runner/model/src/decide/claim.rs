//! Giving leases.

use alloc::vec::Vec;

use crate::{command::ClaimRequest, event::Event, id::Token, ledger::Ledger, time::Now};

/// Leases for the jobs of the served kinds that come first: higher priority, then the earlier due,
/// then the earlier id. Each lease has a larger token than any before it.
pub(super) fn claim(ledger: &Ledger, request: &ClaimRequest, now: Now) -> Vec<Event> {
    let tokens = (1..).map(|step| Token(ledger.last_token().0.saturating_add(step)));
    ledger
        .index
        .claimable(&request.kinds, &ledger.names)
        .take(request.max)
        .zip(tokens)
        .map(|(id, token)| Event::Leased {
            id,
            token,
            at: now.wall,
        })
        .collect()
}
