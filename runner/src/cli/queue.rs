//! `sandhog queue`.

use sandhog_model::State;

use super::{
    args::QueueCommand,
    exit::{Exit, Fault, Outcome},
    job::more,
    session::{Session, ask},
    shapes, text,
};
use crate::api::{QueueView, Request};

/// The states of the table, which has no room for all.
const SHOWN: [State; 6] = [
    State::Scheduled,
    State::Available,
    State::Running,
    State::Retryable,
    State::Completed,
    State::Dead,
];

pub(super) fn run(session: &mut Session<'_, '_>, command: QueueCommand) -> Outcome<Exit> {
    let QueueCommand::Ls { paging } = command;
    let from = match &paging.cursor {
        // Queues come by name, so the name where the next page starts is the cursor.
        Some(cursor) if cursor.is_empty() => return Err(Fault::usage("an empty cursor")),
        cursor => cursor.clone().unwrap_or_default(),
    };
    let mut queues = ask!(session, Request::Queues, Queues);
    queues.retain(|queue| queue.row.queue >= from);
    let rest = queues.split_off(queues.len().min(usize::from(paging.limit)));
    if session.is_json() {
        let rows = queues
            .iter()
            .map(|queue| shapes::queue(&queue.row, queue.reason.as_deref()));
        session.json(&rows.collect())?;
    } else {
        session.say(&table(&queues))?;
    }
    more(session, rest.first().map(|queue| queue.row.queue.as_str()));
    Ok(Exit::Done)
}

fn table(queues: &[QueueView]) -> String {
    let mut header = vec!["QUEUE"];
    let names = SHOWN.map(|state| state.name().to_ascii_uppercase());
    header.extend(names.iter().map(String::as_str));
    header.push("WAITS FOR");
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
            row.push(text::cell(queue.reason.as_deref().unwrap_or_default()));
            row
        }),
    )
}
