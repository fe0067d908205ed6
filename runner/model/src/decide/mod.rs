//! All policy: what follows from a wish. One file for each family of wishes.

mod amend;
mod batch;
mod claim;
mod cron;
mod enqueue;
mod prune;
mod settle;
mod steer;

use alloc::vec::Vec;

pub(crate) use amend::back_with;
pub(crate) use enqueue::admit;

use crate::{
    command::{Command, Rejected},
    event::Event,
    id::{JobId, Token},
    ledger::Ledger,
    slot::Slot,
    time::Now,
};

pub(crate) fn decide(
    ledger: &Ledger,
    command: Command,
    now: Now,
    entropy: u64,
) -> Result<Vec<Event>, Rejected> {
    match command {
        Command::Enqueue(job) => enqueue::enqueue(ledger, job, now),
        Command::Claim(kinds) => Ok(claim::claim(ledger, &kinds, now)),
        Command::Checkpoint { id, token, bytes } => {
            settle::checkpoint(ledger, id, token, bytes, now)
        }
        Command::Settle(report) => settle::settle(ledger, *report, now, entropy),
        Command::Lose { id, token } => settle::lose(ledger, id, token, now),
        Command::Amend(wish) => amend::amend(ledger, wish, now),
        Command::Cron(wish) => cron::cron(ledger, wish, now),
        Command::Batch(wish) => batch::batch(ledger, wish, now),
        Command::Tend { max } => Ok(batch::tend(ledger, max, now)),
        Command::Prune(retention) => Ok(prune::prune(ledger, &retention, now)),
        Command::Expire { max } => Ok(prune::expire(ledger, max, now)),
        Command::Steer {
            queue,
            mode,
            limits,
            by,
        } => steer::steer(ledger, queue, mode, limits, by, now),
    }
}

/// The job.
fn known(ledger: &Ledger, id: JobId) -> Result<&Slot, Rejected> {
    ledger.slot(id).ok_or(Rejected::NoSuchJob(id))
}

/// The job, when `token` holds it: the fence against late reports. A report on a job that is gone
/// is as late as one on a job that went on.
fn held(ledger: &Ledger, id: JobId, token: Token) -> Result<&Slot, Rejected> {
    let holds = |slot: &&Slot| slot.is_running() && slot.token == token;
    let fenced = Rejected::Fenced { id, token };
    ledger.slot(id).filter(holds).ok_or(fenced)
}
