//! What keeps jobs from being begun, for those who ask.

use alloc::string::ToString;

use super::{Group, Lane, NameId, Names, Queue, Queues};
use crate::{
    hold::{Ahead, Hold, Rival},
    id::JobId,
    index::queue::Shut,
    slot::Slot,
    time::{Now, UnixMs},
};

impl Queues {
    /// What keeps a job back that is due.
    pub(crate) fn hold(&self, slot: &Slot, lane: Lane, id: JobId, now: Now, names: &Names) -> Hold {
        let Some(queue) = self.queues.get(&slot.queue) else {
            // No job of it was among the claimable yet.
            return match self.terms(names.text(slot.queue)).is_held {
                true => Hold::Paused,
                false => self.behind(0, slot.queue, names),
            };
        };
        if queue.terms.is_held {
            return Hold::Paused;
        }
        if let Some(shut) = queue.shut(now.mono) {
            return told(shut, None, now, names);
        }
        match queue.shut_group(lane.group, now.mono) {
            Some(shut) => told(shut, lane.group, now, names),
            None => {
                let jobs = queue.ahead(lane, slot.status().at(), id);
                self.behind(jobs, slot.queue, names)
            }
        }
    }

    /// Behind so many jobs of its queue, and behind or beside the other queues that give out jobs now.
    fn behind(&self, jobs: usize, at: NameId, names: &Names) -> Hold {
        let text = |name: NameId| names.text(name).to_string();
        let rank = self.terms(names.text(at)).rank;
        let others = self.queues.iter().take(Hold::LOOK);
        let rivals = others.filter(|(other, queue)| {
            **other != at && queue.terms.rank <= rank && !queue.listed.is_empty()
        });
        let rivals = rivals.take(Ahead::RIVALS).map(|(other, queue)| Rival {
            queue: text(*other),
            kinds: queue.listed.iter().copied().map(text).collect(),
            is_first: queue.terms.rank < rank,
        });
        Hold::Behind(Ahead {
            jobs,
            rivals: rivals.collect(),
        })
    }

    /// The kinds of a queue's jobs that can be claimed.
    pub(crate) fn kinds_of(&self, at: NameId) -> impl Iterator<Item = NameId> + '_ {
        self.queues.get(&at).into_iter().flat_map(Queue::kinds)
    }

    /// What keeps jobs of a queue back that are due: all of them, or those of one group.
    pub(crate) fn hold_of(&self, at: NameId, now: Now, names: &Names) -> Option<Hold> {
        let queue = self.queues.get(&at)?;
        if queue.terms.is_held {
            return Some(Hold::Paused);
        }
        if let Some(shut) = queue.shut(now.mono) {
            return Some(told(shut, None, now, names));
        }
        let groups = queue.waiting_groups().take(Hold::LOOK);
        let mut shut = groups.filter_map(|group| Some((group, queue.shut_group(group, now.mono)?)));
        let (group, shut) = shut.next()?;
        Some(told(shut, group, now, names))
    }
}

fn told(shut: Shut, group: Group, now: Now, names: &Names) -> Hold {
    let group = group.map(|group| names.text(group).to_string());
    match shut {
        Shut::Full { running, most } => Hold::Full {
            group,
            running,
            most,
        },
        Shut::Dry { rate, opens } => Hold::Rate {
            group,
            rate,
            opens: wall(opens, now),
        },
    }
}

/// An instant of the steady clock by the wall clock.
fn wall(mono: u64, now: Now) -> UnixMs {
    now.wall.plus(mono.saturating_sub(now.mono))
}
