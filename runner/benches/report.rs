//! The figures: a table for a person, JSON for a program.

use std::fmt::Write as _;

use sandhog::figures::{Axis, Plot, Series, median, percent, short, spread};
use serde_json::{Value, json};

/// What a ratio is to be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Goal {
    /// Of the product's figure to the bare one.
    AtLeast(f64),
    AtMost(f64),
    /// Of the product's figure itself, in its unit.
    FigureAtMost(f64),
    Information,
}

/// One figure.
pub(crate) struct Line {
    name: String,
    setting: String,
    unit: &'static str,
    product: Vec<f64>,
    bare: Vec<f64>,
    goal: Goal,
}

impl Line {
    /// What was measured in which durability setting, a value a round.
    pub(crate) fn new(name: &str, setting: &str, unit: &'static str, product: Vec<f64>) -> Self {
        Self {
            name: name.to_owned(),
            setting: setting.to_owned(),
            unit,
            product,
            bare: Vec::new(),
            goal: Goal::Information,
        }
    }

    /// What the baseline gave.
    pub(crate) fn beside(self, bare: Vec<f64>) -> Self {
        Self { bare, ..self }
    }

    /// What is to be reached.
    pub(crate) fn goal(self, goal: Goal) -> Self {
        Self { goal, ..self }
    }

    /// The median of the ratios of each round: what slows the machine slows both.
    fn ratio(&self) -> Option<f64> {
        let ratios = self.ratios();
        (!ratios.is_empty()).then(|| median(&ratios))
    }

    fn ratios(&self) -> Vec<f64> {
        let rounds = self.product.iter().zip(&self.bare);
        rounds.map(|(product, bare)| product / bare).collect()
    }

    fn met(&self) -> Option<bool> {
        match self.goal {
            Goal::AtLeast(least) => Some(self.ratio()? >= least),
            Goal::AtMost(most) => Some(self.ratio()? <= most),
            Goal::FigureAtMost(most) => Some(median(&self.product) <= most),
            Goal::Information => None,
        }
    }

    fn goal_words(&self) -> String {
        match self.goal {
            Goal::AtLeast(least) => format!(">= {least}"),
            Goal::AtMost(most) => format!("<= {most}"),
            Goal::FigureAtMost(most) => format!("<= {most} {}", self.unit),
            Goal::Information => String::new(),
        }
    }
}

/// All figures of a run.
pub(crate) struct Report {
    bench: &'static str,
    jobs: usize,
    rounds: usize,
    lines: Vec<Line>,
    /// What grows with the jobs that wait.
    growth: Vec<Series>,
}

impl Report {
    pub(crate) fn new(bench: &'static str, jobs: usize, rounds: usize) -> Self {
        Self {
            bench,
            jobs,
            rounds,
            lines: Vec::new(),
            growth: Vec::new(),
        }
    }

    /// Take in a point of a curve: a figure, with its unit, beside so many waiting jobs.
    pub(crate) fn grows(&mut self, name: &str, waiting: usize, figure: f64) {
        let point = (waiting as f64, figure);
        match self.growth.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push(point),
            None => self.growth.push(Series {
                name: name.to_owned(),
                points: vec![point],
            }),
        }
    }

    /// The curves, or the ratio of each round where there are none.
    pub(crate) fn plot(&self) -> String {
        let grows = !self.growth.is_empty();
        let rounds = || {
            let compared = self.lines.iter().filter(|line| !line.bare.is_empty());
            let points = |line: &Line| {
                let ratios = line.ratios().into_iter().enumerate();
                ratios
                    .map(|(round, ratio)| (round as f64 + 1.0, ratio))
                    .collect()
            };
            compared
                .map(|line| Series {
                    name: line.name.trim().to_owned(),
                    points: points(line),
                })
                .collect()
        };
        let (along, up) = match grows {
            true => ("waiting jobs", "in the unit of each line"),
            false => ("round", "ratio of the product to the baseline"),
        };
        let axis = |name| Axis {
            name,
            by_tens: grows,
        };
        Plot {
            title: &format!("bench {}", self.bench),
            along: axis(along),
            up: axis(up),
            lines: if grows { self.growth.clone() } else { rounds() },
        }
        .svg()
    }

    /// Whether every figure is one, for a test that has no time to measure.
    pub(crate) fn is_sound(&self) -> Result<(), String> {
        let all = |line: &Line| {
            let mut figures = line.product.iter().chain(&line.bare);
            !line.product.is_empty() && figures.all(|figure| figure.is_finite())
        };
        if self.lines.is_empty() {
            return Err("it gave no figure".to_owned());
        }
        match self.lines.iter().find(|line| !all(line)) {
            Some(line) => Err(format!("{}: {:?} {:?}", line.name, line.product, line.bare)),
            None if self.table().lines().count() != self.lines.len() + 2 => Err(self.table()),
            None if !self.plot().starts_with("<svg ") => Err(self.plot()),
            None => Ok(()),
        }
    }

    /// Take a figure in.
    pub(crate) fn push(&mut self, line: Line) {
        eprintln!(
            "  {}: {} {}",
            line.name,
            short(median(&line.product)),
            line.unit
        );
        self.lines.push(line);
    }

    /// The table, one figure a line.
    pub(crate) fn table(&self) -> String {
        let mut rows = vec![
            [
                "figure", "setting", "product", "spread", "bare", "spread", "ratio", "goal", "",
            ]
            .map(str::to_owned),
        ];
        for line in &self.lines {
            let with_unit = |of: &[f64]| match of {
                [] => String::new(),
                of => format!("{} {}", short(median(of)), line.unit),
            };
            rows.push([
                line.name.clone(),
                line.setting.clone(),
                with_unit(&line.product),
                percent(spread(&line.product)),
                with_unit(&line.bare),
                percent(spread(&line.bare)),
                line.ratio()
                    .map_or_else(String::new, |ratio| format!("{ratio:.2}")),
                line.goal_words(),
                match line.met() {
                    Some(true) => "met".to_owned(),
                    Some(false) => "MISSED".to_owned(),
                    None => String::new(),
                },
            ]);
        }
        let width = |column: usize| {
            let widths = rows.iter().map(|row| row[column].chars().count());
            widths.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..9).map(width).collect();
        let mut table = format!(
            "{}: {} jobs, {} rounds of product and baseline in turns; medians, spread = largest minus \
             smallest over median, ratio = median of the rounds' ratios, page cache warm\n",
            self.bench, self.jobs, self.rounds
        );
        for row in &rows {
            let mut text = String::new();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                // Words to the left, numbers to the right.
                let _ = if matches!(column, 0 | 1 | 7 | 8) {
                    write!(text, "{cell:<width$}  ")
                } else {
                    write!(text, "{cell:>width$}  ")
                };
            }
            table.push_str(text.trim_end());
            table.push('\n');
        }
        table
    }

    /// The same for a program.
    pub(crate) fn json(&self) -> Value {
        let lines: Vec<Value> = self
            .lines
            .iter()
            .map(|line| {
                json!({
                    "figure": line.name.trim(),
                    "setting": line.setting,
                    "unit": line.unit,
                    "product": line.product,
                    "bare": line.bare,
                    "ratio": line.ratio(),
                    "goal": line.goal_words(),
                    "met": line.met(),
                })
            })
            .collect();
        json!({"bench": self.bench, "jobs": self.jobs, "rounds": self.rounds, "figures": lines})
    }
}
