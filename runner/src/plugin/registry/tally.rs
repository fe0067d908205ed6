//! How the attempts of each version end: a version that breaks again and again is to be held back.

use std::collections::{BTreeSet, HashMap};

use sandhog_model::{JobId, Outcome};

/// Most versions counted at a time.
const VERSIONS: usize = 4_096;

/// What an end says of the version that ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign<'a> {
    /// The guest came to an end of its own.
    Sound { completed: bool },
    /// The guest broke, and most likely would again.
    Broke { cause: &'a str },
    /// Nothing: the time ran out, or the host failed, or nothing ran.
    Silent,
}

fn sign(outcome: &Outcome) -> Sign<'_> {
    match outcome {
        Outcome::Completed(_) => Sign::Sound { completed: true },
        Outcome::Snoozed { .. } | Outcome::Discarded { .. } => Sign::Sound { completed: false },
        Outcome::Failed { failure, .. } | Outcome::Permanent(failure) => {
            if failure.kind.is_deterministic() {
                Sign::Broke {
                    cause: &failure.cause,
                }
            } else if failure.kind == sandhog_model::FailureKind::Error {
                Sign::Sound { completed: false }
            } else {
                Sign::Silent
            }
        }
        Outcome::NotRun(_) => Sign::Silent,
    }
}

/// The ends of each version since the start.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    versions: HashMap<String, Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    proven: bool,
    /// Jobs that broke the version since the last sound end, by kind.
    broken: HashMap<String, BTreeSet<JobId>>,
}

/// What an end brought about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing new.
    Nothing,
    /// The version completed its first job.
    Proven,
    /// So many jobs of a kind broke it in a row.
    HoldBack(String),
}

impl Tally {
    /// Count an end. `after` jobs in a row that break a version are too many; never when 0.
    pub(crate) fn count(
        &mut self,
        digest: &str,
        kind: &str,
        job: JobId,
        outcome: &Outcome,
        after: usize,
    ) -> Verdict {
        let sign = sign(outcome);
        if sign == Sign::Silent {
            return Verdict::Nothing;
        }
        if !self.versions.contains_key(digest) {
            if self.versions.len() >= VERSIONS {
                self.versions.clear();
            }
            self.versions.insert(digest.to_owned(), Counts::default());
        }
        let Some(counts) = self.versions.get_mut(digest) else {
            return Verdict::Nothing;
        };
        match sign {
            Sign::Sound { completed } => {
                if !counts.broken.is_empty() {
                    counts.broken.remove(kind);
                }
                if completed && !counts.proven {
                    counts.proven = true;
                    return Verdict::Proven;
                }
                Verdict::Nothing
            }
            Sign::Broke { .. } if after == 0 => Verdict::Nothing,
            Sign::Broke { cause } => {
                let jobs = match counts.broken.get_mut(kind) {
                    Some(jobs) => jobs,
                    None => counts.broken.entry(kind.to_owned()).or_default(),
                };
                jobs.insert(job);
                if jobs.len() < after {
                    return Verdict::Nothing;
                }
                let many = jobs.len();
                counts.broken.clear();
                Verdict::HoldBack(format!(
                    "{many} jobs of kind {kind} in a row broke it, the last one: {cause}"
                ))
            }
            Sign::Silent => Verdict::Nothing,
        }
    }

    /// Count a version from the beginning.
    pub(crate) fn forget(&mut self, digest: &str) {
        self.versions.remove(digest);
    }
}

#[cfg(test)]
mod tests {
    use sandhog_model::{Failure, FailureKind, Output, TrapKind, Waiting};

    use super::*;

    fn failed(kind: FailureKind) -> Outcome {
        Outcome::Failed {
            failure: Failure::new(kind, "code", "why"),
            retry_after_ms: None,
        }
    }

    fn trap() -> Outcome {
        failed(FailureKind::Trap(TrapKind::Unreachable))
    }

    fn done() -> Outcome {
        Outcome::Completed(Output {
            content_type: String::new(),
            payload: Vec::new(),
        })
    }

    fn count(tally: &mut Tally, job: u128, outcome: &Outcome) -> Verdict {
        tally.count("aa", "page", JobId(job), outcome, 3)
    }

    #[test]
    fn so_many_jobs_in_a_row_are_too_many() {
        let mut tally = Tally::default();
        assert_eq!(count(&mut tally, 1, &trap()), Verdict::Nothing);
        assert_eq!(count(&mut tally, 2, &trap()), Verdict::Nothing);
        let held = count(&mut tally, 3, &trap());
        assert!(
            matches!(&held, Verdict::HoldBack(why) if why.contains("3 jobs of kind page") && why.contains("why")),
            "{held:?}"
        );
        // Counted from the beginning once it was said.
        assert_eq!(count(&mut tally, 4, &trap()), Verdict::Nothing);
    }

    #[test]
    fn one_job_that_breaks_it_again_and_again_is_its_own_fault() {
        let mut tally = Tally::default();
        for _ in 0..50 {
            assert_eq!(count(&mut tally, 1, &trap()), Verdict::Nothing);
        }
    }

    #[test]
    fn any_sound_end_of_the_kind_begins_the_row_again() {
        for sound in [
            done(),
            Outcome::Snoozed { delay_ms: 1 },
            Outcome::Discarded {
                reason: String::new(),
            },
            failed(FailureKind::Error),
            Outcome::Permanent(Failure::new(FailureKind::Error, "c", "w")),
        ] {
            let mut tally = Tally::default();
            count(&mut tally, 1, &trap());
            count(&mut tally, 2, &trap());
            count(&mut tally, 3, &sound);
            assert_eq!(count(&mut tally, 4, &trap()), Verdict::Nothing, "{sound:?}");
        }
    }

    #[test]
    fn what_says_nothing_of_the_version_neither_counts_nor_helps() {
        for silent in [
            failed(FailureKind::Timeout),
            failed(FailureKind::HostError),
            failed(FailureKind::Lost),
            Outcome::NotRun(Waiting::Shutdown),
        ] {
            let mut tally = Tally::default();
            count(&mut tally, 1, &trap());
            count(&mut tally, 2, &trap());
            assert_eq!(count(&mut tally, 3, &silent), Verdict::Nothing);
            assert!(
                matches!(count(&mut tally, 4, &trap()), Verdict::HoldBack(_)),
                "{silent:?}"
            );
        }
    }

    #[test]
    fn kinds_and_versions_are_counted_apart() {
        let mut tally = Tally::default();
        for job in 0..10 {
            tally.count("aa", "page", JobId(job), &trap(), 0);
        }
        let mut tally = Tally::default();
        for job in 0..2 {
            assert_eq!(
                tally.count("aa", "page", JobId(job), &trap(), 3),
                Verdict::Nothing
            );
            assert_eq!(
                tally.count("aa", "table", JobId(job), &trap(), 3),
                Verdict::Nothing
            );
            assert_eq!(
                tally.count("bb", "page", JobId(job), &trap(), 3),
                Verdict::Nothing
            );
        }
        // Another kind's success is none of this one's.
        tally.count("aa", "table", JobId(9), &done(), 3);
        assert!(matches!(
            tally.count("aa", "page", JobId(9), &trap(), 3),
            Verdict::HoldBack(_)
        ));
    }

    #[test]
    fn the_first_completed_job_proves_a_version() {
        let mut tally = Tally::default();
        assert_eq!(
            count(&mut tally, 1, &failed(FailureKind::Error)),
            Verdict::Nothing
        );
        assert_eq!(count(&mut tally, 1, &done()), Verdict::Proven);
        assert_eq!(count(&mut tally, 1, &done()), Verdict::Nothing);
        tally.forget("aa");
        assert_eq!(count(&mut tally, 1, &done()), Verdict::Proven);
    }

    #[test]
    fn never_when_the_threshold_is_none() {
        let mut tally = Tally::default();
        for job in 0..1_000 {
            let said = tally.count("aa", "page", JobId(job), &trap(), 0);
            assert_eq!(said, Verdict::Nothing);
        }
    }
}
