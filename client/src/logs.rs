//! What an attempt logged and printed.

use std::time::Duration;

use serde::{Deserialize, Deserializer};

use crate::{
    client::{Client, Twice, path},
    error::Error,
};

/// What an attempt logged and printed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Logs {
    /// The attempt's number, from 1 on.
    pub attempt: u32,
    /// Its place among all attempts of the job, from 1 on: numbers begin anew when a job is brought back. 0 from a
    /// runner that does not say so.
    #[serde(default)]
    pub in_all: u32,
    /// The places of others with the same number.
    #[serde(default)]
    pub also: Vec<u32>,
    /// Whether it still runs: there may be more later.
    pub running: bool,
    /// Its lines, in their order.
    pub lines: Vec<LogLine>,
    /// Lines left out, over the runner's `limits.log`.
    pub dropped_lines: u64,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct LogLine {
    /// How long after the attempt's begin, to the millisecond.
    #[serde(rename = "at_ms", deserialize_with = "millis")]
    pub at: Duration,
    /// Where it came from.
    pub source: LogSource,
    /// How much it matters.
    pub level: LogLevel,
    /// What it says, without line breaks and other control characters.
    pub text: String,
    /// Keys and values of a line that was logged, in their order; a key may be there twice.
    pub fields: Vec<(String, String)>,
}

/// Where a line came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LogSource {
    /// The handler's log.
    Log,
    /// Its standard output.
    Stdout,
    /// Its standard error.
    Stderr,
    /// One that this version does not know.
    #[serde(other)]
    Unknown,
}

/// How much a line matters, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LogLevel {
    /// For the closest look.
    Trace,
    /// For finding faults.
    Debug,
    /// Worth keeping; what was printed to standard output, too.
    Info,
    /// Something is off; what was printed to standard error, too.
    Warn,
    /// Something failed.
    Error,
    /// One that this version does not know.
    #[serde(other)]
    Unknown,
}

fn millis<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    u64::deserialize(from).map(Duration::from_millis)
}

impl Client {
    /// What an attempt of a job logged and printed: the one of this number, from 1 on, or the latest, one that runs
    /// included. Of a job that was given fresh attempts, the latest one of a number is meant.
    ///
    /// ```no_run
    /// # use sandhog_client::{Client, Error, LogLevel};
    /// # async fn example(client: &Client, id: &str) -> Result<(), Error> {
    /// let logs = client.logs(id, None).await?;
    /// for line in logs.lines.iter().filter(|line| line.level >= LogLevel::Warn) {
    ///     println!("{:?} {}", line.at, line.text);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Code::NotFound`](crate::Code::NotFound) when there is no such job, or it had no such attempt yet;
    /// [`Code::BadRequest`](crate::Code::BadRequest) for an attempt 0.
    pub async fn logs(&self, id: &str, attempt: Option<u32>) -> Result<Logs, Error> {
        let which = attempt.map(|number| format!("?attempt={number}"));
        self.logs_of(id, &which.unwrap_or_default()).await
    }

    /// The same by an attempt's place among all of its job, [`Logs::in_all`].
    ///
    /// # Errors
    ///
    /// As [`logs`](Self::logs).
    pub async fn logs_in_all(&self, id: &str, place: u32) -> Result<Logs, Error> {
        self.logs_of(id, &format!("?in_all={place}")).await
    }

    async fn logs_of(&self, id: &str, which: &str) -> Result<Logs, Error> {
        let path = path(id, &format!("/logs{which}"))?;
        self.json(self.read(&path), Twice::Fine).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_with_what_is_not_known_yet() {
        let text = r#"{"id":"1","attempt":2,"in_all":5,"also":[2],"running":true,"dropped_lines":3,"later":1,"lines":[
            {"at_ms":1500,"source":"log","level":"warn","text":"t","fields":[["k","1"],["k","2"]]},
            {"at_ms":0,"source":"pipe","level":"fatal","text":"","fields":[]}]}"#;
        let logs: Logs = serde_json::from_str(text).unwrap();
        assert_eq!(
            (logs.attempt, logs.running, logs.dropped_lines),
            (2, true, 3)
        );
        assert_eq!((logs.in_all, logs.also.as_slice()), (5, &[2][..]));
        let [known, unknown] = &logs.lines[..] else {
            panic!("{logs:?}");
        };
        assert_eq!(known.at, Duration::from_millis(1500));
        assert_eq!(
            (known.source, known.level),
            (LogSource::Log, LogLevel::Warn)
        );
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(known.fields, [pair("k", "1"), pair("k", "2")]);
        assert_eq!(
            (unknown.source, unknown.level),
            (LogSource::Unknown, LogLevel::Unknown)
        );
        // A level that is new is shown rather than lost.
        assert!(unknown.level >= LogLevel::Error && LogLevel::Info < LogLevel::Warn);
    }
}
