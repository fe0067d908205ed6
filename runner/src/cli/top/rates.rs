//! What happens in a second, from what was counted at several looks.

use std::{
    collections::{BTreeMap, VecDeque},
    time::{Duration, Instant},
};

/// Over how long rates are taken, when looks are closer together.
const WINDOW: Duration = Duration::from_secs(10);

/// What was counted since the start of a runner.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Counted {
    queues: BTreeMap<String, OfQueue>,
    attempts: f64,
    failures: f64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct OfQueue {
    enqueued: f64,
    begun: f64,
    /// Of all that were begun, from when they were due, in seconds.
    waited: f64,
}

impl Counted {
    /// Read it from the text of `/metrics`. Lines about other things are passed over.
    pub(super) fn read(text: &str) -> Self {
        let mut counted = Self::default();
        for line in text.lines() {
            let Some((name, labels, value)) = sample(line) else {
                continue;
            };
            match name {
                "sandhog_attempts_total" => counted.attempts += value,
                "sandhog_attempt_failures_total" => counted.failures += value,
                _ => {
                    let Some(queue) = label(labels, "queue") else {
                        continue;
                    };
                    match name {
                        "sandhog_jobs_enqueued_total" => counted.queue(queue).enqueued += value,
                        "sandhog_queue_latency_seconds_count" => {
                            counted.queue(queue).begun += value
                        }
                        "sandhog_queue_latency_seconds_sum" => counted.queue(queue).waited += value,
                        _ => {}
                    }
                }
            }
        }
        counted
    }

    fn queue(&mut self, name: String) -> &mut OfQueue {
        self.queues.entry(name).or_default()
    }

    fn of(&self, queue: &str) -> OfQueue {
        self.queues.get(queue).copied().unwrap_or_default()
    }

    /// Whether this is later than another look at the same runner: nothing that is counted shrinks.
    fn follows(&self, earlier: &Self) -> bool {
        let grows = |(name, of): (&String, &OfQueue)| {
            let now = self.of(name);
            now.enqueued >= of.enqueued && now.begun >= of.begun
        };
        self.attempts >= earlier.attempts
            && self.failures >= earlier.failures
            && earlier.queues.iter().all(grows)
    }
}

/// A name, its labels as they stand there, and the value.
fn sample(line: &str) -> Option<(&str, &str, f64)> {
    let (what, value) = line.rsplit_once(' ')?;
    let (name, labels) = match what.split_once('{') {
        Some((name, labels)) => (name, labels.strip_suffix('}')?),
        None => (what, ""),
    };
    Some((name, labels, value.parse().ok()?))
}

/// The value of a label, out of its escapes.
fn label(labels: &str, wanted: &str) -> Option<String> {
    let mut rest = labels;
    loop {
        let (name, after) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut signs = after.char_indices();
        let end = loop {
            match signs.next()? {
                (at, '"') => break at,
                (_, '\\') => value.push(match signs.next()?.1 {
                    'n' => '\n',
                    other => other,
                }),
                (_, other) => value.push(other),
            }
        };
        if name == wanted {
            return Some(value);
        }
        rest = after[end + 1..].trim_start_matches(',');
    }
}

/// The latest looks.
#[derive(Debug, Default)]
pub(super) struct Rates(VecDeque<(Instant, Counted)>);

/// What happens in a queue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct QueueRates {
    /// Jobs accepted in a second.
    pub(super) enqueued: f64,
    /// Jobs begun in a second.
    pub(super) begun: f64,
    /// How long those had been due, on average; `None` when none was begun.
    pub(super) latency: Option<Duration>,
}

impl Rates {
    pub(super) fn add(&mut self, at: Instant, counted: Counted) {
        if self
            .0
            .back()
            .is_some_and(|(_, last)| !counted.follows(last))
        {
            // Another runner counts from its own start on.
            self.0.clear();
        }
        // One that is older stays, for a first rate when looks are far apart.
        while self.0.len() > 1 && at.duration_since(self.0[1].0) >= WINDOW {
            self.0.pop_front();
        }
        self.0.push_back((at, counted));
    }

    fn span(&self) -> Option<(&Counted, &Counted, f64)> {
        let ((from, first), (to, last)) = (self.0.front()?, self.0.back()?);
        let seconds = to.duration_since(*from).as_secs_f64();
        (seconds > 0.0).then_some((first, last, seconds))
    }

    /// `None` before there were two looks.
    pub(super) fn queue(&self, name: &str) -> Option<QueueRates> {
        let (first, last, seconds) = self.span()?;
        let (first, last) = (first.of(name), last.of(name));
        let begun = last.begun - first.begun;
        let waited = (last.waited - first.waited) / begun;
        Some(QueueRates {
            enqueued: (last.enqueued - first.enqueued) / seconds,
            begun: begun / seconds,
            latency: Duration::try_from_secs_f64(waited)
                .ok()
                .filter(|_| begun > 0.0),
        })
    }

    /// Jobs accepted, attempts ended and attempts failed, each in a second.
    pub(super) fn all(&self) -> Option<[f64; 3]> {
        let (first, last, seconds) = self.span()?;
        let enqueued =
            |counted: &Counted| counted.queues.values().map(|of| of.enqueued).sum::<f64>();
        Some([
            (enqueued(last) - enqueued(first)) / seconds,
            (last.attempts - first.attempts) / seconds,
            (last.failures - first.failures) / seconds,
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(enqueued: u32, begun: u32, waited: f64) -> String {
        format!(
            "# HELP sandhog_jobs_enqueued Jobs accepted.\n\
             sandhog_jobs_enqueued_total{{queue=\"a \\\"b\\\\ }} 1\"}} {enqueued}\n\
             sandhog_queue_latency_seconds_sum{{queue=\"a \\\"b\\\\ }} 1\"}} {waited}\n\
             sandhog_queue_latency_seconds_count{{queue=\"a \\\"b\\\\ }} 1\"}} {begun}\n\
             sandhog_queue_latency_seconds_bucket{{le=\"1.0\",queue=\"a \\\"b\\\\ }} 1\"}} 99\n\
             sandhog_attempts_total{{kind=\"x\"}} {begun}\nsandhog_attempts_total{{kind=\"y\"}} 1\n\
             sandhog_attempt_failures_total{{failure=\"error\"}} 1\n# EOF\n"
        )
    }

    const QUEUE: &str = "a \"b\\ } 1";

    #[test]
    fn rates_are_taken_over_the_latest_looks() {
        let mut rates = Rates::default();
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        assert_eq!(rates.queue(QUEUE), None);
        rates.add(at(0), Counted::read(&text(0, 0, 0.0)));
        assert_eq!(rates.queue(QUEUE), None);
        rates.add(at(2), Counted::read(&text(10, 4, 2.0)));
        let seen = rates.queue(QUEUE).unwrap();
        assert_eq!((seen.enqueued, seen.begun), (5.0, 2.0));
        assert_eq!(seen.latency, Some(Duration::from_millis(500)));
        assert_eq!(rates.all(), Some([5.0, 2.0, 0.0]));
        // What happened long ago does not count.
        rates.add(at(12), Counted::read(&text(10, 4, 2.0)));
        rates.add(at(13), Counted::read(&text(10, 4, 2.0)));
        let seen = rates.queue(QUEUE).unwrap();
        assert_eq!((seen.enqueued, seen.begun, seen.latency), (0.0, 0.0, None));
        assert_eq!(rates.queue("another").unwrap().begun, 0.0);
    }

    #[test]
    fn a_runner_that_began_anew_has_no_rates_of_less_than_nothing() {
        let mut rates = Rates::default();
        let start = Instant::now();
        rates.add(start, Counted::read(&text(10, 4, 2.0)));
        rates.add(
            start + Duration::from_secs(1),
            Counted::read(&text(1, 1, 0.1)),
        );
        assert_eq!(rates.queue(QUEUE), None);
    }
}
