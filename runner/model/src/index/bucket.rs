//! A token bucket: how many attempts may begin.

use crate::queue::Rate;

/// A bucket, as the instant at which it will be full, in microseconds of the steady clock. That clock
/// starts somewhere, so what was before the start is negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bucket {
    full_at: i64,
}

pub(super) fn micros(ms: u64) -> i64 {
    i64::try_from(ms)
        .unwrap_or(i64::MAX / 1000)
        .saturating_mul(1000)
}

fn interval(rate: Rate) -> i64 {
    i64::try_from(rate.interval_us()).unwrap_or(i64::MAX)
}

impl Bucket {
    pub(super) const FULL: Self = Self { full_at: i64::MIN };

    /// One that was emptied at an instant.
    pub(super) fn empty_since(at: i64, rate: Rate) -> Self {
        let filling = interval(rate).saturating_mul(i64::from(rate.burst));
        Self {
            full_at: at.saturating_add(filling),
        }
    }

    /// From when on it has a token.
    fn has_token_at(self, rate: Rate) -> i64 {
        let more = interval(rate).saturating_mul(i64::from(rate.burst) - 1);
        self.full_at.saturating_sub(more)
    }

    /// Whether it has a token at `now`.
    pub(super) fn has_token(self, rate: Rate, now: u64) -> bool {
        self.has_token_at(rate) <= micros(now)
    }

    /// The first millisecond at which it has a token.
    pub(super) fn opens(self, rate: Rate) -> u64 {
        let us = u64::try_from(self.has_token_at(rate)).unwrap_or(0);
        us.div_ceil(1000)
    }

    /// The first millisecond at which it is full.
    pub(super) fn fills(self) -> u64 {
        u64::try_from(self.full_at).unwrap_or(0).div_ceil(1000)
    }

    pub(super) fn is_full(self, now: u64) -> bool {
        self.full_at <= micros(now)
    }

    pub(super) fn take(&mut self, rate: Rate, now: u64) {
        self.full_at = self.full_at.max(micros(now)).saturating_add(interval(rate));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    proptest! {
        /// Within any time t no more begin than `burst + t * count / per_ms`, and one waits no longer
        /// than it takes for a token to come.
        #[test]
        fn it_never_gives_more_than_its_rate(
            count in 1..50_u32, per_ms in 1..5_000_u64, burst in 1..20_u32,
            steps in prop::collection::vec(0..400_u64, 1..200),
        ) {
            let rate = Rate { count, per_ms, burst };
            let mut bucket = Bucket::FULL;
            let (mut now, mut taken) = (0, Vec::new());
            for step in steps {
                now += step;
                if bucket.has_token(rate, now) {
                    bucket.take(rate, now);
                    taken.push(now);
                } else {
                    let opens = bucket.opens(rate);
                    prop_assert!(opens > now && opens <= now + per_ms / u64::from(count) + 1);
                    prop_assert!(!bucket.has_token(rate, opens - 1) && bucket.has_token(rate, opens));
                }
            }
            for (first, from) in taken.iter().enumerate() {
                for (last, to) in taken.iter().enumerate().skip(first) {
                    let most = u64::from(burst) + (to - from) * 1000 / rate.interval_us();
                    prop_assert!((last - first) as u64 <= most, "{} from {from} to {to}", last - first + 1);
                    prop_assert!((last - first) as u64 <= most);
                }
            }
        }
    }

    #[test]
    fn one_that_was_emptied_fills_as_time_passes() {
        let rate = Rate {
            count: 10,
            per_ms: 1000,
            burst: 5,
        };
        let bucket = Bucket::empty_since(-200_000, rate);
        assert_eq!((bucket.opens(rate), bucket.fills()), (0, 300));
        assert!(bucket.has_token(rate, 0) && !bucket.is_full(299) && bucket.is_full(300));
    }
}
