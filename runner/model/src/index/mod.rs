//! The orders jobs are looked up in. They hold nothing of their own: all of it follows from the
//! entries.

mod counts;
mod instants;
mod leases;
mod names;
mod ready;
mod sorted;

use alloc::{string::String, vec::Vec};

use crate::{
    id::{JobId, Token},
    job::State,
    ledger::{QueueCounts, Status},
    slot::Slot,
    time::UnixMs,
};

use counts::Counts;
use leases::LeaseIndex;
use ready::{ReadyLanes, Turn};

pub(crate) use instants::ByInstant;
pub(crate) use names::{NameId, Names};
pub(crate) use sorted::Sorted;

/// All orders together, changed together.
///
/// A waiting job is either in `due` or in `ready`. It moves to `ready` when an instant that the
/// wall clock showed reached its due, and stays there when the clock is set back: what was due once
/// is due.
#[derive(Debug, Clone, Default)]
pub(crate) struct Index {
    due: ByInstant,
    ready: ReadyLanes,
    leases: LeaseIndex,
    /// Jobs that ended and are not dead: those that retention may forget.
    ended: ByInstant,
    counts: Counts,
}

impl Index {
    /// Take a job up as `slot` has it. `at` is the instant of the fact that made it so.
    pub(crate) fn insert(&mut self, id: JobId, slot: &Slot, at: UnixMs, mono: u64) {
        let status = slot.status();
        match status {
            Status::Waiting { due, .. } if due <= at => {
                self.ready
                    .insert(slot.kind, Turn::new(slot.priority, due, id));
            }
            Status::Waiting { due, .. } => self.due.insert(due, id),
            Status::Running { .. } => self.leases.insert(id, slot.token, mono),
            Status::Completed(at) | Status::Cancelled(at) | Status::Discarded(at) => {
                self.ended.insert(at, id);
            }
            Status::Dead(_) => {}
        }
        self.counts.add(slot.queue, status.state(at));
    }

    /// Forget a job; `slot` is as it was taken up.
    pub(crate) fn remove(&mut self, id: JobId, slot: &Slot) {
        let status = slot.status();
        let state = match status {
            Status::Waiting { due, backoff } => {
                let turn = Turn::new(slot.priority, due, id);
                if self.ready.remove(slot.kind, turn) {
                    State::Available
                } else {
                    self.due.remove(due, id);
                    not_yet(backoff)
                }
            }
            Status::Running { .. } => {
                self.leases.remove(id);
                State::Running
            }
            Status::Completed(at) | Status::Cancelled(at) | Status::Discarded(at) => {
                self.ended.remove(at, id);
                status.state(at)
            }
            Status::Dead(_) => State::Dead,
        };
        self.counts.take(slot.queue, state);
    }

    /// Jobs that became due by `wall`, taken from where they waited. Each has to be handed to
    /// [`admit`](Self::admit).
    pub(crate) fn take_due(&mut self, wall: UnixMs) -> Vec<JobId> {
        self.due.take_until(wall)
    }

    /// A job that became due can be claimed.
    pub(crate) fn admit(&mut self, id: JobId, slot: &Slot) {
        if let Status::Waiting { due, backoff } = slot.status() {
            self.ready
                .insert(slot.kind, Turn::new(slot.priority, due, id));
            self.counts.take(slot.queue, not_yet(backoff));
            self.counts.add(slot.queue, State::Available);
        }
    }

    /// Whether a waiting job is among the claimable.
    pub(crate) fn is_ready(&self, id: JobId, slot: &Slot, due: UnixMs) -> bool {
        self.ready
            .holds(slot.kind, Turn::new(slot.priority, due, id))
    }

    /// Jobs of `kinds` in their turn; a kind named twice counts once.
    pub(crate) fn claimable(
        &self,
        kinds: &[String],
        names: &Names,
    ) -> impl Iterator<Item = JobId> + '_ {
        let served = kinds.iter().filter_map(|kind| names.number(kind));
        self.ready.merged(served.collect())
    }

    pub(crate) fn next_due(&self) -> Option<UnixMs> {
        self.due.first()
    }

    pub(crate) fn ended(&self) -> &ByInstant {
        &self.ended
    }

    pub(crate) fn leases(&self) -> Vec<(JobId, Token)> {
        self.leases.all()
    }

    pub(crate) fn overdue(&self, mono: u64, lease_ms: u64) -> Vec<(JobId, Token)> {
        self.leases.overdue(mono, lease_ms)
    }

    pub(crate) fn renew(&mut self, id: JobId, token: Token, mono: u64) -> bool {
        self.leases.renew(id, token, mono)
    }

    /// Counts at `wall`: what became due since the last look counts as available.
    pub(crate) fn counts<'a>(
        &self,
        wall: UnixMs,
        names: &Names,
        slot: impl Fn(JobId) -> Option<&'a Slot>,
    ) -> QueueCounts {
        let mut counts = self.counts.clone();
        for slot in self.due.until(wall).filter_map(slot) {
            if let Status::Waiting { backoff, .. } = slot.status() {
                counts.take(slot.queue, not_yet(backoff));
                counts.add(slot.queue, State::Available);
            }
        }
        counts.table(names)
    }

    /// Whether both hold the same jobs in the same orders; names are numbered as they came, so
    /// what counts are the names.
    pub(crate) fn same(&self, names: &Names, other: &Self, other_names: &Names) -> bool {
        self.due == other.due
            && self.leases == other.leases
            && self.ended == other.ended
            && self.counts.table(names) == other.counts.table(other_names)
            && self.ready.by_name(|kind| names.text(kind))
                == other.ready.by_name(|kind| other_names.text(kind))
    }
}

/// The state of a job that is not due.
fn not_yet(backoff: bool) -> State {
    if backoff {
        State::Retryable
    } else {
        State::Scheduled
    }
}
