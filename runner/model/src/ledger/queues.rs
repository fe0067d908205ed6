//! What the ledger knows of queues and of unique jobs.

use alloc::{boxed::Box, string::String, sync::Arc, vec::Vec};

use crate::{
    event::{Event, RecordAt},
    hold::Hold,
    id::JobId,
    index::Told,
    job::Digest,
    ledger::Ledger,
    queue::{QueueLimits, QueueRules, Steering},
    time::{Now, UnixMs},
};

/// A unique job that stands in the way of others with its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// The key.
    pub key: Digest,
    /// The job.
    pub id: JobId,
    /// From when on it does not.
    pub until: Option<UnixMs>,
}

impl Ledger {
    /// Follow these rules for queues from now on. Until they are given, as while a log is read, nothing
    /// is bounded but by what people said.
    pub fn govern(&mut self, rules: Arc<QueueRules>, now: Now) {
        let is_whole = self.trimmed == RecordAt(0);
        self.index.govern(rules, now, is_whole, &mut self.names);
    }

    /// The rules that are followed.
    #[must_use]
    pub fn rules(&self) -> &QueueRules {
        self.index.queues.rules()
    }

    /// What people said of queues that still counts, by name.
    pub fn steered(&self) -> impl Iterator<Item = (&Arc<str>, Steering)> {
        let steered = self.index.queues.steered().iter();
        steered.map(|(name, told)| (name, told.to))
    }

    /// What people said of a queue.
    #[must_use]
    pub fn steering(&self, queue: &str) -> Steering {
        let told = self.index.queues.steered().get(queue);
        told.map(|told| told.to).unwrap_or_default()
    }

    /// The limits of a queue that count now: what people said, then the rules.
    #[must_use]
    pub fn limits(&self, queue: &str) -> QueueLimits {
        self.index.queues.limits(queue)
    }

    /// What keeps a job from being begun that is due; `None` when it does not wait.
    #[must_use]
    pub fn hold(&self, id: JobId, now: Now) -> Option<Hold> {
        self.index
            .hold(id, self.slot(id)?, &self.sides.of(id), now, &self.names)
    }

    /// What keeps due jobs of a queue from being begun: all of them, or those of one of its groups.
    #[must_use]
    pub fn hold_of(&self, queue: &str, now: Now) -> Option<Hold> {
        let at = self.names.number(queue)?;
        self.index.queues.hold_of(at, now, &self.names)
    }

    /// When the job of a queue became due that has waited longest of those that can be claimed; `None`
    /// when there is none, or when they are of more groups than are looked at.
    #[must_use]
    pub fn oldest_due(&self, queue: &str) -> Option<UnixMs> {
        let at = self.names.number(queue)?;
        self.index.queues.oldest_due(at)
    }

    /// The kinds of a queue's jobs that can be claimed.
    pub fn kinds_of(&self, queue: &str) -> impl Iterator<Item = &Arc<str>> + '_ {
        let at = self.names.number(queue).into_iter();
        let kinds = at.flat_map(|at| self.index.queues.kinds_of(at));
        kinds.map(|kind| self.names.text(kind))
    }

    /// How many jobs of a queue wait, due or not.
    #[must_use]
    pub fn depth(&self, queue: &str) -> u64 {
        self.index.depth(queue, &self.names)
    }

    /// What was said of queues and batches before a place, to be told again before the records there go.
    #[must_use]
    pub fn retold(&self, before: RecordAt, at: UnixMs) -> Vec<Event> {
        let told = self.index.queues.steered().iter();
        let told = told.filter(|(_, told)| told.place < before);
        let queues = told.map(|(name, told)| steered(name, told));
        queues.chain(self.batches_retold(before, at)).collect()
    }

    /// What another ledger says of queues and batches and this one does not.
    #[must_use]
    pub fn unsaid(&self, other: &Self, at: UnixMs) -> Vec<Event> {
        let here = self.index.queues.steered();
        let there = other.index.queues.steered().iter();
        let there = there.filter(|(name, _)| !here.contains_key(&***name));
        let queues = there.map(|(name, told)| steered(name, told));
        queues.chain(self.batches_unsaid(other, at)).collect()
    }

    /// When something happens by itself next, by the wall clock: a job becomes due, or a rate lets
    /// another one begin.
    #[must_use]
    pub fn next_claimable(&self, now: Now) -> Option<UnixMs> {
        let opening = self.index.queues.next_opening();
        let opening = opening.map(|mono| now.wall.plus(mono.saturating_sub(now.mono)));
        self.next_due().into_iter().chain(opening).min()
    }

    /// The earliest instant at which a job that waits now expires.
    #[must_use]
    pub fn next_expiry(&self) -> Option<UnixMs> {
        self.index.next_expiry()
    }

    /// Whether jobs that waited for room in their queue may have become claimable since this was last
    /// asked.
    pub fn take_opened(&mut self) -> bool {
        self.index.queues.take_opened()
    }

    /// The unique jobs that stand in the way of others at `wall`, by key, from a key on.
    pub fn standing(&self, from: Digest, wall: UnixMs) -> impl Iterator<Item = Standing> + '_ {
        let unique = move |(key, until, id): (Digest, Option<UnixMs>, JobId)| {
            let side = self.sides.of(id).side?;
            let is_unique = side.unique().is_some_and(|lock| lock.key == key);
            let stands = until.is_none_or(|until| until > wall);
            (is_unique && stands).then_some(Standing { key, id, until })
        };
        self.index.locks.after(from).filter_map(unique)
    }

    /// The job that an idempotency key stands for, or that stands in the way of others with a unique
    /// key.
    #[must_use]
    pub fn holder(&self, key: Digest, wall: UnixMs) -> Option<JobId> {
        self.index.locks.holder(key, wall, None)
    }
}

fn steered(name: &Arc<str>, told: &Told) -> Event {
    Event::Steered {
        queue: String::from(&**name),
        at: told.at,
        by: String::from(&*told.by),
        to: Box::new(told.to),
    }
}
