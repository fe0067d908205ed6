//! The same printed once.

use serde_json::{Value, json};

use super::{
    super::{
        door::Need,
        exit::{Exit, Outcome},
        session::{Session, wall},
        shapes, stats, text,
    },
    gather::{self, Running},
    rates::Rates,
    rows,
    screen::Tab,
};
use crate::{api::QueueView, json::dead};

pub(super) fn run(session: &mut Session<'_, '_>) -> Outcome<Exit> {
    let seen = gather::look(session.door(Need::Runner)?)?;
    if session.is_json() {
        let queue = |view: &QueueView| shapes::queue(&view.row, view.reason.as_deref());
        session.json(&json!({
            "stats": shapes::stats(&seen.stats),
            "queues": seen.queues.iter().map(queue).collect::<Value>(),
            "running": seen.running.iter().map(running).collect::<Value>(),
            "failing": seen.failing.iter().map(shapes::job_row).collect::<Value>(),
            "dead": seen.dead.iter().map(dead::row).collect::<Value>(),
        }))?;
        return Ok(Exit::Done);
    }
    let mut shown = stats::shown(&seen.stats);
    for tab in Tab::ALL {
        let columns = rows::columns(tab);
        let titles: Vec<&str> = columns.iter().map(|column| column.title).collect();
        let numbers = columns
            .iter()
            .enumerate()
            .filter(|(_, column)| column.is_right);
        let numbers: Vec<usize> = numbers.map(|(place, _)| place).collect();
        // One look has no rates.
        let rows = rows::of(tab, &seen, &Rates::default(), wall());
        let rows = rows.into_iter().map(|row| row.cells);
        let table = text::table(&titles, &numbers, rows);
        shown += &format!("\n{}\n{table}\n", tab.name());
    }
    session.say(&shown)?;
    Ok(Exit::Done)
}

fn running(running: &Running) -> Value {
    let mut value = shapes::job_row(&running.row);
    value["worker"] = running.worker.into();
    value["progress"] = json!(running.progress);
    value
}
