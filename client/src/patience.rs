//! How long a call goes on, and the waits between its tries.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::options::Options;

/// Longest wait that nobody asked for.
const LONGEST: Duration = Duration::from_secs(5);
/// Shortest wait after the first try.
const SHORTEST: Duration = Duration::from_millis(1);

pub(crate) struct Patience {
    /// None that is further away than instants go.
    end: Option<Instant>,
    next: Duration,
    pub(crate) tries: u32,
}

impl Patience {
    pub(crate) fn new(options: &Options, retry_for: Duration) -> Self {
        Self {
            end: Instant::now().checked_add(retry_for),
            // None at all would not grow, and ask without a pause.
            next: options.first_wait.clamp(SHORTEST, LONGEST),
            tries: 0,
        }
    }

    /// Wait before the next try, as long as was asked for or longer; `false` when that would be too late.
    pub(crate) async fn wait(&mut self, asked: Option<Duration>) -> bool {
        match self.then(Instant::now(), asked) {
            Some(then) => {
                sleep_until(then).await;
                true
            }
            None => false,
        }
    }

    /// When the next try is due.
    fn then(&mut self, now: Instant, asked: Option<Duration>) -> Option<Instant> {
        // A runner that comes back meets its callers one after another.
        let wait = jitter(self.next).max(asked.unwrap_or_default());
        self.next = (self.next * 2).min(LONGEST);
        let then = now.checked_add(wait)?;
        self.end.is_none_or(|end| then <= end).then_some(then)
    }
}

/// Half of it, and a part of the other half.
fn jitter(wait: Duration) -> Duration {
    let half = wait / 2;
    let chance = getrandom::u32().unwrap_or(u32::MAX / 2);
    half + half.mul_f64(f64::from(chance) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_differ_within_their_bounds() {
        let wait = Duration::from_secs(1);
        let drawn: Vec<Duration> = (0..64).map(|_| jitter(wait)).collect();
        assert!(drawn.iter().all(|one| *one >= wait / 2 && *one <= wait));
        assert!(drawn.iter().any(|one| one != &drawn[0]));
    }

    #[test]
    fn waits_grow_and_end() {
        let options = Options {
            first_wait: Duration::from_millis(100),
            ..Options::new("")
        };
        let mut patience = Patience::new(&options, Duration::from_secs(30));
        let (start, mut now, mut waits) = (Instant::now(), Instant::now(), Vec::new());
        while let Some(then) = patience.then(now, None) {
            waits.push(then - now);
            now = then;
        }
        let all = now - start;
        assert!(
            all > Duration::from_secs(24) && all <= Duration::from_secs(30),
            "{waits:?}"
        );
        assert!(waits[0] <= Duration::from_millis(100), "{waits:?}");
        assert!(waits[1] >= Duration::from_millis(100), "{waits:?}");
        assert!(waits.iter().all(|wait| *wait <= LONGEST));

        let eager = Options {
            first_wait: Duration::ZERO,
            ..Options::new("")
        };
        let mut eager = Patience::new(&eager, Duration::from_secs(1));
        let tries = std::iter::from_fn(|| eager.then(start, None)).take(100);
        assert!(tries.count() < 100, "its waits do not grow");

        let mut forever = Patience::new(&options, Duration::MAX);
        assert!(forever.then(now, None).is_some());

        let mut asked = Patience::new(&options, Duration::from_secs(30));
        let then = asked.then(start, Some(Duration::from_secs(7))).unwrap();
        assert!(then - start >= Duration::from_secs(7));
        assert_eq!(asked.then(then, Some(Duration::from_secs(24))), None);
    }
}
