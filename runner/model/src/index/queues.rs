//! All queues: whose turn it is, and which give out nothing for now.
//!
//! Queues share by weight: each start moves a queue back by a stride that is the shorter the more it
//! weighs, and the one furthest ahead comes next. One that had nothing to give out joins a stride behind
//! where the others are, so it neither saves up turns nor takes those of queues that wait already.

mod holds;
mod views;

use alloc::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    sync::Arc,
    vec::Vec,
};

use super::{
    NameId, Names,
    bucket::{Bucket, micros},
    queue::{Group, Kinds, Lane, Left, Queue, Terms},
};
use crate::{
    event::RecordAt,
    id::JobId,
    queue::{QueueLimits, QueueMode, QueueRules, Rate, Steering},
    slot::Slot,
    time::{Now, UnixMs},
};

/// The stride of weight 1.
const STRIDE: u64 = 1 << 20;

/// A queue's place among those that give out jobs of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    rank: u32,
    finish: u64,
    queue: NameId,
}

/// What is looked at again at an instant of the steady clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Timer {
    mono: u64,
    queue: NameId,
    /// One group of it, or the queue as a whole.
    group: Option<Group>,
}

/// What people said of a queue, and where the log says so.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Told {
    pub(crate) to: Steering,
    pub(crate) at: UnixMs,
    pub(crate) by: Arc<str>,
    pub(crate) place: RecordAt,
}

/// All queues with jobs that can be claimed or run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Queues {
    queues: BTreeMap<NameId, Queue>,
    /// By kind, the queues that give out jobs of it now.
    open: BTreeMap<NameId, BTreeSet<Place>>,
    /// Where the queue was that had its turn last.
    front: u64,
    timers: BTreeSet<Timer>,
    rules: Arc<QueueRules>,
    /// What people said, by the queue's name.
    steered: BTreeMap<Arc<str>, Told>,
    /// Whether the rules are known: not while a log is read.
    is_governed: bool,
    /// When an attempt of a queue last began, in microseconds of the steady clock: of all queues while
    /// a log is read, by the wall clock; then only of those with a rate.
    began: BTreeMap<Arc<str>, i64>,
    /// What began of queues of which nothing is known began before this.
    unknown_since: Option<i64>,
    /// Whether jobs may have become claimable that waited for room.
    has_opened: bool,
}

impl Queues {
    /// Take in a job that can be claimed.
    pub(super) fn insert(
        &mut self,
        slot: &Slot,
        lane: Lane,
        id: JobId,
        mono: u64,
        names: &mut Names,
    ) {
        let at = slot.queue;
        let queue = self.queue(at, mono, names);
        if queue.insert(lane, slot.status().at(), id, names) {
            self.review(at, Some(lane.group), mono, names);
        }
    }

    /// Take a job out, and tell what is left of its lane. After the last one of a lane its group has to be
    /// [reviewed](Self::review).
    pub(super) fn remove(&mut self, slot: &Slot, lane: Lane, id: JobId) -> Left {
        let queue = self.queues.get_mut(&slot.queue);
        queue.map_or(Left::All, |queue| {
            queue.remove(lane, slot.status().at(), id)
        })
    }

    pub(super) fn holds(&self, slot: &Slot, lane: Lane, id: JobId) -> bool {
        let queue = self.queues.get(&slot.queue);
        queue.is_some_and(|queue| queue.holds(lane, slot.status().at(), id))
    }

    /// An attempt begins.
    pub(super) fn start(&mut self, at: NameId, group: Group, now: Now, names: &mut Names) {
        let is_governed = self.is_governed;
        let queue = self.queue(at, now.mono, names);
        let finish = queue.finish;
        queue.finish = finish.saturating_add(queue.terms.stride);
        queue.start(group, now.mono, names);
        let limits = queue.terms.limits;
        if !is_governed {
            self.began
                .insert(names.text(at).clone(), micros(now.wall.0));
        } else if limits.rate.or(limits.group_rate).is_some() {
            self.began.insert(names.text(at).clone(), micros(now.mono));
        }
        self.front = self.front.max(finish);
        self.review(at, Some(group), now.mono, names);
    }

    /// An attempt ended.
    pub(super) fn end(&mut self, at: NameId, group: Group, mono: u64, names: &mut Names) {
        if let Some(queue) = self.queues.get_mut(&at) {
            queue.end(group);
            self.review(at, Some(group), mono, names);
        }
    }

    /// Forget a queue that no job has and of which nothing needs to be kept.
    pub(super) fn tidy(&mut self, at: NameId, mono: u64, names: &mut Names) {
        let Some(queue) = self.queues.get(&at) else {
            return;
        };
        if names.uses(at) > 1 || !queue.is_idle(mono) {
            return;
        }
        self.list(at, &[]);
        self.queues.remove(&at);
        if self.is_governed {
            // Its bucket is full again: nothing needs to be known of it.
            self.began.remove(names.text(at));
        }
        names.release(at);
    }

    /// Open what waited for an instant that has come.
    pub(super) fn advance(&mut self, mono: u64, names: &mut Names) {
        while let Some(timer) = self.timers.first().copied()
            && timer.mono <= mono
        {
            self.timers.remove(&timer);
            self.review(timer.queue, timer.group, mono, names);
            self.tidy(timer.queue, mono, names);
        }
    }

    /// When something opens that is closed now, by the steady clock.
    pub(crate) fn next_opening(&self) -> Option<u64> {
        self.timers.first().map(|timer| timer.mono)
    }

    /// Whether jobs that waited for room may have become claimable since the last question.
    pub(crate) fn take_opened(&mut self) -> bool {
        core::mem::take(&mut self.has_opened)
    }

    /// The job that is next, of those of `kinds` that are not to be passed over. Looks at the queues
    /// furthest ahead only.
    pub(super) fn next(
        &self,
        kinds: &[NameId],
        is_too_late: impl Fn(JobId) -> bool + Copy,
    ) -> Option<JobId> {
        let places = || kinds.iter().filter_map(|kind| self.open.get(kind));
        let mut next = places().filter_map(BTreeSet::first).min().copied();
        while let Some(place) = next {
            let queue = self.queues.get(&place.queue);
            let first = queue.and_then(|queue| queue.first(kinds, is_too_late));
            if first.is_some() {
                return first;
            }
            // All of it is too late: passed over until it is swept.
            let behind = places().filter_map(|open| {
                use core::ops::Bound::{Excluded, Unbounded};
                open.range((Excluded(place), Unbounded)).next()
            });
            next = behind.min().copied();
        }
        None
    }

    /// A queue, which keeps its name as long as it is here.
    fn queue(&mut self, at: NameId, mono: u64, names: &mut Names) -> &mut Queue {
        let new = (!self.queues.contains_key(&at)).then(|| {
            let name = names.text(at);
            let terms = self.terms(name);
            let (bucket, new_group) = self.buckets(name, terms.limits, mono);
            names.keep(at);
            Queue::new(terms, bucket, new_group)
        });
        match self.queues.entry(at) {
            Entry::Occupied(there) => there.into_mut(),
            Entry::Vacant(place) => place.insert(new.unwrap_or_else(Queue::unbounded)),
        }
    }

    /// What the settings and people say of a queue.
    fn terms(&self, name: &str) -> Terms {
        let rule = self.rules.of(name);
        let said = self.steered.get(name).map(|told| told.to);
        let said = said.unwrap_or_default();
        Terms {
            rank: self.rules.rank(name),
            stride: STRIDE / u64::from(rule.weight.clamp(1, 1000)),
            limits: said.limits.or(rule.limits),
            is_held: said.mode == QueueMode::Paused,
        }
    }

    /// The buckets of a queue and of its groups as far as is known: as if all that they hold was taken
    /// when an attempt of it last began.
    fn buckets(&self, name: &str, limits: QueueLimits, mono: u64) -> (Bucket, Bucket) {
        let began = self.began.get(name).copied();
        let since = began.or(self.unknown_since).map(|at| at.min(micros(mono)));
        let bucket = |rate: Option<Rate>| match (rate, since) {
            (Some(rate), Some(since)) => Bucket::empty_since(since, rate),
            (Some(_), None) | (None, _) => Bucket::FULL,
        };
        (bucket(limits.rate), bucket(limits.group_rate))
    }

    /// See what a queue, and one of its groups, lets begin now, and list it accordingly.
    pub(super) fn review(
        &mut self,
        at: NameId,
        group: Option<Group>,
        mono: u64,
        names: &mut Names,
    ) {
        let Some(queue) = self.queues.get_mut(&at) else {
            return;
        };
        let mut timer = |mono: Option<u64>, group| {
            self.timers.extend(mono.map(|mono| Timer {
                mono,
                queue: at,
                group,
            }));
        };
        if let Some(of) = group {
            timer(queue.review_group(of, mono, names), group);
        }
        timer(queue.review(mono), None);
        if queue.terms.limits.rate.is_some() && queue.is_empty() && !queue.bucket.is_full(mono) {
            timer(Some(queue.bucket.fills()), None);
        }
        let kinds: Kinds = queue.offers().collect();
        if queue.listed.is_empty() && !kinds.is_empty() {
            let joins = self.front.saturating_add(queue.terms.stride);
            queue.finish = queue.finish.max(joins);
        }
        self.list(at, &kinds);
    }

    /// List a queue under these kinds and no others, at its place as it is now.
    fn list(&mut self, at: NameId, kinds: &[NameId]) {
        let Some(queue) = self.queues.get_mut(&at) else {
            return;
        };
        let place = Place {
            rank: queue.terms.rank,
            finish: queue.finish,
            queue: at,
        };
        if queue.listed_at == (place.rank, place.finish) && *queue.listed == *kinds {
            return;
        }
        let (rank, finish) = queue.listed_at;
        let before = Place {
            rank,
            finish,
            queue: at,
        };
        for kind in &queue.listed {
            if let Some(open) = self.open.get_mut(kind) {
                open.remove(&before);
                if open.is_empty() && !kinds.contains(kind) {
                    self.open.remove(kind);
                }
            }
        }
        self.has_opened |= kinds.iter().any(|kind| !queue.listed.contains(kind));
        for kind in kinds {
            self.open.entry(*kind).or_default().insert(place);
        }
        queue.listed_at = (place.rank, place.finish);
        queue.listed.clear();
        queue.listed.extend_from_slice(kinds);
    }

    /// Follow other rules from now on.
    pub(super) fn govern(
        &mut self,
        rules: Arc<QueueRules>,
        now: Now,
        is_whole: bool,
        names: &mut Names,
    ) {
        if !self.is_governed {
            self.is_governed = true;
            // From the wall clock, which the log has, to the steady one.
            let apart = micros(now.wall.0).saturating_sub(micros(now.mono));
            self.began.values_mut().for_each(|at| *at -= apart);
            let earliest = self.began.values().min().copied();
            self.unknown_since = (!is_whole).then(|| earliest.unwrap_or(micros(now.mono)));
        }
        self.rules = rules;
        let began = core::mem::take(&mut self.began);
        let has_rate = |name: &Arc<str>| {
            let limits = self.terms(name).limits;
            limits.rate.or(limits.group_rate).is_some()
        };
        let kept = began.into_iter().filter(|(name, _)| has_rate(name));
        self.began = kept.collect();
        let all: Vec<NameId> = self.queues.keys().copied().collect();
        for at in all {
            self.look_again(at, now.mono, names);
        }
    }

    /// Follow what is said of a queue now.
    fn look_again(&mut self, at: NameId, mono: u64, names: &mut Names) {
        let name = names.text(at);
        let terms = self.terms(name);
        let (bucket, new_group) = self.buckets(name, terms.limits, mono);
        let Some(queue) = self.queues.get_mut(&at) else {
            return;
        };
        let before = core::mem::replace(&mut queue.terms, terms).limits;
        if (before.rate, before.group_rate) != (terms.limits.rate, terms.limits.group_rate) {
            queue.refill(bucket, new_group);
        }
        for group in queue.groups() {
            self.review(at, Some(group), mono, names);
        }
        self.review(at, None, mono, names);
    }

    /// People said something of a queue.
    pub(super) fn steer(&mut self, name: &str, told: Told, mono: u64, names: &mut Names) {
        if told.to.is_default() {
            self.steered.remove(name);
        } else {
            self.steered.insert(name.into(), told);
        }
        if let Some(at) = names.number(name) {
            self.look_again(at, mono, names);
        }
    }
}
