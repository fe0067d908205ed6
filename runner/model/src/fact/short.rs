//! From what is at hand to what the ledger needs of it.

use alloc::borrow::Cow;

use super::{Accepted, Anew, Ended, Fact, Follows, Lock, Slim, SlimTerms};
use crate::{
    attempt::Attempt,
    batch::BatchState,
    cancel::Cancellation,
    carried::Carried,
    cron::CronState,
    event::{Event, Record, RecordAt, Verdict},
    id::{JobId, Token},
    job::{Job, Terms},
    ledger::Status,
    queue::Steering,
    time::UnixMs,
};

impl<'a> From<&'a Record> for Slim<'a> {
    fn from(record: &'a Record) -> Self {
        Self {
            previous: record.previous,
            fact: Fact::from(&record.event),
        }
    }
}

impl<'a> From<&'a Event> for Fact<'a> {
    fn from(event: &'a Event) -> Self {
        match *event {
            Event::Enqueued(ref job) => Self::Enqueued(Accepted::from(&**job)),
            Event::Leased { id, token, at } => Self::Leased { id, token, at },
            Event::Checkpointed { id, token, at, .. } => Self::Checkpointed { id, token, at },
            Event::Settled {
                id,
                ref attempt,
                ref verdict,
                ref children,
            } => Self::Settled {
                id,
                attempt: Ended::from(&**attempt),
                follows: Follows::from(verdict),
                children: children.iter().map(Accepted::from).collect(),
            },
            Event::Lost {
                id,
                token,
                at,
                ref buried,
            } => lost(id, token, at, buried.as_deref()),
            Event::Requeued { id, at, from_dead } => Self::Requeued { id, at, from_dead },
            Event::Hastened { id, at } => Self::Hastened { id, at },
            Event::Deleted { id, at } => Self::Deleted { id, at },
            Event::CancelAsked {
                id,
                token,
                ref cancel,
            } => asked(id, token, cancel),
            Event::Cancelled { id, ref cancel } => cancelled(id, cancel),
            Event::Postponed { id, at, due } => Self::Postponed { id, at, due },
            Event::Expired { id, at } => Self::Expired { id, at },
            Event::Dropped { id, at, .. } => Self::Dropped { id, at },
            Event::Replaced { id, ref job } => Self::Replaced {
                id,
                job: Accepted::from(&**job),
            },
            Event::Unlocked { id, at } => Self::Unlocked { id, at },
            Event::Carried(ref carried) => Self::Carried(Anew::from(&**carried)),
            Event::Steered { .. }
            | Event::Cron { .. }
            | Event::CronForgotten { .. }
            | Event::Batch { .. }
            | Event::BatchForgotten { .. }
            | Event::Pruned { .. }
            | Event::Trimmed { .. }
            | Event::Merged { .. } => of_log(event),
        }
    }
}

/// The facts that are about no one job.
fn of_log(event: &Event) -> Fact<'_> {
    match *event {
        Event::Steered {
            ref queue,
            at,
            ref by,
            ref to,
        } => steered(queue, at, by, **to),
        Event::Cron {
            ref name,
            at,
            ref state,
            ref job,
        } => cron(name, at, state, job.as_deref()),
        Event::CronForgotten { ref name, at } => Fact::CronForgotten { name, at },
        Event::Batch {
            id,
            at,
            ref state,
            ref jobs,
        } => batch(id, at, state, jobs),
        Event::BatchForgotten { id, at } => Fact::BatchForgotten { id, at },
        Event::Pruned { ref ids, at } => Fact::Pruned {
            ids: Cow::Borrowed(ids),
            at,
        },
        Event::Trimmed {
            before,
            at,
            last_id,
            last_token,
        } => trimmed(before, at, last_id, last_token),
        Event::Merged {
            ref log,
            at,
            last_token,
        } => Fact::Merged {
            log,
            at,
            last_token,
        },
        // All others are about a job, and told before.
        _ => unreachable!("a fact about a job"),
    }
}

impl<'a> From<&'a Job> for Accepted<'a> {
    fn from(job: &'a Job) -> Self {
        Self {
            id: job.id,
            kind: &job.kind,
            queue: &job.queue,
            priority: job.priority,
            enqueued_at: job.enqueued_at,
            due: job.due,
            max_attempts: job.retry.max_attempts,
            terms: SlimTerms::from(&job.terms),
        }
    }
}

impl<'a> From<&'a Terms> for SlimTerms<'a> {
    fn from(terms: &'a Terms) -> Self {
        Self {
            expires: terms.expires,
            retry_for_ms: terms.retry_for_ms,
            unique: terms.unique.as_ref().map(|unique| Lock {
                key: unique.key,
                scope: unique.scope,
                until: unique.until,
                on_conflict: unique.on_conflict,
            }),
            idempotency: terms.idempotency.as_ref().map(|named| named.key),
            group: terms.group.as_deref(),
            batch: terms.batch,
        }
    }
}

impl From<&Attempt> for Ended {
    fn from(attempt: &Attempt) -> Self {
        Self {
            number: attempt.number,
            token: attempt.token,
            ended_at: attempt.ended_at,
            failure: attempt.failure.as_ref().map(|failure| failure.kind),
        }
    }
}

impl From<&Verdict> for Follows {
    fn from(verdict: &Verdict) -> Self {
        match *verdict {
            Verdict::Completed(_) => Self::Completed,
            Verdict::Retry { due } => Self::Retry { due },
            Verdict::Snoozed { due } => Self::Snoozed { due },
            Verdict::PutBack { due, .. } => Self::PutBack { due },
            Verdict::Discarded { .. } => Self::Discarded,
            Verdict::Dead => Self::Dead,
            Verdict::Cancelled => Self::Cancelled,
        }
    }
}

impl<'a> From<&'a Carried> for Anew<'a> {
    fn from(carried: &'a Carried) -> Self {
        Self {
            job: Accepted::from(&carried.job),
            at: carried.at,
            status: carried.status,
            attempts: carried.attempts,
            losses: carried.losses,
            token: carried.token,
            failure: carried.failure,
            checkpoint: carried.checkpoint.is_some(),
            asked: match (carried.status, &carried.cancel) {
                (Status::Running { .. }, Some(cancel)) => Some(cancel.how),
                _ => None,
            },
            traps: carried.traps,
            lifted: carried.lifted,
            unlocked: carried.unlocked,
            failing_since: carried.failing_since,
        }
    }
}

fn cron<'a>(name: &'a str, at: UnixMs, state: &'a CronState, job: Option<&'a Job>) -> Fact<'a> {
    Fact::Cron {
        name,
        at,
        state: Cow::Borrowed(state),
        job: job.map(Accepted::from),
    }
}

fn batch<'a>(id: JobId, at: UnixMs, state: &'a BatchState, jobs: &'a [Job]) -> Fact<'a> {
    Fact::Batch {
        id,
        at,
        state: Cow::Borrowed(state),
        jobs: jobs.iter().map(Accepted::from).collect(),
    }
}

fn trimmed<'a>(
    before: RecordAt,
    at: UnixMs,
    last_id: Option<JobId>,
    last_token: Token,
) -> Fact<'a> {
    Fact::Trimmed {
        before,
        at,
        last_id,
        last_token,
    }
}

fn asked<'a>(id: JobId, token: Token, cancel: &Cancellation) -> Fact<'a> {
    Fact::CancelAsked {
        id,
        token,
        at: cancel.at,
        how: cancel.how,
    }
}

fn cancelled<'a>(id: JobId, cancel: &Cancellation) -> Fact<'a> {
    Fact::Cancelled {
        id,
        at: cancel.at,
        how: cancel.how,
    }
}

fn lost<'a>(id: JobId, token: Token, at: UnixMs, buried: Option<&Attempt>) -> Fact<'a> {
    let buried = buried.map(Ended::from);
    Fact::Lost {
        id,
        token,
        at,
        buried,
    }
}

fn steered<'a>(queue: &'a str, at: UnixMs, by: &'a str, to: Steering) -> Fact<'a> {
    Fact::Steered { queue, at, by, to }
}
