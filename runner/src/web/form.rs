//! The forms of what stands in an address. The checks and the OpenAPI document both come from here.

use sandhog_model::{ID_PATTERN, ID_SHAPE, JobId, NAME_PATTERN, NotAnId};
use serde_json::{Value, json};

use crate::{json::when, store::LetterName};

/// What a parameter may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The id of a job or a batch, as which it is named.
    Id(&'static str),
    /// A job's id, or the place of a letter that cannot be read.
    Letter,
    /// A name of a kind, queue, schedule or plugin.
    Name,
    /// Any text of so many bytes at most.
    Text(usize),
    Count {
        min: u64,
        max: u64,
    },
    Flag,
    /// An instant.
    Instant,
    OneOf(&'static [&'static str]),
}

impl Form {
    /// What is wrong with a value.
    pub(super) fn check(self, value: &str) -> Result<(), String> {
        let is = |fits: bool, what: &str| match fits {
            true => Ok(()),
            false => Err(format!("is no {what}")),
        };
        match self {
            Self::Id(of) => {
                let read = value.parse::<JobId>().map(drop);
                read.map_err(|NotAnId(text)| format!("{text:?} is no {of} id: {ID_SHAPE}"))
            }
            Self::Letter => value.parse::<LetterName>().map(drop).map_err(|_| {
                let shown: String = value.chars().take(64).collect();
                format!(
                    "{shown:?} is no job id and no place such as @7168: `/api/v1/dead` lists them"
                )
            }),
            Self::Name => is(sandhog_model::is_name(value), "name"),
            Self::Text(max) if value.is_empty() || value.len() > max => {
                Err(format!("has {} bytes: allowed are 1 to {max}", value.len()))
            }
            Self::Text(_) => Ok(()),
            Self::Count { min, max } => {
                let plain = value.bytes().all(|b| b.is_ascii_digit());
                let number = value.parse::<u64>().ok().filter(|_| plain);
                match number.is_some_and(|number| (min..=max).contains(&number)) {
                    true => Ok(()),
                    false => Err(format!("is no whole number from {min} to {max}")),
                }
            }
            Self::Flag => is(matches!(value, "true" | "false"), "true or false"),
            Self::Instant => when::instant(value).map(drop),
            Self::OneOf(words) if words.contains(&value) => Ok(()),
            Self::OneOf(words) => Err(format!("is none of {}", words.join(", "))),
        }
    }

    /// As a JSON schema.
    pub(super) fn schema(self) -> Value {
        match self {
            Self::Id(_) => pattern(ID_PATTERN),
            Self::Letter => pattern(&format!("({ID_PATTERN}|@[0-9]{{1,20}})")),
            Self::Name => pattern(NAME_PATTERN),
            Self::Text(max) => json!({ "type": "string", "minLength": 1, "maxLength": max }),
            Self::Count { min, max } => {
                json!({ "type": "integer", "minimum": min, "maximum": max })
            }
            Self::Flag => json!({ "type": "boolean" }),
            Self::Instant => json!({ "type": "string", "format": "date-time" }),
            Self::OneOf(words) => json!({ "type": "string", "enum": words }),
        }
    }
}

/// A text that a regular expression fits from its beginning to its end.
pub(super) fn pattern(pattern: &str) -> Value {
    json!({ "type": "string", "pattern": format!("^{pattern}$") })
}

/// A parameter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Param {
    pub(super) name: &'static str,
    pub(super) form: Form,
    pub(super) says: &'static str,
}

/// A parameter.
pub(super) const fn param(name: &'static str, form: Form, says: &'static str) -> Param {
    Param { name, form, says }
}

/// What every list takes.
pub(super) const LIMIT: Param = param(
    "limit",
    Form::Count { min: 1, max: 1_000 },
    "Rows at most; 50 when not given.",
);
pub(super) const CURSOR: Param = param(
    "cursor",
    Form::Text(512),
    "Where to go on: `next` of the page before.",
);
