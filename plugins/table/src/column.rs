//! One column as its values go by.

use std::collections::HashMap;

use serde::{Serialize, Serializer};

/// What is known of a column so far.
pub(crate) struct Column {
    name: String,
    missing: u64,
    texts: HashMap<String, Seen>,
    count: u64,
    /// `None` once a value was no number.
    numbers: Option<Numbers>,
}

/// How often a text came, and when first: ties go to the earliest.
struct Seen {
    times: u64,
    first: u64,
}

/// Least, greatest and sum; the sum keeps what each addition rounds away (Neumaier).
struct Numbers {
    min: f64,
    max: f64,
    sum: f64,
    lost: f64,
    /// The mean as it moves, for sums beyond the range of `f64`; less exact.
    moving_mean: f64,
}

/// What a column holds.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// The name in the header, which may be empty or come again.
    pub name: String,
    /// Values that are not blank.
    pub count: u64,
    /// Values that are blank, or not there because the row is short.
    pub missing: u64,
    /// What the values are.
    #[serde(flatten)]
    pub values: Values,
}

/// What the values of a column are, told by all of them.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Values {
    /// There are none.
    Empty,
    /// Each is a finite number.
    Number {
        /// The least.
        #[serde(serialize_with = "shortest")]
        min: f64,
        /// The greatest.
        #[serde(serialize_with = "shortest")]
        max: f64,
        /// The arithmetic mean.
        #[serde(serialize_with = "shortest")]
        mean: f64,
    },
    /// At least one is no number.
    Text {
        /// How many different values there are.
        distinct: u64,
        /// The value that comes most often; of several, the one seen first.
        most_frequent: Frequent,
    },
}

/// A value and how often it comes.
#[derive(Debug, Serialize)]
pub struct Frequent {
    /// The value as written, blanks included.
    pub value: String,
    /// How often it comes.
    pub count: u64,
}

impl Column {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            missing: 0,
            texts: HashMap::new(),
            count: 0,
            numbers: Some(Numbers::new()),
        }
    }

    pub(crate) fn add(&mut self, value: &str) {
        let trimmed = value.trim();
        if trimmed.is_empty() {
            self.missing += 1;
            return;
        }
        self.count += 1;
        match self.texts.get_mut(value) {
            Some(seen) => seen.times += 1,
            None => {
                let seen = Seen {
                    times: 1,
                    first: self.count,
                };
                self.texts.insert(value.to_owned(), seen);
            }
        }
        if let Some(numbers) = &mut self.numbers {
            match number(trimmed) {
                Some(number) => numbers.add(number, self.count),
                None => self.numbers = None,
            }
        }
    }

    pub(crate) fn summary(self) -> Summary {
        let distinct = self.texts.len() as u64;
        let most = self
            .texts
            .into_iter()
            .max_by_key(|(_, seen)| (seen.times, u64::MAX - seen.first));
        let values = match (most, self.numbers) {
            (None, _) => Values::Empty,
            (Some(_), Some(numbers)) => {
                let mean = numbers.mean(self.count);
                Values::Number {
                    min: numbers.min,
                    max: numbers.max,
                    mean,
                }
            }
            (Some((value, seen)), None) => Values::Text {
                distinct,
                most_frequent: Frequent {
                    value,
                    count: seen.times,
                },
            },
        };
        Summary {
            name: self.name,
            count: self.count,
            missing: self.missing,
            values,
        }
    }
}

/// A finite decimal number. `f64` would also read `inf` and `NaN`.
fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

impl Numbers {
    fn new() -> Self {
        Self {
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            sum: 0.0,
            lost: 0.0,
            moving_mean: 0.0,
        }
    }

    fn add(&mut self, number: f64, count: u64) {
        self.min = self.min.min(number);
        self.max = self.max.max(number);
        let sum = self.sum + number;
        self.lost += if self.sum.abs() >= number.abs() {
            (self.sum - sum) + number
        } else {
            (number - sum) + self.sum
        };
        self.sum = sum;
        self.moving_mean += number / count as f64 - self.moving_mean / count as f64;
    }

    fn mean(&self, count: u64) -> f64 {
        let mean = (self.sum + self.lost) / count as f64;
        if mean.is_finite() {
            mean
        } else {
            self.moving_mean
        }
    }
}

/// Whole numbers without `.0`, as they were most likely written.
fn shortest<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    // 2^53: beyond it not every whole number is an `f64`.
    if number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0 {
        serializer.serialize_i64(*number as i64)
    } else {
        serializer.serialize_f64(*number)
    }
}
