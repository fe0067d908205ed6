//! The orders jobs are looked up in. They hold nothing of their own: all of it follows from the
//! entries.

mod counts;
mod due;
mod ended;
mod leases;
mod ready;

use alloc::{collections::BTreeSet, string::String, sync::Arc, vec::Vec};

use crate::{
    id::{JobId, Token},
    job::State,
    ledger::{Entry, QueueCounts, Status},
    time::UnixMs,
};

use counts::Counts;
use due::DueIndex;
use ended::EndedIndex;
use leases::LeaseIndex;
use ready::{ReadyLanes, Turn};

/// All orders together, changed together.
///
/// A waiting job is either in `due` or in `ready`. It moves to `ready` when an instant that the
/// wall clock showed reached its due, and stays there when the clock is set back: what was due once
/// is due.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Index {
    due: DueIndex,
    ready: ReadyLanes,
    leases: LeaseIndex,
    ended: EndedIndex,
    counts: Counts,
}

impl Index {
    /// Take a job up as `entry` has it. `at` is the instant of the fact that made it so.
    pub(crate) fn insert(&mut self, id: JobId, entry: &Entry, at: UnixMs, mono: u64) {
        match entry.status {
            Status::Waiting { due, .. } if due <= at => {
                self.ready
                    .insert(&entry.kind, Turn::new(entry.priority, due, id));
            }
            Status::Waiting { due, .. } => self.due.insert(due, id),
            Status::Running { .. } => self.leases.insert(id, entry.token, mono),
            Status::Completed(at) | Status::Cancelled(at) | Status::Discarded(at) => {
                self.ended.insert(at, id);
            }
            Status::Dead(_) => {}
        }
        self.counts.add(&entry.queue, entry.status.state(at));
    }

    /// Forget a job; `entry` is as it was taken up.
    pub(crate) fn remove(&mut self, id: JobId, entry: &Entry) {
        let state = match entry.status {
            Status::Waiting { due, backoff } => {
                if self.due.remove(due, id) {
                    not_yet(backoff)
                } else {
                    let turn = Turn::new(entry.priority, due, id);
                    self.ready.remove(&entry.kind, turn);
                    State::Available
                }
            }
            Status::Running { .. } => {
                self.leases.remove(id);
                State::Running
            }
            Status::Completed(at) | Status::Cancelled(at) | Status::Discarded(at) => {
                self.ended.remove(at, id);
                entry.status.state(at)
            }
            Status::Dead(_) => State::Dead,
        };
        self.counts.take(&entry.queue, state);
    }

    /// Jobs that became due by `wall`, taken from where they waited. Each has to be handed to
    /// [`admit`](Self::admit).
    pub(crate) fn take_due(&mut self, wall: UnixMs) -> Vec<JobId> {
        self.due.take_due(wall)
    }

    /// A job that became due can be claimed.
    pub(crate) fn admit(&mut self, id: JobId, entry: &Entry) {
        if let Status::Waiting { due, backoff } = entry.status {
            self.ready
                .insert(&entry.kind, Turn::new(entry.priority, due, id));
            self.counts.take(&entry.queue, not_yet(backoff));
            self.counts.add(&entry.queue, State::Available);
        }
    }

    /// Whether a waiting job is among the claimable.
    pub(crate) fn is_ready(&self, id: JobId, entry: &Entry, due: UnixMs) -> bool {
        self.ready
            .holds(&entry.kind, Turn::new(entry.priority, due, id))
    }

    pub(crate) fn claimable<'a>(&'a self, kinds: &[String]) -> impl Iterator<Item = JobId> + 'a {
        self.ready.merged(kinds)
    }

    pub(crate) fn next_due(&self) -> Option<UnixMs> {
        self.due.first()
    }

    pub(crate) fn ended(&self) -> &EndedIndex {
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
        entry: impl Fn(JobId) -> Option<&'a Entry>,
    ) -> QueueCounts {
        let mut counts = self.counts.clone();
        for entry in self.due.due_by(wall).filter_map(entry) {
            if let Status::Waiting { backoff, .. } = entry.status {
                counts.take(&entry.queue, not_yet(backoff));
                counts.add(&entry.queue, State::Available);
            }
        }
        counts.table()
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

/// Names that many jobs share, each kept once.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Names {
    known: BTreeSet<Arc<str>>,
}

impl Names {
    pub(crate) fn shared(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.known.get(name) {
            return known.clone();
        }
        let shared: Arc<str> = name.into();
        self.known.insert(shared.clone());
        shared
    }
}
