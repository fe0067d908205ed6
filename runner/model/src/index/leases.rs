//! Who holds what, and when they last said so.

use alloc::{collections::BTreeMap, vec::Vec};

use crate::id::{JobId, Token};

/// A lease and the last sign of life of its holder, by the steady clock.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Lease {
    token: Token,
    renewed: u64,
}

/// Every lease. As many as attempts run at a time, so looking at all of them is cheap.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct LeaseIndex {
    held: BTreeMap<JobId, Lease>,
}

impl LeaseIndex {
    pub(crate) fn insert(&mut self, id: JobId, token: Token, mono: u64) {
        let renewed = mono;
        self.held.insert(id, Lease { token, renewed });
    }

    pub(crate) fn remove(&mut self, id: JobId) {
        self.held.remove(&id);
    }

    pub(crate) fn renew(&mut self, id: JobId, token: Token, mono: u64) -> bool {
        match self.held.get_mut(&id) {
            Some(lease) if lease.token == token => {
                lease.renewed = lease.renewed.max(mono);
                true
            }
            Some(_) | None => false,
        }
    }

    pub(crate) fn overdue(&self, mono: u64, lease_ms: u64) -> Vec<(JobId, Token)> {
        self.held
            .iter()
            .filter(|(_, lease)| mono.saturating_sub(lease.renewed) >= lease_ms)
            .map(|(id, lease)| (*id, lease.token))
            .collect()
    }

    pub(crate) fn all(&self) -> Vec<(JobId, Token)> {
        self.held
            .iter()
            .map(|(id, lease)| (*id, lease.token))
            .collect()
    }
}
