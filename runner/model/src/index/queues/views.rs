//! What is known of queues, for those who look.

use alloc::{collections::BTreeMap, sync::Arc, vec::Vec};
use core::cmp::Reverse;

use super::{NameId, Names, Queue, QueueLimits, QueueRules, Queues, Steering, Told};
use crate::{hold::Hold, index::queue::Jobs, time::UnixMs};

/// A lane by the names of its queue, kind and group, and its priority.
type NamedLane<'a> = (&'a str, &'a str, Reverse<i16>, Option<&'a str>);

impl Queues {
    pub(crate) fn steered(&self) -> &BTreeMap<Arc<str>, Told> {
        &self.steered
    }

    pub(crate) fn rules(&self) -> &QueueRules {
        &self.rules
    }

    /// The limits that count for a queue now.
    pub(crate) fn limits(&self, name: &str) -> QueueLimits {
        self.terms(name).limits
    }

    /// When the first job of a queue's lanes became due, when they are not too many to look at.
    pub(crate) fn oldest_due(&self, at: NameId) -> Option<UnixMs> {
        let mut lanes = self.queues.get(&at)?.lanes();
        let seen = lanes.by_ref().take(Hold::LOOK);
        let oldest = seen.filter_map(|(_, jobs)| jobs.first()).min();
        oldest.filter(|_| lanes.next().is_none())
    }

    /// Every lane, in an order that does not depend on how names are numbered.
    pub(crate) fn by_name<'a>(&'a self, names: &'a Names) -> BTreeMap<NamedLane<'a>, &'a Jobs> {
        let text = |name: NameId| &**names.text(name);
        let of_queue = |(at, queue): (&'a NameId, &'a Queue)| {
            let at = *at;
            let lanes = queue.lanes();
            lanes.map(move |(lane, jobs)| {
                let group = lane.group.map(text);
                ((text(at), text(lane.kind), lane.priority, group), jobs)
            })
        };
        self.queues.iter().flat_map(of_queue).collect()
    }

    /// What was said of queues, without where.
    pub(crate) fn said(&self) -> Vec<(&Arc<str>, Steering)> {
        let said = self.steered.iter();
        said.map(|(name, told)| (name, told.to)).collect()
    }
}
