//! The facts that are about no one job: queues, schedules, batches, what was forgotten, the log itself.

use alloc::{borrow::Cow, vec::Vec};

use super::{
    super::{
        fields::{Fields, Lost, put_count, put_text},
        parts::{UNKNOWN, jobs, put_jobs, put_maybe_id, put_sole_job, put_state, sole_job, state},
        terms::{put_steering, steering},
    },
    BATCH, BATCH_FORGOTTEN, CRON, CRON_FORGOTTEN, MERGED, PRUNED, STEERED, TRIMMED, put_numbers,
    put_step,
};
use crate::fact::Fact;

const ID_BYTES: usize = 16;

pub(super) fn take_of_log<'a>(kind: u8, head: &mut Fields<'a>) -> Result<Fact<'a>, Lost> {
    Ok(match kind {
        CRON => Fact::Cron {
            at: head.instant()?,
            name: head.text()?,
            state: Cow::Owned(state(head)?),
            job: head.maybe(sole_job)?,
        },
        CRON_FORGOTTEN => Fact::CronForgotten {
            at: head.instant()?,
            name: head.text()?,
        },
        BATCH => Fact::Batch {
            id: head.id()?,
            at: head.instant()?,
            state: Cow::Owned(state(head)?),
            jobs: jobs(head)?,
        },
        PRUNED => Fact::Pruned {
            ids: Cow::Owned(head.list(ID_BYTES, Fields::id)?),
            at: head.instant()?,
        },
        TRIMMED => Fact::Trimmed {
            before: head.place()?,
            at: head.instant()?,
            last_token: head.token()?,
            last_id: head.maybe(Fields::id)?,
        },
        MERGED => Fact::Merged {
            at: head.instant()?,
            last_token: head.token()?,
            log: head.text()?,
        },
        STEERED => Fact::Steered {
            at: head.instant()?,
            queue: head.text()?,
            by: head.text()?,
            to: steering(head)?,
        },
        BATCH_FORGOTTEN => Fact::BatchForgotten {
            id: head.id()?,
            at: head.instant()?,
        },
        _ => return Err(UNKNOWN),
    })
}

pub(super) fn put_of_log(fact: &Fact<'_>, out: &mut Vec<u8>) -> Result<(), Lost> {
    match *fact {
        Fact::Steered { queue, at, by, to } => {
            put_numbers(out, &[at.0]);
            put_text(out, queue)?;
            put_text(out, by)?;
            put_steering(to, out);
        }
        Fact::Cron {
            name,
            at,
            ref state,
            ref job,
        } => {
            put_numbers(out, &[at.0]);
            put_text(out, name)?;
            put_state(&**state, out)?;
            out.push(u8::from(job.is_some()));
            job.iter().try_for_each(|job| put_sole_job(job, out))?;
        }
        Fact::CronForgotten { name, at } => {
            put_numbers(out, &[at.0]);
            put_text(out, name)?;
        }
        Fact::Batch {
            id,
            at,
            ref state,
            ref jobs,
        } => {
            put_step(id, None, at, out);
            put_state(&**state, out)?;
            put_jobs(jobs, out)?;
        }
        Fact::BatchForgotten { id, at } => put_step(id, None, at, out),
        Fact::Pruned { ref ids, at } => {
            put_count(out, ids.len())?;
            out.extend(ids.iter().flat_map(|id| id.0.to_le_bytes()));
            put_numbers(out, &[at.0]);
        }
        Fact::Trimmed {
            before,
            at,
            last_id,
            last_token,
        } => {
            put_numbers(out, &[before.0, at.0, last_token.0]);
            put_maybe_id(last_id, out);
        }
        Fact::Merged {
            log,
            at,
            last_token,
        } => {
            put_numbers(out, &[at.0, last_token.0]);
            put_text(out, log)?;
        }
        // All others are about a job.
        _ => {}
    }
    Ok(())
}
