//! Arithmetic of measured figures, and their pictures: what stands in the middle of a number of values, how far they lie
//! apart, and how they are written and drawn.
//!
//! Knows numbers and names, and nothing of what was measured.

mod plot;

pub use plot::{Axis, Plot, Series, stroke};

/// The value in the middle, or between the two in the middle. Not a number when there is none.
#[must_use]
pub fn median(of: &[f64]) -> f64 {
    let sorted = sorted(of);
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[odd / 2],
        even => f64::midpoint(sorted[even / 2 - 1], sorted[even / 2]),
    }
}

/// Largest minus smallest, over the median. `None` for less than two values, which have none.
#[must_use]
pub fn spread(of: &[f64]) -> Option<f64> {
    let sorted = sorted(of);
    match sorted[..] {
        [smallest, .., largest] => Some((largest - smallest) / median(of)),
        _ => None,
    }
}

/// The smallest of the values that this part of them, 0 to 1, is not above. Not a number when there is none.
#[must_use]
pub fn below(of: &[f64], part: f64) -> f64 {
    let sorted = sorted(of);
    let place = (part * sorted.len() as f64).ceil() as usize;
    sorted
        .get(place.saturating_sub(1).min(sorted.len().saturating_sub(1)))
        .copied()
        .unwrap_or(f64::NAN)
}

fn sorted(of: &[f64]) -> Vec<f64> {
    let mut sorted = of.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// A figure with about three digits; thousands and millions by their letters.
#[must_use]
pub fn short(figure: f64) -> String {
    match figure.abs() {
        large if large >= 10_000_000.0 => format!("{:.1}M", figure / 1e6),
        large if large >= 10_000.0 => format!("{:.1}k", figure / 1e3),
        medium if medium >= 100.0 => format!("{figure:.0}"),
        _ => format!("{figure:.2}"),
    }
}

/// A spread for people; empty where there is none.
#[must_use]
pub fn percent(spread: Option<f64>) -> String {
    spread.map_or_else(String::new, |spread| format!("{:.0}%", spread * 100.0))
}

/// The next of 1, 2 and 5 times a power of ten.
#[must_use]
pub fn round_up(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    steps
        .into_iter()
        .find(|step| *step >= value)
        .unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert!(median(&[]).is_nan());
        for (values, middle) in [
            (&[3.0][..], 3.0),
            (&[5.0, 1.0], 3.0),
            (&[9.0, 1.0, 2.0], 2.0),
            (&[4.0, 1.0, 100.0, 2.0], 3.0),
        ] {
            assert!((median(values) - middle).abs() < 1e-9, "{values:?}");
        }
    }

    #[test]
    fn the_spread_is_told_of_the_median() {
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[7.0]), None);
        assert_eq!(spread(&[8.0, 12.0, 10.0]), Some(0.4));
        assert_eq!(percent(spread(&[8.0, 12.0, 10.0])), "40%");
        assert_eq!(percent(None), "");
    }

    #[test]
    fn a_part_is_not_above_its_bound() {
        let hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        for (part, bound) in [(0.0, 1.0), (0.5, 50.0), (0.99, 99.0), (1.0, 100.0)] {
            assert!((below(&hundred, part) - bound).abs() < 1e-9, "{part}");
        }
        assert!((below(&[3.0, 1.0, 2.0], 0.5) - 2.0).abs() < 1e-9);
        assert!((below(&[4.0], 0.99) - 4.0).abs() < 1e-9);
        assert!(below(&[], 0.5).is_nan());
    }

    #[test]
    fn figures_are_short() {
        for (figure, told) in [
            (0.123, "0.12"),
            (99.994, "99.99"),
            (4_321.4, "4321"),
            (43_210.0, "43.2k"),
            (-12_345_678.0, "-12.3M"),
        ] {
            assert_eq!(short(figure), told);
        }
    }

    #[test]
    fn axes_end_at_round_numbers() {
        for (value, top) in [
            (0.0, 1.0),
            (1.0, 1.0),
            (1.1, 2.0),
            (49.0, 50.0),
            (51.0, 100.0),
            (0.003, 0.005),
        ] {
            assert!((round_up(value) - top).abs() < 1e-9, "{value}");
        }
    }
}
