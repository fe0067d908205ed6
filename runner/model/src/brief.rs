//! Records that accept jobs of which only the usual is said, which are most records of most logs: taken in by whoever reads
//! a log, without looking at names that were looked up a moment ago.

use alloc::vec::Vec;
use core::num::NonZeroU32;

use crate::{
    codec,
    event::RecordAt,
    fact::Accepted,
    id::JobId,
    index::{NameId, Names},
    ledger::{Ledger, Unsound},
    time::UnixMs,
};

/// A job as the ledger takes it up: what most jobs say, with numbers for names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Brief {
    pub(crate) id: JobId,
    pub(crate) enqueued_at: UnixMs,
    pub(crate) due: UnixMs,
    pub(crate) max_attempts: Option<NonZeroU32>,
    pub(crate) kind: NameId,
    pub(crate) queue: NameId,
    pub(crate) priority: i16,
}

impl Brief {
    pub(crate) fn new(job: &Accepted<'_>, names: &mut Names) -> Self {
        Self {
            id: job.id,
            enqueued_at: job.enqueued_at,
            due: job.due,
            max_attempts: job.max_attempts.and_then(NonZeroU32::new),
            kind: names.take(job.kind),
            queue: names.take(job.queue),
            priority: job.priority,
        }
    }
}

/// Pairs of names that are remembered.
const PAIRS: usize = 16;

/// The latest pairs of names that were looked up for a ledger, which keeps them until it
/// [forgets](Ledger::forget_names) them.
#[derive(Debug, Default)]
pub struct RecentNames {
    /// Each at its [`place`].
    pairs: [Option<Pair>; PAIRS],
}

/// The names of a job, as a record has them, and their numbers.
#[derive(Debug)]
struct Pair {
    bytes: Vec<u8>,
    kind: NameId,
    queue: NameId,
}

impl Ledger {
    /// As [`take_in`](Self::take_in), for the body of a record that accepts a job and says nothing that only few jobs
    /// do. `None` for every other body, and for bytes that are no record; then nothing changed. `recent` is this
    /// ledger's.
    ///
    /// # Errors
    /// As [`evolve`](Self::evolve).
    #[inline]
    pub fn take_in_brief(
        &mut self,
        body: &[u8],
        recent: &mut RecentNames,
        at: RecordAt,
        mono: u64,
    ) -> Option<Result<(), Unsound>> {
        let (fixed, names) = codec::first_job(body)?;
        let place = place(names);
        let pair = match &recent.pairs[place] {
            Some(pair) if pair.bytes == names => pair,
            _ => {
                let [kind, queue] = codec::sole_names(names)?;
                let pair = Pair {
                    bytes: names.into(),
                    kind: self.names.take(kind),
                    queue: self.names.take(queue),
                };
                self.release(recent.pairs[place].take(), mono);
                recent.pairs[place].insert(pair)
            }
        };
        let brief = Brief {
            id: fixed.id,
            enqueued_at: fixed.enqueued_at,
            due: fixed.due,
            max_attempts: fixed.max_attempts,
            kind: pair.kind,
            queue: pair.queue,
            priority: fixed.priority,
        };
        Some(self.take_up(&brief, at, mono))
    }

    /// Nothing more is read: from here on a name is kept as long as a job has it.
    pub fn forget_names(&mut self, recent: RecentNames, mono: u64) {
        for pair in recent.pairs {
            self.release(pair, mono);
        }
    }

    fn release(&mut self, pair: Option<Pair>, mono: u64) {
        let Some(Pair { kind, queue, .. }) = pair else {
            return;
        };
        self.names.release(kind);
        self.names.release(queue);
        // Its last job may have gone while its name was remembered.
        self.index.tidy(queue, mono, &mut self.names);
    }
}

/// Where a pair is remembered: names that belong together mostly differ at their ends.
#[inline]
fn place(names: &[u8]) -> usize {
    let last = names.iter().rev().take(2);
    last.fold(names.len(), |sum, byte| sum * 7 + usize::from(*byte)) % PAIRS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Event, KindDefaults, NewJob, Record,
        codec::{encode_job, encode_record},
        job::Job,
    };
    use alloc::{boxed::Box, format};

    fn job(number: u64, kind: &str, group: Option<&str>) -> Job {
        let new = NewJob {
            kind: kind.into(),
            queue: Some(match number % 3 {
                0 => "letters".into(),
                _ => format!("queue-{}", number / 20),
            }),
            group: group.map(Into::into),
            priority: Some(3),
            ..NewJob::default()
        };
        let accepted = new.accept(
            JobId(number.into()),
            UnixMs(number),
            &KindDefaults::default(),
        );
        accepted.expect("within bounds")
    }

    fn body(job: &Job) -> Vec<u8> {
        let mut body = Vec::new();
        encode_job(job, &mut body).expect("it fits");
        body
    }

    /// Many kinds, so that pairs are forgotten for others and come again; and some of the jobs go meanwhile.
    #[test]
    fn brief_records_make_the_same_ledger_and_leave_no_name_behind() {
        let (mut told, mut read) = (Ledger::default(), Ledger::default());
        let mut recent = RecentNames::default();
        for number in 1..=300_u64 {
            let kind = match number % 7 {
                0 => "letters".into(),
                rest => format!("kind-{}", number * rest % 41),
            };
            let (job, at) = (job(number, &kind, None), RecordAt(number));
            let taken = read.take_in_brief(&body(&job), &mut recent, at, 0);
            assert_eq!(taken, Some(Ok(())));
            let again = read.take_in_brief(&body(&job), &mut recent, at, 0);
            assert!(
                again.is_some_and(|again| again.is_err()),
                "a job comes once"
            );
            let whole = Event::Enqueued(Box::new(job));
            told.evolve(&whole, at, 0).expect("sound");
            if number % 3 == 0 {
                let id = JobId((number / 3).into());
                let deleted = Event::Deleted { id, at: UnixMs(9) };
                for ledger in [&mut told, &mut read] {
                    ledger.evolve(&deleted, at, 0).expect("sound");
                }
            }
            assert_eq!(read, told);
        }
        for number in 101..=300_u64 {
            let (id, at) = (JobId(number.into()), UnixMs(9));
            let deleted = Event::Deleted { id, at };
            read.evolve(&deleted, RecordAt(9), 0).expect("sound");
        }
        // Of a queue nothing is left either, which would keep its name.
        assert!(!read.names.is_empty(), "some are remembered");
        read.forget_names(recent, 0);
        assert!(read.names.is_empty());
    }

    #[test]
    fn what_says_more_is_not_brief_and_changes_nothing() {
        let mut ledger = Ledger::default();
        let mut recent = RecentNames::default();
        let mut is_brief = |body: &[u8]| {
            let taken = ledger.take_in_brief(body, &mut recent, RecordAt(1), 0);
            assert_eq!(ledger.is_empty(), taken.is_none());
            taken.is_some()
        };
        assert!(!is_brief(&body(&job(1, "a", Some("g")))));
        let mut later = Vec::new();
        let record = Record {
            previous: Some(RecordAt(7)),
            event: Event::Enqueued(Box::new(job(1, "a", None))),
        };
        encode_record(&record, &mut later).expect("it fits");
        assert!(!is_brief(&later));
        let sound = body(&job(1, "a", None));
        let head = codec::slim_part(&sound);
        for cut in 0..head.len() {
            assert!(!is_brief(&head[..cut]), "cut at {cut}");
        }
        // What would be a brief record's head, if it did not say that it begins with a place.
        let mut with_place = head.to_vec();
        with_place[1] = 1;
        assert!(!is_brief(&with_place));
        assert!(is_brief(head));
    }
}
