//! Lines over an axis as an SVG file of its own, readable on light and dark pages and without colours.

use maud::{Markup, html};

use super::{round_up, short};

/// The picture's width, and the rectangle within it that the axes bound. Below it stand the names of the lines.
const WIDTH: f64 = 760.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 740.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 340.0;
/// Where the first of the names stands, and how far the next is from it.
const KEY: (f64, f64) = (BOTTOM + 72.0, 20.0);
/// How lines are told apart: colour and dashes.
const LOOKS: [(&str, &str); 6] = [
    ("#1f5fa8", ""),
    ("#b3541e", "7 4"),
    ("#2c7a4b", "2 3"),
    ("#7a3b8f", "10 3 2 3"),
    ("#8a6d00", "4 2"),
    ("#555555", "1 4"),
];
const STYLE: &str = "text{font:13px sans-serif;fill:#222}.t{font-size:16px;font-weight:bold}.g{stroke:#ccc}.p{fill:none;stroke-width:2}";

/// A picture of lines.
#[derive(Debug, Clone)]
pub struct Plot<'p> {
    /// What it shows.
    pub title: &'p str,
    /// From left to right.
    pub along: Axis<'p>,
    /// From the bottom up.
    pub up: Axis<'p>,
    /// The lines.
    pub lines: Vec<Series>,
}

/// An axis.
#[derive(Debug, Clone, Copy)]
pub struct Axis<'p> {
    /// What it counts, with its unit.
    pub name: &'p str,
    /// Whether each step is ten times the one before; else they are equal, from zero.
    pub by_tens: bool,
}

/// A line.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// What it is.
    pub name: String,
    /// Its points, along and up.
    pub points: Vec<(f64, f64)>,
}

/// The ends of an axis, and where it is marked.
struct Scale {
    by_tens: bool,
    ends: (f64, f64),
    marks: Vec<f64>,
}

impl Scale {
    fn of(by_tens: bool, values: impl Iterator<Item = f64>) -> Self {
        let values = values.filter(|value| value.is_finite() && (!by_tens || *value > 0.0));
        let ends = values.fold(None, |ends: Option<(f64, f64)>, value| {
            let (low, high) = ends.unwrap_or((value, value));
            Some((low.min(value), high.max(value)))
        });
        let (low, high) = ends.unwrap_or((1.0, 1.0));
        if by_tens {
            let low = low.log10().floor() as i32;
            let high = (high.log10().ceil() as i32).max(low + 1);
            let marks = (low..=high).map(|power| 10f64.powi(power));
            return Self {
                by_tens,
                ends: (10f64.powi(low), 10f64.powi(high)),
                marks: marks.collect(),
            };
        }
        let top = round_up(high);
        Self {
            by_tens,
            ends: (0.0, top),
            marks: (0..=4).map(|part| f64::from(part) / 4.0 * top).collect(),
        }
    }

    /// Where a value lies between the ends, 0 to 1.
    fn place(&self, value: f64) -> f64 {
        let (low, high) = self.ends;
        match self.by_tens {
            true => (value / low).log10() / (high / low).log10(),
            false => (value - low) / (high - low),
        }
    }
}

impl Plot<'_> {
    /// The picture.
    #[must_use]
    pub fn svg(&self) -> String {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let along = Scale::of(self.along.by_tens, points().map(|point| point.0));
        let up = Scale::of(self.up.by_tens, points().map(|point| point.1));
        let x = |value: f64| LEFT + along.place(value) * (RIGHT - LEFT);
        let y = |value: f64| BOTTOM - up.place(value) * (BOTTOM - TOP);
        let drawn = html! {
            svg xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {WIDTH} {}", KEY.0 + KEY.1 * self.lines.len() as f64)) role="img" aria-label=(self.title) {
                style { (STYLE) }
                rect width="100%" height="100%" fill="#fff" {}
                text.t x=(LEFT) y="24" { (self.title) }
                (self.key())
                @for mark in &up.marks {
                    line.g x1=(LEFT) x2=(RIGHT) y1=(rounded(y(*mark))) y2=(rounded(y(*mark))) {}
                    text x=(LEFT - 8.0) y=(rounded(y(*mark) + 4.0)) text-anchor="end" { (mark_text(*mark)) }
                }
                @for mark in &along.marks {
                    line.g x1=(rounded(x(*mark))) x2=(rounded(x(*mark))) y1=(TOP) y2=(BOTTOM) {}
                    text x=(rounded(x(*mark))) y=(BOTTOM + 20.0) text-anchor="middle" { (mark_text(*mark)) }
                }
                text x=((LEFT + RIGHT) / 2.0) y=(BOTTOM + 44.0) text-anchor="middle" { (self.along.name) }
                text x="20" y=((TOP + BOTTOM) / 2.0) text-anchor="middle" transform=(format!("rotate(-90 20 {})", (TOP + BOTTOM) / 2.0)) { (self.up.name) }
                @for (line, (colour, dashes)) in self.lines.iter().zip(LOOKS.iter().cycle()) {
                    path.p stroke=(colour) stroke-dasharray=(dashes) d=(stroke(line.points.iter().map(|(along, up)| Some((x(*along), y(*up)))))) {}
                    @for (along, up) in &line.points { circle cx=(rounded(x(*along))) cy=(rounded(y(*up))) r="3" fill=(colour) {} }
                }
            }
        };
        drawn.into_string() + "\n"
    }

    /// What the lines are, one below the other.
    fn key(&self) -> Markup {
        html! {
            @for (place, (line, (colour, dashes))) in self.lines.iter().zip(LOOKS.iter().cycle()).enumerate() {
                @let down = KEY.0 + KEY.1 * place as f64;
                line x1=(LEFT) x2=(LEFT + 36.0) y1=(down - 4.0) y2=(down - 4.0) stroke=(colour) stroke-width="2" stroke-dasharray=(dashes) {}
                text x=(LEFT + 46.0) y=(down) { (line.name) }
            }
        }
    }
}

/// A number of the picture with one digit after the point.
fn rounded(value: f64) -> String {
    format!("{value:.1}")
}

/// A mark without digits that say nothing.
fn mark_text(mark: f64) -> String {
    let short = short(mark);
    let (digits, letter) = match short.strip_suffix(['k', 'M']) {
        Some(digits) => (digits, &short[digits.len()..]),
        None => (short.as_str(), ""),
    };
    let digits = match digits.contains('.') {
        true if mark.abs() >= 0.01 || mark == 0.0 => {
            digits.trim_end_matches('0').trim_end_matches('.')
        }
        true => return format!("{mark:e}"),
        false => digits,
    };
    format!("{digits}{letter}")
}

/// A line through points as the path of an SVG, interrupted where one is missing: a stroke for each run of them, a
/// short one for one that stands alone.
#[must_use]
pub fn stroke(points: impl IntoIterator<Item = Option<(f64, f64)>>) -> String {
    let mut path = String::new();
    let mut run = 0;
    for point in points.into_iter().chain([None]) {
        match point {
            Some((x, y)) => {
                let verb = if run > 0 { 'L' } else { 'M' };
                path += &format!("{verb}{x:.1} {y:.1}");
                run += 1;
            }
            None => {
                if run == 1 {
                    path += "m-4 0h8";
                }
                run = 0;
            }
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(by_tens: bool) -> String {
        let points = vec![(1_000.0, 2.0), (100_000.0, 4.0)];
        Plot {
            title: "Growth <of it>",
            along: Axis {
                name: "waiting jobs",
                by_tens,
            },
            up: Axis {
                name: "µs",
                by_tens: false,
            },
            lines: vec![Series {
                name: "claim".into(),
                points,
            }],
        }
        .svg()
    }

    #[test]
    fn points_lie_where_the_axes_say() {
        // By tens from 10^3 to 10^5; up from 0 to 5.
        let shown = plot(true);
        let path = "d=\"M80.0 221.6L740.0 103.2\"";
        for part in [path, ">1000<", ">10k<", ">100k<", ">1.25<", ">5<", "claim"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        assert!(shown.contains("Growth &lt;of it&gt;"), "{shown}");
        // In equal steps from 0 to 100,000.
        let shown = plot(false);
        assert!(
            shown.contains("d=\"M86.6 221.6L740.0 103.2\"") && shown.contains(">25k<"),
            "{shown}"
        );
    }

    #[test]
    fn nothing_measured_is_an_empty_picture() {
        let mut scale = Scale::of(true, [0.0, f64::NAN].into_iter());
        assert_eq!(scale.ends, (1.0, 10.0));
        scale = Scale::of(false, std::iter::empty());
        assert_eq!(scale.ends, (0.0, 1.0));
    }

    #[test]
    fn marks_say_no_more_than_they_must() {
        for (mark, told) in [
            (0.0, "0"),
            (0.5, "0.5"),
            (20.0, "20"),
            (100.0, "100"),
            (10_000.0, "10k"),
            (12_500.0, "12.5k"),
            (1e7, "10M"),
            (0.001, "1e-3"),
        ] {
            assert_eq!(mark_text(mark), told);
        }
    }

    #[test]
    fn a_stroke_is_interrupted_where_there_is_nothing() {
        let points = [
            Some((100.0, 148.0)),
            Some((300.0, 2.0)),
            None,
            Some((700.0, 75.0)),
            None,
        ];
        assert_eq!(stroke(points), "M100.0 148.0L300.0 2.0M700.0 75.0m-4 0h8");
        assert_eq!(stroke([Some((1.0, 2.0))]), "M1.0 2.0m-4 0h8");
        assert_eq!(stroke([]), "");
    }
}
