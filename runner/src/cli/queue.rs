//! `sandhog queue`.

use clap::{Args, Subcommand};
use sandhog_model::{QueueMode, State};
use serde_json::json;

use super::{
    args::Paging,
    each::Each,
    exit::{Exit, Fault, Outcome},
    job::more,
    session::{Session, ask},
    shapes, text,
    who::this_user,
};
use crate::{
    api::{QueueView, Request, Response, by_name},
    store::{QueueRow, Steer},
};

/// The states of the table, which has no room for all.
const SHOWN: [State; 6] = [
    State::Scheduled,
    State::Available,
    State::Running,
    State::Retryable,
    State::Completed,
    State::Dead,
];

#[derive(Debug, Subcommand)]
pub(super) enum QueueCommand {
    /// Queues with their jobs by state, and why jobs wait
    Ls {
        #[command(flatten)]
        paging: Paging,
    },
    /// Begin no job of these queues any more; they go on taking jobs in
    ///
    /// What runs goes on. It holds until `queue resume`, after a restart too.
    Pause(Which),
    /// Open queues again that were paused or drained
    Resume(Which),
    /// Take no job in any more; what is there goes on being run
    ///
    /// What a handler enqueues is part of its outcome, and still taken in. It holds until `queue resume`,
    /// after a restart too.
    Drain(Which),
}

#[derive(Debug, Args)]
pub(super) struct Which {
    /// Which
    #[arg(required = true, value_name = "QUEUE")]
    queues: Vec<String>,
    /// Who says so, as the log will say [default: this user]
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

pub(super) fn run(session: &mut Session<'_, '_>, command: QueueCommand) -> Outcome<Exit> {
    match command {
        QueueCommand::Ls { paging } => list(session, &paging, |_| true, table),
        QueueCommand::Pause(which) => turn(session, which, QueueMode::Paused),
        QueueCommand::Resume(which) => turn(session, which, QueueMode::Open),
        QueueCommand::Drain(which) => turn(session, which, QueueMode::Draining),
    }
}

/// Print a page of the queues that are meant, as JSON or as a table.
pub(super) fn list(
    session: &mut Session<'_, '_>,
    paging: &Paging,
    is_meant: impl Fn(&QueueView) -> bool,
    table: fn(&[QueueView]) -> String,
) -> Outcome<Exit> {
    if paging.cursor.as_ref().is_some_and(String::is_empty) {
        return Err(Fault::usage("an empty cursor"));
    }
    let mut queues = ask!(session, Request::Queues, Queues);
    queues.retain(is_meant);
    let (queues, next) = by_name(queues, |queue| &queue.row.queue, &paging.request());
    if session.is_json() {
        let rows = queues
            .iter()
            .map(|queue| shapes::queue(&queue.row, queue.reason.as_deref()));
        session.json(&rows.collect())?;
    } else {
        session.say(&table(&queues))?;
    }
    more(session, next.as_deref());
    Ok(Exit::Done)
}

/// How many jobs of a queue run, and wait.
pub(super) fn running_and_waiting(row: &QueueRow) -> [u64; 2] {
    let sum = |states: &[State]| {
        let counts = row.counts.iter().filter(|(one, _)| states.contains(one));
        counts.map(|(_, count)| count).sum()
    };
    let waiting = [State::Scheduled, State::Available, State::Retryable];
    [sum(&[State::Running]), sum(&waiting)]
}

/// Each queue for itself.
fn turn(session: &mut Session<'_, '_>, which: Which, mode: QueueMode) -> Outcome<Exit> {
    let by = which.by.unwrap_or_else(this_user);
    let unknown = match mode {
        QueueMode::Open => Vec::new(),
        QueueMode::Paused | QueueMode::Draining => unknown(session, &which.queues)?,
    };
    let (mut done, mut each) = (Vec::new(), Each::default());
    for queue in which.queues {
        let wish = Steer {
            queue: queue.clone(),
            mode: Some(mode),
            limits: None,
            by: by.clone(),
        };
        match steer(session, wish) {
            Ok(()) => {}
            Err(fault) => match each.fault(session, fault) {
                true => continue,
                false => break,
            },
        }
        each.done();
        if session.is_json() {
            done.push(json!({ "queue": queue, "mode": mode.name() }));
        } else {
            session.say(&format!("{queue} {}", mode.name()))?;
        }
        if unknown.contains(&queue) {
            let (queue, mode) = (text::plain(&queue), mode.name());
            session.note(&format!(
                "no queue {queue} yet: it is {mode} all the same, for jobs to come; `sandhog queue ls` shows those there are"
            ));
        }
    }
    if session.is_json() {
        session.json(&done.into())?;
    }
    each.end()
}

/// Those of which there is no job, and of which nobody said anything, in the settings or by hand.
fn unknown(session: &mut Session<'_, '_>, queues: &[String]) -> Outcome<Vec<String>> {
    let known = ask!(session, Request::Queues, Queues);
    let is_known = |name: &String| known.iter().any(|queue| queue.row.queue == *name);
    let unknown = queues.iter().filter(|name| !is_known(name));
    Ok(unknown.cloned().collect())
}

/// Say what a queue is to do.
pub(super) fn steer(session: &mut Session<'_, '_>, steer: Steer) -> Outcome<()> {
    match session.call(Request::Steer(steer))? {
        Response::Steered => Ok(()),
        _ => Err(Fault::mismatch()),
    }
}

fn table(queues: &[QueueView]) -> String {
    let mut header = vec!["QUEUE"];
    let names = SHOWN.map(|state| state.name().to_ascii_uppercase());
    header.extend(names.iter().map(String::as_str));
    header.extend(["MODE", "WAITS FOR"]);
    let numbers: Vec<usize> = (1..=SHOWN.len()).collect();
    text::table(
        &header,
        &numbers,
        queues.iter().map(|queue| {
            let count = |state| {
                let found = queue.row.counts.iter().find(|(one, _)| *one == state);
                found.map_or(0, |(_, count)| *count).to_string()
            };
            let mut row = vec![queue.row.queue.clone()];
            row.extend(SHOWN.map(count));
            row.push(queue.row.mode.name().to_owned());
            row.push(text::cell(queue.reason.as_deref().unwrap_or_default()));
            row
        }),
    )
}
