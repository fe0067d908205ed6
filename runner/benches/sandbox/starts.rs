//! A start with many plugins whose code is cached.

use std::{path::Path, time::Instant};

use sandhog::plugin::Plugins;
use sha2::{Digest, Sha256};

use super::{guests, product};
use crate::{
    command::Size,
    report::{Goal, Line, Report},
    stage::{self, Place},
};

/// Milliseconds until so many plugins are served that were before.
const READY: (usize, f64) = (50, 100.0);

pub(crate) fn measure(place: &Place, wanted: &Size, report: &mut Report) -> Result<(), String> {
    let plugins = wanted.plugins;
    let dir = place.fresh("starts")?;
    for number in 0..plugins {
        product::lay(&dir, &format!("p{number}"), &guests::padded(number))?;
    }
    let (mut first, mut second, mut bares) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=wanted.rounds {
        let start = Instant::now();
        let registry = product::registry(&dir)?;
        let ms = start.elapsed().as_secs_f64() * 1e3;
        let catalog = registry.catalog();
        if catalog.plugins.len() != plugins {
            return Err(format!("not all are served: {:?}", catalog.problems));
        }
        if round == 0 {
            first.push(ms);
        } else {
            second.push(ms);
            bares.push(known(&dir.join("plugins"))?);
        }
    }
    let name = format!("first start with {plugins} plugins");
    report.push(Line::new(&name, "nothing cached", "ms", first));
    let name = format!("second start with {plugins} plugins");
    let (most, ms) = READY;
    let goal = match plugins <= most {
        true => Goal::FigureAtMost(ms),
        false => Goal::Information,
    };
    report.push(
        Line::new(&name, "all cached", "ms", second)
            .beside(bares)
            .goal(goal),
    );
    stage::clear(&dir)
}

/// Milliseconds to read every component and take its digest: the least from which one can know that its code is there.
fn known(plugins: &Path) -> Result<f64, String> {
    let start = Instant::now();
    for (path, _) in stage::files(plugins)? {
        let bytes = std::fs::read(&path);
        let bytes = bytes.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        std::hint::black_box(Sha256::digest(&bytes));
    }
    Ok(start.elapsed().as_secs_f64() * 1e3)
}
