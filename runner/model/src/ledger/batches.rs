//! What the ledger knows of batches.

use alloc::vec::Vec;

use crate::{
    batch::{BatchCount, BatchState},
    event::{Event, RecordAt},
    id::JobId,
    ledger::Ledger,
    seen::Seen,
    time::UnixMs,
};

impl Ledger {
    /// A batch.
    #[must_use]
    pub fn batch(&self, id: JobId) -> Option<&BatchState> {
        self.index.batches.get(id).map(|known| &known.state)
    }

    /// How the jobs of a batch stand.
    #[must_use]
    pub fn batch_count(&self, id: JobId) -> BatchCount {
        self.index.batches.count(id)
    }

    /// Batches, newest first, from below `before`.
    pub fn batches(&self, before: Option<JobId>) -> impl Iterator<Item = (JobId, &BatchState)> {
        let known = self.index.batches.below(before);
        known.map(|(id, known)| (id, &known.state))
    }

    /// Where the latest record about a batch lies.
    #[must_use]
    pub fn batch_at(&self, id: JobId) -> Option<RecordAt> {
        self.index.batches.get(id).map(|known| known.at)
    }

    /// The jobs of a batch that are known, newest first, from below `before`.
    pub fn members(
        &self,
        batch: JobId,
        before: Option<JobId>,
    ) -> impl Iterator<Item = (JobId, Seen<'_>)> + '_ {
        let ids = self.index.batches.members(batch, before);
        ids.filter_map(|id| Some((id, self.look(id)?)))
    }

    /// Whether a batch came to its end, or was called off, and not all that follows was written down.
    #[must_use]
    pub fn wants_tending(&self) -> bool {
        self.index.batches.wants()
    }

    /// How many batches may be forgotten.
    #[must_use]
    pub fn batches_over(&self) -> usize {
        self.index.batches.over().len()
    }

    /// Batches to be told again before the records before a place go: those told of there, and those of which
    /// jobs were forgotten since, because a record that forgets a job does not say of which batch it was.
    pub(crate) fn batches_retold(&self, place: RecordAt, at: UnixMs) -> Vec<Event> {
        let known = self.index.batches.below(None);
        known
            .filter(|(_, known)| known.at < place || known.is_changed)
            .map(|(id, known)| as_it_is(id, &known.state, at))
            .collect()
    }

    /// Batches that another ledger knows and this one does not.
    pub(crate) fn batches_unsaid(&self, other: &Self, at: UnixMs) -> Vec<Event> {
        let theirs = other.batches(None);
        theirs
            .filter(|(id, _)| self.batch(*id).is_none())
            .map(|(id, state)| as_it_is(id, state, at))
            .collect()
    }
}

fn as_it_is(id: JobId, state: &BatchState, at: UnixMs) -> Event {
    Event::Batch {
        id,
        at,
        state: state.clone().into(),
        jobs: Vec::new(),
    }
}
