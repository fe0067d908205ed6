//! What a receiver's answer means for the job.

use std::time::SystemTime;

use sandhog_sdk::Error;
use sandhog_sdk::http::Response;

use crate::wait;

/// The result, or why there is none.
pub(crate) fn verdict(url: &str, answer: &Response, now: SystemTime) -> Result<String, Error> {
    let status = answer.status();
    if answer.is_success() {
        return Ok(format!("{status}"));
    }
    let text = format!("POST {url}: the receiver answered {status}");
    let made = match status {
        408 | 425 | 429 | 500.. => match wait::asked(answer, now) {
            Some(wait) => Error::retry_after(wait, text),
            None => Error::retryable(text),
        },
        300..400 => {
            let to = answer.header("location").unwrap_or("nowhere");
            Error::permanent(format!(
                "{text}, a redirect to {to}: it is not followed, give the job that URL"
            ))
        }
        _ => Error::permanent(text),
    };
    let mut made = made
        .with_code(format!("http-{status}"))
        .with_detail("status", status);
    let body = String::from_utf8_lossy(answer.body());
    if !body.trim().is_empty() {
        let more = if answer.is_cut() { "…" } else { "" };
        made = made.with_detail("body", format!("{}{more}", body.trim()));
    }
    Err(made)
}
