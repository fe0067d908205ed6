//! Kinds that tell what the host gave them.

use std::time::UNIX_EPOCH;

use sandhog_sdk::{Bytes, Context, Error, Level};
use serde_json::{Value, json};

use crate::number;

/// Gives back the job as this attempt sees it.
#[sandhog_sdk::job]
pub(crate) fn headers(input: Bytes, ctx: &Context) -> Result<Value, Error> {
    let ms = |time: std::time::SystemTime| -> Result<u64, Error> {
        Ok(u64::try_from(time.duration_since(UNIX_EPOCH)?.as_millis())?)
    };
    Ok(json!({
        "id": ctx.job_id(),
        "kind": ctx.kind(),
        "queue": ctx.queue(),
        "attempt": ctx.attempt(),
        "max_attempts": ctx.max_attempts(),
        "enqueued_at_ms": ms(ctx.enqueued_at())?,
        "deadline_ms": ms(ctx.deadline())?,
        "remaining_ms": u64::try_from(ctx.remaining().as_millis())?,
        "cancelled": ctx.cancelled(),
        "idempotency_key": ctx.idempotency_key(),
        "headers": ctx.headers(),
        "content_type": input.content_type,
        "payload_bytes": input.bytes.len(),
        "checkpoint": ctx.last_checkpoint().map(String::from_utf8_lossy),
        "env": std::env::vars().count(),
        "args": std::env::args().count(),
        "root_readable": std::fs::read_dir("/").is_ok(),
    }))
}

/// Gives back the setting named in header `key`, `null` when there is none.
#[sandhog_sdk::job]
pub(crate) fn config(_: Bytes, ctx: &Context) -> Result<Option<String>, Error> {
    let key = ctx
        .header("key")
        .ok_or_else(|| Error::permanent("header `key` is missing"))?;
    Ok(ctx.config(key))
}

/// Reports header `steps` (10) steps and logs a line of each level.
#[sandhog_sdk::job]
pub(crate) fn progress(_: Bytes, ctx: &Context) -> u64 {
    let steps = number(ctx, "steps", 10);
    ctx.trace("a trace line");
    ctx.debug("a debug line");
    ctx.info("an info line");
    ctx.warn("a warn line");
    ctx.error("an error line");
    for step in 1..=steps {
        ctx.progress(step, steps, "stepping");
    }
    steps
}

/// Says its payload: as a line with a field of the same text, on standard output, and as its progress.
#[sandhog_sdk::job]
pub(crate) fn recite(input: Bytes, ctx: &Context) -> Bytes {
    let text = String::from_utf8_lossy(&input.bytes).into_owned();
    ctx.log(Level::Warn, &text, &[("said", &text)]);
    println!("{text}");
    ctx.progress(1, 1, text.as_str());
    input
}
