//! The figures for a person, for a program, and as a picture.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{
    Wanted,
    figures::{Figures, Round},
};
use crate::{
    cli::{rooms::Measure, text},
    figures::{Axis, Plot, Series, median, percent, short, spread},
};

pub(super) fn table(measure: &dyn Measure, wanted: &Wanted, figures: &Figures) -> String {
    let mut shown = format!(
        "{}, kind {}, payload of {}: {} of {} on {}, in turns with as many bare attempts\ndurability {}, log on the disk of {}\n\n",
        text::plain(&wanted.file.to_string_lossy()),
        text::plain(&wanted.trial.kind),
        text::size(wanted.payload_bytes as u64),
        text::count(wanted.rounds as u64, "round"),
        text::count(wanted.jobs as u64, "job"),
        text::count(figures.0[0].drained.workers as u64, "worker"),
        wanted.durability.name(),
        text::plain(&measure.place().to_string_lossy()),
    );
    let row = |name: &str, runner: fn(&Round) -> f64, bare: fn(&Round) -> f64| {
        let (runner, bare) = (figures.each(runner), figures.each(bare));
        vec![
            name.to_owned(),
            short(median(&runner)),
            percent(spread(&runner)),
            short(median(&bare)),
            percent(spread(&bare)),
            format!("{:.2}", median(&ratios(&runner, &bare))),
        ]
    };
    let header = ["", "RUNNER", "SPREAD", "BARE", "SPREAD", "RATIO"];
    shown += &text::table(
        &header,
        &[1, 2, 3, 4, 5],
        [
            row("jobs a second", Round::rate, Round::bare_rate),
            row("µs of a worker for a job", Round::us, Round::bare_us),
        ],
    );
    let own = figures.each(|round| round.us() - round.bare_us());
    let _ = write!(
        shown,
        "\n\nthe runner's own: {} µs of a worker for a job {}\n\nwhere they go, in µs\n",
        short(median(&own)),
        spread_told(&own),
    );
    for part in figures.parts() {
        let _ = writeln!(shown, "  {:<24} {:>9}", part.name, short(part.us));
    }
    if figures.overlaps() {
        shown += "handlers wait, and attempts of a worker run beside each other meanwhile: the parts are more than the whole\n";
    }
    let (answered, together, synced) = figures.reports();
    let _ = write!(
        shown,
        "\na report on {} jobs was answered after {} ms",
        short(together),
        short(answered)
    );
    let _ = match synced {
        Some(synced) => writeln!(
            shown,
            ", and a sync of the log was for {} jobs; no worker waits for that",
            short(synced)
        ),
        None => writeln!(shown, ", without a sync of the log"),
    };
    shown
}

fn spread_told(of: &[f64]) -> String {
    let spread = percent(spread(of));
    match spread.is_empty() {
        true => spread,
        false => format!("(spread {spread})"),
    }
}

fn ratios(runner: &[f64], bare: &[f64]) -> Vec<f64> {
    runner
        .iter()
        .zip(bare)
        .map(|(ours, bare)| ours / bare)
        .collect()
}

pub(super) fn shape(measure: &dyn Measure, wanted: &Wanted, figures: &Figures) -> Value {
    let pair = |runner: fn(&Round) -> f64, bare: fn(&Round) -> f64| {
        let (runner, bare) = (figures.each(runner), figures.each(bare));
        json!({
            "runner": median(&runner),
            "runner_spread": spread(&runner),
            "bare": median(&bare),
            "bare_spread": spread(&bare),
            "ratio": median(&ratios(&runner, &bare)),
        })
    };
    let parts = figures.parts();
    let parts = parts.map(|part| (part.key.to_owned(), json!(part.us)));
    let rounds = figures.0.iter().map(|round| {
        json!({
            "jobs_per_second": round.rate(),
            "us": round.us(),
            "bare_jobs_per_second": round.bare_rate(),
            "bare_us": round.bare_us(),
        })
    });
    let (answered, together, synced) = figures.reports();
    json!({
        "file": wanted.file,
        "plugin": measure.plugin().name,
        "digest": measure.plugin().digest,
        "kind": wanted.trial.kind,
        "payload_bytes": wanted.payload_bytes,
        "durability": wanted.durability.name(),
        "place": measure.place(),
        "workers": figures.0[0].drained.workers,
        "jobs": wanted.jobs,
        "jobs_per_second": pair(Round::rate, Round::bare_rate),
        "us": pair(Round::us, Round::bare_us),
        "parts_us": serde_json::Map::from_iter(parts),
        "overlaps": figures.overlaps(),
        "reports": { "jobs": together, "answered_ms": answered, "jobs_for_a_sync": synced },
        "rounds": rounds.collect::<Value>(),
    })
}

pub(super) fn plot(wanted: &Wanted, figures: &Figures) -> String {
    let line = |name: &str, figure: fn(&Round) -> f64| {
        let points = figures.each(figure).into_iter().enumerate();
        Series {
            name: name.to_owned(),
            points: points
                .map(|(number, rate)| (number as f64 + 1.0, rate))
                .collect(),
        }
    };
    Plot {
        title: &format!(
            "{}: {} jobs a round, durability {}",
            wanted.trial.kind,
            wanted.jobs,
            wanted.durability.name()
        ),
        along: Axis {
            name: "round",
            by_tens: false,
        },
        up: Axis {
            name: "jobs a second",
            by_tens: false,
        },
        lines: vec![
            line("runner", Round::rate),
            line("bare attempts", Round::bare_rate),
        ],
    }
    .svg()
}
