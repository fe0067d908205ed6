//! The orders jobs are looked up in. They hold nothing of their own: all of it follows from the
//! entries.

mod batches;
mod bucket;
mod counts;
mod instants;
mod leases;
mod locks;
mod names;
mod queue;
mod queues;
mod sorted;

use alloc::{string::String, sync::Arc, vec::Vec};
use core::cmp::Reverse;

use crate::{
    hold::Hold,
    id::{JobId, Token},
    job::State,
    ledger::{QueueCounts, Status},
    queue::QueueRules,
    side::Beside,
    slot::Slot,
    time::{Now, UnixMs},
};

use counts::Counts;
use leases::LeaseIndex;
use queue::{Lane, Left};

pub(crate) use batches::Batches;
pub(crate) use instants::ByInstant;
pub(crate) use locks::Locks;
pub(crate) use names::{NameId, Names};
pub(crate) use queues::{Queues, Told};
pub(crate) use sorted::Sorted;

/// All orders together, changed together.
///
/// A waiting job is either in `due` or in `queues`. It moves to its queue when an instant that the
/// wall clock showed reached its due, and stays there when the clock is set back: what was due once
/// is due.
#[derive(Debug, Clone, Default)]
pub(crate) struct Index {
    due: ByInstant,
    pub(crate) queues: Queues,
    leases: LeaseIndex,
    /// Jobs that ended and are not dead: those that retention may forget.
    ended: ByInstant,
    /// Waiting jobs that are not to be begun from an instant on.
    expiring: ByInstant,
    pub(crate) locks: Locks,
    pub(crate) batches: Batches,
    counts: Counts,
}

fn lane(slot: &Slot, beside: &Beside<'_>) -> Lane {
    Lane {
        kind: slot.kind,
        priority: Reverse(slot.priority),
        group: beside.group,
    }
}

impl Index {
    /// Take a job up as `slot` has it. `at` is the instant of the fact that made it so.
    pub(crate) fn insert(
        &mut self,
        id: JobId,
        slot: &Slot,
        beside: &Beside<'_>,
        at: Now,
        names: &mut Names,
    ) {
        let status = slot.status();
        match status {
            Status::Waiting { due, .. } if due <= at.wall => {
                let lane = lane(slot, beside);
                self.queues.insert(slot, lane, id, at.mono, names);
            }
            Status::Waiting { due, .. } => self.due.insert(due, id),
            Status::Running { .. } => {
                self.leases.insert(id, slot.token, at.mono);
                self.queues.start(slot.queue, beside.group, at, names);
            }
            Status::Completed(at)
            | Status::Cancelled(at)
            | Status::Discarded(at)
            | Status::Expired(at) => self.ended.insert(at, id),
            Status::Dead(_) => {}
        }
        self.insert_beside(id, status, beside);
        self.counts.add(slot.queue, status.state(at.wall));
    }

    /// See what a group of a queue lets begin, after the last job of its lane was taken out.
    pub(crate) fn review(
        &mut self,
        slot: &Slot,
        group: Option<NameId>,
        mono: u64,
        names: &mut Names,
    ) {
        self.queues.review(slot.queue, Some(group), mono, names);
    }

    /// Take a job out of all orders; `slot` is as it was taken up. Whether its group has to be [reviewed](Self::review).
    pub(crate) fn take_out(
        &mut self,
        id: JobId,
        slot: &Slot,
        beside: &Beside<'_>,
        mono: u64,
        names: &mut Names,
    ) -> bool {
        let status = slot.status();
        let mut left = Left::Some;
        let state = match status {
            Status::Waiting { due, backoff } => {
                left = self.queues.remove(slot, lane(slot, beside), id);
                match left {
                    Left::All => {
                        self.due.remove(due, id);
                        not_yet(backoff)
                    }
                    Left::Some | Left::Nothing => State::Available,
                }
            }
            Status::Running { .. } => {
                self.leases.remove(id);
                self.queues.end(slot.queue, beside.group, mono, names);
                State::Running
            }
            Status::Completed(at)
            | Status::Cancelled(at)
            | Status::Discarded(at)
            | Status::Expired(at) => {
                self.ended.remove(at, id);
                status.state(at)
            }
            Status::Dead(_) => State::Dead,
        };
        self.remove_beside(id, status, beside);
        self.counts.take(slot.queue, state);
        left == Left::Nothing
    }

    /// What stands in the way of others, and what expires, follows from a job's state.
    pub(crate) fn insert_beside(&mut self, id: JobId, status: Status, beside: &Beside<'_>) {
        let Some(side) = beside.side else {
            return;
        };
        if let Some(lock) = side.unique().filter(|lock| lock.scope.holds(status)) {
            self.locks.insert(lock.key, lock.until, id);
        }
        if let Some(key) = side.idempotency {
            self.locks.insert(key, None, id);
        }
        if let Some(batch) = side.batch {
            self.batches.insert(batch, id, status);
        }
        if let (Status::Waiting { .. }, Some(expires)) = (status, side.expires()) {
            self.expiring.insert(expires, id);
        }
    }

    pub(crate) fn remove_beside(&mut self, id: JobId, status: Status, beside: &Beside<'_>) {
        let Some(side) = beside.side else {
            return;
        };
        if let Some(lock) = side.unique().filter(|lock| lock.scope.holds(status)) {
            self.locks.remove(lock.key, lock.until, id);
        }
        if let Some(key) = side.idempotency {
            self.locks.remove(key, None, id);
        }
        if let Some(batch) = side.batch {
            self.batches.remove(batch, id, status);
        }
        if let (Status::Waiting { .. }, Some(expires)) = (status, side.expires()) {
            self.expiring.remove(expires, id);
        }
    }

    /// Jobs that became due by `wall`, taken from where they waited. Each has to be handed to
    /// [`admit`](Self::admit).
    pub(crate) fn take_due(&mut self, wall: UnixMs) -> Vec<JobId> {
        self.due.take_until(wall)
    }

    /// A job that became due can be claimed.
    pub(crate) fn admit(
        &mut self,
        id: JobId,
        slot: &Slot,
        beside: &Beside<'_>,
        mono: u64,
        names: &mut Names,
    ) {
        if let Status::Waiting { backoff, .. } = slot.status() {
            let lane = lane(slot, beside);
            self.queues.insert(slot, lane, id, mono, names);
            self.counts.take(slot.queue, not_yet(backoff));
            self.counts.add(slot.queue, State::Available);
        }
    }

    /// Open the queues and groups that waited for an instant which has come.
    pub(crate) fn open_until(&mut self, mono: u64, names: &mut Names) {
        self.queues.advance(mono, names);
    }

    /// The last job of a queue may be gone.
    pub(crate) fn tidy(&mut self, queue: NameId, mono: u64, names: &mut Names) {
        self.queues.tidy(queue, mono, names);
    }

    /// People said something of a queue.
    pub(crate) fn steer(&mut self, queue: &str, told: Told, mono: u64, names: &mut Names) {
        self.queues.steer(queue, told, mono, names);
    }

    /// Whether a waiting job is among the claimable.
    pub(crate) fn is_ready(&self, id: JobId, slot: &Slot, beside: &Beside<'_>) -> bool {
        self.queues.holds(slot, lane(slot, beside), id)
    }

    /// What keeps a waiting job back that is due.
    pub(crate) fn hold(
        &self,
        id: JobId,
        slot: &Slot,
        beside: &Beside<'_>,
        now: Now,
        names: &Names,
    ) -> Option<Hold> {
        let Status::Waiting { due, .. } = slot.status() else {
            return None;
        };
        let is_due = due <= now.wall || self.is_ready(id, slot, beside);
        is_due.then(|| self.queues.hold(slot, lane(slot, beside), id, now, names))
    }

    /// The job of `kinds` whose turn it is, of those that have not expired; a kind named twice counts
    /// once.
    pub(crate) fn next(
        &self,
        kinds: &[String],
        names: &Names,
        is_too_late: impl Fn(JobId) -> bool + Copy,
    ) -> Option<JobId> {
        let served = kinds.iter().filter_map(|kind| names.number(kind));
        let served: Vec<NameId> = served.collect();
        self.queues.next(&served, is_too_late)
    }

    /// Waiting jobs that expired by `wall`, earliest first.
    pub(crate) fn expired(&self, wall: UnixMs) -> impl Iterator<Item = JobId> + '_ {
        self.expiring.until(wall)
    }

    pub(crate) fn next_expiry(&self) -> Option<UnixMs> {
        self.expiring.first()
    }

    /// How many jobs of a queue wait, due or not.
    pub(crate) fn depth(&self, queue: &str, names: &Names) -> u64 {
        let number = names.number(queue);
        number.map_or(0, |number| self.counts.waiting(number))
    }

    pub(crate) fn govern(
        &mut self,
        rules: Arc<QueueRules>,
        now: Now,
        is_whole: bool,
        names: &mut Names,
    ) {
        self.queues.govern(rules, now, is_whole, names);
    }

    pub(crate) fn next_due(&self) -> Option<UnixMs> {
        self.due.first()
    }

    /// Jobs that wait for an instant, from behind a job at an instant.
    pub(crate) fn due_after(
        &self,
        at: UnixMs,
        id: JobId,
    ) -> impl Iterator<Item = (UnixMs, JobId)> + '_ {
        self.due.after(at, id)
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
            && self.expiring == other.expiring
            && self.locks == other.locks
            && self.batches == other.batches
            && self.counts.table(names) == other.counts.table(other_names)
            && self.queues.said() == other.queues.said()
            && self.queues.by_name(names) == other.queues.by_name(other_names)
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
