//! What the promises say a job's life is, told a second time and simply: one list of jobs, no
//! indexes, no facts.

use sandhog_model::{
    Asked, Digest, FailureKind, Job, JobId, Outcome, Settlement, State, Status, Terms, Token,
    UnixMs, Waiting,
};

use crate::history::policy_of;

/// What a promise lets happen to a waiting time: from, to, in milliseconds from now.
pub(crate) type Wait = (u64, u64);

/// A job as the auditor knows it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Known {
    pub(crate) id: JobId,
    pub(crate) kind: String,
    pub(crate) queue: String,
    pub(crate) terms: Terms,
    /// Whether someone said that it stands in nobody's way.
    pub(crate) unlocked: bool,
    /// Whether it was brought back after it ended, and expires no more.
    pub(crate) lifted: bool,
    pub(crate) failing_since: Option<u64>,
    pub(crate) life: Life,
    /// What it was before it was deleted.
    pub(crate) was: Option<Life>,
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
            queue: job.queue.clone(),
            terms: job.terms.clone(),
            unlocked: false,
            lifted: false,
            failing_since: None,
            life: Life::Waits {
                due,
                seen_due: due <= job.enqueued_at.0,
            },
            was: None,
            ended_at: 0,
            attempts: 0,
            losses: 0,
            traps: 0,
            token: Token(0),
            failure: None,
            asked: None,
        }
    }

    pub(crate) fn delete(&mut self) {
        self.was = Some(self.life);
        self.life = Life::Deleted;
    }

    pub(crate) fn is_held_by(&self, token: Token) -> bool {
        self.life == Life::Runs && self.token == token
    }

    pub(crate) fn expires(&self) -> Option<u64> {
        let expires = self.terms.expires.filter(|_| !self.lifted);
        expires.map(|at| at.0)
    }

    /// Whether it stands in the way of another one with this unique key.
    pub(crate) fn stands(&self, key: Digest, wall: u64) -> bool {
        let at = UnixMs(0);
        let status = match self.life {
            Life::Waits { .. } => Status::Waiting {
                due: at,
                backoff: false,
            },
            Life::Runs => Status::Running { since: at },
            Life::Ended(State::Completed) => Status::Completed(at),
            Life::Ended(State::Cancelled) => Status::Cancelled(at),
            Life::Ended(State::Discarded) => Status::Discarded(at),
            Life::Ended(State::Expired) => Status::Expired(at),
            Life::Ended(_) => Status::Dead(at),
            Life::Deleted => return false,
        };
        let unique = self.terms.unique.as_ref().filter(|_| !self.unlocked);
        unique.is_some_and(|unique| {
            let until = unique.until.is_none_or(|until| until.0 > wall);
            unique.key == key && until && unique.scope.holds(status)
        })
    }

    /// What the promises make of a report of this job's holder.
    pub(crate) fn expect(&mut self, report: &Settlement, now: u64) -> Expected {
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
                if let Some(retry_for) = self.terms.retry_for_ms {
                    let since = *self.failing_since.get_or_insert(now);
                    if now + wait > since + retry_for {
                        return Expected::Ends(State::Dead);
                    }
                }
                Expected::Waits {
                    wait: (wait, wait),
                    uses_attempt: true,
                }
            }
        }
    }
}
