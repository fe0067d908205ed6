//! All policy: what follows from a wish. One file for each family of wishes.

mod amend;
mod claim;
mod enqueue;
mod prune;
mod settle;

use alloc::vec::Vec;

use crate::{
    command::{Command, Rejected},
    event::Event,
    id::{JobId, Token},
    ledger::{Entry, Ledger},
    time::Now,
};

pub(crate) fn decide(
    ledger: &Ledger,
    command: &Command,
    now: Now,
    entropy: u64,
) -> Result<Vec<Event>, Rejected> {
    match command {
        Command::Enqueue(job) => enqueue::enqueue(ledger, job.clone()),
        Command::Claim(request) => Ok(claim::claim(ledger, request, now)),
        Command::Checkpoint { id, token, bytes } => {
            settle::checkpoint(ledger, *id, *token, bytes, now)
        }
        Command::Settle(report) => settle::settle(ledger, report, now, entropy),
        Command::Lose { id, token } => settle::lose(ledger, *id, *token, now),
        Command::Amend(wish) => amend::amend(ledger, wish, now),
        Command::Prune(retention) => Ok(prune::prune(ledger, retention, now)),
    }
}

/// The same without a copy of a job's payload.
pub(crate) fn decide_owned(
    ledger: &Ledger,
    command: Command,
    now: Now,
    entropy: u64,
) -> Result<Vec<Event>, Rejected> {
    match command {
        Command::Enqueue(job) => enqueue::enqueue(ledger, job),
        Command::Claim(_)
        | Command::Checkpoint { .. }
        | Command::Settle(_)
        | Command::Lose { .. }
        | Command::Amend(_)
        | Command::Prune(_) => decide(ledger, &command, now, entropy),
    }
}

/// The job.
fn known(ledger: &Ledger, id: JobId) -> Result<&Entry, Rejected> {
    ledger.entry(id).ok_or(Rejected::NoSuchJob(id))
}

/// The job, when `token` holds it: the fence against late reports. A report on a job that is gone
/// is as late as one on a job that went on.
fn held(ledger: &Ledger, id: JobId, token: Token) -> Result<&Entry, Rejected> {
    let holds = |entry: &&Entry| entry.running_attempt().is_some() && entry.token == token;
    let fenced = Rejected::Fenced { id, token };
    ledger.entry(id).filter(holds).ok_or(fenced)
}
