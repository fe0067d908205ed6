//! The bounds of what a job may say, and of what one record may hold.

/// Longest name of a kind or queue, in bytes. Names are `[A-Za-z0-9._:-]`, not starting with a
/// sign.
pub const NAME_BYTES: usize = 128;
/// Longest media type, in bytes.
pub const CONTENT_TYPE_BYTES: usize = 256;
/// Largest payload by default, in bytes.
pub const PAYLOAD_BYTES: usize = 1 << 20;
/// Largest checkpoint, in bytes.
pub const CHECKPOINT_BYTES: usize = 1 << 20;
/// Most headers on one job.
pub const HEADERS: usize = 64;
/// Largest total of header keys and values, in bytes.
pub const HEADER_BYTES: usize = 64 << 10;
/// Most tags of one job.
pub const TAGS: usize = 16;
/// Longest tag, in bytes.
pub const TAG_BYTES: usize = 64;
/// Longest text of a unique job's key, or of an idempotency key, that is given by a caller, in bytes.
pub const KEY_BYTES: usize = 1024;
/// How much of a key's text is kept for people, in bytes.
pub const KEY_SAYS_BYTES: usize = 200;
/// Most jobs that may be to follow one.
pub const CHAIN_LINKS: usize = 32;
/// Largest total of the jobs that are to follow one, in bytes: each of them keeps those that follow it.
pub const CHAIN_BYTES: usize = 1 << 20;
/// Largest payload of a job that follows a batch, in bytes.
pub const BATCH_BYTES: usize = 64 << 10;
/// Longest name of a batch, in bytes.
pub const BATCH_NAME_BYTES: usize = 200;
/// Longest name of someone who calls a job off, in bytes.
pub const CANCELLED_BY_BYTES: usize = 256;
/// Longest reason of someone who calls a job off, in bytes.
pub const CANCEL_REASON_BYTES: usize = 4 << 10;
/// Bytes of an entry of a schedule that was added while a runner was up: it is written again with each slot.
pub const CRON_ENTRY_BYTES: usize = 64 << 10;
/// Losses a job survives; one more buries it as poison.
pub const LOSSES: u32 = 3;

/// Most attempts a policy may allow.
pub const ATTEMPTS: u32 = 1000;
/// Longest wall time of one attempt, in milliseconds: a day.
pub const TIMEOUT_MS: u64 = 24 * 60 * 60 * 1000;
/// Longest wait between two attempts, in milliseconds: ten years of 365.25 days.
pub const BACKOFF_MS: u64 = 315_576_000_000;
/// How far ahead a job may be due, in milliseconds: a hundred years. Far below the end of `u64`, so
/// a sum of an instant and a wait never overflows.
pub const DUE_AHEAD_MS: u64 = 3_155_760_000_000;

/// Largest body of one frame of the log, in bytes.
pub const BODY_BYTES: usize = 16 << 20;
/// Largest total of a result and of the jobs enqueued with it, in bytes. They share one record; what
/// is left of [`BODY_BYTES`] is for the attempt's history.
pub const RESULT_AND_JOBS_BYTES: usize = 12 << 20;
/// The queue of a job that nobody names one for.
pub const DEFAULT_QUEUE: &str = "default";
