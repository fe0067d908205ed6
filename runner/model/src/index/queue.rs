//! One queue: its jobs that can be claimed, in lanes by kind, priority and group, and what bounds them.

mod jobs;
mod shut;

use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};
use core::cmp::Reverse;

use smallvec::SmallVec;

use super::{NameId, Names, bucket::Bucket};
use crate::{id::JobId, queue::QueueLimits, time::UnixMs};

pub(crate) use jobs::Jobs;
pub(super) use jobs::Left;
pub(super) use shut::Shut;

/// The group of a job, if it has one. Those without are bounded by nothing that is said of groups.
pub(super) type Group = Option<NameId>;

/// Where a job waits in its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lane {
    pub(crate) kind: NameId,
    pub(crate) priority: Reverse<i16>,
    pub(crate) group: Group,
}

/// A lane that may be claimed from. Of a kind: higher priority first, then the group whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Head {
    kind: NameId,
    priority: Reverse<i16>,
    turn: u64,
    group: Group,
}

/// A group with jobs that can be claimed, that run, or that began a while ago.
#[derive(Debug, Clone)]
struct Member {
    /// Its place in the round: who came, or was served, later, stands further back.
    turn: u64,
    running: u32,
    bucket: Bucket,
    /// Whether its limits let nothing more begin now.
    is_closed: bool,
    /// Its lanes with jobs.
    lanes: SmallVec<[(NameId, Reverse<i16>); 2]>,
}

/// Kinds, mostly few.
pub(super) type Kinds = SmallVec<[NameId; 6]>;

/// What the settings and people say of a queue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Terms {
    /// Queues of a lower rank come first, whatever the weights.
    pub(super) rank: u32,
    /// How far a start moves it back among the queues: the less, the more weight it has.
    pub(super) stride: u64,
    pub(super) limits: QueueLimits,
    pub(super) is_held: bool,
}

impl Terms {
    /// Those of a queue of which nothing is said.
    pub(super) const ANY: Self = Self {
        rank: 0,
        stride: 1 << 20,
        limits: QueueLimits {
            concurrency: None,
            rate: None,
            group_concurrency: None,
            group_rate: None,
        },
        is_held: false,
    };
}

/// One queue.
#[derive(Debug, Clone)]
pub(super) struct Queue {
    pub(super) terms: Terms,
    /// Its place among the queues.
    pub(super) finish: u64,
    pub(super) bucket: Bucket,
    /// The bucket of a group that comes: what began before the start is not known by group.
    pub(super) new_group: Bucket,
    /// Whether it gives out nothing now.
    pub(super) is_closed: bool,
    /// The kinds that it is listed under as one to claim from.
    pub(super) listed: Kinds,
    /// The rank and the place under which it is.
    pub(super) listed_at: (u32, u64),
    running: u32,
    lanes: BTreeMap<Lane, Jobs>,
    members: BTreeMap<Group, Member>,
    turns: u64,
    /// The lanes of groups that are not closed.
    heads: BTreeSet<Head>,
}

impl Queue {
    pub(super) fn new(terms: Terms, bucket: Bucket, new_group: Bucket) -> Self {
        Self {
            terms,
            finish: 0,
            bucket,
            new_group,
            is_closed: false,
            listed: Kinds::new(),
            listed_at: (0, 0),
            running: 0,
            lanes: BTreeMap::new(),
            members: BTreeMap::new(),
            turns: 0,
            heads: BTreeSet::new(),
        }
    }

    /// One of which nothing is said.
    pub(super) fn unbounded() -> Self {
        Self::new(Terms::ANY, Bucket::FULL, Bucket::FULL)
    }

    /// Whether no job of it can be claimed or runs.
    pub(super) fn is_empty(&self) -> bool {
        self.running == 0 && self.lanes.is_empty()
    }

    /// Whether nothing of it needs to be kept.
    pub(super) fn is_idle(&self, mono: u64) -> bool {
        self.is_empty()
            && self.members.is_empty()
            && (self.terms.limits.rate.is_none() || self.bucket.is_full(mono))
    }

    /// Take in a job that can be claimed. Whether that made a lane.
    pub(super) fn insert(&mut self, lane: Lane, due: UnixMs, id: JobId, names: &mut Names) -> bool {
        if let Some(jobs) = self.lanes.get_mut(&lane) {
            jobs.insert(due, id);
            return false;
        }
        self.lanes.insert(lane, Jobs::new(due, id));
        let turn = self.turns + 1;
        let member = self.member(lane.group, names);
        if member.lanes.is_empty() {
            member.turn = turn;
        }
        member.lanes.push((lane.kind, lane.priority));
        if !member.is_closed {
            let turn = member.turn;
            self.heads.insert(head(lane, turn));
        }
        self.turns = turn;
        true
    }

    /// A group, which keeps its name as long as it is here.
    fn member(&mut self, group: Group, names: &mut Names) -> &mut Member {
        let bucket = self.new_group;
        self.members.entry(group).or_insert_with(|| {
            if let Some(group) = group {
                names.keep(group);
            }
            Member {
                turn: 0,
                running: 0,
                bucket,
                is_closed: false,
                lanes: SmallVec::new(),
            }
        })
    }

    /// Take a job out; with the last one goes its lane.
    pub(super) fn remove(&mut self, lane: Lane, due: UnixMs, id: JobId) -> Left {
        let Some(jobs) = self.lanes.get_mut(&lane) else {
            return Left::All;
        };
        let left = jobs.remove(due, id);
        if left == Left::Nothing {
            self.lanes.remove(&lane);
            if let Some(member) = self.members.get_mut(&lane.group) {
                member.lanes.retain(|at| *at != (lane.kind, lane.priority));
                self.heads.remove(&head(lane, member.turn));
            }
        }
        left
    }

    pub(super) fn holds(&self, lane: Lane, due: UnixMs, id: JobId) -> bool {
        let jobs = self.lanes.get(&lane);
        jobs.is_some_and(|jobs| jobs.contains(due, id))
    }

    /// An attempt of a group begins.
    pub(super) fn start(&mut self, group: Group, mono: u64, names: &mut Names) {
        self.running += 1;
        if let Some(rate) = self.terms.limits.rate {
            self.bucket.take(rate, mono);
        }
        self.turns += 1;
        let turn = self.turns;
        let rate = self.terms.limits.group_rate.filter(|_| group.is_some());
        let member = self.member(group, names);
        member.running += 1;
        if let Some(rate) = rate {
            member.bucket.take(rate, mono);
        }
        // One that is alone has its turn again.
        if self.members.len() > 1 {
            self.place(group, Some(turn));
        }
    }

    /// An attempt of a group ended.
    pub(super) fn end(&mut self, group: Group) {
        self.running = self.running.saturating_sub(1);
        if let Some(member) = self.members.get_mut(&group) {
            member.running = member.running.saturating_sub(1);
        }
    }

    /// Put a group's lanes where they belong: at another turn, or away when its limits are reached.
    fn place(&mut self, group: Group, turn: Option<u64>) {
        let Some(member) = self.members.get_mut(&group) else {
            return;
        };
        let lane = |(kind, priority)| Lane {
            kind,
            priority,
            group,
        };
        for at in &member.lanes {
            self.heads.remove(&head(lane(*at), member.turn));
        }
        member.turn = turn.unwrap_or(member.turn);
        if !member.is_closed {
            let heads = member.lanes.iter().map(|at| head(lane(*at), member.turn));
            self.heads.extend(heads);
        }
    }

    /// See whether the queue lets anything begin. When it does not because of its rate: until when.
    pub(super) fn review(&mut self, mono: u64) -> Option<u64> {
        let shut = self.shut(mono);
        self.is_closed = self.terms.is_held || shut.is_some();
        let dry = self.terms.limits.rate;
        let dry = dry.filter(|rate| !self.bucket.has_token(*rate, mono));
        dry.map(|rate| self.bucket.opens(rate))
    }

    /// See whether a group's limits let anything of it begin, and forget it when nothing of it is
    /// left. When its rate is the reason, or it is kept for that alone: until when.
    pub(super) fn review_group(
        &mut self,
        group: Group,
        mono: u64,
        names: &mut Names,
    ) -> Option<u64> {
        let limits = self.terms.limits;
        let member = self.members.get_mut(&group)?;
        let (most, rate) = match group {
            Some(_) => (limits.group_concurrency, limits.group_rate),
            None => (None, None),
        };
        let is_full = most.is_some_and(|most| member.running >= most);
        let dry = rate.filter(|rate| !member.bucket.has_token(*rate, mono));
        let was_closed = member.is_closed;
        member.is_closed = is_full || dry.is_some();
        if member.lanes.is_empty() && member.running == 0 {
            if rate.is_none() || member.bucket.is_full(mono) {
                self.members.remove(&group);
                if let Some(group) = group {
                    names.release(group);
                }
                return None;
            }
            return Some(member.bucket.fills());
        }
        let changed = member.is_closed != was_closed;
        if changed {
            self.place(group, None);
        }
        dry.and_then(|rate| Some(self.members.get(&group)?.bucket.opens(rate)))
    }

    /// Every group there is.
    pub(super) fn groups(&self) -> Vec<Group> {
        self.members.keys().copied().collect()
    }

    /// All buckets as they are when nobody knows what was taken from them.
    pub(super) fn refill(&mut self, bucket: Bucket, new_group: Bucket) {
        (self.bucket, self.new_group) = (bucket, new_group);
        for member in self.members.values_mut() {
            member.bucket = new_group;
        }
    }

    /// The kinds that it gives out now.
    pub(super) fn offers(&self) -> impl Iterator<Item = NameId> + '_ {
        let mut next = if self.is_closed {
            None
        } else {
            self.heads.first().copied()
        };
        core::iter::from_fn(move || {
            let kind = next?.kind;
            let last = Head {
                kind,
                priority: Reverse(i16::MIN),
                turn: u64::MAX,
                group: Some(NameId::LAST),
            };
            next = self
                .heads
                .range(last..)
                .find(|head| head.kind != kind)
                .copied();
            Some(kind)
        })
    }

    /// What comes first of the kinds served, of the jobs that are not to be passed over: the higher
    /// priority, then the group whose turn it is, then the earlier due.
    pub(super) fn first(
        &self,
        kinds: &[NameId],
        is_too_late: impl Fn(JobId) -> bool,
    ) -> Option<JobId> {
        let best = kinds.iter().filter_map(|kind| {
            let from = Head {
                kind: *kind,
                priority: Reverse(i16::MAX),
                turn: 0,
                group: None,
            };
            let of_kind = self.heads.range(from..);
            let mut of_kind = of_kind.take_while(|head| head.kind == *kind);
            of_kind.find_map(|head| {
                let lane = Lane {
                    kind: head.kind,
                    priority: head.priority,
                    group: head.group,
                };
                let mut jobs = self.lanes.get(&lane)?.earliest_first();
                let (due, id) = jobs.find(|(_, id)| !is_too_late(*id))?;
                Some((head.priority, head.turn, due, id))
            })
        });
        best.min().map(|(.., id)| id)
    }

    pub(super) fn lanes(&self) -> impl Iterator<Item = (&Lane, &Jobs)> {
        self.lanes.iter()
    }
}

fn head(lane: Lane, turn: u64) -> Head {
    Head {
        kind: lane.kind,
        priority: lane.priority,
        turn,
        group: lane.group,
    }
}
