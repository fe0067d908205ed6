//! What is said of queues: by the operator's settings, and by people while jobs wait.

use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// What a queue does with jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QueueMode {
    /// It takes jobs in and gives them out.
    #[default]
    Open,
    /// It takes jobs in and gives none out.
    Paused,
    /// It gives out what it has and takes nothing in.
    Draining,
}

impl QueueMode {
    /// Every one, in the order of their numbers in the log.
    pub const ALL: [Self; 3] = [Self::Open, Self::Paused, Self::Draining];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Paused => "paused",
            Self::Draining => "draining",
        }
    }
}

/// How many attempts may begin: `count` within `per_ms`, and after a quiet time up to `burst` at once.
///
/// A token bucket: it holds `burst` tokens at most, an attempt takes one, and one comes every
/// `per_ms / count`. So within any time t at most `burst + t * count / per_ms` attempts begin. As text
/// `100/1m`, with ` burst 10` behind it when that is not to be `count`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rate {
    /// How many.
    pub count: u32,
    /// Within how many milliseconds.
    pub per_ms: u64,
    /// How many at once.
    pub burst: u32,
}

/// Most tokens, and the longest time of a rate: a million, 31 days.
const MOST_TOKENS: u32 = 1_000_000;
const LONGEST_RATE_MS: u64 = 31 * 24 * 60 * 60 * 1000;

impl Rate {
    /// Whether it is within range.
    ///
    /// # Errors
    /// What is not, and the range.
    pub fn check(self) -> Result<(), String> {
        for (what, count) in [("rate", self.count), ("burst", self.burst)] {
            if !(1..=MOST_TOKENS).contains(&count) {
                return Err(format!("{what} is {count}: use 1 to {MOST_TOKENS}"));
            }
        }
        if !(1..=LONGEST_RATE_MS).contains(&self.per_ms) {
            return Err(format!("a rate over {} ms: use 1ms to 31days", self.per_ms));
        }
        Ok(())
    }

    /// Microseconds from one token to the next.
    pub(crate) fn interval_us(self) -> u64 {
        (self.per_ms.saturating_mul(1000) / u64::from(self.count.max(1))).max(1)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let span = core::time::Duration::from_millis(self.per_ms);
        let span: String = humantime::format_duration(span).to_string();
        write!(f, "{}/{}", self.count, span.replace(' ', ""))?;
        if self.burst != self.count {
            write!(f, " burst {}", self.burst)?;
        }
        Ok(())
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("{text:?} is no rate: write it as `100/1m`, or `100/1m burst 10`");
        let mut words = text.split_whitespace();
        let (count, span) = words
            .next()
            .and_then(|word| word.split_once('/'))
            .ok_or_else(bad)?;
        let count = count.parse().map_err(|_| bad())?;
        let span = match span.starts_with(|first: char| first.is_ascii_digit()) {
            true => span.to_string(),
            // `10/s` is how people write it.
            false => format!("1{span}"),
        };
        let span = humantime::parse_duration(&span).map_err(|_| bad())?;
        let burst = match (words.next(), words.next(), words.next()) {
            (None, ..) => count,
            (Some("burst"), Some(burst), None) => burst.parse().map_err(|_| bad())?,
            _ => return Err(bad()),
        };
        let rate = Self {
            count,
            per_ms: u64::try_from(span.as_millis()).map_err(|_| bad())?,
            burst,
        };
        rate.check().map_err(|why| format!("{text:?}: {why}"))?;
        Ok(rate)
    }
}

/// How much of a queue may run, as a whole and of each of its groups. What is `None` does not bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
pub struct QueueLimits {
    /// Attempts that run at a time.
    pub concurrency: Option<u32>,
    /// Attempts that begin.
    pub rate: Option<Rate>,
    /// Attempts of one group that run at a time.
    pub group_concurrency: Option<u32>,
    /// Attempts of one group that begin.
    pub group_rate: Option<Rate>,
}

impl QueueLimits {
    /// These, with what they leave open taken from `fallback`.
    #[must_use]
    pub fn or(self, fallback: Self) -> Self {
        Self {
            concurrency: self.concurrency.or(fallback.concurrency),
            rate: self.rate.or(fallback.rate),
            group_concurrency: self.group_concurrency.or(fallback.group_concurrency),
            group_rate: self.group_rate.or(fallback.group_rate),
        }
    }

    /// Whether nothing is bounded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether all are within range.
    ///
    /// # Errors
    /// What is not, and the range.
    pub fn check(&self) -> Result<(), String> {
        for (what, limit) in [
            ("concurrency", self.concurrency),
            ("group_concurrency", self.group_concurrency),
        ] {
            if let Some(limit) = limit
                && !(1..=MOST_TOKENS).contains(&limit)
            {
                return Err(format!("{what} is {limit}: use 1 to {MOST_TOKENS}"));
            }
        }
        let rates = [self.rate, self.group_rate];
        rates.into_iter().flatten().try_for_each(Rate::check)
    }
}

/// What people said of a queue, and stays so until they say otherwise: it is in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Steering {
    /// What it does with jobs.
    pub mode: QueueMode,
    /// Limits that stand above the operator's settings.
    pub limits: QueueLimits,
}

impl Steering {
    /// Whether nothing was said that still counts.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The operator's settings for one queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueRule {
    /// Its share of the attempts, beside the weights of other queues; 1 to 1000.
    pub weight: u32,
    /// Jobs that may wait in it; more are refused.
    pub max_depth: Option<u64>,
    /// How much of it may run.
    pub limits: QueueLimits,
}

impl Default for QueueRule {
    fn default() -> Self {
        Self {
            weight: 1,
            max_depth: None,
            limits: QueueLimits::default(),
        }
    }
}

/// The operator's settings for all queues. They are not in the log: whoever opens it brings them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct QueueRules {
    /// By the queue's name. A queue that is not here has the default rule.
    pub queues: BTreeMap<String, QueueRule>,
    /// Queues that come before all others, each before those behind it, however much waits there.
    pub first: Vec<String>,
}

impl QueueRules {
    /// What is said of a queue.
    #[must_use]
    pub fn of(&self, queue: &str) -> QueueRule {
        self.queues.get(queue).copied().unwrap_or_default()
    }

    /// Its rank: 0 comes first; queues that are not in the list share the last one.
    pub(crate) fn rank(&self, queue: &str) -> u32 {
        let place = self.first.iter().position(|name| name == queue);
        place.unwrap_or(self.first.len()) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_reads_back_from_its_text() {
        for (text, shown) in [
            ("100/1m", "100/1m"),
            ("10/s", "10/1s"),
            ("5/1500ms burst 2", "5/1s500ms burst 2"),
            ("1/31days", "1/1month 13h 30m 0s"),
        ] {
            let rate: Rate = text.parse().expect(text);
            assert_eq!(rate.to_string().parse(), Ok(rate));
            if !text.contains("31") {
                assert_eq!(rate.to_string(), shown);
            }
        }
        for text in [
            "",
            "10",
            "0/1s",
            "10/0s",
            "-1/1s",
            "1/32days",
            "1/1s burst 0",
            "1/1s twice",
            "1000001/1s",
        ] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }

    #[test]
    fn limits_are_within_their_range_or_refused() {
        let nothing = QueueLimits::default();
        assert!(nothing.is_empty() && nothing.check().is_ok());
        let rate = |count, per_ms, burst| Rate {
            count,
            per_ms,
            burst,
        };
        let sets: [fn(u32, Rate) -> QueueLimits; 4] = [
            |many, _| QueueLimits {
                concurrency: Some(many),
                ..QueueLimits::default()
            },
            |many, _| QueueLimits {
                group_concurrency: Some(many),
                ..QueueLimits::default()
            },
            |_, rate| QueueLimits {
                rate: Some(rate),
                ..QueueLimits::default()
            },
            |_, rate| QueueLimits {
                group_rate: Some(rate),
                ..QueueLimits::default()
            },
        ];
        for set in sets {
            for many in [1, MOST_TOKENS] {
                let limits = set(many, rate(many, LONGEST_RATE_MS, many));
                assert!(!limits.is_empty() && limits.check().is_ok(), "{limits:?}");
            }
            for many in [0, MOST_TOKENS + 1] {
                for wrong in [rate(many, 1, 1), rate(1, 1, many), rate(many, 1, many)] {
                    let limits = set(many, wrong);
                    assert!(!limits.is_empty() && limits.check().is_err(), "{limits:?}");
                }
            }
        }
        for per_ms in [0, LONGEST_RATE_MS + 1] {
            assert!(rate(1, per_ms, 1).check().is_err(), "{per_ms}");
        }
    }
}
