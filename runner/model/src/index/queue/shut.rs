//! Why a queue gives out nothing, or not yet.

use core::cmp::Reverse;

use super::{Bucket, Group, Lane, NameId, Queue};
use crate::{hold::Hold, id::JobId, queue::Rate, time::UnixMs};

/// Why a queue, or a group, lets nothing begin now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::index) enum Shut {
    Full {
        running: u32,
        most: u32,
    },
    /// Until an instant of the steady clock.
    Dry {
        rate: Rate,
        opens: u64,
    },
}

/// Whether limits let nothing more begin.
fn shut(
    (running, most): (u32, Option<u32>),
    (bucket, rate): (Bucket, Option<Rate>),
    mono: u64,
) -> Option<Shut> {
    if let Some(most) = most.filter(|most| running >= *most) {
        return Some(Shut::Full { running, most });
    }
    let rate = rate.filter(|rate| !bucket.has_token(*rate, mono))?;
    let opens = bucket.opens(rate);
    Some(Shut::Dry { rate, opens })
}

impl Queue {
    /// Whether its limits let nothing more begin.
    pub(in crate::index) fn shut(&self, mono: u64) -> Option<Shut> {
        let limits = self.terms.limits;
        let (running, bucket) = (self.running, self.bucket);
        shut((running, limits.concurrency), (bucket, limits.rate), mono)
    }

    /// Whether the limits of groups let nothing more of one begin.
    pub(in crate::index) fn shut_group(&self, group: Group, mono: u64) -> Option<Shut> {
        let limits = group.map(|_| self.terms.limits)?;
        let member = self.members.get(&group)?;
        let running = (member.running, limits.group_concurrency);
        shut(running, (member.bucket, limits.group_rate), mono)
    }

    /// The kinds of its jobs that can be claimed.
    pub(in crate::index) fn kinds(&self) -> impl Iterator<Item = NameId> + '_ {
        use core::ops::Bound::{Excluded, Unbounded};
        let mut next = self.lanes.keys().next().map(|lane| lane.kind);
        core::iter::from_fn(move || {
            let kind = next?;
            let last = Lane {
                kind,
                priority: Reverse(i16::MIN),
                group: Some(NameId::LAST),
            };
            let behind = self.lanes.range((Excluded(last), Unbounded)).next();
            next = behind.map(|(lane, _)| lane.kind);
            Some(kind)
        })
    }

    /// The groups with jobs that can be claimed.
    pub(in crate::index) fn waiting_groups(&self) -> impl Iterator<Item = Group> + '_ {
        let waiting = self.members.iter();
        let waiting = waiting.filter(|(_, member)| !member.lanes.is_empty());
        waiting.map(|(group, _)| *group)
    }

    /// How many of its jobs come before this one whatever the turns: of a higher priority, or due earlier in its
    /// lane. So many are looked at as [`Hold::LOOK`] says.
    pub(in crate::index) fn ahead(&self, lane: Lane, due: UnixMs, id: JobId) -> usize {
        let lanes = self.lanes.iter().take(Hold::LOOK);
        let higher = lanes.filter(|(other, _)| other.priority < lane.priority);
        let higher: usize = higher.map(|(_, jobs)| jobs.len()).sum();
        let earlier = self.lanes.get(&lane).map_or(0, |jobs| {
            let before = jobs.earliest_first().take(Hold::LOOK);
            before.take_while(|before| *before < (due, id)).count()
        });
        (higher + earlier).min(Hold::LOOK)
    }
}
