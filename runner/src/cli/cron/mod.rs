//! `sandhog cron`.

mod args;
mod entries;
mod next;

use super::{
    door::Need,
    enqueue,
    exit::{Exit, Outcome},
    session::Session,
    who::this_user,
};
use crate::{api::CronAct, json::cron as shapes};

pub(super) use args::CronCommand;

pub(super) fn run(session: &mut Session<'_, '_>, command: CronCommand) -> Outcome<Exit> {
    match command {
        CronCommand::Next {
            expression,
            tz,
            after,
            count,
        } => next::run(session, &expression, &tz, after, count),
        CronCommand::Ls => entries::list(session),
        CronCommand::Pause { name, reason, by } => {
            let by = by.unwrap_or_else(this_user);
            entries::act(session, name, CronAct::Pause { by, reason })
        }
        CronCommand::Resume { name } => entries::act(session, name, CronAct::Resume),
        CronCommand::Trigger { name } => entries::act(session, name, CronAct::Trigger),
        CronCommand::Add(add) => {
            let (entry, kind) = (add.entry(), add.kind.clone());
            session.door(Need::Anything)?;
            let exit = entries::act(session, add.name, CronAct::Add { entry })?;
            enqueue::where_they_wait(session, &[kind], "its jobs wait");
            Ok(exit)
        }
        CronCommand::Rm { name } => entries::act(session, name, CronAct::Remove),
    }
}
