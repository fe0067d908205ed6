//! What few jobs have, beside their slots.

use crate::{
    fact::{Anew, Lock, SlimTerms},
    id::JobId,
    index::{NameId, Names, Sorted},
    job::Digest,
    time::UnixMs,
};

/// What few jobs say, as the ledger keeps it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Side {
    expires: Option<UnixMs>,
    /// Whether it expires no more.
    pub(crate) lifted: bool,
    /// Whether it stands in nobody's way any more, because someone said so.
    pub(crate) unlocked: bool,
    pub(crate) retry_for_ms: Option<u64>,
    pub(crate) failing_since: Option<UnixMs>,
    unique: Option<Lock>,
    pub(crate) idempotency: Option<Digest>,
    pub(crate) batch: Option<JobId>,
}

impl Side {
    /// From when on it is not to be begun, if that still counts.
    pub(crate) fn expires(&self) -> Option<UnixMs> {
        self.expires.filter(|_| !self.lifted)
    }

    /// What it must not be twice, if that still counts.
    pub(crate) fn unique(&self) -> Option<Lock> {
        self.unique.filter(|_| !self.unlocked)
    }

    /// The last instant at which it may be tried again after an attempt that failed at `now`.
    pub(crate) fn gives_up_at(&self, now: UnixMs) -> Option<UnixMs> {
        let since = self.failing_since.unwrap_or(now);
        self.retry_for_ms.map(|ms| since.plus(ms))
    }
}

impl Side {
    /// Take over what a record says that writes a job anew.
    pub(crate) fn take_over(&mut self, anew: &Anew<'_>) {
        self.lifted = anew.lifted;
        self.unlocked = anew.unlocked;
        self.failing_since = anew.failing_since;
    }

    /// Whether a record that writes the job anew says nothing new of it.
    pub(crate) fn says(&self, anew: &Anew<'_>) -> bool {
        (self.lifted, self.unlocked, self.failing_since)
            == (anew.lifted, anew.unlocked, anew.failing_since)
    }
}

/// What a job has beside its slot.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Beside<'a> {
    pub(crate) group: Option<NameId>,
    pub(crate) side: Option<&'a Side>,
}

/// What few jobs have, by job. Groups lie apart: where there are any, most jobs have one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sides {
    groups: Sorted<JobId, NameId>,
    sides: Sorted<JobId, Side>,
}

impl Sides {
    #[inline]
    pub(crate) fn of(&self, id: JobId) -> Beside<'_> {
        Beside {
            group: match self.groups.is_empty() {
                true => None,
                false => self.groups.get(&id).copied(),
            },
            side: match self.sides.is_empty() {
                true => None,
                false => self.sides.get(&id),
            },
        }
    }

    /// Keep what a job says, when it says anything.
    pub(crate) fn accept(&mut self, id: JobId, terms: &SlimTerms<'_>, names: &mut Names) {
        if *terms == SlimTerms::default() {
            return;
        }
        let SlimTerms {
            expires,
            retry_for_ms,
            unique,
            idempotency,
            group,
            batch,
        } = *terms;
        if let Some(group) = group {
            self.groups.insert(id, names.take(group));
        }
        let side = Side {
            expires,
            lifted: false,
            unlocked: false,
            retry_for_ms,
            failing_since: None,
            unique,
            idempotency,
            batch,
        };
        let says_more = SlimTerms {
            group: None,
            ..*terms
        } != SlimTerms::default();
        if says_more {
            self.sides.insert(id, side);
        }
    }

    pub(crate) fn forget(&mut self, id: JobId, names: &mut Names) {
        if let Some(group) = self.groups.remove(&id) {
            names.release(group);
        }
        self.sides.remove(&id);
    }

    pub(crate) fn get_mut(&mut self, id: JobId) -> Option<&mut Side> {
        match self.sides.is_empty() {
            true => None,
            false => self.sides.get_mut(&id),
        }
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.sides.is_empty()
    }
}
