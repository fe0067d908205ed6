//! The forms a value can take, how it is read from text, and how it is shown.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use sandhog_cron::{Schedule, Zone};
use sandhog_model::{Backoff, Rate};

pub(super) use super::item::Item;
use super::{Durability, Keep, Listen, LogFormat};
use crate::plugin::{Network, OriginPattern, exact_bytes, parse_size};

/// What keeps a thing without an end.
const FOREVER: &str = "forever";

/// A checked value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Path(PathBuf),
    /// A count, or a size in bytes.
    Number(u64),
    /// A count that may be below zero.
    Whole(i64),
    Span(Duration),
    Keep(Keep),
    Word(String),
    Backoff(Backoff),
    Pairs(BTreeMap<String, String>),
    List(Vec<String>),
    Flag(bool),
}

/// What a key takes, with its range.
#[derive(Debug, Clone, Copy)]
pub(super) enum Form {
    Path,
    Count {
        min: u64,
        max: u64,
    },
    Size {
        min: u64,
        max: u64,
    },
    Span {
        min: Duration,
        max: Duration,
    },
    /// A duration, or for ever.
    Keep {
        min: Duration,
        max: Duration,
    },
    OneOf(&'static [&'static str]),
    /// A number that may be below zero.
    Whole {
        min: i64,
        max: i64,
    },
    Name,
    /// Any text, of so many bytes at most.
    Text {
        max: usize,
    },
    Cron,
    Zone,
    /// An address to listen on, or none.
    Listen,
    /// Where a server is.
    Url,
    Backoff,
    Rate,
    Pairs,
    List(Item),
    Flag,
}

impl Form {
    /// What is allowed, for errors and the page.
    pub(super) fn allowed(self) -> String {
        match self {
            Self::Path => "a path, in quotes".into(),
            Self::Count { min, max } => format!("a whole number from {min} to {max}"),
            Self::Size { min, max } => format!(
                "a size from {} to {}, in quotes such as \"16MiB\", or a number of bytes",
                exact_bytes(min),
                exact_bytes(max)
            ),
            Self::Span { min, max } => format!(
                "a duration from {} to {}, in quotes such as \"1m 30s\"",
                show_span(min),
                show_span(max)
            ),
            Self::Keep { min, max } => {
                format!("{}, or \"{FOREVER}\"", Self::Span { min, max }.allowed())
            }
            Self::OneOf(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                format!("one of {}", quoted.join(", "))
            }
            Self::Name => {
                "a name of letters, digits and . _ : -, in quotes, at most 128 bytes".into()
            }
            Self::Whole { min, max } => format!("a whole number from {min} to {max}"),
            Self::Text { max } => {
                format!("a text in quotes, of {} at most", exact_bytes(max as u64))
            }
            Self::Cron => "a cron expression in quotes, such as \"30 2 * * MON-FRI\"".into(),
            Self::Zone => {
                "the name of a zone of the IANA database in quotes, such as \"Europe/Paris\"".into()
            }
            Self::Listen => {
                "an address with its port in quotes, such as \"127.0.0.1:7263\", or \"off\"".into()
            }
            Self::Url => "an address in quotes, such as \"https://collector.example.com\"".into(),
            Self::Backoff => format!("a backoff in quotes, such as \"{}\"", Backoff::Polynomial),
            Self::Rate => {
                "a rate in quotes, such as \"100/1m\" or \"100/1m burst 10\"; 1 to 1000000 in 1 ms to 31 days".into()
            }
            Self::Pairs => "a table of strings, such as { key = \"value\" }".into(),
            Self::List(item) => item.allowed().into(),
            Self::Flag => "true or false".into(),
        }
    }

    /// Read text, as it stands between quotes. `None` when it is not of this form or out of range.
    pub(super) fn text(self, text: &str) -> Result<Value, String> {
        match self {
            Self::Path if text.trim().is_empty() => Err("is empty".into()),
            Self::Path => Ok(Value::Path(PathBuf::from(text))),
            Self::Count { .. } | Self::Whole { .. } => {
                Err(format!("is the text {text:?}, not a number"))
            }
            Self::Size { min, max } => {
                let bytes = parse_size(text)?;
                within(bytes, min, max, exact_bytes).map(Value::Number)
            }
            Self::Span { min, max } => {
                let span = parse_span(text)?;
                within(span, min, max, show_span).map(Value::Span)
            }
            Self::Keep { .. } if text.trim() == FOREVER => Ok(Value::Keep(Keep::Forever)),
            Self::Keep { min, max } => {
                let span = parse_span(text)?;
                within(span, min, max, show_span).map(|span| Value::Keep(Keep::For(span)))
            }
            Self::OneOf(words) if words.contains(&text) => Ok(Value::Word(text.into())),
            Self::OneOf(_) => Err(format!("is {text:?}")),
            Self::Name if is_name(text) => Ok(Value::Word(text.into())),
            Self::Name => Err(format!("is {text:?}, which is no name")),
            Self::Text { max } if text.len() <= max => Ok(Value::Word(text.into())),
            Self::Text { .. } => Err(format!("has {} bytes", text.len())),
            Self::Cron => Schedule::parse(text, Zone::utc())
                .map(|schedule| Value::Word(schedule.text().into()))
                .map_err(|why| format!("is refused: {why}")),
            Self::Zone => Zone::named(text)
                .map(|zone| Value::Word(zone.name().into()))
                .map_err(|why| format!("is refused: {why}")),
            Self::Listen => text
                .parse::<Listen>()
                .map(|listen| Value::Word(listen.to_string())),
            Self::Url if is_url(text) => Ok(Value::Word(text.into())),
            Self::Url => Err(format!(
                "is {text:?}, no address that begins with http:// or https://"
            )),
            Self::Backoff => text
                .parse()
                .map(Value::Backoff)
                .map_err(|why| format!("is {text:?}: {why}")),
            Self::Rate => text
                .parse::<Rate>()
                .map(|rate| Value::Word(rate.to_string()))
                .map_err(|why| format!("is refused: {why}")),
            Self::Pairs => Err(format!("is the text {text:?}, not a table")),
            Self::List(_) => Err(format!("is the text {text:?}, not a list")),
            Self::Flag => Err(format!("is the text {text:?}")),
        }
    }

    /// Read a number.
    pub(super) fn number(self, number: i128) -> Result<Value, String> {
        match self {
            Self::Count { min, max } | Self::Size { min, max } => {
                if number < i128::from(min) || number > i128::from(max) {
                    return Err(format!("is {number}, out of range"));
                }
                Ok(Value::Number(number as u64))
            }
            Self::Span { .. } | Self::Keep { .. } => {
                Err(format!("is the number {number}, without a unit"))
            }
            Self::Whole { min, max } => i64::try_from(number)
                .ok()
                .filter(|number| (min..=max).contains(number))
                .map(Value::Whole)
                .ok_or_else(|| format!("is {number}, out of range")),
            Self::Path
            | Self::OneOf(_)
            | Self::Name
            | Self::Text { .. }
            | Self::Cron
            | Self::Zone
            | Self::Listen
            | Self::Url
            | Self::Backoff
            | Self::Rate
            | Self::Pairs
            | Self::List(_)
            | Self::Flag => Err(format!("is the number {number}")),
        }
    }
}

fn within<T: PartialOrd + Copy>(
    value: T,
    min: T,
    max: T,
    show: fn(T) -> String,
) -> Result<T, String> {
    if value < min || value > max {
        return Err(format!("is {}, out of range", show(value)));
    }
    Ok(value)
}

/// Whether a text says where a server is, without a query.
fn is_url(text: &str) -> bool {
    text.parse::<http::Uri>().is_ok_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https")) && uri.query().is_none()
    })
}

/// Whether a text can name a kind or a queue.
pub(super) fn is_name(text: &str) -> bool {
    sandhog_model::is_name(text)
}

/// Read a duration such as `30s`, `1m 30s` or `200ms`.
pub(crate) fn parse_span(text: &str) -> Result<Duration, String> {
    if text.trim_start().starts_with('-') {
        return Err(format!("is {text:?}, which is negative"));
    }
    humantime::parse_duration(text).map_err(|error| format!("is {text:?}, no duration ({error})"))
}

/// A duration as people write it.
pub(super) fn show_span(span: Duration) -> String {
    humantime::format_duration(span).to_string()
}

impl Value {
    /// As it is written in the file.
    pub(super) fn as_toml(&self, form: Form) -> String {
        match (self, form) {
            (Self::Number(bytes), Form::Size { .. }) => quote(&exact_bytes(*bytes)),
            (Self::Number(number), _) => number.to_string(),
            (Self::Whole(number), _) => number.to_string(),
            (Self::Path(path), _) => quote(&path.to_string_lossy()),
            (Self::Span(span), _) => quote(&show_span(*span)),
            (Self::Keep(Keep::For(span)), _) => quote(&show_span(*span)),
            (Self::Keep(Keep::Forever), _) => quote(FOREVER),
            (Self::Word(word), _) => quote(word),
            (Self::List(items), _) => {
                let items: Vec<String> = items.iter().map(|item| quote(item)).collect();
                format!("[{}]", items.join(", "))
            }
            (Self::Flag(flag), _) => flag.to_string(),
            (Self::Backoff(backoff), _) => quote(&backoff.to_string()),
            (Self::Pairs(pairs), _) => {
                let pairs: Vec<String> = pairs
                    .iter()
                    .map(|(key, value)| format!("{} = {}", quote(key), quote(value)))
                    .collect();
                format!("{{ {} }}", pairs.join(", "))
            }
        }
    }
}

pub(super) fn quote(text: &str) -> String {
    toml::Value::String(text.into()).to_string()
}

/// A field of the settings that a [`Value`] fills and that can be shown as one.
pub(super) trait Setting: Sized {
    /// `None` when the value is of another form than the field.
    fn take(value: Value) -> Option<Self>;
    /// `None` when nothing is set.
    fn give(&self) -> Option<Value>;
}

macro_rules! setting {
    ($type:ty, $variant:ident, $value:ident => $take:expr, $field:ident => $give:expr) => {
        impl Setting for $type {
            fn take(value: Value) -> Option<Self> {
                match value {
                    Value::$variant($value) => $take,
                    _ => None,
                }
            }

            fn give(&self) -> Option<Value> {
                let $field = self;
                Some(Value::$variant($give))
            }
        }
    };
}

setting!(PathBuf, Path, path => Some(path), field => field.clone());
setting!(u64, Number, number => Some(number), field => *field);
setting!(u32, Number, number => number.try_into().ok(), field => u64::from(*field));
setting!(usize, Number, number => number.try_into().ok(), field => *field as u64);
setting!(i16, Whole, number => number.try_into().ok(), field => i64::from(*field));
setting!(Duration, Span, span => Some(span), field => *field);
setting!(Keep, Keep, keep => Some(keep), field => *field);
setting!(String, Word, word => Some(word), field => field.clone());
setting!(Backoff, Backoff, backoff => Some(backoff), field => field.clone());
setting!(Arc<BTreeMap<String, String>>, Pairs, pairs => Some(Self::new(pairs)), field => BTreeMap::clone(field));
setting!(bool, Flag, flag => Some(flag), field => *field);
setting!(Vec<String>, List, items => Some(items), field => field.clone());
setting!(Vec<PathBuf>, List, items => Some(items.into_iter().map(PathBuf::from).collect()), field => field.iter().map(|path| path.to_string_lossy().into_owned()).collect());
setting!(Vec<OriginPattern>, List, items => items.iter().map(|item| item.parse().ok()).collect(), field => field.iter().map(ToString::to_string).collect());
setting!(Vec<Network>, List, items => items.iter().map(|item| item.parse().ok()).collect(), field => field.iter().map(ToString::to_string).collect());
setting!(Durability, Word, word => Self::named(&word), field => field.name().into());
setting!(LogFormat, Word, word => Self::named(&word), field => field.name().into());

impl<T: Setting> Setting for Option<T> {
    fn take(value: Value) -> Option<Self> {
        T::take(value).map(Some)
    }

    fn give(&self) -> Option<Value> {
        self.as_ref().and_then(T::give)
    }
}

impl Durability {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::Commit, Self::Interval, Self::None];

    /// Its name in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Interval => "interval",
            Self::None => "none",
        }
    }

    /// The one of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

impl LogFormat {
    /// Its name in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }

    fn named(name: &str) -> Option<Self> {
        [Self::Text, Self::Json]
            .into_iter()
            .find(|one| one.name() == name)
    }
}
