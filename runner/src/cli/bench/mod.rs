//! `sandhog bench`: a handler measured by a runner of its own, in turns with attempts that have nothing around them.

mod figures;
mod show;

use std::{path::PathBuf, sync::Arc};

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};

use super::{
    enqueue::{Given, read_payload},
    exit::{Exit, Fault, Outcome},
    file,
    interrupt::Interrupt,
    plugin::{chosen, kinds, present},
    rooms::{Measure, Trial},
    session::Session,
};
use crate::{config::Durability, plugin::Live};
use figures::{Figures, Round};

#[derive(Debug, Args)]
pub(super) struct BenchArgs {
    /// The component
    #[arg(long, value_name = "FILE")]
    plugin: PathBuf,
    /// The kind to run [default: the only one it serves]
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    #[command(flatten)]
    given: Given,
    /// The payload itself, as an option
    #[arg(
        long = "payload",
        id = "text",
        value_name = "PAYLOAD",
        group = "source"
    )]
    text: Option<String>,
    /// Jobs in a round
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    jobs: u32,
    /// Rounds of each, in turns
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    rounds: u32,
    /// What the report of a job waits for [default: `store.durability` of the settings]
    #[arg(long, value_name = "WHAT", value_parser = durability())]
    durability: Option<Durability>,
    /// Draw the rounds into this file, as SVG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

fn durability() -> impl TypedValueParser<Value = Durability> {
    PossibleValuesParser::new(Durability::ALL.map(Durability::name))
        .map(|name| Durability::named(&name).expect("it is one of the names"))
}

/// What is measured.
struct Wanted {
    trial: Trial,
    file: PathBuf,
    payload_bytes: usize,
    jobs: usize,
    rounds: usize,
    durability: Durability,
}

pub(super) fn run(session: &mut Session<'_, '_>, mut args: BenchArgs) -> Outcome<Exit> {
    if let Some(payload) = args.text.take() {
        args.given.payload = Some(payload);
    }
    present(&args.plugin)?;
    let payload = read_payload(session.io.input, &args.given)?;
    if let Some(doubt) = &payload.doubt {
        session.note(doubt);
    }
    let mut config = session.config.clone();
    config.store.durability = args.durability.unwrap_or(config.store.durability);
    // From here on a signal ends it with its folder removed.
    let interrupt = Interrupt::listen();
    if session.io.err_is_terminal {
        session.note("compiling …");
    }
    let measure = session.rooms.measure(&config, &args.plugin)?;
    let served = kinds(measure.plugin());
    let place = chosen(&served, args.kind.as_deref()).map_err(Fault::usage)?;
    let wanted = Wanted {
        payload_bytes: payload.bytes.len(),
        trial: Trial {
            kind: served[place].to_owned(),
            payload: payload.bytes,
            content_type: payload.content_type,
            headers: args.given.headers,
            live: Arc::new(Live::default()),
        },
        file: args.plugin,
        jobs: args.jobs as usize,
        rounds: args.rounds as usize,
        durability: config.store.durability,
    };
    let live = Arc::clone(&wanted.trial.live);
    let figures = interrupt.during(
        move || live.interrupt(),
        || measured(session, measure.as_ref(), &wanted),
    )?;
    if let Some(path) = &args.plot {
        file::replace(path, show::plot(&wanted, &figures).as_bytes())?;
    }
    if session.is_json() {
        session.json(&show::shape(measure.as_ref(), &wanted, &figures))?;
    } else {
        session.say(&show::table(measure.as_ref(), &wanted, &figures))?;
    }
    Ok(Exit::Done)
}

/// All rounds. Who goes first changes, so that neither always meets what the other left.
fn measured(
    session: &mut Session<'_, '_>,
    measure: &dyn Measure,
    wanted: &Wanted,
) -> Outcome<Figures> {
    let Wanted { trial, jobs, .. } = wanted;
    let mut rounds = Vec::new();
    for number in 0..wanted.rounds {
        if session.io.err_is_terminal {
            session.note(&format!("round {} of {}", number + 1, wanted.rounds));
        }
        let (drained, bare) = if number % 2 == 0 {
            let drained = measure.drain(trial, *jobs)?;
            (drained, measure.bare(trial, *jobs)?)
        } else {
            let bare = measure.bare(trial, *jobs)?;
            (measure.drain(trial, *jobs)?, bare)
        };
        rounds.push(Round { drained, bare });
    }
    Ok(Figures(rounds))
}
