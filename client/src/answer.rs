//! What an answer says: it is one, or a refusal that passes or not.

use std::time::Duration;

use http::header;
use serde::Deserialize;

use crate::{
    address::Address,
    code::Code,
    connection::Answer,
    error::{Error, Problem},
};

/// Longest wait that an answer may ask for: what is longer is told to the caller.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// An answer that says what was asked for.
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) text: String,
}

/// An answer that does not.
pub(crate) struct Refusal {
    status: u16,
    /// What the runner says, or why this is no runner.
    says: Result<Problem, String>,
    pub(crate) retry_after: Option<Duration>,
    /// Whether the same request may be taken a while later.
    pub(crate) passes: bool,
    /// Whether nothing was done for certain.
    pub(crate) undone: bool,
}

impl Refusal {
    pub(crate) fn error(self, address: &Address) -> Error {
        match self.says {
            Ok(problem) => Error::Refused(problem),
            Err(why) => Error::NotARunner {
                address: address.to_string(),
                status: self.status,
                why,
            },
        }
    }
}

impl Problem {
    /// Whether one job among many may be taken a while later.
    pub(crate) fn of_many_passes(&self) -> bool {
        self.status == 0 && self.code.passes()
    }
}

pub(crate) fn read(answer: Answer) -> Result<Answered, Refusal> {
    let status = answer.status;
    let media_type = answer.headers.get(header::CONTENT_TYPE);
    let media_type = media_type
        .and_then(|value| value.to_str().ok())
        .unwrap_or("");
    let is = |wanted: &str| media_type.split(';').next().map(str::trim) == Some(wanted);
    if (200..300).contains(&status) && is("application/json") {
        return match String::from_utf8(answer.body.to_vec()) {
            Ok(text) => Ok(Answered { status, text }),
            Err(_) => Err(no_runner(status, "it is not UTF-8".into(), None)),
        };
    }
    let retry_after = answer.headers.get(header::RETRY_AFTER);
    let retry_after = retry_after.and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let retry_after = retry_after.map(|seconds| Duration::from_secs(seconds).min(LONGEST_WAIT));
    if !is("application/problem+json") {
        let why = match status {
            300..400 => {
                "it is a redirect, which is not followed: write the address it leads to".into()
            }
            _ => format!("it is {media_type:?}"),
        };
        return Err(no_runner(status, why, retry_after));
    }
    match problem(&answer.body, status, retry_after) {
        Ok(problem) => Err(Refusal {
            status,
            passes: problem.code.passes() || has_passing(status),
            undone: matches!(
                problem.code,
                Code::QueueFull | Code::Busy | Code::Stopping | Code::NoRunner
            ),
            retry_after,
            says: Ok(problem),
        }),
        Err(why) => Err(no_runner(status, why, retry_after)),
    }
}

fn no_runner(status: u16, why: String, retry_after: Option<Duration>) -> Refusal {
    Refusal {
        status,
        says: Err(why),
        retry_after,
        passes: has_passing(status),
        // Someone in between may have passed it on before it gave up.
        undone: false,
    }
}

/// Whether a status says that it may be different a while later, whoever says it.
const fn has_passing(status: u16) -> bool {
    matches!(status, 429 | 502 | 503 | 504)
}

fn problem(body: &[u8], status: u16, retry_after: Option<Duration>) -> Result<Problem, String> {
    #[derive(Deserialize)]
    struct Told {
        code: String,
        #[serde(default)]
        title: String,
        #[serde(default)]
        detail: String,
    }
    let told: Told = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    Ok(Problem {
        code: Code::of(&told.code),
        status,
        title: told.title,
        detail: told.detail,
        retry_after,
    })
}
