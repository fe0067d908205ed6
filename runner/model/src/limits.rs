//! The bounds of what a job may say.

/// Longest name of a kind or queue, in bytes. Names are `[A-Za-z0-9._:-]`, not starting with a
/// sign.
pub const NAME_BYTES: usize = 128;
/// Largest payload by default, in bytes.
pub const PAYLOAD_BYTES: usize = 1 << 20;
/// Most headers on one job.
pub const HEADERS: usize = 64;
/// Largest total of header keys and values, in bytes.
pub const HEADER_BYTES: usize = 64 << 10;
/// Losses a job survives; one more buries it as poison.
pub const LOSSES: u32 = 3;
