//! What the last day was like: what happened in each minute, in memory, for a day and no longer. It begins
//! anew with the runner; who wants more keeps what `/metrics` gives.

use std::{
    borrow::Cow,
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// Minutes that are kept.
pub const KEPT: u64 = 24 * 60;
/// Pairs of kind and failure that a minute tells apart; the rest are counted together.
const MOST: usize = 64;
const OTHER: &str = "other";
const MINUTE_MS: u64 = 60_000;
/// Spans of time told apart: two an octave, from a microsecond to some 70 minutes.
const STEPS: usize = 64;

/// The minutes. Bounded by the length of a day, whatever happens in it.
#[derive(Debug)]
pub struct History {
    start: Instant,
    /// How much of a minute had gone by then, as the clock on the wall counts them.
    gone: Duration,
    /// Those in which something happened, oldest first.
    minutes: Mutex<VecDeque<(u64, Span)>>,
}

/// How attempts fail: the job's kind, and the kind of failure.
pub type Way = (Cow<'static, str>, &'static str);

/// What happened in a span of time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Span {
    /// Jobs accepted from outside.
    pub enqueued: u64,
    /// Jobs that completed.
    pub completed: u64,
    /// Jobs that died.
    pub dead: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// From when jobs could have begun until their first attempt did.
    pub latency: Times,
    /// Time of attempts in the sandbox.
    pub duration: Times,
    /// Failed attempts by how they failed.
    pub failures: BTreeMap<Way, u64>,
}

/// The last so many spans of time.
#[derive(Debug)]
pub struct Past {
    /// What happened in each, oldest first; the last of them ends now.
    pub spans: Vec<Span>,
    /// How many of them, back from the last, do not lie before the start.
    pub counted: usize,
    /// How much of the minute that is now has gone. Each span begins with a minute.
    pub gone: Duration,
}

/// How often something took how long. Empty ones take no room.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Times(Vec<u32>);

impl Times {
    /// Something took this long.
    pub fn took(&mut self, time: Duration) {
        self.0.resize(STEPS, 0);
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX).max(1);
        let step = ((micros as f64).log2() * 2.0) as usize;
        let count = &mut self.0[step.min(STEPS - 1)];
        *count = count.saturating_add(1);
    }

    /// The time that this part of all stayed below, to within a fifth; `None` when there is none.
    #[must_use]
    pub fn below(&self, part: f64) -> Option<Duration> {
        let all: u64 = self.0.iter().copied().map(u64::from).sum();
        let wanted = (all as f64 * part).ceil().max(1.0) as u64;
        let mut seen = 0;
        let step = self.0.iter().position(|count| {
            seen += u64::from(*count);
            seen >= wanted
        })?;
        // The middle of the step.
        let micros = ((step as f64 + 0.5) / 2.0).exp2();
        Some(Duration::from_secs_f64(micros / 1e6))
    }

    fn add(&mut self, other: &Self) {
        let length = self.0.len().max(other.0.len());
        self.0.resize(length, 0);
        for (count, more) in self.0.iter_mut().zip(&other.0) {
            *count = count.saturating_add(*more);
        }
    }
}

impl Span {
    /// An attempt of this kind failed in this way.
    pub fn failed(&mut self, kind: Cow<'static, str>, failure: &'static str) {
        self.failed += 1;
        self.add_failures((kind, failure), 1);
    }

    fn add_failures(&mut self, what: Way, times: u64) {
        let known = self.failures.len() < MOST || self.failures.contains_key(&what);
        let what = match known {
            true => what,
            false => (Cow::Borrowed(OTHER), OTHER),
        };
        *self.failures.entry(what).or_default() += times;
    }

    /// This and what happened in another one.
    pub fn add(&mut self, other: &Self) {
        self.enqueued += other.enqueued;
        self.completed += other.completed;
        self.dead += other.dead;
        self.failed += other.failed;
        self.latency.add(&other.latency);
        self.duration.add(&other.duration);
        for (what, times) in &other.failures {
            self.add_failures(what.clone(), *times);
        }
    }
}

impl Default for History {
    fn default() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH);
        let into_minute = wall.map_or(0, |wall| wall.as_millis() as u64 % MINUTE_MS);
        Self {
            start: Instant::now(),
            gone: Duration::from_millis(into_minute),
            minutes: Mutex::default(),
        }
    }
}

impl History {
    /// For how long it is kept by now.
    #[must_use]
    pub fn age(&self) -> Duration {
        self.start.elapsed()
    }

    /// Something happened now.
    pub fn note(&self, what: impl FnOnce(&mut Span)) {
        self.note_at(self.minute().0, what);
    }

    /// The minute that is now, from the one of the start on, and how much of it has gone. A steady clock counts, so
    /// that one that is set moves nothing.
    fn minute(&self) -> (u64, Duration) {
        let since = self.gone + self.age();
        let minute = since.as_secs() / 60;
        (minute, since - Duration::from_millis(minute * MINUTE_MS))
    }

    fn note_at(&self, minute: u64, what: impl FnOnce(&mut Span)) {
        let mut minutes = self.minutes.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever waited for the lock may come a minute late.
        if minutes.back().is_none_or(|(last, _)| *last < minute) {
            minutes.push_back((minute, Span::default()));
            while minutes
                .front()
                .is_some_and(|(first, _)| first + KEPT <= minute)
            {
                minutes.pop_front();
            }
        }
        if let Some((_, span)) = minutes.back_mut() {
            what(span);
        }
    }

    /// The last so many spans of so many minutes each.
    #[must_use]
    pub fn last(&self, spans: usize, each: u64) -> Past {
        let (now, gone) = self.minute();
        Past {
            spans: self.last_at(now, spans, each),
            counted: (now / each.max(1)) as usize + 1,
            gone,
        }
    }

    fn last_at(&self, now: u64, spans: usize, each: u64) -> Vec<Span> {
        let mut found = vec![Span::default(); spans];
        let minutes = self.minutes.lock().unwrap_or_else(PoisonError::into_inner);
        for (minute, span) in minutes.iter() {
            let back = (now.saturating_sub(*minute) / each.max(1)) as usize;
            if let Some(place) = spans.checked_sub(back + 1) {
                found[place].add(span);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happened_is_found_in_its_span_and_forgotten_after_a_day() {
        let history = History::default();
        for (minute, jobs) in [(0, 1), (3, 2), (4, 4), (63, 8)] {
            history.note_at(minute, |span| span.enqueued += jobs);
        }
        let enqueued =
            |spans: &[Span]| -> Vec<u64> { spans.iter().map(|one| one.enqueued).collect() };
        assert_eq!(enqueued(&history.last_at(63, 4, 1)), [0, 0, 0, 8]);
        assert_eq!(enqueued(&history.last_at(63, 5, 15)), [3, 4, 0, 0, 8]);
        // One that comes late counts, in the minute that it came in.
        history.note_at(62, |span| span.enqueued += 16);
        assert_eq!(enqueued(&history.last_at(63, 1, 1)), [24]);
        history.note_at(KEPT + 3, |span| span.enqueued += 32);
        assert_eq!(
            history.minutes.lock().unwrap().len(),
            3,
            "minutes 4, 63 and now"
        );
        for minute in 0..3 * KEPT {
            history.note_at(minute, |_| {});
        }
        assert_eq!(history.minutes.lock().unwrap().len() as u64, KEPT);
    }

    #[test]
    fn minutes_begin_with_those_of_the_clock_on_the_wall() {
        let start = Instant::now().checked_sub(Duration::from_secs(20)).unwrap();
        let history = History {
            start,
            gone: Duration::from_secs(45),
            minutes: Mutex::default(),
        };
        history.note(|span| span.enqueued += 1);
        assert_eq!(history.minutes.lock().unwrap()[0].0, 1);
        let past = history.last(3, 1);
        assert_eq!((past.spans[2].enqueued, past.counted), (1, 2));
        let into_minute = Duration::from_secs(5)..Duration::from_secs(60);
        assert!(into_minute.contains(&past.gone), "{:?}", past.gone);
    }

    #[test]
    fn parts_of_all_stay_below_times_to_within_a_fifth() {
        let mut times = Times::default();
        assert_eq!(times.below(0.5), None);
        for ms in 1..=1_000 {
            times.took(Duration::from_millis(ms));
        }
        let mut twice = times.clone();
        twice.add(&times);
        for (part, ms) in [(0.5, 500.0), (0.95, 950.0), (0.99, 990.0), (0.0, 1.0)] {
            for times in [&times, &twice] {
                let below = times.below(part).unwrap().as_secs_f64() * 1e3;
                assert!((ms / 1.2..ms * 1.2).contains(&below), "{part}: {below}");
            }
        }
        let mut ends = Times::default();
        ends.took(Duration::ZERO);
        assert!(ends.below(1.0).unwrap() < Duration::from_micros(2));
        ends.took(Duration::MAX);
        assert!(ends.below(1.0).unwrap() > Duration::from_secs(3_600));
    }

    #[test]
    fn ways_to_fail_are_bounded() {
        let mut span = Span::default();
        for number in 0..10 * MOST {
            span.failed(format!("kind-{number}").into(), "timeout");
        }
        span.failed("kind-1".into(), "timeout");
        let mut whole = Span::default();
        whole.add(&span);
        assert_eq!(whole, span);
        assert_eq!(span.failures.len(), MOST + 1);
        assert_eq!(span.failures[&("kind-1".into(), "timeout")], 2);
        assert_eq!(span.failures[&(OTHER.into(), OTHER)], 9 * MOST as u64);
        assert_eq!(span.failed, 10 * MOST as u64 + 1);
    }
}
