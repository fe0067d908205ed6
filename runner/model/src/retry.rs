//! When a failed job is tried again.

mod grammar;

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::limits::{ATTEMPTS, BACKOFF_MS};

pub use grammar::NotABackoff;

/// Attempts in all, when nobody says.
pub const DEFAULT_ATTEMPTS: u32 = 25;
/// Attempts that may end in a deterministic failure, when nobody says.
pub const DEFAULT_TRAP_ATTEMPTS: u32 = 3;
/// The jitter of a backoff that does not name one.
pub const DEFAULT_JITTER: f64 = 0.1;

/// How a job's failures are retried. A field that is `None` is left to the next source: the job,
/// then the operator's settings for its kind, then what its handler proposes, then the default.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// Attempts in all, 1 to 1000; 25 by default.
    pub max_attempts: Option<u32>,
    /// Attempts that may fail in a way that the same input brings about again (traps, memory, lying
    /// results), whatever else failed between them; 3 by default, never more than `max_attempts`.
    pub trap_attempts: Option<u32>,
    /// The wait between attempts; polynomial by default.
    pub backoff: Option<Backoff>,
}

/// The wait before attempt n + 1, as a function of n failed attempts. Every delay is in
/// milliseconds, jitter included within `[0, max]`.
///
/// A jitter is a fraction from 0 to 1 of the delay, added or taken away at random. As text (see
/// [`FromStr`](core::str::FromStr)), which is also how it is stored: `polynomial`, `fixed 1s`,
/// `linear 10s max 1h`, `exponential 1s factor 2 max 1h`, `list 1s 5s 1m`, each with `jitter 0.2`
/// at the end when it is not to be 0.1.
#[derive(Debug, Clone, PartialEq)]
pub enum Backoff {
    /// `n^4 + 15 + rand(0..30) * (n + 1)` seconds, the formula Sidekiq, Faktory and Asynq share.
    Polynomial,
    /// `base * factor^(n - 1)`.
    Exponential {
        /// After the first failure.
        base_ms: u64,
        /// From one delay to the next, 1 to 1000.
        factor: f64,
        /// No delay is longer.
        max_ms: u64,
        /// Fraction of the delay.
        jitter: f64,
    },
    /// `step * n`.
    Linear {
        /// After the first failure, and more after each further one.
        step_ms: u64,
        /// No delay is longer.
        max_ms: u64,
        /// Fraction of the delay.
        jitter: f64,
    },
    /// Always the same.
    Fixed {
        /// The delay.
        delay_ms: u64,
        /// Fraction of the delay.
        jitter: f64,
    },
    /// One by one, the last one again and again.
    List {
        /// The delays; none means no wait.
        delays_ms: Vec<u64>,
        /// Fraction of the delay.
        jitter: f64,
    },
}

/// Attempts in all when a policy says `max`, or nothing.
pub(crate) fn attempts(max: Option<u32>) -> u32 {
    max.unwrap_or(DEFAULT_ATTEMPTS).clamp(1, ATTEMPTS)
}

impl Backoff {
    /// Milliseconds to wait after `n_failed` failed attempts. Total: any policy, count and entropy
    /// give a delay from 0 to the policy's own maximum, at most ten years.
    #[must_use]
    pub fn delay_ms(&self, n_failed: u32, entropy: u64) -> u64 {
        let n = u64::from(n_failed.max(1));
        match self {
            Self::Polynomial => {
                let seconds = n
                    .saturating_pow(4)
                    .saturating_add(15)
                    .saturating_add((entropy % 30).saturating_mul(n + 1));
                seconds.saturating_mul(1000).min(BACKOFF_MS)
            }
            Self::Exponential {
                base_ms,
                factor,
                max_ms,
                jitter,
            } => {
                let delay = grown(*base_ms, sane_factor(*factor), n - 1);
                spread(delay, *jitter, *max_ms, entropy)
            }
            Self::Linear {
                step_ms,
                max_ms,
                jitter,
            } => spread(step_ms.saturating_mul(n), *jitter, *max_ms, entropy),
            Self::Fixed { delay_ms, jitter } => spread(*delay_ms, *jitter, BACKOFF_MS, entropy),
            Self::List { delays_ms, jitter } => {
                let at = usize::try_from(n - 1).unwrap_or(usize::MAX);
                let delay = delays_ms.get(at).or(delays_ms.last()).copied();
                spread(delay.unwrap_or(0), *jitter, BACKOFF_MS, entropy)
            }
        }
    }
}

/// `base * factor^times`, cut at ten years. A loop, because `no_std` has no `powi`, and because
/// rounding cannot make a product of factors from 1 up go back. No policy allows more failures than
/// [`ATTEMPTS`], so beyond them the delay stays.
fn grown(base_ms: u64, factor: f64, times: u64) -> u64 {
    let cap = BACKOFF_MS as f64;
    let mut delay = (base_ms as f64).min(cap);
    for _ in 0..times.min(u64::from(ATTEMPTS)) {
        delay = (delay * factor).min(cap);
    }
    delay as u64
}

/// `delay` moved at random by up to its `jitter` fraction, cut at `max_ms`.
fn spread(delay: u64, jitter: f64, max_ms: u64, entropy: u64) -> u64 {
    let max = max_ms.min(BACKOFF_MS);
    let delay = delay.min(max);
    let reach = (delay as f64 * sane_fraction(jitter)) as u64;
    let low = delay.saturating_sub(reach);
    let width = reach.saturating_mul(2).saturating_add(1);
    low.saturating_add(entropy % width).min(max)
}

/// What is no fraction counts as none.
fn sane_fraction(fraction: f64) -> f64 {
    if fraction.is_nan() {
        0.0
    } else {
        fraction.clamp(0.0, 1.0)
    }
}

/// What is no growth counts as none.
fn sane_factor(factor: f64) -> f64 {
    if factor.is_nan() {
        1.0
    } else {
        factor.clamp(1.0, 1000.0)
    }
}

impl RetryPolicy {
    /// This policy, with what it leaves open taken from `fallback`.
    #[must_use]
    pub fn or(self, fallback: Self) -> Self {
        Self {
            max_attempts: self.max_attempts.or(fallback.max_attempts),
            trap_attempts: self.trap_attempts.or(fallback.trap_attempts),
            backoff: self.backoff.or(fallback.backoff),
        }
    }

    /// Attempts in all, 1 to 1000.
    #[must_use]
    pub fn max_attempts(&self) -> u32 {
        attempts(self.max_attempts)
    }

    /// Attempts that may end in a deterministic failure: at least 1, never more than
    /// [`max_attempts`](Self::max_attempts).
    #[must_use]
    pub fn trap_attempts(&self) -> u32 {
        self.trap_attempts
            .unwrap_or(DEFAULT_TRAP_ATTEMPTS)
            .clamp(1, self.max_attempts())
    }

    /// The wait between attempts.
    #[must_use]
    pub fn backoff(&self) -> &Backoff {
        self.backoff.as_ref().unwrap_or(&Backoff::Polynomial)
    }

    /// Whether what it says is within range.
    ///
    /// # Errors
    /// The field, its value and the range, for a person.
    pub fn check(&self) -> Result<(), String> {
        for (name, value) in [
            ("max attempts", self.max_attempts),
            ("trap attempts", self.trap_attempts),
        ] {
            if let Some(value) = value
                && !(1..=ATTEMPTS).contains(&value)
            {
                return Err(alloc::format!("{name} is {value}: use 1 to {ATTEMPTS}"));
            }
        }
        match &self.backoff {
            Some(backoff) => backoff
                .check()
                .map_err(|why| alloc::format!("backoff: {why}")),
            None => Ok(()),
        }
    }
}
