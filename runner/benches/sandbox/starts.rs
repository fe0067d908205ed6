//! A start with many plugins whose code is cached.

use std::time::Instant;

use sandhog::plugin::Plugins;

use crate::{
    command::Wanted,
    guests, product,
    report::{Goal, Line, Report},
    stage::Place,
};

/// Plugins in the folder.
const PLUGINS: usize = 50;
/// Milliseconds until all of them are served.
const READY_MS: f64 = 100.0;

pub(crate) fn measure(place: &Place, wanted: &Wanted, report: &mut Report) -> Result<(), String> {
    let dir = place.fresh("starts")?;
    for number in 0..PLUGINS {
        product::lay(&dir, &format!("p{number}"), &guests::padded(number))?;
    }
    let mut seconds = Vec::new();
    let mut first = Vec::new();
    for round in 0..=wanted.rounds {
        let start = Instant::now();
        let registry = product::registry(&dir)?;
        let ms = start.elapsed().as_secs_f64() * 1e3;
        let catalog = registry.catalog();
        if catalog.plugins.len() != PLUGINS {
            return Err(format!("not all are served: {:?}", catalog.problems));
        }
        if round == 0 { &mut first } else { &mut seconds }.push(ms);
    }
    let name = format!("first start with {PLUGINS} plugins");
    report.push(Line::new(&name, "nothing cached", "ms", first));
    let name = format!("second start with {PLUGINS} plugins");
    report.push(Line::new(&name, "all cached", "ms", seconds).goal(Goal::FigureAtMost(READY_MS)));
    Ok(())
}
