//! A backoff as text, the only form in which it is stored.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Backoff, DEFAULT_JITTER, sane_factor, sane_fraction};
use crate::limits::BACKOFF_MS;

/// How long the text of a backoff may be, in bytes.
const TEXT_BYTES: usize = 4096;
/// Longest delay of the presets that grow, when no maximum is named: a day.
const DEFAULT_MAX_MS: u64 = 24 * 60 * 60 * 1000;

/// A text that is no backoff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotABackoff {
    /// The first word is no preset, or there is none.
    Preset(String),
    /// A word that stands where none is expected.
    Unexpected {
        /// The word.
        word: String,
        /// What could stand there.
        expected: &'static str,
    },
    /// A word is missing at the end.
    Missing {
        /// The word before it.
        after: String,
        /// What should follow.
        expected: &'static str,
    },
    /// A duration that cannot be read.
    Duration {
        /// The word.
        word: String,
        /// Why.
        why: String,
    },
    /// A number that cannot be read or is out of range.
    Number {
        /// What it is for.
        name: &'static str,
        /// The word.
        word: String,
        /// The range.
        range: &'static str,
    },
    /// The text is too long.
    TooLong(usize),
}

impl fmt::Display for NotABackoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Preset(word) => write!(
                f,
                "{word:?} is no backoff: start with polynomial, fixed, linear, exponential or list"
            ),
            Self::Unexpected { word, expected } => {
                write!(f, "{word:?} does not belong there: use {expected}")
            }
            Self::Missing { after, expected } => {
                write!(f, "{expected} is missing after {after:?}")
            }
            Self::Duration { word, why } => write!(
                f,
                "{word:?} is no duration ({why}): write 500ms, 1s, 5m or 1h30m, at most 10 years"
            ),
            Self::Number { name, word, range } => {
                write!(f, "{name} is {word:?}: use a number from {range}")
            }
            Self::TooLong(length) => write!(
                f,
                "the backoff has {length} bytes: at most {TEXT_BYTES} are allowed"
            ),
        }
    }
}

impl core::error::Error for NotABackoff {}

/// The words of a text, read one by one.
struct Words<'a> {
    words: core::iter::Peekable<core::str::SplitWhitespace<'a>>,
    last: &'a str,
}

impl<'a> Words<'a> {
    fn next(&mut self, expected: &'static str) -> Result<&'a str, NotABackoff> {
        let word = self.words.next().ok_or_else(|| NotABackoff::Missing {
            after: self.last.to_string(),
            expected,
        })?;
        self.last = word;
        Ok(word)
    }

    /// Whether the next word is `keyword`; if so it is taken.
    fn takes(&mut self, keyword: &'static str) -> bool {
        let found = self.words.next_if_eq(&keyword).is_some();
        if found {
            self.last = keyword;
        }
        found
    }

    fn duration(&mut self) -> Result<u64, NotABackoff> {
        duration(self.next("a duration")?)
    }

    fn max(&mut self) -> Result<u64, NotABackoff> {
        if self.takes("max") {
            self.duration()
        } else {
            Ok(DEFAULT_MAX_MS)
        }
    }

    fn jitter(&mut self) -> Result<f64, NotABackoff> {
        if self.takes("jitter") {
            number(
                "jitter",
                self.next("a number from 0 to 1")?,
                0.0,
                1.0,
                "0 to 1",
            )
        } else {
            Ok(DEFAULT_JITTER)
        }
    }

    fn end(&mut self, expected: &'static str) -> Result<(), NotABackoff> {
        match self.words.next() {
            Some(word) => Err(NotABackoff::Unexpected {
                word: short(word),
                expected,
            }),
            None => Ok(()),
        }
    }
}

fn short(word: &str) -> String {
    word.chars().take(64).collect()
}

fn duration(word: &str) -> Result<u64, NotABackoff> {
    let wrong = |why: String| NotABackoff::Duration {
        word: short(word),
        why,
    };
    let length = humantime::parse_duration(word).map_err(|error| wrong(error.to_string()))?;
    let ms = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
    if ms > BACKOFF_MS {
        return Err(wrong("too long".to_string()));
    }
    if u128::from(ms) * 1_000_000 != length.as_nanos() {
        return Err(wrong("finer than a millisecond".to_string()));
    }
    Ok(ms)
}

fn number(
    name: &'static str,
    word: &str,
    low: f64,
    high: f64,
    range: &'static str,
) -> Result<f64, NotABackoff> {
    match word.parse::<f64>() {
        Ok(value) if value >= low && value <= high => Ok(value),
        Ok(_) | Err(_) => Err(NotABackoff::Number {
            name,
            word: short(word),
            range,
        }),
    }
}

impl FromStr for Backoff {
    type Err = NotABackoff;

    fn from_str(text: &str) -> Result<Self, NotABackoff> {
        if text.len() > TEXT_BYTES {
            return Err(NotABackoff::TooLong(text.len()));
        }
        let mut words = Words {
            words: text.split_whitespace().peekable(),
            last: "",
        };
        let preset = words
            .next("a backoff")
            .map_err(|_| NotABackoff::Preset(String::new()))?;
        let (backoff, expected) = match preset {
            "polynomial" => (Self::Polynomial, "nothing: polynomial has its own jitter"),
            "fixed" => (
                Self::Fixed {
                    delay_ms: words.duration()?,
                    jitter: words.jitter()?,
                },
                "jitter or nothing",
            ),
            "linear" => (
                Self::Linear {
                    step_ms: words.duration()?,
                    max_ms: words.max()?,
                    jitter: words.jitter()?,
                },
                "max, then jitter",
            ),
            "exponential" => (exponential(&mut words)?, "factor, then max, then jitter"),
            "list" => (list(&mut words)?, "jitter or nothing"),
            other => return Err(NotABackoff::Preset(short(other))),
        };
        words.end(expected)?;
        Ok(backoff)
    }
}

fn exponential(words: &mut Words<'_>) -> Result<Backoff, NotABackoff> {
    let base_ms = words.duration()?;
    let factor = if words.takes("factor") {
        let word = words.next("a number from 1 to 1000")?;
        number("factor", word, 1.0, 1000.0, "1 to 1000")?
    } else {
        2.0
    };
    Ok(Backoff::Exponential {
        base_ms,
        factor,
        max_ms: words.max()?,
        jitter: words.jitter()?,
    })
}

fn list(words: &mut Words<'_>) -> Result<Backoff, NotABackoff> {
    let mut delays_ms = Vec::new();
    while words.words.peek().is_some_and(|word| *word != "jitter") {
        delays_ms.push(words.duration()?);
    }
    if delays_ms.is_empty() {
        return Err(NotABackoff::Missing {
            after: words.last.to_string(),
            expected: "a duration",
        });
    }
    Ok(Backoff::List {
        delays_ms,
        jitter: words.jitter()?,
    })
}

/// A duration as one word, such as `1m30s`.
struct Word(u64);

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = Duration::from_millis(self.0.min(BACKOFF_MS));
        let text = humantime::format_duration(length).to_string();
        text.split(' ').try_for_each(|part| f.write_str(part))
    }
}

/// Always reads back as a policy with the same delays: what is out of range is written as the value
/// it counts as.
impl fmt::Display for Backoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let jitter = match self {
            Self::Polynomial => return f.write_str("polynomial"),
            Self::Exponential {
                base_ms,
                factor,
                max_ms,
                jitter,
            } => {
                let factor = sane_factor(*factor);
                let (base, max) = (Word(*base_ms), Word(*max_ms));
                write!(f, "exponential {base} factor {factor} max {max}")?;
                jitter
            }
            Self::Linear {
                step_ms,
                max_ms,
                jitter,
            } => {
                write!(f, "linear {} max {}", Word(*step_ms), Word(*max_ms))?;
                jitter
            }
            Self::Fixed { delay_ms, jitter } => {
                write!(f, "fixed {}", Word(*delay_ms))?;
                jitter
            }
            Self::List { delays_ms, jitter } => {
                f.write_str("list")?;
                if delays_ms.is_empty() {
                    f.write_str(" 0s")?;
                }
                delays_ms
                    .iter()
                    .try_for_each(|delay| write!(f, " {}", Word(*delay)))?;
                jitter
            }
        };
        write!(f, " jitter {}", sane_fraction(*jitter))
    }
}

impl Backoff {
    /// Whether it could have been written as text.
    pub(super) fn check(&self) -> Result<(), String> {
        let text = self.to_string();
        match text.parse::<Self>() {
            Ok(same) if same == *self => Ok(()),
            Ok(other) => Err(format!("a value is out of range; the nearest is `{other}`")),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Serialize for Backoff {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Backoff {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
