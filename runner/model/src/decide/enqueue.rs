//! Accepting a job.

use alloc::{boxed::Box, vec, vec::Vec};

use crate::{command::Rejected, event::Event, job::Job, ledger::Ledger};

/// A job whose id is new is accepted. Its fields were checked when it became a [`Job`].
pub(super) fn enqueue(ledger: &Ledger, job: Box<Job>) -> Result<Vec<Event>, Rejected> {
    ledger.may_accept(job.id)?;
    Ok(vec![Event::Enqueued(job)])
}
