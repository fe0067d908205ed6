//! Kinds that end as the contract allows, each with another verdict.

use std::time::{Duration, Instant};

use sandhog_sdk::{Bytes, Context, Error, NewJob};
use serde_json::{Value, json};

use crate::number;

/// Gives the payload back, media type included.
#[sandhog_sdk::job]
pub(crate) fn echo(input: Bytes) -> Bytes {
    input
}

/// Fails up to the attempt in header `fail` (0), then says which attempt succeeded.
#[sandhog_sdk::job]
pub(crate) fn flaky(_: Bytes, ctx: &Context) -> Result<Value, Error> {
    let fail = number(ctx, "fail", 0);
    if u64::from(ctx.attempt()) <= fail {
        let message = format!("attempt {} of {fail} that fail", ctx.attempt());
        return Err(Error::retryable(message).with_code("flaky"));
    }
    Ok(json!({ "attempt": ctx.attempt() }))
}

/// Never succeeds, and says that no attempt would.
#[sandhog_sdk::job]
pub(crate) fn permanent(input: Bytes) -> Result<(), Error> {
    let text = String::from_utf8_lossy(&input.bytes);
    Err(
        Error::permanent(format!("no attempt will mend this: {text}"))
            .with_code("beyond-repair")
            .with_detail("payload-bytes", input.bytes.len()),
    )
}

/// On its first attempt asks to be tried again in header `ms` (200) milliseconds, then completes.
#[sandhog_sdk::job(kind = "retry-after")]
pub(crate) fn retry_after(_: Bytes, ctx: &Context) -> Result<Value, Error> {
    if ctx.attempt() == 1 {
        let wait = Duration::from_millis(number(ctx, "ms", 200));
        return Err(Error::retry_after(wait, "asked to come back later").with_code("busy"));
    }
    Ok(json!({ "attempt": ctx.attempt() }))
}

/// Snoozes header `ms` (200) milliseconds while there is no checkpoint, which it leaves.
#[sandhog_sdk::job]
pub(crate) fn snooze(_: Bytes, ctx: &Context) -> Result<Value, Error> {
    if ctx.last_checkpoint().is_none() {
        ctx.checkpoint(b"snoozed")?;
        return Err(Error::snooze(Duration::from_millis(number(ctx, "ms", 200))));
    }
    Ok(json!({ "attempt": ctx.attempt() }))
}

/// Asks for the job to be dropped; the payload is the reason.
#[sandhog_sdk::job]
pub(crate) fn discard(input: Bytes) -> Result<(), Error> {
    Err(Error::discard(String::from_utf8_lossy(&input.bytes)))
}

/// Adds header `children` (1) jobs of kind `echo`, then fails up to the attempt in header `fail`
/// (0): those attempts must leave no child. Headers `unique-key` and `idempotency-key` are passed on to each.
#[sandhog_sdk::job]
pub(crate) fn spawn(_: Bytes, ctx: &Context) -> Result<Value, Error> {
    let mut ids = Vec::new();
    for n in 0..number(ctx, "children", 1) {
        let payload = Bytes::new(
            "text/plain",
            format!("child {n} of attempt {}", ctx.attempt()),
        );
        let mut job = NewJob::new("echo", payload).header("child", n.to_string());
        if let Some(key) = ctx.header("unique-key") {
            job = job.unique_key(key);
        }
        if let Some(key) = ctx.header("idempotency-key") {
            job = job.idempotency_key(key);
        }
        ids.push(ctx.enqueue(job)?);
    }
    if u64::from(ctx.attempt()) <= number(ctx, "fail", 0) {
        return Err(Error::retryable("failed after adding jobs").with_code("after-spawn"));
    }
    Ok(json!({ "children": ids }))
}

/// Counts to header `to` (3), one step an attempt: each attempt keeps its count and fails.
#[sandhog_sdk::job]
pub(crate) fn checkpoint(_: Bytes, ctx: &Context) -> Result<Value, Error> {
    let before = match ctx.last_checkpoint() {
        Some(state) => std::str::from_utf8(state)?.parse()?,
        None => 0u64,
    };
    let count = before + 1;
    ctx.checkpoint(count.to_string().as_bytes())?;
    if count < number(ctx, "to", 3) {
        return Err(Error::retryable(format!("counted to {count}")).with_code("counting"));
    }
    Ok(json!({ "count": count, "attempt": ctx.attempt() }))
}

#[cfg(test)]
mod tests {
    use super::{checkpoint, flaky, spawn};
    use sandhog_sdk::Bytes;
    use sandhog_sdk::testing::FakeContext;

    #[test]
    fn flaky_counts_attempts() {
        let ctx = FakeContext::new().with_header("fail", "2").with_attempt(2);
        assert!(flaky(Bytes::default(), &ctx).is_err());
        let ctx = FakeContext::new().with_header("fail", "2").with_attempt(3);
        assert_eq!(flaky(Bytes::default(), &ctx).unwrap()["attempt"], 3);
    }

    #[test]
    fn the_counter_goes_on_from_its_checkpoint() {
        let ctx = FakeContext::new().with_checkpoint("1");
        assert_eq!(
            checkpoint(Bytes::default(), &ctx).unwrap_err().message(),
            "counted to 2"
        );
        assert_eq!(ctx.checkpoints(), [b"2"]);
    }

    #[test]
    fn spawn_adds_before_it_fails() {
        let ctx = FakeContext::new()
            .with_header("children", "2")
            .with_header("fail", "1");
        assert_eq!(
            spawn(Bytes::default(), &ctx).unwrap_err().code(),
            "after-spawn"
        );
        assert_eq!(ctx.enqueued().len(), 2);
    }
}

/// Waits in short steps until it is told to end; then completes with header `end` as `ok`, and fails
/// otherwise.
#[sandhog_sdk::job]
pub(crate) fn heed(_: Bytes, ctx: &Context) -> Result<Value, Error> {
    ctx.info("waiting to be told");
    while !ctx.cancelled() {
        std::thread::sleep(Duration::from_millis(5));
    }
    match ctx.header("end") {
        Some("ok") => Ok(json!("ended by itself")),
        _ => Err(Error::retryable("told to end").with_code("told")),
    }
}

/// Waits header `ms` (1000) milliseconds, unless it is told to end; gives back how many it waited.
#[sandhog_sdk::job]
pub(crate) fn rest(_: Bytes, ctx: &Context) -> Result<u64, Error> {
    ctx.info("resting");
    let ms = number(ctx, "ms", 1_000);
    let begun = Instant::now();
    ctx.sleep(Duration::from_millis(ms)).map_err(|why| {
        let waited = begun.elapsed().as_millis();
        Error::retryable(format!("{why}, after {waited} ms")).with_code("told")
    })?;
    Ok(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX))
}
