//! Why an attempt did not succeed, and what should happen to the job.

use std::fmt;
use std::time::Duration;

/// Everything a handler can say but success.
///
/// Any `std::error::Error` becomes a retryable failure through `?`, with its sources in the
/// message. The other verdicts are explicit:
///
/// ```
/// use sandhog_sdk::Error;
/// use std::time::Duration;
///
/// Error::permanent("no such account").with_code("no-account").with_detail("account", "17");
/// Error::retry_after(Duration::from_secs(60), "the service asks for a minute");
/// Error::snooze(Duration::from_secs(5));
/// Error::discard("the order was withdrawn");
/// ```
///
/// It is no `std::error::Error` itself: only so can every other error convert into it.
#[derive(Clone, PartialEq)]
pub struct Error(Box<Inner>);

#[derive(Clone, PartialEq)]
struct Inner {
    verdict: Verdict,
    code: String,
    message: String,
    details: Vec<(String, String)>,
}

/// What is to happen with the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Try again after the backoff.
    Retryable,
    /// Try again, not before this long from now.
    RetryAfter(Duration),
    /// Never try again: to the dead letters.
    Permanent,
    /// Not a failure: run again in this long, no attempt used.
    Snooze(Duration),
    /// Drop the job.
    Discard,
}

impl Error {
    /// A failure that another attempt may mend. Takes what `?` does not, such as a text or an
    /// `anyhow::Error`: `.map_err(Error::retryable)`.
    pub fn retryable(message: impl fmt::Display) -> Self {
        Self::new(Verdict::Retryable, message)
    }

    /// A failure that no attempt will mend: the job goes to the dead letters at once.
    pub fn permanent(message: impl fmt::Display) -> Self {
        Self::new(Verdict::Permanent, message)
    }

    /// A failure to be tried again, not before `wait` from now.
    pub fn retry_after(wait: Duration, message: impl fmt::Display) -> Self {
        Self::new(Verdict::RetryAfter(wait), message)
    }

    /// No failure: run the job again in `wait`, without using an attempt.
    pub fn snooze(wait: Duration) -> Self {
        Self::new(Verdict::Snooze(wait), "snoozed")
    }

    /// Drop the job: it neither succeeded nor failed.
    pub fn discard(reason: impl fmt::Display) -> Self {
        Self::new(Verdict::Discard, reason)
    }

    /// With a short stable token for rules and metrics, such as `not-an-image`. Without one it is
    /// `error`. Snooze and discard carry none.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.0.code = code.into();
        self
    }

    /// With one more key and value for whoever reads the job's history.
    #[must_use]
    pub fn with_detail(mut self, key: impl Into<String>, value: impl fmt::Display) -> Self {
        self.0.details.push((key.into(), value.to_string()));
        self
    }

    /// What is to happen with the job.
    pub fn verdict(&self) -> Verdict {
        self.0.verdict
    }

    /// The token for rules and metrics.
    pub fn code(&self) -> &str {
        &self.0.code
    }

    /// The line for a person.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Keys and values added with [`Error::with_detail`].
    pub fn details(&self) -> &[(String, String)] {
        &self.0.details
    }

    /// Whether the job goes to the dead letters at once.
    pub fn is_permanent(&self) -> bool {
        self.verdict() == Verdict::Permanent
    }

    fn new(verdict: Verdict, message: impl fmt::Display) -> Self {
        // `{:#}` makes anyhow-like errors write their whole chain; others ignore it.
        let message = format!("{message:#}");
        Self(Box::new(Inner {
            verdict,
            code: "error".into(),
            message,
            details: Vec::new(),
        }))
    }
}

impl<E: std::error::Error + 'static> From<E> for Error {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let text = cause.to_string();
            // Many errors already end in their source's text.
            if !message.ends_with(&text) {
                message.push_str(": ");
                message.push_str(&text);
            }
            source = cause.source();
        }
        Self::retryable(message)
    }
}

/// What a handler's function can fail with: [`Error`], or what `?` turns into one.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a handler cannot fail with `{Self}`",
    label = "neither `sandhog_sdk::Error` nor any `std::error::Error`",
    note = "let the function return `Result<.., sandhog_sdk::Error>`; a text becomes one by `Error::retryable(text)` or `Error::permanent(text)`"
)]
pub trait Failure {
    /// What the host is told.
    fn into_error(self) -> Error;
}

#[diagnostic::do_not_recommend]
impl<E: Into<Error>> Failure for E {
    fn into_error(self) -> Error {
        self.into()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("verdict", &self.0.verdict)
            .field("code", &self.0.code)
            .field("message", &self.0.message)
            .field("details", &self.0.details)
            .finish()
    }
}
