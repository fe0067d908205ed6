//! What a record has besides its head, as MessagePack: structs as arrays in the order of their fields,
//! enum variants by name.
//!
//! A field may be added at the end of a struct with `#[serde(default)]`; older records then read
//! with the default. Fields are never moved, retyped or taken away within a format version.

mod job;

use alloc::{borrow::Cow, boxed::Box, vec::Vec};

use serde::{Deserialize, Serialize};

use job::JobRest;

use super::{
    fields::Lost,
    record::{BadRecord, read},
};
use crate::{
    attempt::Attempt,
    cancel::{Asked, Cancellation},
    carried::Carried,
    cron::CronState,
    event::{Event, Verdict},
    fact::{Accepted, Anew, Fact},
    id::{JobId, Token},
    job::{Job, Output},
    queue::Steering,
    time::UnixMs,
};

/// Of a record of each kind.
pub(super) enum Rest<'a> {
    Nothing,
    /// Bytes as they are.
    Checkpointed(&'a [u8]),
    Enqueued(JobRest<'a>),
    Settled(SettledRest<'a>),
    Buried(&'a Attempt),
    Carried(CarriedRest<'a>),
    Cancelled(CancelRest<'a>),
    Dropped(&'a str),
    Jobs(Vec<JobRest<'a>>),
}

/// An attempt's end. Of the attempt and the verdict the head repeats what the ledger needs.
#[derive(Serialize, Deserialize)]
pub(super) struct SettledRest<'a> {
    attempt: Cow<'a, Attempt>,
    verdict: Cow<'a, Verdict>,
    #[serde(borrow)]
    children: Vec<JobRest<'a>>,
}

/// A [`Carried`] job without what its head has.
#[derive(Serialize, Deserialize)]
pub(super) struct CarriedRest<'a> {
    #[serde(borrow)]
    job: JobRest<'a>,
    history: Cow<'a, [Attempt]>,
    output: Option<Cow<'a, Output>>,
    reason: Option<Cow<'a, str>>,
    children: Cow<'a, [JobId]>,
    #[serde(borrow, with = "serde_bytes")]
    checkpoint: Option<Cow<'a, [u8]>>,
    #[serde(default)]
    cancel: Option<Cow<'a, Cancellation>>,
}

/// A [`Cancellation`] without what its head has.
#[derive(Serialize, Deserialize)]
pub(super) struct CancelRest<'a> {
    #[serde(borrow)]
    by: Cow<'a, str>,
    reason: Option<Cow<'a, str>>,
}

impl<'a> From<&'a Event> for Rest<'a> {
    fn from(event: &'a Event) -> Self {
        match event {
            Event::Enqueued(job)
            | Event::Replaced { job, .. }
            | Event::Cron { job: Some(job), .. } => Self::Enqueued(JobRest::from(&**job)),
            Event::Checkpointed { bytes, .. } => Self::Checkpointed(bytes),
            Event::Settled {
                attempt,
                verdict,
                children,
                ..
            } => Self::Settled(SettledRest {
                attempt: Cow::Borrowed(attempt),
                verdict: Cow::Borrowed(verdict),
                children: children.iter().map(JobRest::from).collect(),
            }),
            Event::Lost {
                buried: Some(attempt),
                ..
            } => Self::Buried(attempt),
            Event::Carried(carried) => Self::Carried(CarriedRest::from(&**carried)),
            Event::CancelAsked { cancel, .. } | Event::Cancelled { cancel, .. } => {
                Self::Cancelled(CancelRest {
                    by: Cow::Borrowed(&cancel.by),
                    reason: cancel.reason.as_deref().map(Cow::Borrowed),
                })
            }
            Event::Dropped { reason, .. } => Self::Dropped(reason),
            Event::Batch { jobs, .. } if !jobs.is_empty() => {
                Self::Jobs(jobs.iter().map(JobRest::from).collect())
            }
            Event::Cron { job: None, .. }
            | Event::CronForgotten { .. }
            | Event::Batch { .. }
            | Event::BatchForgotten { .. }
            | Event::Leased { .. }
            | Event::Lost { buried: None, .. }
            | Event::Requeued { .. }
            | Event::Hastened { .. }
            | Event::Deleted { .. }
            | Event::Postponed { .. }
            | Event::Expired { .. }
            | Event::Unlocked { .. }
            | Event::Steered { .. }
            | Event::Pruned { .. }
            | Event::Trimmed { .. }
            | Event::Merged { .. } => Self::Nothing,
        }
    }
}

impl<'a> From<&'a Carried> for CarriedRest<'a> {
    fn from(carried: &'a Carried) -> Self {
        Self {
            job: JobRest::from(&carried.job),
            history: Cow::Borrowed(&carried.history),
            output: carried.output.as_ref().map(Cow::Borrowed),
            reason: carried.reason.as_deref().map(Cow::Borrowed),
            children: Cow::Borrowed(&carried.children),
            checkpoint: carried.checkpoint.as_deref().map(Cow::Borrowed),
            cancel: carried.cancel.as_ref().map(Cow::Borrowed),
        }
    }
}

impl CarriedRest<'_> {
    fn join(self, head: &Anew<'_>) -> Carried {
        Carried {
            job: self.job.join(&head.job),
            at: head.at,
            status: head.status,
            attempts: head.attempts,
            losses: head.losses,
            token: head.token,
            failure: head.failure,
            history: self.history.into_owned(),
            output: self.output.map(Cow::into_owned),
            reason: self.reason.map(Cow::into_owned),
            children: self.children.into_owned(),
            checkpoint: self.checkpoint.map(Cow::into_owned),
            cancel: self.cancel.map(Cow::into_owned),
            traps: head.traps,
            lifted: head.lifted,
            unlocked: head.unlocked,
            failing_since: head.failing_since,
        }
    }
}

impl CancelRest<'_> {
    fn join(self, at: UnixMs, how: Asked) -> Box<Cancellation> {
        Box::new(Cancellation {
            how,
            at,
            by: self.by.into_owned(),
            reason: self.reason.map(Cow::into_owned),
        })
    }
}

/// The whole fact, from its head and its rest.
pub(super) fn join(head: Fact<'_>, rest: &[u8]) -> Result<Event, BadRecord> {
    Ok(match head {
        Fact::Enqueued(job) => Event::Enqueued(Box::new(read::<JobRest<'_>>(rest)?.join(&job))),
        Fact::Leased { id, token, at } => Event::Leased { id, token, at },
        Fact::Checkpointed { id, token, at } => Event::Checkpointed {
            id,
            token,
            at,
            bytes: rest.to_vec(),
        },
        Fact::Settled { id, children, .. } => settled(id, &children, rest)?,
        Fact::Lost {
            id,
            token,
            at,
            buried,
        } => Event::Lost {
            id,
            token,
            at,
            buried: buried.map(|_| read(rest)).transpose()?.map(Box::new),
        },
        Fact::Requeued { id, at, from_dead } => Event::Requeued { id, at, from_dead },
        Fact::Hastened { id, at } => Event::Hastened { id, at },
        Fact::Deleted { id, at } => Event::Deleted { id, at },
        Fact::Postponed { id, at, due } => Event::Postponed { id, at, due },
        Fact::Expired { id, at } => Event::Expired { id, at },
        Fact::Dropped { id, at } => dropped(id, at, rest)?,
        Fact::Replaced { id, job } => Event::Replaced {
            id,
            job: Box::new(read::<JobRest<'_>>(rest)?.join(&job)),
        },
        Fact::Unlocked { id, at } => Event::Unlocked { id, at },
        Fact::CancelAsked { id, token, at, how } => Event::CancelAsked {
            id,
            token,
            cancel: read::<CancelRest<'_>>(rest)?.join(at, how),
        },
        Fact::Cancelled { id, at, how } => Event::Cancelled {
            id,
            cancel: read::<CancelRest<'_>>(rest)?.join(at, how),
        },
        Fact::Carried(anew) => Event::Carried(Box::new(read::<CarriedRest<'_>>(rest)?.join(&anew))),
        of_log @ (Fact::Steered { .. }
        | Fact::Cron { .. }
        | Fact::CronForgotten { .. }
        | Fact::Batch { .. }
        | Fact::BatchForgotten { .. }
        | Fact::Pruned { .. }
        | Fact::Trimmed { .. }
        | Fact::Merged { .. }) => join_of_log(of_log, rest)?,
    })
}

/// The facts that are about no one job.
fn join_of_log(head: Fact<'_>, rest: &[u8]) -> Result<Event, BadRecord> {
    Ok(match head {
        Fact::Steered { queue, at, by, to } => steered(queue, at, by, to),
        Fact::Cron {
            name,
            at,
            state,
            job,
        } => cron(name, at, state.into_owned(), job, rest)?,
        Fact::CronForgotten { name, at } => forgotten(name, at),
        Fact::Batch {
            id,
            at,
            state,
            jobs,
        } => Event::Batch {
            id,
            at,
            state: Box::new(state.into_owned()),
            jobs: following(&jobs, rest)?,
        },
        Fact::BatchForgotten { id, at } => Event::BatchForgotten { id, at },
        Fact::Pruned { ids, at } => Event::Pruned {
            ids: ids.into_owned(),
            at,
        },
        Fact::Trimmed {
            before,
            at,
            last_id,
            last_token,
        } => Event::Trimmed {
            before,
            at,
            last_id,
            last_token,
        },
        Fact::Merged {
            log,
            at,
            last_token,
        } => merged(log, at, last_token),
        // All others are about a job.
        _ => return Err(Lost("a fact about a job where none is").into()),
    })
}

fn dropped(id: JobId, at: UnixMs, rest: &[u8]) -> Result<Event, BadRecord> {
    let reason = read(rest)?;
    Ok(Event::Dropped { id, at, reason })
}

fn merged(log: &str, at: UnixMs, last_token: Token) -> Event {
    let log = log.into();
    Event::Merged {
        log,
        at,
        last_token,
    }
}

fn steered(queue: &str, at: UnixMs, by: &str, to: Steering) -> Event {
    let (queue, by, to) = (queue.into(), by.into(), Box::new(to));
    Event::Steered { queue, at, by, to }
}

fn forgotten(name: &str, at: UnixMs) -> Event {
    let name = name.into();
    Event::CronForgotten { name, at }
}

fn cron(
    name: &str,
    at: UnixMs,
    state: CronState,
    job: Option<Accepted<'_>>,
    rest: &[u8],
) -> Result<Event, BadRecord> {
    let job = match job {
        Some(job) => Some(Box::new(read::<JobRest<'_>>(rest)?.join(&job))),
        None => None,
    };
    Ok(Event::Cron {
        name: name.into(),
        at,
        state: Box::new(state),
        job,
    })
}

/// The jobs that follow a batch.
fn following(jobs: &[Accepted<'_>], rest: &[u8]) -> Result<Vec<Job>, BadRecord> {
    match jobs {
        [] => Ok(Vec::new()),
        jobs => joined(read::<Vec<JobRest<'_>>>(rest)?, jobs),
    }
}

fn joined(rests: Vec<JobRest<'_>>, jobs: &[Accepted<'_>]) -> Result<Vec<Job>, BadRecord> {
    if rests.len() != jobs.len() {
        return Err(Lost("its head names another number of jobs than follow").into());
    }
    let jobs = rests.into_iter().zip(jobs);
    Ok(jobs.map(|(rest, job)| rest.join(job)).collect())
}

fn settled(id: JobId, children: &[Accepted<'_>], rest: &[u8]) -> Result<Event, BadRecord> {
    let whole = read::<SettledRest<'_>>(rest)?;
    Ok(Event::Settled {
        id,
        attempt: Box::new(whole.attempt.into_owned()),
        verdict: whole.verdict.into_owned(),
        children: joined(whole.children, children)?,
    })
}
