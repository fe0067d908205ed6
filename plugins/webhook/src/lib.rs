//! Delivers webhooks: the payload is posted as it is, signed, with a key that makes repeats harmless.

mod answer;
mod wait;

use std::time::{Duration, UNIX_EPOCH};

use sandhog_sdk::http::{HttpError, HttpErrorKind, Request};
use sandhog_sdk::{Bytes, Context, Error, SignError};

sandhog_sdk::export!(webhook; grants = include_str!("../grants.toml"));

/// Bytes of an answer's body that are looked at: it is shown to people, nothing else.
const SHOWN: usize = 1024;
/// Longest wait for the receiver, each time.
const WAIT: Duration = Duration::from_secs(15);
/// The secret that signs, unless `config` names another.
const SECRET: &str = "webhook-key";

/// Posts the payload to a URL.
///
/// The URL is the job's header `url`, or the setting `url`. The request carries
///
/// | header | meaning |
/// |---|---|
/// | `Idempotency-Key` | the same for every attempt at the job |
/// | `Sandhog-Signature` | `t=SECONDS,v1=HEX`: the time of this attempt, and HMAC-SHA256 over `SECONDS.BODY` |
/// | `Sandhog-Attempt` | the attempt's number |
/// | `Content-Type` | that of the payload |
///
/// The setting `secret` names the secret that signs (`webhook-key`); `none` sends without a signature.
///
/// 200 to 299 is success. 408, 425, 429 and 500 and above are tried again, not before what
/// `Retry-After` asks for. Everything else is permanent, redirects among it: they are not followed.
#[sandhog_sdk::job(timeout = "60s", max_attempts = 25)]
pub fn webhook(payload: Bytes, ctx: &Context) -> Result<String, Error> {
    let url = match ctx.header("url") {
        Some(url) => url.to_owned(),
        None => ctx.config("url").ok_or_else(|| {
            Error::permanent("no URL: give the job a header `url`, or the kind a setting `url`")
                .with_code("no-url")
        })?,
    };
    let mut request = Request::post(&url)
        .header("idempotency-key", ctx.idempotency_key())
        .header("sandhog-attempt", ctx.attempt().to_string())
        .header(
            "user-agent",
            concat!("sandhog-webhook/", env!("CARGO_PKG_VERSION")),
        )
        .timeout(WAIT)
        .read_at_most(SHOWN);
    if let Some(signature) = signature(&payload.bytes, ctx)? {
        request = request.header("sandhog-signature", signature);
    }
    let content_type = match payload.content_type.as_str() {
        "" => "application/octet-stream".to_owned(),
        known => known.to_owned(),
    };
    match request.body(content_type, payload.bytes).send(ctx) {
        Ok(answer) => answer::verdict(&url, &answer, ctx.now()),
        Err(error) => Err(failed(&url, &error)),
    }
}

/// `t=SECONDS,v1=HEX` over `SECONDS.BODY`, made by the host; `None` when there shall be none.
fn signature(body: &[u8], ctx: &Context) -> Result<Option<String>, Error> {
    let secret = ctx.config("secret").unwrap_or_else(|| SECRET.to_owned());
    if secret == "none" {
        return Ok(None);
    }
    let seconds = ctx
        .now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs();
    let mut text = format!("{seconds}.").into_bytes();
    text.extend_from_slice(body);
    let mac = ctx.hmac_sha256(&secret, &text).map_err(|error| {
        let code = match error {
            SignError::Denied(_) => "sign-denied",
            SignError::Unavailable(_) => "sign-unavailable",
        };
        Error::retryable(error).with_code(code)
    })?;
    let hex: String = mac.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Some(format!("t={seconds},v1={hex}")))
}

/// No answer. What another attempt may mend is tried again, a denial too: an operator may grant it.
fn failed(url: &str, error: &HttpError) -> Error {
    let text = format!("POST {url}: {error}");
    let made = match error.kind() {
        HttpErrorKind::Invalid => Error::permanent(text),
        _ => Error::retryable(text),
    };
    made.with_code(error.kind().code())
}

#[cfg(test)]
mod tests;
