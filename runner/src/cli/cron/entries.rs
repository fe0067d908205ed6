//! The schedules that there are.

use sandhog_model::UnixMs;

use super::{
    super::{
        exit::{Exit, Outcome},
        session::{Session, ask, wall},
        text,
        when::rfc3339,
    },
    shapes,
};
use crate::api::{ActedOnCron, CronAct, CronView, Request};

pub(super) fn list(session: &mut Session<'_, '_>) -> Outcome<Exit> {
    let crons = ask!(session, Request::Crons, Crons);
    if session.is_json() {
        session.json(&crons.iter().map(shapes::entry).collect())?;
    } else {
        session.say(&table(&crons))?;
    }
    Ok(Exit::Done)
}

pub(super) fn act(session: &mut Session<'_, '_>, name: String, act: CronAct) -> Outcome<Exit> {
    let shown = text::plain(&name).into_owned();
    let acted = ask!(session, Request::ActOnCron { name, act }, ActedOnCron);
    if session.is_json() {
        session.json(&shapes::acted(&acted))?;
        return Ok(Exit::Done);
    }
    let ActedOnCron { view, job } = *acted;
    let said = match (job, &view) {
        (Some(job), _) => job.text(),
        (None, None) => format!("{shown}: taken away"),
        (None, Some(view)) => match (&view.state.paused, view.next) {
            (Some(_), _) => format!("{shown}: paused"),
            (None, Some(next)) => format!("{shown}: next at {}", rfc3339(next)),
            (None, None) => format!("{shown}: no slot to come"),
        },
    };
    session.say(&said)?;
    Ok(Exit::Done)
}

fn table(crons: &[CronView]) -> String {
    let header = [
        "NAME",
        "SCHEDULE",
        "ZONE",
        "KIND",
        "NEXT",
        "LAST SLOT",
        "LATEST JOB",
        "NOTE",
    ];
    text::table(&header, &[], crons.iter().map(row))
}

fn row(view: &CronView) -> Vec<String> {
    let at = |at: Option<UnixMs>| at.map(rfc3339).unwrap_or_default();
    let does = |part: fn(&crate::api::CronDoes) -> &str| {
        let part = view.does.as_ref().map(part);
        text::cell(part.unwrap_or("?"))
    };
    let latest = match (view.latest, view.state.latest) {
        (Some(state), Some(id)) => format!("{id} {state}"),
        (None, Some(id)) => id.text(),
        (_, None) => String::new(),
    };
    vec![
        text::cell(&view.name),
        does(|does| &does.schedule),
        does(|does| &does.zone),
        does(|does| &does.kind),
        at(view.next),
        at(view.state.slot),
        latest,
        note(view),
    ]
}

fn note(view: &CronView) -> String {
    let mut parts = Vec::new();
    if let Some(fault) = &view.fault {
        parts.push(format!("does not run: {fault}"));
    }
    if let Some(paused) = &view.state.paused {
        let since = text::ago(paused.at, wall());
        let why = paused.reason.as_ref().map(|why| format!(": {why}"));
        let why = why.unwrap_or_default();
        parts.push(format!("paused since {since} by {}{why}", paused.by));
    }
    if let Some(slot) = view.state.waiting {
        parts.push(format!("the slot at {} waits for the job", rfc3339(slot)));
    }
    if view.is_added {
        parts.push("added".to_owned());
    }
    text::cell(&parts.join("; "))
}
