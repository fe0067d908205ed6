//! How many bytes of the log are still needed, and where they lie.
//!
//! A job's weight is that of the record that accepted it or wrote it anew, and of the attempts that
//! ended since: about what writing it anew takes. Leases, checkpoints and the like are left out,
//! since the next one takes their place; a checkpoint counts once the job was written anew with it.
//! Weights are kept by the place of that first record (12 bytes each), not by job: a job's entry in
//! the ledger names the place.

use std::collections::VecDeque;

use sandhog_model::{Fact, JobId, Ledger, RecordAt, Slim, Unsound, fact::Follows};

use super::layout;

/// What is needed of a record that accepted jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot {
    offset: u32,
    /// Jobs whose first record this is; more than one when an attempt enqueued several.
    jobs: u32,
    /// Weight of those jobs together.
    bytes: u32,
}

/// The needed part of a segment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Needed {
    /// In the order of their offsets; those without jobs are dropped when they are the most.
    slots: Vec<Slot>,
    /// Slots without jobs.
    empty: usize,
    bytes: u64,
}

/// The needed part of a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Live {
    /// The number of the first of `segments`.
    first: u32,
    /// From the first segment that holds the first record of any job to the last that does, at hand
    /// by number.
    segments: VecDeque<Needed>,
    jobs: u64,
    bytes: u64,
}

impl Live {
    /// Let the ledger take a record in, and weigh what changes with it. `bytes`: of its frame.
    pub(super) fn take_in(
        &mut self,
        ledger: &mut Ledger,
        record: &Slim<'_>,
        at: RecordAt,
        bytes: u64,
        mono: u64,
    ) -> Result<(), Unsound> {
        let left = left(ledger, &record.fact);
        ledger.take_in(record, at, mono)?;
        for place in left {
            self.leave(place);
        }
        match &record.fact {
            Fact::Enqueued(_)
            | Fact::Replaced { .. }
            | Fact::Carried(_)
            | Fact::Cron { job: Some(_), .. } => {
                self.arrive(at, 1, bytes);
            }
            Fact::Settled {
                id,
                follows,
                children,
                ..
            } => {
                let count = children.len() as u64;
                let theirs = bytes * count / (count + 1);
                if count > 0 {
                    self.arrive(at, count as u32, theirs);
                }
                if !matches!(follows, Follows::PutBack { .. })
                    && let Some(accepted) = ledger.look(*id).map(|seen| seen.enqueued())
                {
                    self.grow(accepted, bytes - theirs);
                }
            }
            Fact::Batch { jobs, .. } if !jobs.is_empty() => {
                self.arrive(at, jobs.len() as u32, bytes);
            }
            Fact::Leased { .. }
            | Fact::Checkpointed { .. }
            | Fact::Lost { .. }
            | Fact::Requeued { .. }
            | Fact::Hastened { .. }
            | Fact::CancelAsked { .. }
            | Fact::Cancelled { .. }
            | Fact::Cron { job: None, .. }
            | Fact::CronForgotten { .. }
            | Fact::Batch { .. }
            | Fact::BatchForgotten { .. }
            | Fact::Postponed { .. }
            | Fact::Expired { .. }
            | Fact::Dropped { .. }
            | Fact::Unlocked { .. }
            | Fact::Steered { .. }
            | Fact::Deleted { .. }
            | Fact::Pruned { .. }
            | Fact::Trimmed { .. }
            | Fact::Merged { .. } => {}
        }
        Ok(())
    }

    /// Bytes of all jobs.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many jobs are weighed: as many as the ledger has, or the places are not all known.
    pub(super) fn jobs(&self) -> u64 {
        self.jobs
    }

    /// The first segment that holds the first record of any job.
    pub(super) fn first_segment(&self) -> Option<u32> {
        (!self.segments.is_empty()).then_some(self.first)
    }

    /// Bytes of the jobs whose first record a segment holds.
    pub(super) fn bytes_in(&self, segment: u32) -> u64 {
        self.needed(segment).map_or(0, |needed| needed.bytes)
    }

    /// Where the records lie that accepted a job, of a segment.
    pub(super) fn places_in(&self, segment: u32) -> Vec<RecordAt> {
        let slots = self.needed(segment).map(|needed| &needed.slots);
        slots
            .into_iter()
            .flatten()
            .filter(|slot| slot.jobs > 0)
            .map(|slot| layout::place(segment, u64::from(slot.offset)))
            .collect()
    }

    /// Weigh jobs that a record accepts.
    pub(super) fn arrive(&mut self, at: RecordAt, jobs: u32, bytes: u64) {
        let (segment, offset) = layout::segment_and_offset(at);
        if self.segments.is_empty() {
            self.first = segment;
        }
        while segment < self.first {
            self.segments.push_front(Needed::default());
            self.first -= 1;
        }
        let place = (segment - self.first) as usize;
        if place >= self.segments.len() {
            self.segments.resize(place + 1, Needed::default());
        }
        let needed = &mut self.segments[place];
        needed.slots.push(Slot {
            offset: offset as u32,
            jobs,
            bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
        });
        needed.bytes += bytes;
        self.bytes += bytes;
        self.jobs += u64::from(jobs);
    }

    fn grow(&mut self, place: RecordAt, bytes: u64) {
        let (segment, offset) = layout::segment_and_offset(place);
        if let Some(needed) = self.needed_mut(segment)
            && let Some(slot) = needed.slot(offset)
            && let Some(grown) = slot.bytes.checked_add(bytes as u32)
        {
            slot.bytes = grown;
            needed.bytes += bytes;
            self.bytes += bytes;
        }
    }

    /// A job is gone, or has its first record elsewhere: its part of the weight goes.
    fn leave(&mut self, place: RecordAt) {
        let (segment, offset) = layout::segment_and_offset(place);
        let Some(needed) = self.needed_mut(segment) else {
            return;
        };
        let Some(slot) = needed.slot(offset).filter(|slot| slot.jobs > 0) else {
            return;
        };
        let part = slot.bytes / slot.jobs;
        slot.bytes -= part;
        slot.jobs -= 1;
        let is_empty = slot.jobs == 0;
        needed.bytes -= u64::from(part);
        if is_empty {
            needed.empty += 1;
            if needed.empty == needed.slots.len() {
                *needed = Needed::default();
            } else if needed.empty * 2 > needed.slots.len() {
                needed.slots.retain(|slot| slot.jobs > 0);
                needed.slots.shrink_to_fit();
                needed.empty = 0;
            }
        }
        self.bytes -= u64::from(part);
        self.jobs -= 1;
        let is_empty = |needed: &Needed| needed.slots.is_empty();
        while self.segments.front().is_some_and(is_empty) {
            self.segments.pop_front();
            self.first += 1;
        }
        while self.segments.back().is_some_and(is_empty) {
            self.segments.pop_back();
        }
        if self.segments.is_empty() {
            self.first = 0;
        }
    }

    fn place(&self, segment: u32) -> Option<usize> {
        segment.checked_sub(self.first).map(|place| place as usize)
    }

    fn needed(&self, segment: u32) -> Option<&Needed> {
        self.segments.get(self.place(segment)?)
    }

    fn needed_mut(&mut self, segment: u32) -> Option<&mut Needed> {
        let place = self.place(segment)?;
        self.segments.get_mut(place)
    }
}

/// Where the first records of jobs lie that the fact takes out, or writes anew.
fn left(ledger: &Ledger, fact: &Fact<'_>) -> Vec<RecordAt> {
    let place = |id: &JobId| ledger.look(*id).map(|seen| seen.enqueued());
    match fact {
        Fact::Carried(anew) => place(&anew.job.id).into_iter().collect(),
        Fact::Deleted { id, .. } => place(id).into_iter().collect(),
        Fact::Pruned { ids, .. } => ids.iter().filter_map(place).collect(),
        Fact::Enqueued(_)
        | Fact::Leased { .. }
        | Fact::Checkpointed { .. }
        | Fact::Settled { .. }
        | Fact::Lost { .. }
        | Fact::Requeued { .. }
        | Fact::Hastened { .. }
        | Fact::CancelAsked { .. }
        | Fact::Cancelled { .. }
        | Fact::Cron { .. }
        | Fact::CronForgotten { .. }
        | Fact::Batch { .. }
        | Fact::BatchForgotten { .. }
        | Fact::Postponed { .. }
        | Fact::Expired { .. }
        | Fact::Dropped { .. }
        | Fact::Replaced { .. }
        | Fact::Unlocked { .. }
        | Fact::Steered { .. }
        | Fact::Trimmed { .. }
        | Fact::Merged { .. } => Vec::new(),
    }
}

impl Needed {
    fn slot(&mut self, offset: u64) -> Option<&mut Slot> {
        let found = self
            .slots
            .binary_search_by_key(&offset, |slot| u64::from(slot.offset));
        found.ok().and_then(|at| self.slots.get_mut(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(segment: u32, offset: u64) -> RecordAt {
        layout::place(segment, offset)
    }

    #[test]
    fn what_arrives_and_leaves_is_counted_to_the_byte() {
        let mut live = Live::default();
        live.arrive(at(1, 48), 1, 300);
        live.arrive(at(1, 348), 3, 100);
        live.arrive(at(2, 48), 1, 50);
        live.grow(at(1, 48), 40);
        assert_eq!((live.jobs(), live.bytes(), live.bytes_in(1)), (5, 490, 440));
        live.leave(at(1, 348));
        assert_eq!((live.jobs(), live.bytes()), (4, 457), "a third of 100");
        live.leave(at(1, 48));
        assert_eq!(live.places_in(1), [at(1, 348)]);
        // One that is not there changes nothing.
        live.leave(at(1, 48));
        live.leave(at(9, 48));
        live.leave(at(1, 348));
        live.leave(at(1, 348));
        assert_eq!((live.first_segment(), live.bytes()), (Some(2), 50));
        live.leave(at(2, 48));
        assert_eq!(live, Live::default());
    }

    #[test]
    fn a_segment_of_mostly_gone_jobs_keeps_the_places_of_the_others() {
        let mut live = Live::default();
        for job in 0..100 {
            live.arrive(at(1, job * 10), 1, 10);
        }
        for job in (0..100).filter(|job| job % 10 != 3) {
            live.leave(at(1, job * 10));
        }
        let left: Vec<_> = (0..10).map(|job| at(1, job * 100 + 30)).collect();
        assert_eq!(live.places_in(1), left);
        assert!(
            live.needed(1).map_or(0, |needed| needed.slots.len()) < 25,
            "{live:?}"
        );
        live.grow(at(1, 30), 5);
        assert_eq!(live.bytes_in(1), 105);
    }
}
