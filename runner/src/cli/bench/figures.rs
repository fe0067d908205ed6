//! What the rounds say.

use std::time::Duration;

use crate::{
    cli::rooms::{Bared, Drained},
    figures::median,
};

/// A round of the runner and one of bare attempts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    pub(super) drained: Drained,
    pub(super) bare: Bared,
}

/// All rounds, at least one.
#[derive(Debug)]
pub(super) struct Figures(pub(super) Vec<Round>);

/// Part of a worker's time for an attempt.
#[derive(Debug, PartialEq)]
pub(super) struct Part {
    pub(super) name: &'static str,
    pub(super) key: &'static str,
    pub(super) us: f64,
}

impl Round {
    /// Jobs a second of all workers.
    pub(super) fn rate(&self) -> f64 {
        self.drained.jobs as f64 / self.drained.seconds
    }

    /// The same of bare attempts on as many threads.
    pub(super) fn bare_rate(&self) -> f64 {
        1e6 / self.bare_us() * self.bare.workers as f64
    }

    /// A worker's time for a job, in µs.
    pub(super) fn us(&self) -> f64 {
        self.drained.seconds * 1e6 * self.drained.workers as f64 / self.drained.jobs as f64
    }

    /// A thread's time for a bare attempt, in µs.
    pub(super) fn bare_us(&self) -> f64 {
        us(self.bare.spent.all()) / self.bare.jobs as f64
    }

    /// Where a worker's time for an attempt goes. Attempts whose handlers wait overlap, and take more together than
    /// their worker has; then what is left is nothing.
    fn parts(&self) -> [f64; 6] {
        let Self { drained, bare } = self;
        let of_bare = |span| us(span) / bare.jobs as f64;
        let of_drain = |span| us(span) / drained.jobs as f64;
        let running = of_drain(drained.running);
        let left = (self.us() - running).max(0.0);
        let claiming = of_drain(drained.claiming).min(left);
        [
            of_bare(bare.spent.making),
            of_bare(bare.spent.calling),
            of_bare(bare.spent.ending),
            running - self.bare_us(),
            claiming,
            left - claiming,
        ]
    }
}

impl Figures {
    /// A figure of every round.
    pub(super) fn each(&self, figure: impl Fn(&Round) -> f64) -> Vec<f64> {
        self.0.iter().map(figure).collect()
    }

    /// The median over the rounds.
    pub(super) fn middle(&self, figure: impl Fn(&Round) -> f64) -> f64 {
        median(&self.each(figure))
    }

    /// Where a worker's time for an attempt goes, in µs.
    pub(super) fn parts(&self) -> [Part; 6] {
        let part = |place: usize, key, name| Part {
            name,
            key,
            us: self.middle(|round| round.parts()[place]),
        };
        [
            part(0, "making", "making the sandbox"),
            part(1, "handler", "the handler"),
            part(2, "ending", "ending the sandbox"),
            part(3, "runner", "the runner around them"),
            part(4, "claiming", "waiting for claims"),
            part(5, "rest", "the rest"),
        ]
    }

    /// Whether attempts of a worker ran beside each other.
    pub(super) fn overlaps(&self) -> bool {
        self.0.iter().any(|round| {
            us(round.drained.running) > round.drained.seconds * 1e6 * round.drained.workers as f64
        })
    }

    /// Milliseconds until reports are answered, attempts in one report, and jobs for each sync, as far as there
    /// were any.
    pub(super) fn reports(&self) -> (f64, f64, Option<f64>) {
        let of = |round: &Round| round.drained.reports.max(1) as f64;
        let answered = self.middle(|round| us(round.drained.reporting) / 1e3 / of(round));
        let together = self.middle(|round| round.drained.jobs as f64 / of(round));
        let synced = self.0.iter().all(|round| round.drained.syncs > 0);
        let each = || self.middle(|round| round.drained.jobs as f64 / round.drained.syncs as f64);
        (answered, together, synced.then(each))
    }
}

fn us(span: Duration) -> f64 {
    span.as_secs_f64() * 1e6
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::plugin::BareAttempt;

    /// A thousand jobs on two workers in `ms`, of which attempts took `running_ms` of their workers' time.
    pub(in crate::cli) fn round(ms: u64, running_ms: u64) -> Round {
        Round {
            drained: Drained {
                jobs: 1_000,
                seconds: ms as f64 / 1e3,
                workers: 2,
                running: Duration::from_millis(running_ms),
                claiming: Duration::from_millis(3),
                reporting: Duration::from_millis(200),
                reports: 100,
                syncs: 50,
            },
            bare: Bared {
                jobs: 1_000,
                workers: 2,
                spent: BareAttempt {
                    making: Duration::from_millis(4),
                    calling: Duration::from_millis(2),
                    ending: Duration::from_millis(1),
                },
            },
        }
    }

    #[test]
    fn all_parts_together_are_the_workers_time() {
        let round = round(10, 12);
        assert!((round.rate() - 100_000.0).abs() < 1e-6);
        assert!((round.us() - 20.0).abs() < 1e-9 && (round.bare_us() - 7.0).abs() < 1e-9);
        assert!((round.bare_rate() - 2e6 / 7.0).abs() < 1e-6);
        let figures = Figures(vec![round]);
        let parts = figures.parts().map(|part| part.us);
        for (us, is) in parts.iter().zip([4.0, 2.0, 1.0, 5.0, 3.0, 5.0]) {
            assert!((us - is).abs() < 1e-9, "{parts:?}");
        }
        assert!((parts.iter().sum::<f64>() - round.us()).abs() < 1e-9);
        assert!(!figures.overlaps());
        let (answered, together, synced) = figures.reports();
        assert!((answered - 2.0).abs() < 1e-9 && (together - 10.0).abs() < 1e-9);
        assert_eq!(synced, Some(20.0));
    }

    #[test]
    fn attempts_that_overlap_leave_nothing_of_the_workers_time() {
        let figures = Figures(vec![round(10, 500)]);
        assert!(figures.overlaps());
        let parts = figures.parts().map(|part| part.us);
        assert!(parts[4].abs() < 1e-9 && parts[5].abs() < 1e-9, "{parts:?}");
    }

    #[test]
    fn figures_are_medians_of_the_rounds() {
        let figures = Figures(vec![round(10, 8), round(90, 8), round(11, 8)]);
        assert!((figures.middle(Round::us) - 22.0).abs() < 1e-9);
        let mut no_sync = round(10, 8);
        no_sync.drained.syncs = 0;
        assert_eq!(Figures(vec![no_sync]).reports().2, None);
    }
}
