//! `sandhog plugin test`: a handler's own tests, then its samples in the sandbox they will run in.

use std::{path::PathBuf, sync::Arc, time::Instant};

use serde_json::{Value, json};

use super::{
    build::{self, Component},
    sample::{self, Sample},
    trial::{fine_span, outcome_name},
};
use crate::{
    cli::{
        exit::{Exit, Fault, Outcome},
        rooms::{Trial, Tryout},
        session::Session,
        text,
    },
    plugin::{Live, Tried},
};

/// A sample that was tried.
struct Row {
    name: String,
    kind: String,
    tried: Tried,
    differences: Vec<String>,
}

pub(super) fn run(session: &mut Session<'_, '_>, dir: Option<PathBuf>) -> Outcome<Exit> {
    let dir = dir.unwrap_or_else(|| PathBuf::from("."));
    // A sample with a mistake is found before minutes of building.
    let samples = sample::of(&dir).map_err(|error| Fault::new(Exit::Usage, error))?;
    let started = Instant::now();
    build::native_tests(&dir)?;
    let took = started.elapsed().as_millis() as u64;
    session.note(&format!(
        "the handler's own tests passed in {}",
        text::span(took)
    ));
    let components = build::build(session, &dir, None)?;
    let mut tryouts = Vec::new();
    for one in &components {
        tryouts.push(session.rooms.tryout(&session.config, &one.file)?);
    }
    let mut rows = Vec::new();
    for (name, sample) in samples {
        rows.push(try_one(name, &sample, &tryouts)?);
    }
    show(session, &components, &tryouts, &rows)?;
    Ok(match rows.iter().all(|row| row.differences.is_empty()) {
        true => Exit::Done,
        false => Exit::Failed,
    })
}

fn try_one(name: String, sample: &Sample, tryouts: &[Box<dyn Tryout>]) -> Outcome<Row> {
    let wrong = |why: String| Fault::usage(format!("samples/{name}.json: {why}"));
    let (tryout, kind) = super::serving(tryouts, sample.kind.as_deref()).map_err(wrong)?;
    let (payload, content_type) = sample
        .payload()
        .map_err(|error| wrong(format!("{error:#}")))?;
    let tried = tryout.run(Trial {
        kind: kind.clone(),
        payload,
        content_type,
        headers: sample.headers(),
        live: Arc::new(Live::default()),
    })?;
    let differences = sample.differences(&tried.report);
    Ok(Row {
        name,
        kind,
        tried,
        differences,
    })
}

fn show(
    session: &mut Session<'_, '_>,
    components: &[Component],
    tryouts: &[Box<dyn Tryout>],
    rows: &[Row],
) -> Outcome<()> {
    if session.is_json() {
        let components = components
            .iter()
            .map(|one| json!({ "name": one.name, "file": one.file, "size": one.size }));
        let samples = rows.iter().map(|row| {
            json!({
                "name": row.name,
                "kind": row.kind,
                "outcome": outcome_name(&row.tried.report.outcome),
                "duration_us": row.tried.report.attempt.duration_us,
                "differences": row.differences,
            })
        });
        let passed = rows.iter().all(|row| row.differences.is_empty());
        return session.json(&json!({
            "components": components.collect::<Value>(),
            "samples": samples.collect::<Value>(),
            "passed": passed,
        }));
    }
    for (one, tryout) in components.iter().zip(tryouts) {
        session.say(&format!(
            "{}: {}, serves {}",
            one.file.display(),
            text::size(one.size),
            text::plain(&super::kinds(tryout.plugin()).join(", "))
        ))?;
    }
    for Row {
        name,
        tried,
        differences,
        ..
    } in rows
    {
        let took = fine_span(tried.report.attempt.duration_us);
        let outcome = outcome_name(&tried.report.outcome);
        if differences.is_empty() {
            session.say(&format!("sample {name}: as expected, {outcome} in {took}"))?;
        }
        for difference in differences {
            let difference = text::plain(difference);
            session.say(&format!("sample {name}: NOT as expected: {difference}"))?;
        }
    }
    if rows.is_empty() {
        session.note(
            "no sample was tried: put a job and what is to come of it into samples/NAME.json, such as \
             {\"payload\": {\"name\": \"Ada\"}, \"expect\": {\"outcome\": \"completed\"}}",
        );
    }
    Ok(())
}
