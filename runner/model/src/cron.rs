//! What is known of schedules: which part of time each is done with, its latest job, whether it is paused.
//!
//! When the slots are is no matter of the ledger; that a slot gets one job at most is.

use alloc::{boxed::Box, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::{event::RecordAt, id::JobId, job::Job, ledger::Ledger, time::UnixMs};

/// Most spans that are kept. More come only of a clock that is set again and again.
const MOST: usize = 16;

/// A part of time: after one instant, up to and with another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// Not part of it itself.
    pub after: UnixMs,
    /// The last instant of it.
    pub upto: UnixMs,
}

/// A schedule as the log knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CronState {
    /// The part of time it is done with.
    pub done: Done,
    /// Its latest slot that got a job, or whose job waits.
    pub slot: Option<UnixMs>,
    /// The job of that slot, or the one that was asked for since.
    pub latest: Option<JobId>,
    /// A slot whose job is to come once the latest one has ended.
    pub waiting: Option<UnixMs>,
    /// Who paused it, when and why.
    pub paused: Option<Paused>,
    /// What it is to do, when it was added while a runner was up; one of the settings has none. Read by
    /// those who read settings.
    pub entry: Option<String>,
}

/// That a schedule is paused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paused {
    /// Since when.
    pub at: UnixMs,
    /// Who asked for it.
    pub by: String,
    /// Why.
    pub reason: Option<String>,
}

/// A wish about a schedule.
#[derive(Debug, Clone, PartialEq)]
pub struct CronWish {
    /// Its name.
    pub name: String,
    /// What is to change.
    pub change: CronChange,
}

/// What is to change for a schedule.
#[derive(Debug, Clone, PartialEq)]
pub enum CronChange {
    /// It is there, from this instant on when it was not known.
    Begin,
    /// A slot is due.
    Slot(Box<DueSlot>),
    /// A part of time is over without a job.
    Pass(Span),
    /// The slot that waits gets its job, the one before it having ended.
    Release {
        /// The slot.
        slot: UnixMs,
        /// Its job.
        job: Box<Job>,
    },
    /// A job outside of every slot.
    Trigger(Box<Job>),
    /// No slot gets a job from now on.
    Pause {
        /// Who asks.
        by: String,
        /// Why.
        reason: Option<String>,
    },
    /// Slots from now on get their jobs.
    Resume,
    /// It does this from now on; it begins when it was not known.
    Define(String),
    /// It is not wanted any more.
    Forget,
}

/// A slot that is due.
#[derive(Debug, Clone, PartialEq)]
pub struct DueSlot {
    /// When.
    pub at: UnixMs,
    /// What the schedule is done with once the slot is.
    pub done: Span,
    /// Its job.
    pub job: Job,
    /// What is done when the latest job has not ended.
    pub overlap: Overlap,
}

/// What a slot does while the job of an earlier one has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Overlap {
    /// It is left out.
    Skip,
    /// Its job comes when the earlier one has ended; further slots are left out.
    BufferOne,
    /// It gets its job all the same.
    Allow,
    /// The earlier job is called off, and it gets its own.
    CancelOther {
        /// Who is named as asking.
        by: String,
        /// Why.
        reason: Option<String>,
    },
}

/// A schedule, and where the log says so.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Known {
    pub(crate) state: CronState,
    pub(crate) at: RecordAt,
}

impl Ledger {
    /// What is known of a schedule.
    #[must_use]
    pub fn cron(&self, name: &str) -> Option<&CronState> {
        self.crons.get(name).map(|known| &known.state)
    }

    pub(crate) fn know_cron(&mut self, name: &str, state: &CronState, at: RecordAt) {
        let state = state.clone();
        self.crons.insert(name.into(), Known { state, at });
    }

    pub(crate) fn forget_cron(&mut self, name: &str) {
        self.crons.remove(name);
    }

    /// Every schedule, by name.
    pub fn crons(&self) -> impl Iterator<Item = (&str, &CronState)> {
        self.crons
            .iter()
            .map(|(name, known)| (&**name, &known.state))
    }

    /// The schedules whose latest record lies before a place: who removes that part of the log writes them
    /// anew first.
    pub fn crons_before(&self, place: RecordAt) -> impl Iterator<Item = (&str, &CronState)> {
        let lie_before = self.crons.iter().filter(move |(_, known)| known.at < place);
        lie_before.map(|(name, known)| (&**name, &known.state))
    }
}

impl Span {
    /// Whether an instant lies in it.
    #[must_use]
    pub fn holds(self, at: UnixMs) -> bool {
        self.after < at && at <= self.upto
    }
}

/// The part of time that a schedule is done with: no slot in it gets a job any more. Mostly one span, from
/// when the schedule came to its latest slot; a clock that was set forward and back leaves more.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// In their order, none touching the next.
    spans: Vec<Span>,
}

impl Done {
    /// The spans, earliest first.
    #[must_use]
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Add a span. When there are too many, the two earliest become one, with what lies between them.
    pub fn add(&mut self, span: Span) {
        if span.upto <= span.after {
            return;
        }
        let mut joined = span;
        // Those that lie apart from it stay; the others become part of it.
        self.spans.retain(|known| {
            let is_apart = known.upto < joined.after || joined.upto < known.after;
            if !is_apart {
                joined.after = joined.after.min(known.after);
                joined.upto = joined.upto.max(known.upto);
            }
            is_apart
        });
        let place = self
            .spans
            .partition_point(|known| known.upto < joined.after);
        self.spans.insert(place, joined);
        if self.spans.len() > MOST {
            let first = self.spans.remove(0);
            self.spans[0].after = first.after;
        }
    }

    /// The span that holds an instant.
    #[must_use]
    pub fn around(&self, at: UnixMs) -> Option<Span> {
        let place = self.spans.partition_point(|known| known.upto < at);
        self.spans.get(place).copied().filter(|span| span.holds(at))
    }

    /// Add all that another is done with.
    pub fn join(&mut self, other: &Self) {
        other.spans.iter().for_each(|span| self.add(*span));
    }

    /// The end of the last span that ends at `at` or before.
    #[must_use]
    pub fn last_end(&self, at: UnixMs) -> Option<UnixMs> {
        let place = self.spans.partition_point(|known| known.upto <= at);
        let before = self.spans.get(..place)?.last()?;
        Some(before.upto)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(after: u64, upto: u64) -> Span {
        let (after, upto) = (UnixMs(after), UnixMs(upto));
        Span { after, upto }
    }

    fn done(spans: &[(u64, u64)]) -> Done {
        let mut done = Done::default();
        for (after, upto) in spans {
            done.add(span(*after, *upto));
        }
        done
    }

    fn shown(done: &Done) -> Vec<(u64, u64)> {
        let spans = done.spans().iter();
        spans.map(|span| (span.after.0, span.upto.0)).collect()
    }

    #[test]
    fn spans_that_touch_or_overlap_become_one() {
        assert_eq!(shown(&done(&[(1, 5), (5, 9)])), [(1, 9)]);
        assert_eq!(shown(&done(&[(5, 9), (1, 5)])), [(1, 9)]);
        assert_eq!(shown(&done(&[(1, 5), (3, 4)])), [(1, 5)]);
        assert_eq!(shown(&done(&[(1, 5), (6, 9)])), [(1, 5), (6, 9)]);
        assert_eq!(shown(&done(&[(6, 9), (1, 5), (4, 7)])), [(1, 9)]);
        assert_eq!(shown(&done(&[(1, 2), (4, 5), (7, 8), (0, 9)])), [(0, 9)]);
        assert_eq!(shown(&done(&[(4, 4), (4, 3)])), []);
    }

    #[test]
    fn what_two_logs_are_done_with_is_joined() {
        let mut one = done(&[(1, 5), (20, 30)]);
        one.join(&done(&[(4, 9), (40, 50)]));
        assert_eq!(shown(&one), [(1, 9), (20, 30), (40, 50)]);
    }

    #[test]
    fn an_instant_is_looked_up_by_the_span_it_lies_in_or_behind() {
        let done = done(&[(1, 5), (7, 9)]);
        assert_eq!(done.around(UnixMs(1)), None);
        assert_eq!(done.around(UnixMs(2)), Some(span(1, 5)));
        assert_eq!(done.around(UnixMs(5)), Some(span(1, 5)));
        assert_eq!(done.around(UnixMs(6)), None);
        assert_eq!(done.around(UnixMs(10)), None);
        assert_eq!(done.last_end(UnixMs(4)), None);
        assert_eq!(done.last_end(UnixMs(5)), Some(UnixMs(5)));
        assert_eq!(done.last_end(UnixMs(8)), Some(UnixMs(5)));
        assert_eq!(done.last_end(UnixMs(99)), Some(UnixMs(9)));
    }

    /// A clock that is set for ever does not make it grow for ever, and nothing gets a job twice.
    #[test]
    fn the_earliest_spans_are_joined_when_there_are_too_many() {
        let many: Vec<_> = (0..20).map(|at| (at * 10, at * 10 + 1)).collect();
        let done = done(&many);
        assert_eq!(done.spans().len(), MOST);
        for (_, upto) in many {
            assert!(done.around(UnixMs(upto)).is_some());
        }
        assert_eq!(done.spans()[0], span(0, 41));
    }
}
