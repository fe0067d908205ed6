//! The figures: a table for a person, JSON for a program.

use std::fmt::Write as _;

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
        let ratios: Vec<f64> = self
            .product
            .iter()
            .zip(&self.bare)
            .map(|(product, bare)| product / bare)
            .collect();
        (!ratios.is_empty()).then(|| median(&ratios))
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
    jobs: usize,
    rounds: usize,
    lines: Vec<Line>,
}

impl Report {
    pub(crate) fn new(jobs: usize, rounds: usize) -> Self {
        Self {
            jobs,
            rounds,
            lines: Vec::new(),
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
                spread(&line.product),
                with_unit(&line.bare),
                spread(&line.bare),
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
            "{} jobs, {} rounds of product and baseline in turns; medians, spread = largest minus \
             smallest over median, ratio = median of the rounds' ratios, page cache warm\n",
            self.jobs, self.rounds
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
    pub(crate) fn json(&self) -> String {
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
        let report = json!({"jobs": self.jobs, "rounds": self.rounds, "figures": lines});
        format!("{report:#}\n")
    }
}

fn median(of: &[f64]) -> f64 {
    let mut sorted = of.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[odd / 2],
        even => f64::midpoint(sorted[even / 2 - 1], sorted[even / 2]),
    }
}

fn spread(of: &[f64]) -> String {
    if of.len() < 2 {
        return String::new();
    }
    let largest = of.iter().copied().fold(f64::MIN, f64::max);
    let smallest = of.iter().copied().fold(f64::MAX, f64::min);
    format!("{:.0}%", (largest - smallest) / median(of) * 100.0)
}

fn short(figure: f64) -> String {
    match figure.abs() {
        large if large >= 10_000.0 => format!("{:.1}k", figure / 1000.0),
        medium if medium >= 100.0 => format!("{figure:.0}"),
        _ => format!("{figure:.2}"),
    }
}
