//! `sandhog worker`.

use serde_json::json;

use super::{
    args::WorkerCommand,
    door::Need,
    exit::{Exit, Outcome},
    session::{Session, ask},
    text,
};
use crate::{
    api::{Request, WorkersAct},
    engine::{Mode, WorkerRow},
};

pub(super) fn run(session: &mut Session<'_, '_>, command: WorkerCommand) -> Outcome<Exit> {
    session.door(Need::Runner)?;
    match command {
        WorkerCommand::Ls => list(session),
        WorkerCommand::Quiet => act(session, WorkersAct::Quiet),
        WorkerCommand::Resume => act(session, WorkersAct::Resume),
        WorkerCommand::Stop => act(session, WorkersAct::Stop),
    }
}

fn list(session: &mut Session<'_, '_>) -> Outcome<Exit> {
    let workers = ask!(session, Request::Workers, Workers);
    if session.is_json() {
        session.json(&json!(workers))?;
    } else {
        session.say(&table(&workers))?;
    }
    Ok(Exit::Done)
}

fn act(session: &mut Session<'_, '_>, act: WorkersAct) -> Outcome<Exit> {
    let mode = ask!(session, Request::ActOnWorkers { act }, ActedOnWorkers);
    if session.is_json() {
        session.json(&json!({ "mode": mode }))?;
        return Ok(Exit::Done);
    }
    session.say(match mode {
        Mode::Running => "running: jobs are claimed",
        Mode::Quiet => "quiet: no new jobs are claimed until `sandhog worker resume`",
        Mode::Stopping => "stopping: no new jobs are claimed, and the runner ends when none runs",
    })?;
    Ok(Exit::Done)
}

fn table(workers: &[WorkerRow]) -> String {
    let rows = workers.iter().map(|worker| {
        let running: Vec<String> = worker.running.iter().map(|id| id.text()).collect();
        vec![
            worker.number.to_string(),
            worker.slots.to_string(),
            worker.ended.to_string(),
            running.join(" "),
        ]
    });
    text::table(&["WORKER", "SLOTS", "ENDED", "RUNS"], &[0, 1, 2], rows)
}
