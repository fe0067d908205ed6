//! Batches, and their jobs by the state they are in. What is counted follows from the jobs.

use alloc::collections::{BTreeMap, BTreeSet};

use super::{instants::ByInstant, sorted::Sorted};
use crate::{
    batch::{BatchCount, BatchState},
    event::RecordAt,
    id::JobId,
    ledger::Status,
};

/// A batch as its latest record has it, and as what was forgotten of it since.
#[derive(Debug, Clone)]
pub(crate) struct KnownBatch {
    pub(crate) state: BatchState,
    pub(crate) at: RecordAt,
    /// Whether jobs of it were forgotten since that record.
    pub(crate) is_changed: bool,
}

impl PartialEq for KnownBatch {
    fn eq(&self, other: &Self) -> bool {
        self.state == other.state
    }
}

/// Every batch and its jobs.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Batches {
    known: BTreeMap<JobId, KnownBatch>,
    /// How the jobs stand that are known, also of a batch of which no record came yet.
    counts: BTreeMap<JobId, BatchCount>,
    /// All jobs by their batch.
    members: Sorted<(JobId, JobId), ()>,
    /// Those that wait.
    waiting: BTreeSet<(JobId, JobId)>,
    /// Batches that came to an end which nobody wrote down yet.
    ripe: BTreeSet<JobId>,
    /// Batches that were called off and have jobs that wait.
    doomed: BTreeSet<JobId>,
    /// Batches that may be forgotten, by when they ended.
    over: ByInstant,
}

impl Batches {
    pub(super) fn insert(&mut self, batch: JobId, id: JobId, status: Status) {
        self.members.insert((batch, id), ());
        if let Status::Waiting { .. } = status {
            self.waiting.insert((batch, id));
        }
        *slot(self.counts.entry(batch).or_default(), status) += 1;
        self.reckon(batch);
    }

    pub(super) fn remove(&mut self, batch: JobId, id: JobId, status: Status) {
        self.members.remove(&(batch, id));
        self.waiting.remove(&(batch, id));
        if let Some(count) = self.counts.get_mut(&batch) {
            let slot = slot(count, status);
            *slot = slot.saturating_sub(1);
            if count.total() == 0 {
                self.counts.remove(&batch);
            }
        }
        self.reckon(batch);
    }

    /// A job of it is not known any more.
    pub(crate) fn lose(&mut self, batch: JobId, status: Status) {
        if let Some(known) = self.known.get_mut(&batch) {
            *known.state.gone.slot(status) += 1;
            known.is_changed = true;
            self.reckon(batch);
        }
    }

    /// A batch is as a record has it.
    pub(crate) fn know(&mut self, id: JobId, state: &BatchState, at: RecordAt) {
        self.unsort(id);
        let state = state.clone();
        let is_changed = false;
        let known = KnownBatch {
            state,
            at,
            is_changed,
        };
        self.known.insert(id, known);
        self.reckon(id);
    }

    pub(crate) fn forget(&mut self, id: JobId) -> bool {
        self.unsort(id);
        self.known.remove(&id).is_some()
    }

    /// Take a batch out of the orders that follow from how it stands.
    fn unsort(&mut self, id: JobId) {
        self.ripe.remove(&id);
        self.doomed.remove(&id);
        let ended = self.known.get(&id).and_then(|known| known.state.ended_at);
        if let Some(at) = ended {
            self.over.remove(at, id);
        }
    }

    /// Put a batch where it belongs, its jobs being as they are.
    fn reckon(&mut self, id: JobId) {
        if !self.known.contains_key(&id) {
            return;
        }
        self.unsort(id);
        let (count, dead) = (self.count(id), self.dead(id));
        let Some(known) = self.known.get(&id) else {
            return;
        };
        if known.state.is_ripe(count) {
            self.ripe.insert(id);
        }
        if known.state.cancelled.is_some() && count.waiting > 0 {
            self.doomed.insert(id);
        }
        if let Some(at) = known.state.ended_at
            && known
                .state
                .is_over(count, dead, self.counts.contains_key(&id))
        {
            self.over.insert(at, id);
        }
    }

    /// How the jobs of a batch stand, those that are not known any more included.
    pub(crate) fn count(&self, id: JobId) -> BatchCount {
        let count = self.counts.get(&id).copied().unwrap_or_default();
        let gone = self.known.get(&id).map(|known| known.state.gone);
        BatchCount {
            ended: count.ended.and(gone.unwrap_or_default()),
            ..count
        }
    }

    /// Jobs of a batch in the dead letters.
    fn dead(&self, id: JobId) -> u64 {
        self.counts.get(&id).map_or(0, |count| count.ended.dead)
    }

    pub(crate) fn get(&self, id: JobId) -> Option<&KnownBatch> {
        self.known.get(&id)
    }

    /// Batches below an id, newest first.
    pub(crate) fn below(
        &self,
        end: Option<JobId>,
    ) -> impl Iterator<Item = (JobId, &KnownBatch)> + '_ {
        use core::ops::Bound::{Excluded, Unbounded};
        let range = (Unbounded, end.map_or(Unbounded, Excluded));
        self.known
            .range(range)
            .rev()
            .map(|(id, known)| (*id, known))
    }

    /// The jobs of a batch below an id, newest first.
    pub(crate) fn members(
        &self,
        batch: JobId,
        below: Option<JobId>,
    ) -> impl Iterator<Item = JobId> + '_ {
        let end = (batch, below.unwrap_or(JobId(u128::MAX)));
        self.members
            .below(Some(end))
            .map(|(key, ())| key)
            .take_while(move |(of, _)| *of == batch)
            .map(|(_, id)| id)
    }

    pub(crate) fn ripe(&self) -> impl Iterator<Item = JobId> + '_ {
        self.ripe.iter().copied()
    }

    /// Jobs that wait in batches that were called off, with their batches.
    pub(crate) fn doomed(&self) -> impl Iterator<Item = (JobId, JobId)> + '_ {
        let of = |batch: &JobId| {
            let range = (*batch, JobId(0))..=(*batch, JobId(u128::MAX));
            self.waiting.range(range).copied()
        };
        self.doomed.iter().flat_map(of)
    }

    /// Whether a batch was called off and has jobs that wait.
    pub(crate) fn is_doomed(&self, batch: JobId) -> bool {
        self.doomed.contains(&batch)
    }

    pub(crate) fn over(&self) -> &ByInstant {
        &self.over
    }

    /// Whether there is something to be done for a batch.
    pub(crate) fn wants(&self) -> bool {
        !self.ripe.is_empty() || !self.doomed.is_empty()
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.known.is_empty() && self.counts.is_empty() && self.members.is_empty()
    }
}

fn slot(count: &mut BatchCount, status: Status) -> &mut u64 {
    match status {
        Status::Waiting { .. } => &mut count.waiting,
        Status::Running { .. } => &mut count.running,
        Status::Completed(_)
        | Status::Cancelled(_)
        | Status::Discarded(_)
        | Status::Dead(_)
        | Status::Expired(_) => count.ended.slot(status),
    }
}
