//! Lines over time as a picture that no script is needed for, with its numbers as a table.

use maud::{Markup, html};

use crate::figures::{round_up, stroke};

/// The picture's own measures; it is stretched to its place.
const WIDTH: f64 = 1_000.0;
const HEIGHT: f64 = 150.0;

/// Lines over the same spans of time.
pub(super) struct Chart<'c> {
    /// Unlike any other chart's on its page.
    pub(super) id: &'static str,
    pub(super) title: &'c str,
    /// The spans by their beginnings, as people read them.
    pub(super) spans: &'c [String],
    pub(super) lines: &'c [Line],
    /// A value with its unit.
    pub(super) told: fn(f64) -> String,
}

/// A line: where there is no value it is interrupted.
pub(super) struct Line {
    pub(super) name: &'static str,
    /// How it is drawn.
    pub(super) class: &'static str,
    pub(super) values: Vec<Option<f64>>,
}

impl Line {
    fn most(&self) -> f64 {
        self.values.iter().flatten().copied().fold(0.0, f64::max)
    }

    /// The line as a path, interrupted where there is no value.
    fn path(&self, top: f64) -> String {
        let step = WIDTH / self.values.len().max(1) as f64;
        stroke(self.values.iter().enumerate().map(|(place, value)| {
            let y = HEIGHT - (*value)? / top * (HEIGHT - 4.0) - 2.0;
            Some(((place as f64 + 0.5) * step, y))
        }))
    }
}

/// The picture, what its lines are, and the spans in which something happened as a table.
pub(super) fn chart(chart: &Chart<'_>) -> Markup {
    let most = chart.lines.iter().map(Line::most).fold(0.0, f64::max);
    let top = round_up(most);
    let told: Vec<String> = chart
        .lines
        .iter()
        .map(|line| format!("{} at most {}", line.name, (chart.told)(line.most())))
        .collect();
    let label = format!("{}: {}", chart.title, told.join(", "));
    let ends = [chart.spans.first(), chart.spans.last()];
    html! {
        figure.chart {
            figcaption { b { (chart.title) } @for line in chart.lines { span.key.(line.class) { (line.name) } } }
            div.plot {
                div.axis.up aria-hidden="true" { span { ((chart.told)(top)) } span { ((chart.told)(0.0)) } }
                svg.lines viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none" role="img" aria-label=(label) {
                    @for part in [0.0, 0.5, 1.0] {
                        line.grid x1="0" x2=(WIDTH) y1=(HEIGHT * part) y2=(HEIGHT * part) {}
                    }
                    @for line in chart.lines { path.(line.class) d=(line.path(top)) {} }
                }
            }
            div.axis.along aria-hidden="true" { @for end in ends.into_iter().flatten() { span { (end) } } }
            (table(chart))
        }
    }
}

fn table(chart: &Chart<'_>) -> Markup {
    let spans = chart.spans.iter().enumerate().rev();
    let rows: Vec<(&String, Vec<Option<f64>>)> = spans
        .map(|(place, span)| {
            let values = chart
                .lines
                .iter()
                .map(|line| line.values.get(place).copied().flatten());
            (span, values.collect())
        })
        .filter(|(_, values): &(_, Vec<Option<f64>>)| {
            values.iter().flatten().any(|value| *value > 0.0)
        })
        .collect();
    html! {
        @if rows.is_empty() { p.soft { "Nothing happened." } }
        @else {
            details #(chart.id) {
                summary { "As a table" }
                div.scroll { table {
                    thead { tr { th { "From" } @for line in chart.lines { th.number { (line.name) } } } }
                    tbody { @for (span, values) in rows {
                        tr { td { (span) } @for value in values { td.number { @if let Some(value) = value { ((chart.told)(value)) } } } }
                    } }
                } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_interrupted_where_there_is_nothing_and_stay_in_the_picture() {
        let line = Line {
            name: "a",
            class: "one",
            values: vec![Some(0.0), Some(10.0), None, Some(5.0), None],
        };
        assert_eq!(line.path(10.0), "M100.0 148.0L300.0 2.0M700.0 75.0m-4 0h8");
        let empty = Line {
            values: Vec::new(),
            ..line
        };
        assert_eq!(empty.path(1.0), "");
    }

    #[test]
    fn names_and_numbers_are_told_to_who_does_not_see_the_picture() {
        let lines = [Line {
            name: "dead",
            class: "dead",
            values: vec![None, Some(3.0)],
        }];
        let spans = ["10:00".to_owned(), "10:01".to_owned()];
        let shown = chart(&Chart {
            id: "jobs",
            title: "Jobs <a minute>",
            spans: &spans,
            lines: &lines,
            told: |value| format!("{value}"),
        });
        let shown = shown.into_string();
        for part in [
            "aria-label=\"Jobs &lt;a minute&gt;: dead at most 3\"",
            "<td>10:01</td><td class=\"number\">3</td>",
            "<span>5</span>",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        assert!(!shown.contains("<td>10:00"), "{shown}");
    }
}
