//! What it costs a drain that many kinds are served, of which one has jobs.

use std::fmt::Write as _;

use sandhog::plugin::Live;
use sandhog_kit::hand_made::HandMade;

use super::stand;
use crate::{
    command::Size,
    report::{Goal, Line, Report},
    sandbox::guests::Guest,
    stage::Place,
};

/// What is to be left of the rate beside one kind.
const SHARE: f64 = 0.8;
/// Jobs in a round at most: a drain with many kinds is compared with one, not with another machine.
const JOBS: usize = 50_000;
/// The kind that has jobs. It is the last by name.
const KIND: &str = "z-hand-made";

pub(crate) fn measure(place: &Place, wanted: &Size, report: &mut Report) -> Result<(), String> {
    let jobs = wanted.count.min(JOBS);
    let config = stand::settings(&format!(
        "[runner]\nworkers = 1\nslots = {}\n[limits]\nmemory = \"16MiB\"\n[store]\ndurability = \"none\"\n",
        wanted.slots
    ))?;
    let (many, one) = (place.fresh("many-kinds")?, place.fresh("one-kind")?);
    let stands = [
        stand::of(&many, &guest(wanted.plugins), &config)?,
        stand::of(&one, &guest(1), &config)?,
    ];
    let mut rates = [Vec::new(), Vec::new()];
    for round in 0..wanted.rounds {
        // Who goes first changes, so that neither always meets what the other left.
        for who in [round % 2, 1 - round % 2] {
            let drained = stands[who].drain(&stand::job(KIND), jobs, &Live::default());
            let drained = drained.map_err(stand::told)?;
            rates[who].push(drained.jobs as f64 / drained.seconds);
        }
    }
    let [rates, beside] = rates;
    let name = format!("jobs/s, {} kinds served beside one", wanted.plugins);
    let setting = format!("none, 1 × {} slots", wanted.slots);
    let line = Line::new(&name, &setting, "1/s", rates).beside(beside);
    report.push(line.goal(Goal::AtLeast(SHARE)));
    let [first, second] = stands;
    stand::clear(first, &many)?;
    stand::clear(second, &one)
}

/// A component of so many kinds.
fn guest(kinds: usize) -> Guest {
    let mut listed = format!(r#"{{"kind":"{KIND}"}}"#);
    for number in 1..kinds {
        let _ = write!(listed, r#",{{"kind":"kind-{number}"}}"#);
    }
    let describe = format!(r#"{{"schema":1,"kinds":[{listed}]}}"#);
    let bytes = HandMade {
        describe: &describe,
        // Out of the way of so long a description.
        realloc: "(return (i32.const 49152))",
        ..HandMade::PLAIN
    }
    .bytes();
    Guest {
        name: "hand-made",
        kind: KIND,
        bytes,
    }
}
