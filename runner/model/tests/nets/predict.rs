//! What the promises say a job's life is, told a second time and simply: one list of jobs, no
//! indexes, no facts.

use sandhog_model::{Asked, FailureKind, Job, JobId, Outcome, Settlement, State, Token, Waiting};

use crate::history::policy_of;

/// What a promise lets happen to a waiting time: from, to, in milliseconds from now.
pub(crate) type Wait = (u64, u64);

/// A job as the auditor knows it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Known {
    pub(crate) id: JobId,
    pub(crate) kind: String,
    pub(crate) priority: i16,
    pub(crate) life: Life,
    /// When it last ended, in milliseconds.
    pub(crate) ended_at: u64,
    pub(crate) attempts: u32,
    pub(crate) losses: u32,
    /// Attempts that would fail again by the same input.
    pub(crate) traps: u32,
    pub(crate) token: Token,
    pub(crate) failure: Option<FailureKind>,
    /// How its end was asked for while it runs.
    pub(crate) asked: Option<Asked>,
}

/// Where it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Life {
    Waits { due: u64, seen_due: bool },
    Runs,
    Ended(State),
    Deleted,
}

/// What a report must lead to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expected {
    Ends(State),
    Waits { wait: Wait, uses_attempt: bool },
}

impl Known {
    pub(crate) fn new(job: &Job) -> Self {
        let due = job.due.0;
        Self {
            id: job.id,
            kind: job.kind.clone(),
            priority: job.priority,
            life: Life::Waits {
                due,
                seen_due: due <= job.enqueued_at.0,
            },
            ended_at: 0,
            attempts: 0,
            losses: 0,
            traps: 0,
            token: Token(0),
            failure: None,
            asked: None,
        }
    }

    pub(crate) fn is_held_by(&self, token: Token) -> bool {
        self.life == Life::Runs && self.token == token
    }

    /// What the promises make of a report of this job's holder.
    pub(crate) fn expect(&mut self, report: &Settlement) -> Expected {
        let asked = self.asked.take();
        let no_attempt = |wait| Expected::Waits {
            wait,
            uses_attempt: false,
        };
        match &report.outcome {
            Outcome::Failed { .. }
            | Outcome::Permanent(_)
            | Outcome::Snoozed { .. }
            | Outcome::NotRun(_)
                if asked.is_some() =>
            {
                Expected::Ends(State::Cancelled)
            }
            Outcome::Completed(_) => Expected::Ends(State::Completed),
            Outcome::Discarded { .. } => Expected::Ends(State::Discarded),
            Outcome::Permanent(_) => Expected::Ends(State::Dead),
            Outcome::Snoozed { delay_ms } => no_attempt((*delay_ms, *delay_ms)),
            Outcome::NotRun(Waiting::PluginMissing | Waiting::Shutdown) => no_attempt((0, 0)),
            Outcome::NotRun(Waiting::PoolFull) => no_attempt((50, 150)),
            Outcome::NotRun(Waiting::PluginInvalid) => no_attempt((1_000, 2_000)),
            Outcome::Failed {
                failure,
                retry_after_ms,
            } => {
                let policy = policy_of(&self.kind);
                let repeats = matches!(failure.kind, FailureKind::Trap(_));
                self.traps += u32::from(repeats);
                let named = "the tests' policies name it";
                let all = policy.max_attempts.expect(named);
                let traps = policy.trap_attempts.expect(named);
                if self.attempts + 1 >= all || repeats && self.traps >= traps {
                    return Expected::Ends(State::Dead);
                }
                let wait = retry_after_ms.unwrap_or(0).max(1_000);
                Expected::Waits {
                    wait: (wait, wait),
                    uses_attempt: true,
                }
            }
        }
    }
}
