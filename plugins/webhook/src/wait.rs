//! How long a receiver asks to be left alone.

use std::time::{Duration, SystemTime};

use sandhog_sdk::http::Response;

/// Longest wait that is honoured.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// What `Retry-After` asks for: seconds, or a date. A date is held against the answer's own `Date`
/// when it has one, so that clocks need not agree, or against `now`.
pub(crate) fn asked(answer: &Response, now: SystemTime) -> Option<Duration> {
    let text = answer.header("retry-after")?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than fit ask for longer than is honoured.
        let seconds = text.parse().unwrap_or(u64::MAX);
        return Some(Duration::from_secs(seconds).min(LONGEST));
    }
    let until = httpdate::parse_http_date(text).ok()?;
    let sent = answer
        .header("date")
        .and_then(|text| httpdate::parse_http_date(text).ok());
    Some(
        until
            .duration_since(sent.unwrap_or(now))
            .unwrap_or_default()
            .min(LONGEST),
    )
}
